"""What an engine's game must look like after any line, whoever wrote it: a slow, separate reading.

`GtpModel.expect` says what the reply to a line may be, `GtpModel.learn` follows the game once the
reply is there. A refused line must leave the game as it was.
"""

import re
from dataclasses import dataclass

from tests.go.naive_board import BLACK, EMPTY, WHITE, NaiveGame, Spot

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COLORS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
GENERATORS = {
    "genmove": True,
    "kgs-genmove_cleanup": True,
    "lz-genmove_analyze": True,
    "kata-genmove_analyze": True,
    "cgos-genmove_analyze": True,
    "reg_genmove": False,
    "kata-search": False,
    "kata-search_analyze": False,
    "kata-search_cancellable": False,
    "kata-search_analyze_cancellable": False,
}
"""Commands that choose a move, and whether they play it."""

SIMPLE_KO = ("chinese", "japanese")
POSITIONAL_KO = ("chinese-ogs", "cgos")


class Wrong(Exception):
    """A line that has to be refused."""


@dataclass
class Expectation:
    """What a line asks for."""

    id: str
    name: str
    words: list[str]
    must_succeed: bool | None
    """None where this model has no opinion."""


def clean(line: bytes) -> str:
    """Return a line as the protocol reads it."""
    text = line.decode("utf-8", "replace").replace("\t", " ")
    text = "".join(c for c in text if not (ord(c) < 32 or 127 <= ord(c) < 160))
    return text.split("#", 1)[0].strip()


class GtpModel:
    """A game followed line by line."""

    def __init__(self) -> None:
        self.width = self.height = 19
        self.komi: float | None = None
        self.ko = "positional"
        self.plies: list[NaiveGame] = []
        self.pass_name = "pass"
        self._begin()

    @property
    def game(self) -> NaiveGame:
        return self.plies[-1]

    def _begin(self) -> None:
        self.plies = [NaiveGame(self.width, self.height, self.ko)]

    def expect(self, line: bytes) -> Expectation | None:
        """Return what the reply to a line may be; None if there must be none."""
        text = clean(line)
        if not text:
            return None
        digits = re.match("[0-9]*", text)
        assert digits is not None
        name, _, rest = text[digits.end() :].lstrip(" ").partition(" ")
        words = rest.split()
        return Expectation(digits[0], name, words, self._judge(name, words))

    def _judge(self, name: str, words: list[str]) -> bool | None:
        """Whether a line must succeed, without following it."""
        method = getattr(self, "_do_" + name.replace("-", "_"), None)
        if method is None:
            return None
        kept = (self.width, self.height, self.komi, self.ko, list(self.plies))
        try:
            method(words)
            return True
        except Wrong:
            return False
        except NotImplementedError:
            return None
        finally:
            self.width, self.height, self.komi, self.ko, self.plies = kept

    def learn(self, expected: Expectation, reply: str) -> None:
        """Follow the game past a line that succeeded; the reply is without its first sign and id.

        Raises:
            AssertionError: The reply is not what it should be.
        """
        if expected.name in GENERATORS:
            self._learn_move(expected, reply)
            return
        if expected.name in ("fixed_handicap", "place_free_handicap"):
            self._learn_handicap(expected, reply.split())
            return
        if expected.name == "level":
            self.pass_name = "PASS"
        if expected.name == "kata-set-rules":
            self._learn_rules(expected.words)
            return
        if expected.name in ("showboard", "get_komi"):
            self._check(expected.name, reply)
        method = getattr(self, "_do_" + expected.name.replace("-", "_"), None)
        if method is not None:
            method(expected.words)

    # Reading words ------------------------------------------------------------------------------

    def _color(self, words: list[str], index: int) -> int:
        if index >= len(words) or words[index].lower() not in COLORS:
            raise Wrong
        return COLORS[words[index].lower()]

    def _vertex(self, words: list[str], index: int) -> Spot | None:
        if index >= len(words):
            raise Wrong
        word = words[index].upper()
        if word == "PASS":
            return None
        if not re.fullmatch("[A-HJ-Z][0-9]{1,3}", word, re.ASCII):
            raise Wrong
        col, row = COLUMNS.index(word[0]), self.height - int(word[1:])
        if not (0 <= row < self.height and col < self.width):
            raise Wrong
        return row, col

    def _integer(self, words: list[str], index: int) -> int:
        if index >= len(words) or not re.fullmatch("[+-]?[0-9]{1,9}", words[index], re.ASCII):
            raise Wrong
        return int(words[index])

    def _pairs(self, words: list[str]) -> list[tuple[int, Spot | None]]:
        return [
            (self._color(words, i), self._vertex(words, i + 1)) for i in range(0, len(words), 2)
        ]

    # Commands -----------------------------------------------------------------------------------

    def _do_boardsize(self, words: list[str]) -> None:
        width = self._integer(words, 0)
        height = self._integer(words, 1) if len(words) > 1 else width
        if not (2 <= width <= 25 and 2 <= height <= 25):
            raise Wrong
        self.width, self.height = width, height
        self._begin()

    _do_rectangular_boardsize = _do_boardsize

    def _do_clear_board(self, words: list[str]) -> None:
        self._begin()

    def _do_komi(self, words: list[str]) -> None:
        if not words:
            raise Wrong
        try:
            komi = float(words[0])
        except ValueError:
            raise Wrong from None
        if not abs(komi) <= 400:
            raise Wrong
        self.komi = komi

    def _do_kata_set_rules(self, words: list[str]) -> None:
        if " ".join(words) not in SIMPLE_KO + POSITIONAL_KO:
            raise NotImplementedError
        self._learn_rules(words)

    def _learn_rules(self, words: list[str]) -> None:
        """Follow a change of rules, however the engine lets their name be written."""
        name = re.sub("[-_ ]", "", " ".join(words).lower())
        is_simple = name in [each.replace("-", "") for each in SIMPLE_KO]
        assert is_simple or name in [each.replace("-", "") for each in POSITIONAL_KO], words
        self.ko = "simple" if is_simple else "positional"
        # Copies, since a line that is only judged must leave the games as they are.
        self.plies = [game.copy() for game in self.plies]
        for game in self.plies:
            game.ko = self.ko

    def _do_play(self, words: list[str]) -> None:
        self._play(self._color(words, 0), self._vertex(words, 1))

    def _play(self, color: int, spot: Spot | None) -> None:
        """Make a move that the board can hold; what repeats a position is accepted."""
        after = self.game.copy()
        if spot is not None:
            if spot in after.stones:
                raise Wrong
            _, own = self.game.copy().place(color, spot)
            if own:
                raise Wrong
        after.play(color, spot)
        self.plies.append(after)

    def _do_gogui_play_sequence(self, words: list[str]) -> None:
        pairs = self._pairs(words)
        for color, spot in pairs:
            self._play(color, spot)

    def _do_undo(self, words: list[str]) -> None:
        self._undo(1)

    _do_trymove, _do_popgo = _do_play, _do_undo

    def _do_gg_undo(self, words: list[str]) -> None:
        self._undo(self._integer(words, 0) if words else 1)

    def _undo(self, count: int) -> None:
        if not 0 <= count < len(self.plies):
            raise Wrong
        del self.plies[len(self.plies) - count :]

    def _require_empty(self) -> None:
        if len(self.plies) > 1 or self.game.stones:
            raise Wrong

    def _do_set_free_handicap(self, words: list[str]) -> None:
        self._require_empty()
        spots = [self._vertex(words, i) for i in range(len(words))]
        if not spots or None in spots or len(set(spots)) < len(spots):
            raise Wrong
        self._set_up([(BLACK, spot) for spot in spots], WHITE)

    def _do_gogui_setup(self, words: list[str]) -> None:
        pairs = self._pairs(words)
        self._require_empty()
        self._set_up(pairs, self.game.to_play)

    def _do_set_position(self, words: list[str]) -> None:
        self._set_up(self._pairs(words), BLACK)

    def _do_gogui_setup_player(self, words: list[str]) -> None:
        color = self._color(words, 0)
        changed = self.game.copy()
        changed.to_play = color
        changed.situations = [*changed.situations[:-1], (changed.position(), color)]
        if len(self.plies) == 1:
            changed.ko_spot = None
        self.plies[-1] = changed

    def _set_up(self, stones: list[tuple[int, Spot | None]], to_play: int) -> None:
        game = NaiveGame(self.width, self.height, self.ko)
        for color in (BLACK, WHITE):
            for spot in (spot for each, spot in stones if each == color):
                if spot is None or spot in game.stones:
                    raise Wrong
                enemies, own = game.place(color, spot)
                if enemies or own:
                    raise Wrong
        game.to_play = to_play
        game.situations = [(game.position(), to_play)]
        self.plies = [game]

    # What the engine decides --------------------------------------------------------------------

    def _do_genmove(self, words: list[str]) -> None:
        self._color(words, 0)

    _do_reg_genmove = _do_kgs_genmove_cleanup = _do_kata_search = _do_genmove

    def _learn_move(self, expected: Expectation, reply: str) -> None:
        is_analysis = "analyze" in expected.name
        first = expected.words[0].lower() if expected.words else ""
        color = COLORS.get(first, self.game.to_play)
        move = reply.split("\n")[-1]
        if is_analysis:
            assert move.startswith("play "), reply
            move = move[5:]
        if move == "cancelled" and "cancellable" in expected.name:
            return
        assert move == self.pass_name or re.fullmatch("[A-HJ-Z][0-9]{1,2}", move), reply
        spot = self._vertex([move], 0)
        assert self.game.is_legal(color, spot), f"{move} is illegal"
        if GENERATORS[expected.name]:
            self._play(color, spot)

    def _learn_handicap(self, expected: Expectation, words: list[str]) -> None:
        assert len(words) == self._integer(expected.words, 0)
        self._do_set_free_handicap(words)

    def _check(self, name: str, reply: str) -> None:
        if name == "get_komi":
            assert self.komi is None or float(reply) == float(f"{self.komi:g}"), reply
            return
        rows = [
            line[3 : 3 + 3 * self.width]
            for line in reply.split("\n")
            if re.match(" ?[0-9]{1,2} ", line)
        ]
        stones = {"X": BLACK, "O": WHITE}
        found = [[stones.get(row[3 * i + 1], EMPTY) for i in range(self.width)] for row in rows]
        wanted = [
            [self.game.color_at((row, col)) for col in range(self.width)]
            for row in range(self.height)
        ]
        assert found == wanted, f"{reply}\n{wanted}"
