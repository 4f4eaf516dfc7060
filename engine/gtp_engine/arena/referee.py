"""One game between two GTP engines: every move is checked, every failure has an owner."""

import contextlib
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from gtp_engine.arena.gtp_client import EngineFailure, EngineRefusal, GtpClient
from gtp_engine.arguments import parse_number
from gtp_engine.coords import BLACK, COLOR_LETTERS, COLOR_NAMES, PASS, WHITE, parse_vertex, row_col
from gtp_engine.games import new_game
from gtp_engine.go.rules import GO, Rules
from gtp_engine.go.scoring import agreed_score, format_result, resulting_margin
from gtp_engine.go.sgf import format_sgf
from gtp_engine.play.clock.clock import Clock
from gtp_engine.play.clock.notation import settings_command, time_left_numbers
from gtp_engine.play.clock.systems import TimeSystem
from gtp_engine.play.endgame import counts_dead_stones

LATE_SECONDS = 5.0
"""An engine is waited for so long after its flag fell: it loses by time, not as one that hangs."""
_LONGEST_SCORE = 200
"""Characters of what an engine says the score is that are kept."""


@dataclass(frozen=True, slots=True)
class MatchTerms:
    """What both players agree on before the game."""

    width: int
    height: int
    rules: Rules
    """What the referee goes by."""
    rules_name: str | None
    """What the engines are told, if they understand `kata-set-rules`; None: nothing."""
    max_moves: int
    """The game ends there and is counted."""
    opening_moves: int = 0
    """Random moves at the start."""
    time_system: TimeSystem | None = None
    """How time is counted, by the referee's clock; None: not at all."""
    game: str = GO
    """One of `games.GAMES`."""
    openings: tuple[tuple[int, ...], ...] = ()
    """Points of the first moves, of which each pair of games takes the next; in place of random
    ones where there are some."""


@dataclass
class MatchGame:
    """A game and how it ended."""

    number: int
    black: int
    """Which engine, 0 or 1, has Black."""
    result: str = "Void"
    """As in SGF: "B+3.5", "W+R", "B+F", "0" or "Void"."""
    winner: int | None = None
    """Which engine won; None for a draw or no result."""
    reason: str = ""
    """resign, score, capture, five, draw, illegal move, refused move, refusal, crash, time-out,
    flag, bad reply, max moves, cycle."""
    detail: str = ""
    moves: int = 0
    opening: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Wall time that each engine took for its moves."""
    thoughts: list[int] = field(default_factory=lambda: [0, 0])
    """How often each engine was asked for a move."""
    clock_left: list[float | None] = field(default_factory=lambda: [None, None])
    """Seconds that each engine's clock shows at the end; None where there is none."""
    slowest: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Seconds of each engine's longest move."""
    cpu_seconds: list[float | None] = field(default_factory=lambda: [None, None])
    """Processor time that each engine says it took."""
    scores: list[str | None] = field(default_factory=lambda: [None, None])
    """What each engine says the score is."""
    referee_score: str | None = None
    """The count that decided where the engines did not agree, or the rules leave no say to them."""
    counted: str | None = None
    """What that count is, in words for the report."""
    agreed: bool | None = None
    """Whether both engines counted the same; None where not both were asked."""
    sgf: str = ""

    @property
    def is_draw(self) -> bool:
        """Whether the game was counted and nobody won."""
        return self.result == "0"

    @property
    def is_void(self) -> bool:
        """Whether it has no result at all."""
        return self.winner is None and not self.is_draw

    def engine_of(self, color: int) -> int:
        """Return which engine plays a color."""
        return self.black if color == BLACK else 1 - self.black

    def color_of(self, engine: int) -> int:
        """Return the color that an engine plays."""
        return BLACK if engine == self.black else WHITE


_ALIVE = "with all stones alive"


class _Forfeit(Exception):
    """A game lost by what an engine did."""

    def __init__(self, engine: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.engine = engine
        self.reason = reason


class Referee:
    """Conducts one game, of which number and colors are known; the rest is filled in."""

    def __init__(
        self, engines: Sequence[GtpClient], names: Sequence[str], terms: MatchTerms, game: MatchGame
    ) -> None:
        self._engines = engines
        self._names = names
        self._terms = terms
        self._game = game
        self._position = new_game(terms.game, terms.width, terms.height, terms.rules)
        self._comments: dict[int, str] = {}
        self._clock = None if terms.time_system is None else Clock(terms.time_system)

    def conduct(self, opening_seed: str) -> None:
        """Have the game played; failures of the engines end up in its result."""
        game = self._game
        try:
            for engine in (0, 1):
                self._prepare(engine)
            before = [self._cpu_seconds(engine) for engine in (0, 1)]
            self._play_opening(random.Random(opening_seed))
            self._play()
            self._note_cpu_seconds(before)
        except _Forfeit as forfeit:
            how = "T" if forfeit.reason == "flag" else "F"
            self._win(1 - forfeit.engine, how, forfeit.reason)
            game.detail = f"{self._names[forfeit.engine]}: {forfeit}"
        game.moves = self._position.ply
        if self._clock is not None:
            left = (self._clock.left(game.color_of(engine)).seconds for engine in (0, 1))
            game.clock_left = [round(seconds, 3) for seconds in left]
        game.seconds = [round(seconds, 3) for seconds in game.seconds]
        game.slowest = [round(seconds, 3) for seconds in game.slowest]
        game.sgf = format_sgf(
            self._position,
            black_name=self._names[game.engine_of(BLACK)],
            white_name=self._names[game.engine_of(WHITE)],
            result=game.result,
            comments=self._comments,
        )

    def _ask(self, engine: int, command: str, timeout: float = 0.0) -> str:
        """Return a reply that has to be a good one, within the engine's timeout or a longer one."""
        client = self._engines[engine]
        try:
            return client.ask(command, max(client.timeout, timeout))
        except EngineFailure as failure:
            raise _Forfeit(engine, failure.kind, str(failure)) from None
        except EngineRefusal as refusal:
            raise _Forfeit(engine, "refusal", f"{command!r} is answered {refusal}") from None

    def _knows(self, engine: int, command: str) -> bool:
        try:
            return self._engines[engine].knows(command)
        except EngineFailure as failure:
            raise _Forfeit(engine, failure.kind, str(failure)) from None

    def _prepare(self, engine: int) -> None:
        terms = self._terms
        if terms.width == terms.height:
            size = f"boardsize {terms.width}"
        elif self._knows(engine, "rectangular_boardsize"):
            size = f"rectangular_boardsize {terms.width} {terms.height}"
        else:
            size = f"boardsize {terms.width} {terms.height}"
        self._ask(engine, size)
        self._ask(engine, "clear_board")
        if terms.rules_name is not None and self._knows(engine, "kata-set-rules"):
            self._ask(engine, f"kata-set-rules {terms.rules_name}")
        self._ask(engine, f"komi {terms.rules.komi:g}")
        if terms.time_system is not None:
            knows = partial(self._knows, engine)
            self._ask(engine, settings_command(terms.time_system, knows))

    def _cpu_seconds(self, engine: int) -> float | None:
        command = next((c for c in ("cputime", "gomill-cpu_time") if self._knows(engine, c)), "")
        if not command:
            return None
        seconds = parse_number(self._ask(engine, command))
        return seconds if math.isfinite(seconds) else None

    def _note_cpu_seconds(self, before: Sequence[float | None]) -> None:
        """Ask what the game has taken; it is over, and who fails now does not lose it."""
        for engine, start in enumerate(before):
            if start is None or self._engines[engine].has_failed:
                continue
            with contextlib.suppress(_Forfeit):
                end = self._cpu_seconds(engine)
                if end is not None and math.isfinite(end - start):
                    self._game.cpu_seconds[engine] = round(end - start, 3)

    # The moves ----------------------------------------------------------------------------------

    def _play_opening(self, rng: random.Random) -> None:
        """Play random moves, off the edge where the board has room."""
        position, terms = self._position, self._terms
        if terms.openings:
            for point in terms.openings[(self._game.number - 1) // 2 % len(terms.openings)]:
                self._play_opening_move(point)
            return
        for _ in range(terms.opening_moves):
            legal = [point for point in position.legal_moves() if point != PASS]
            inner = [point for point in legal if not self._is_on_edge(point)]
            if not legal:
                return
            is_wide = min(terms.width, terms.height) >= 5
            self._play_opening_move(rng.choice(inner if is_wide and inner else legal))

    def _play_opening_move(self, point: int) -> None:
        color = self._position.to_play
        self._position.play(color, point)
        vertex = self._position.vertex(point)
        self._game.opening.append(vertex)
        for engine in (0, 1):
            self._ask(engine, f"play {COLOR_LETTERS[color]} {vertex}")

    def _is_on_edge(self, point: int) -> bool:
        row, col = row_col(point, self._terms.width)
        return row in (0, self._terms.height - 1) or col in (0, self._terms.width - 1)

    def _play(self) -> None:
        position, game = self._position, self._game
        while not position.is_over:
            if position.ply >= self._terms.max_moves:
                self._decide(self._margin(), "max moves")
                return
            color = position.to_play
            mover = game.engine_of(color)
            vertex = self._generate(mover, color)
            if vertex.lower() == "resign":
                self._win(1 - mover, "R", "resign")
                return
            self._check_and_play(mover, color, vertex)
            self._tell(1 - mover, color, vertex)
        if position.rules.must_move:
            margin = position.white_margin()
            self._decide(margin, position.won_by if margin else "draw")
            return
        if position.is_void:
            game.reason = "cycle"
            return
        self._count()

    def _generate(self, mover: int, color: int) -> str:
        letter, timeout = COLOR_LETTERS[color], 0.0
        if self._clock is not None:
            system, left = self._clock.system, self._clock.left(color)
            if self._knows(mover, "time_left"):
                numbers = time_left_numbers(system, left, partial(self._knows, mover))
                self._ask(mover, f"time_left {letter} {numbers}")
            timeout = system.budget(left).flag + LATE_SECONDS
        began = time.perf_counter()
        vertex = self._ask(mover, f"genmove {letter}", timeout)
        seconds = time.perf_counter() - began
        game = self._game
        game.seconds[mover] += seconds
        game.thoughts[mover] += 1
        game.slowest[mover] = max(game.slowest[mover], seconds)
        self._comments[self._position.ply + 1] = f"{seconds:.3f} s"
        if self._clock is not None and not self._clock.spend(color, seconds):
            move = self._position.ply + 1
            raise _Forfeit(mover, "flag", f"the flag fell: {seconds:.3f} s for move {move}")
        return vertex

    def _check_and_play(self, mover: int, color: int, vertex: str) -> None:
        try:
            point = parse_vertex(vertex, self._terms.width, self._terms.height)
            self._position.play(color, point)
        except ValueError as error:
            move = self._position.ply + 1
            raise _Forfeit(mover, "illegal move", f"move {move} is illegal: {error}") from None

    def _tell(self, engine: int, color: int, vertex: str) -> None:
        try:
            self._ask(engine, f"play {COLOR_LETTERS[color]} {vertex}")
        except _Forfeit as forfeit:
            if forfeit.reason != "refusal":
                raise
            raise _Forfeit(engine, "refused move", f"{forfeit}, though it is legal") from None

    # The end ------------------------------------------------------------------------------------

    def _count(self) -> None:
        """Ask both engines for the score; where they differ, the referee counts.

        If only one of them has a score, it holds: which stones are dead is for it to say.
        Under rules by which no stones are taken off they are asked for the report alone.
        """
        game = self._game
        margins: list[float | None] = [None, None]
        for engine in (0, 1):
            if not self._knows(engine, "final_score"):
                continue
            try:
                score = self._engines[engine].ask("final_score")
                game.scores[engine] = score[:_LONGEST_SCORE]
            except EngineRefusal as refusal:
                game.scores[engine] = f"? {refusal}"
            except EngineFailure as failure:
                game.detail = f"{self._names[engine]}: {failure}"
            margins[engine] = resulting_margin((game.scores[engine] or "").split(" ")[0])
        known = [margin for margin in margins if margin is not None]
        if len(known) == 2:
            game.agreed = known[0] == known[1]
        position = self._position
        if not counts_dead_stones(position):
            margin = position.white_margin()
            if set(known) != {margin}:
                game.referee_score, game.counted = format_result(margin), _ALIVE
        elif len(set(known)) == 1:  # they decide which stones are dead
            margin = known[0]
        else:
            margin, game.counted = self._settle(known)
            game.referee_score = format_result(margin)
        self._decide(margin, "score")

    def _settle(self, margins: Sequence[float]) -> tuple[float, str]:
        """Return White's margin where the scores of engines differ, and how it was counted.

        Mostly one of them counts by other rules than the referee: they agree on the dead stones, or
        at least on who has won.
        """
        dead = [self._dead_stones(engine) for engine in (0, 1)]
        if dead[0] is not None and dead[0] == dead[1]:
            how = "without the stones that both call dead" if dead[0] else _ALIVE
            return agreed_score(self._position, dead[0]), how
        if margins and (min(margins) > 0 or max(margins) < 0):
            return min(margins, key=abs), "the smaller of two scores for one side"
        return agreed_score(self._position), _ALIVE

    def _dead_stones(self, engine: int) -> set[int] | None:
        """Return the stones that an engine calls dead; None if it does not say, or none of that."""
        position = self._position
        if not self._knows(engine, "final_status_list"):
            return None
        try:
            words = self._engines[engine].ask("final_status_list dead").split()
            points = {parse_vertex(word, position.width, position.height) for word in words}
        except (EngineRefusal, EngineFailure, ValueError):
            return None
        stones = {*position.stones(BLACK), *position.stones(WHITE)}
        return points if points <= stones else None

    def _margin(self) -> float:
        """Return White's margin with every stone alive; where nothing is counted, who has won."""
        position = self._position
        if position.rules.must_move:
            return position.white_margin()
        return agreed_score(position)

    def _decide(self, white_margin: float, reason: str) -> None:
        game = self._game
        game.result = format_result(white_margin)
        game.reason = reason
        if white_margin:
            game.winner = game.engine_of(WHITE if white_margin > 0 else BLACK)

    def _win(self, engine: int, how: str, reason: str) -> None:
        game = self._game
        game.winner = engine
        game.result = f"{COLOR_LETTERS[game.color_of(engine)]}+{how}"
        game.reason = reason


def color_name(game: MatchGame, engine: int) -> str:
    """Return "black" or "white" for an engine's color in a game."""
    return COLOR_NAMES[game.color_of(engine)]
