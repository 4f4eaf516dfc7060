"""The protocol of Gomocup: what a manager of five in a row asks, line by line.

Points are `x,y` from 0 at the top left. Stones are kept here, so that all but the moves themselves
is answered while kernels still compile.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, MAX_SIZE, WHITE, opponent, point_at, row_col
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.five.rules import CONTINUOUS_BIT, FREESTYLE, LEAST_SIZE, NO_LIMIT
from gtp_engine.frontends.pipes import Inbox, Line, Output, Request
from gtp_engine.go.rules import FIVE_RULES
from gtp_engine.messages import describe_failure
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.play.settings import DEFAULT_SECONDS_PER_MOVE
from gtp_engine.version import __version__

if TYPE_CHECKING:
    from gtp_engine.five.game import FiveGame
    from gtp_engine.play.decision import Decision
    from gtp_engine.play.engine import Engine

MARGIN = 0.2
"""Seconds of a move that are not for thinking, at most half of them."""
MOVES_TO_GO, FEWEST_TO_GO = 35, 12
"""Own moves that a match time is shared between at the start, and at any time at least."""
SWAP_OPENING = ((-1, -6), (1, -5), (-3, -6))
"""Black, White, Black: three stones by the edge, from the centre, for whoever begins a swap2."""

_INTEGER = re.compile(r"-?[0-9]{1,9}")


class GomocupError(Exception):
    """A command that fails; the message is its sentence."""


def parse_line(text: str) -> Request | None:
    """Return a line's command in capitals and what follows it."""
    word, _, rest = text.strip().partition(" ")
    return Request("", word.upper(), rest.strip()) if word else None


def is_stop(text: str) -> bool:
    """Whether a line asks for the move at once."""
    return text.strip().upper() in ("STOP", "YXSTOP")


class Server:
    """Talks to one manager until it leaves.

    Args:
        note: Called with what is asked and answered, for a log.
    """

    def __init__(
        self,
        engine: "Engine",
        inbox: Inbox,
        output: Output,
        note: Callable[[str, str], None] = lambda mark, text: None,
    ) -> None:
        output.inbox = inbox
        self._engine, self._inbox, self._output, self._note = engine, inbox, output, note
        self._playouts = engine.settings.playouts
        """Most playouts of a move where the manager sets no limit."""
        self._size = (0, 0)
        """Width and height; zeros before START."""
        self._rules = FREESTYLE
        self._stones: list[tuple[int, int]] = []
        """Color and point, in order."""
        self._to_play = BLACK
        """Who is to move; after BOARD the numbers of stones need not tell."""
        self._info: dict[str, int] = {}
        self._line: Line | None = None
        self._began = 0.0
        """When the present command came, by `time.perf_counter`."""
        self._is_over = False
        self._handlers: dict[str, Callable[[str], str]] = {
            "START": self._start,
            "RECTSTART": self._start,
            "RESTART": self._restart,
            "BEGIN": self._begin,
            "TURN": self._turn,
            "PLAY": self._play,
            "TAKEBACK": self._take_back,
            "BOARD": self._board,
            "YXBOARD": self._set_board,
            "SWAP2BOARD": self._swap,
            "YXSHOWFORBID": self._show_forbidden,
            "INFO": self._take_info,
            "ABOUT": self._about,
            "STOP": lambda rest: "",
            "YXSTOP": lambda rest: "",
            "END": self._end,
        }

    def run(self) -> None:
        """Answer commands until END, the end of input or of the manager."""
        while not (self._is_over or self._output.is_closed):
            try:
                line = self._next()
            except EOFError:
                return
            self._began = time.perf_counter()
            handler = self._handlers.get(line.request.name)
            before = list(self._stones), self._to_play
            try:
                if handler is None:
                    answer = f"UNKNOWN command {line.request.name[:40]}"
                else:
                    answer = handler(line.request.rest)
            except EOFError:  # in the middle of a board
                return
            except Exception as error:  # whatever it is, the game goes on
                self._stones, self._to_play = before
                expected = GomocupError, NetFileError, EngineUnavailableError
                answer = f"ERROR {describe_failure(error, *expected)}"
            if answer:
                self._output.write(answer + "\r\n")
                self._note("?" if answer.startswith("ERROR") else "<", answer)
            if line.request.name in ("START", "RECTSTART") and self._size[0]:
                self._engine.load()

    def _next(self) -> Line:
        self._line = self._inbox.next()
        self._note(">", f"{self._line.request.name} {self._line.request.rest}".strip())
        return self._line

    # The game -----------------------------------------------------------------------------------

    def _start(self, rest: str) -> str:
        numbers = _integers(rest, "a board size")
        width, height = numbers if len(numbers) == 2 else (numbers * 2)[:2]
        if not (min(width, height) >= LEAST_SIZE and max(width, height) <= MAX_SIZE):
            raise GomocupError(f"boards are {LEAST_SIZE} to {MAX_SIZE} points wide and high")
        self._size = (width, height)
        self._clear()
        return "OK"

    def _restart(self, rest: str) -> str:
        self._check_started()
        self._clear()
        return "OK"

    def _clear(self) -> None:
        self._stones, self._to_play = [], BLACK

    def _begin(self, rest: str) -> str:
        self._check_started()
        if self._stones:
            raise GomocupError("the game has begun already")
        return self._move()

    def _turn(self, rest: str) -> str:
        self._add(rest)
        return self._move()

    def _play(self, rest: str) -> str:
        return self._name(self._add(rest))

    def _add(self, text: str) -> int:
        point = self._empty_point(_integers(text, "a point"))
        self._put(point)
        return point

    def _put(self, point: int) -> None:
        self._stones.append((self._to_play, point))
        self._to_play = opponent(self._to_play)

    def _take_back(self, rest: str) -> str:
        point = self._point(_integers(rest, "a point"))
        kept = [stone for stone in self._stones if stone[1] != point]
        if len(kept) == len(self._stones):
            raise GomocupError("there is no stone to take back")
        color, last = self._stones[-1]
        self._stones = kept
        if point == last:
            self._to_play = color
        else:
            n_black = sum(color == BLACK for color, _ in kept)
            self._to_play = BLACK if 2 * n_black <= len(kept) else WHITE
        return "OK"

    def _board(self, rest: str) -> str:
        self._set_board(rest)
        return self._move()

    def _set_board(self, rest: str) -> str:
        """Read stones up to DONE; those of who is to move are 1, the opponent's 2."""
        by_owner: dict[int, list[int]] = {1: [], 2: []}
        self._stones = []
        for numbers in self._read_stones():
            if len(numbers) != 3 or numbers[2] not in by_owner:
                raise GomocupError("a stone is x,y,1 (own) or x,y,2 (the opponent's)")
            point = self._empty_point(numbers[:2])
            by_owner[numbers[2]].append(point)
            self._stones.append((numbers[2], point))
        own = BLACK if len(by_owner[1]) >= len(by_owner[2]) else WHITE
        colors = {1: own, 2: 3 - own}
        self._stones = [(colors[owner], point) for owner, point in self._stones]
        self._to_play = own
        return ""

    def _swap(self, rest: str) -> str:
        self._clear()
        for numbers in self._read_stones():
            self._put(self._empty_point(numbers))
        if len(self._stones) not in (0, 3, 5):
            raise GomocupError("swap2 is asked after 0, 3 or 5 stones")
        if not self._stones:
            width, height = self._size
            wanted = [(max(0, width // 2 + x), max(0, height // 2 + y)) for x, y in SWAP_OPENING]
            points = [self._empty_point(list(each)) for each in wanted]
            for point in points:
                self._put(point)
            return " ".join(self._name(point) for point in points)
        n_stones, move = len(self._stones), self._move(is_choice=True)
        return move if len(self._stones) > n_stones else "SWAP"

    def _read_stones(self) -> list[list[int]]:
        """Return the numbers of the lines up to DONE, all of which are read whatever they say."""
        self._check_started()
        lines = []
        while (request := self._next().request).name != "DONE":
            lines.append(f"{request.name} {request.rest}")
        return [_integers(line, "a stone") for line in lines]

    def _show_forbidden(self, rest: str) -> str:
        game = self._game()
        places = [row_col(p, game.width) for p in game.points() if game.forbidden(p)]
        return f"FORBID {''.join(f'{col:02}{row:02}' for row, col in places)}."

    # What is known and told ---------------------------------------------------------------------

    def _take_info(self, rest: str) -> str:
        key, _, value = rest.partition(" ")
        try:
            number = min(max(int(value), -NO_LIMIT), NO_LIMIT)
        except ValueError:
            return ""
        if key.lower() == "rule":
            known = {rules.five: rules for rules in FIVE_RULES.values()}
            self._rules = known.get(number & ~CONTINUOUS_BIT, self._rules)
        self._info[key.lower()] = number
        return ""

    def _about(self, rest: str) -> str:
        return f'name="gtp-engine", version="{__version__}", author="its authors", country="-"'

    def _end(self, rest: str) -> str:
        self._is_over = True
        return ""

    # Thinking -----------------------------------------------------------------------------------

    def _move(self, *, is_choice: bool = False) -> str:
        """Choose a move, keep it, and return its name.

        Args:
            is_choice: Keep it only where the player to move is rather winning.
        """
        color = self._to_play
        assert self._line is not None
        with self._inbox.watching(self._line.number, any_line=False) as stop:
            is_ready = self._engine.wait_until(self._began + self._seconds(), stop)
            decision = self._decide(color, stop) if is_ready else None
        if decision is None:
            from gtp_engine.play.plain_move import plain_move

            taken = {at: each for each, at in self._stones}
            width, height = self._size
            free = {point_at(r, c, width) for r in range(height) for c in range(width)} - set(taken)
            if not free:
                raise GomocupError("the game is over")
            # With stones of one's own all round, a point is not taken; in five it may be.
            point = plain_move(width, height, taken, color, free) or min(free)
        else:
            found = decision.analysis
            if is_choice and found is not None and found.winrate < 0.5:
                return ""
            assert decision.point is not None, "nobody resigns here"
            point = decision.point
        self._put(point)
        return self._name(point)

    def _decide(self, color: int, stop: threading.Event) -> "Decision":
        engine = self._engine
        game = self._game()
        if game.is_over:
            raise GomocupError("the game is over")
        engine.adopt(game, is_record=False)
        left = self._began + self._seconds() - time.perf_counter()
        nodes = self._info.get("max_node", 0)
        limit = nodes if nodes > 0 else self._playouts
        engine.settings = replace(engine.settings, time=max(0.0, left), playouts=limit)
        return engine.genmove(color, commit=False, stop=stop)

    def _seconds(self) -> float:
        """Return how long the present move may take."""
        limits = []
        turn = self._info.get("timeout_turn")
        if turn is not None:
            limits.append(turn / 1000.0)
        left = self._info.get("time_left", self._info.get("timeout_match", 0))
        if self._info.get("timeout_match", 0) > 0 and left < NO_LIMIT:
            moves = max(FEWEST_TO_GO, MOVES_TO_GO - len(self._stones) // 2)
            limits.append(left / 1000.0 / moves)
        seconds = max(0.0, min(limits, default=DEFAULT_SECONDS_PER_MOVE))
        return seconds - min(MARGIN, seconds / 2.0)

    def _game(self) -> "FiveGame":
        """Return the game as it stands; stones that no game brings there are set up."""
        from gtp_engine.five.game import FiveError, FiveGame

        self._check_started()
        self._engine.has_kernels or self._engine.position  # noqa: B018  (waits for boards)
        game = FiveGame(*self._size, self._rules)
        by_color = {c: [p for each, p in self._stones if each == c] for c in (BLACK, WHITE)}
        turns = [
            (color, by_color[color][number])
            for number in range(len(by_color[BLACK]))
            for color in (BLACK, WHITE)
            if number < len(by_color[color])
        ]
        try:
            if len(turns) < len(self._stones):
                raise FiveError("White has more stones")
            game.play_all(turns)
            if not game.is_over and game.to_play != self._to_play:
                raise FiveError("it is the other player's turn")
        except FiveError:
            game.set_up(by_color[BLACK], by_color[WHITE], self._to_play)
        return game

    # Points -------------------------------------------------------------------------------------

    def _check_started(self) -> None:
        if not self._size[0]:
            raise GomocupError("no game has been started")

    def _point(self, numbers: list[int]) -> int:
        self._check_started()
        if len(numbers) != 2:
            raise GomocupError("a point is x,y")
        x, y = numbers
        width, height = self._size
        if not (0 <= x < width and 0 <= y < height):
            raise GomocupError(f"{x},{y} is off the {width}x{height} board")
        return point_at(y, x, width)

    def _empty_point(self, numbers: list[int]) -> int:
        point = self._point(numbers)
        if any(point == at for _, at in self._stones):
            raise GomocupError(f"{self._name(point)} is occupied")
        return point

    def _name(self, point: int) -> str:
        row, col = row_col(point, self._size[0])
        return f"{col},{row}"


def _integers(text: str, what: str) -> list[int]:
    """Return the numbers between commas.

    Raises:
        GomocupError: Something else is there.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(_INTEGER.fullmatch(word) for word in words):
        raise GomocupError(f"{text.strip()[:40]!r} is not {what}")
    return [int(word) for word in words]
