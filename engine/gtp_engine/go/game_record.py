"""A recorded game: what a file says about it, and how to play it over."""

import re
from dataclasses import dataclass, field, replace

from gtp_engine.coords import BLACK, COLOR_NAMES, EMPTY, WHITE, format_vertex
from gtp_engine.go.position import IllegalMoveError, Move, Position, SetupError
from gtp_engine.go.rules import NO_FIVE, InvalidRulesError, Rules
from gtp_engine.go.scoring import resulting_margin


class SgfError(ValueError):
    """A game record that cannot be used; the message is one sentence."""


@dataclass
class Setup:
    """Stones put on or taken off the board by hand."""

    stones: dict[int, int] = field(default_factory=dict)
    """Color by point; EMPTY takes a stone away."""
    to_play: int | None = None
    """Who moves next; None when the record does not say."""


@dataclass
class GameRecord:
    """The main line of a recorded game and what is known about it."""

    width: int = 19
    height: int = 19
    komi: float | None = None
    """Points to White; None when the record does not say."""
    rules: Rules | None = None
    """With the record's komi, if any; None when it names no rules that are known."""
    handicap: int = 0
    """Handicap stones as the record counts them, wherever they are."""
    setups: dict[int, Setup] = field(default_factory=dict)
    """By the number of moves made before; at 0 stands the initial set-up."""
    moves: list[Move] = field(default_factory=list)
    result: str = ""
    """As recorded: "B+3.5", "W+R", "Void" or anything else."""
    black_name: str = ""
    white_name: str = ""
    black_rank: str = ""
    white_rank: str = ""
    date: str = ""
    source: str = ""
    dead: tuple[int, ...] | None = None
    """Stones of the last board that are dead; None when the record does not say."""
    black_territory: tuple[int, ...] = ()
    """Points marked as Black's in the last node that marks any."""
    white_territory: tuple[int, ...] = ()
    comments: dict[int, str] = field(default_factory=dict)
    """By the number of moves made before; 0 is the set-up."""
    kind: type[Position] = Position
    """What the game is played on."""

    @property
    def winner(self) -> int | None:
        """BLACK, WHITE, EMPTY for a draw, or None when nobody says or the game is void."""
        text = self.result.upper()
        if text[:2] in ("B+", "W+"):
            return BLACK if text[0] == "B" else WHITE
        return EMPTY if text in ("0", "DRAW", "JIGO") else None

    @property
    def score_black(self) -> float | None:
        """By how many points Black won; None where the game was not counted.

        Chinese results may count stones: a quarter, which a komi of whole or half points cannot
        leave, tells.
        """
        margin = resulting_margin(self.result)
        if margin is None:
            return None
        is_in_stones = margin % 0.5 and not (self.komi or 0.0) % 0.5
        return 0.0 - margin * (2.0 if is_in_stones else 1.0)

    @property
    def has_handicap(self) -> bool:
        """Whether Black begins with several stones, also where the record does not count them."""
        black, white = map(self.initial_stones, (BLACK, WHITE))
        return self.handicap > 1 or (len(black) > 1 and not white)

    def initial_stones(self, color: int) -> list[int]:
        """Return the points that hold this color before the first move."""
        setup = self.setups.get(0, Setup())
        return sorted(point for point, stone in setup.stones.items() if stone == color)

    def to_play_at(self, n_moves: int) -> int | None:
        """Return who moves after so many moves, as far as the record says."""
        if n_moves < len(self.moves):
            return self.moves[n_moves].color
        setup = self.setups.get(n_moves, Setup())
        has_handicap = n_moves == 0 and self.handicap > 1 and {*setup.stones.values()} == {BLACK}
        return WHITE if setup.to_play is None and has_handicap else setup.to_play

    def position(self, before_move: int | None = None, rules: Rules | None = None) -> Position:
        """Play the game over.

        Repetitions are tolerated whatever the rules. Stones put down between moves begin a new
        game from the board they make: what was played before cannot be undone then, but prisoners
        and handicap stay.

        Args:
            before_move: Stop before the move of this number, counted from 1; past the last move
                by default or where there are fewer.
            rules: Rules and komi to use; the record's by default, and the default rules where it
                has none.

        Raises:
            SgfError: A move or a set-up cannot be on the board; says which.
        """
        n_moves = len(self.moves)
        if before_move is not None:
            n_moves = max(0, min(before_move - 1, n_moves))
        position = self._start(rules)
        for number in range(n_moves + 1):
            if number in self.setups:
                self._set_up(position, number)
            if number == 0:
                position.reserve(n_moves)
            if number < n_moves:
                self._play(position, number)
        to_play = self.to_play_at(n_moves)
        if to_play is not None and to_play != position.to_play:
            position.to_play = to_play
        return position

    def position_under(self, rules: Rules, before_move: int | None = None) -> Position:
        """Play the game over for somebody who has rules and komi of their own.

        Args:
            rules: What holds where the record does not say.

        Raises:
            SgfError: A move or a set-up cannot be on the board; says which.
        """
        komi = rules.komi if self.komi is None else self.komi
        return self.position(before_move, replace(self.rules or rules, komi=komi))

    def _start(self, rules: Rules | None) -> Position:
        if rules is None:
            rules = self.rules or Rules()
            if self.komi is not None:
                rules = replace(rules, komi=self.komi)
        try:
            return self.kind(self.width, self.height, rules)
        except SetupError as error:
            raise SgfError(str(error)) from None

    def _set_up(self, position: Position, number: int) -> None:
        setup = self.setups[number]
        to_play = self.to_play_at(number) or setup.to_play or position.to_play
        if all(position.color_at(point) == color for point, color in setup.stones.items()):
            position.to_play = to_play
            return
        try:
            if number:
                position.change_stones(setup.stones, to_play)
            else:
                black, white = map(self.initial_stones, (BLACK, WHITE))
                position.set_up(black, white, to_play)
        except SetupError as error:
            where = f"the set-up after move {number}" if number else "the set-up"
            raise SgfError(f"{where} is impossible: {error}") from None

    def _play(self, position: Position, number: int) -> None:
        move = self.moves[number]
        try:
            position.play(move.color, move.point, strict=False)
        except IllegalMoveError as error:
            name = format_vertex(move.point, self.width, self.height)
            who = COLOR_NAMES[move.color]
            reason = str(error).removeprefix(f"{who} {name} ")
            raise SgfError(f"move {number + 1}, {who} {name}, {reason}") from None


_COMPACT = re.compile(
    r"ko(?P<ko>[A-Z]+)score(?P<scoring>[A-Z]+)tax(?P<tax>[A-Z]+)sui(?P<suicide>[01])"
    r"(?:button(?P<button>[01]))?(?:whb(?P<bonus>0|N-1|N))?(?:fpok(?P<friendly>[01]))?(?:komi[0-9.-]+)?"
)


def parse_rules(text: str) -> Rules | None:
    """Return the rules that a record names; None for names that nobody knows.

    Besides the names of `Rules.parse` the compact form of `describe_rules` is understood, which
    KataGo's records use.
    """
    compact = _COMPACT.fullmatch(text.strip())
    try:
        if compact is None:
            return Rules.parse(text.strip().rstrip("?").replace("/", "-"))
        return Rules.from_kata(
            {
                "ko": compact["ko"],
                "scoring": compact["scoring"],
                "tax": compact["tax"],
                "suicide": compact["suicide"] == "1",
                "hasButton": compact["button"] == "1",
                "whiteHandicapBonus": compact["bonus"] or "0",
                "friendlyPassOk": compact["friendly"] == "1",
            }
        )
    except InvalidRulesError:
        return None


_SGF_NAMES = {
    "japanese": "Japanese",
    "chinese": "Chinese",
    "aga": "AGA",
    "new-zealand": "NZ",
    "ing": "GOE",
    "tromp-taylor": "Tromp-Taylor",
}


def describe_rules(rules: Rules) -> str:
    """Return the name a record gives these rules, or all their parts where they have none."""
    if rules.five != NO_FIVE:
        return rules.describe()
    if rules.preset in _SGF_NAMES:
        return _SGF_NAMES[rules.preset]
    kata = rules.to_kata()
    return (
        f"ko{kata['ko']}score{kata['scoring']}tax{kata['tax']}sui{int(bool(kata['suicide']))}"
        f"button{int(bool(kata['hasButton']))}whb{kata['whiteHandicapBonus']}"
        f"fpok{int(bool(kata['friendlyPassOk']))}"
    )
