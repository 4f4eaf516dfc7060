"""Games of a player against itself with all its manners, and what they say about the end of it.

Nobody resigns: a game is played out, and where the player would have given up is noted.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from gtp_engine.arena.many_games import Terms
from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, opponent, row_col
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.policy_play import draw_opening
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import LONGEST_GAME
from gtp_engine.go.scoring import Owners, agreed_owners
from gtp_engine.play.adjudication.explanation import Ownership, expected_ownership
from gtp_engine.play.adjudication.status import FinalStatus, judge
from gtp_engine.play.decision import best_value
from gtp_engine.play.endgame import counts_dead_stones
from gtp_engine.play.move_choice import decide
from gtp_engine.search.params import SearchParams
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

Result = TypeVar("Result")

EXPECTED = 0.5
"""Ownership, 0 to 1, with which a net expects a point's owner where it is decided."""


@dataclass(frozen=True)
class SelfPlayGame:
    """A game played to the end."""

    number: int
    moves: tuple[Move, ...]
    values: tuple[float, ...]
    """By ply, the mean win-loss value of the best move for whoever moved there, -1..1; 0 in the
    opening."""
    is_over: bool
    """Whether it ended by two passes: False where it was broken off, or caught in a long cycle."""
    status: FinalStatus
    """The last board as judged by the net, dead stones removed."""
    white_margin: float
    """White's points minus Black's under the rules; where they take no dead stones off, all stones
    count where they stand."""
    extra_moves: int
    """Moves, passes left out, after everything was decided."""
    own_moves: tuple[int, ...]
    """By ply, those of them that were made on points of their player's without being provoked;
    some may have been necessary."""
    overruled: tuple[tuple[int, int], ...] = ()
    """Plies at which the player passed though the search wanted a move, and that move."""

    @property
    def forgot_dead_stones(self) -> bool:
        """Whether the loser would have won, had the dead stones been captured."""
        return self.white_margin * self.status.white_score < 0

    def resigned(self, threshold: float, turns: int, earliest: int) -> int | None:
        """Return who would have resigned first under a rule; None if nobody."""
        hopeless = {BLACK: 0, WHITE: 0}
        for ply, (move, value) in enumerate(zip(self.moves, self.values, strict=True)):
            is_hopeless = ply >= earliest and value < threshold
            hopeless[move.color] = hopeless[move.color] + 1 if is_hopeless else 0
            if hopeless[move.color] >= turns:
                return move.color
        return None

    def won_by(self, color: int) -> bool:
        """Whether a player won, by the count."""
        return (self.white_margin > 0) if color == WHITE else (self.white_margin < 0)


def play_self_games(
    evaluator: Evaluator,
    terms: Terms,
    limits: Limits,
    games: int,
    at_once: int,
    on_game: Callable[[SelfPlayGame], object] = lambda game: None,
) -> list[SelfPlayGame]:
    """Play games, many at once, and return them by number.

    Args:
        on_game: Called with each finished game, from the calling thread.

    Raises:
        NetFileError: The net failed.
    """
    jobs = [partial(_play, evaluator, terms, limits, number) for number in range(games)]
    return parallel_map(jobs, at_once, on_game)


def parallel_map(
    jobs: Sequence[Callable[[], Result]], at_once: int, on_result: Callable[[Result], object]
) -> list[Result]:
    """Do all jobs, each in a thread of its own, and return their results in the jobs' order.

    Args:
        on_result: Called with each result as it comes, from the calling thread.

    Raises:
        Exception: The first that a job or `on_result` raised; jobs not begun are dropped.
        KeyboardInterrupt: At once, while jobs go on.
    """
    pool = ThreadPoolExecutor(at_once)
    is_interrupted = False
    try:
        running = [pool.submit(job) for job in jobs]
        for done in as_completed(running):
            on_result(done.result())
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        pool.shutdown(wait=not is_interrupted, cancel_futures=True)
    return [done.result() for done in running]


def _play(evaluator: Evaluator, terms: Terms, limits: Limits, number: int) -> SelfPlayGame:
    seed = terms.seed + number
    position = draw_opening(
        evaluator, terms.width, terms.height, terms.rules, terms.opening_moves, seed
    )
    values = [0.0] * position.ply
    search = Search(evaluator, SearchParams(), seed=seed)
    overruled: list[tuple[int, int]] = []
    while not position.is_over and position.ply < LONGEST_GAME * position.area:
        decision = decide(search, position, limits)
        assert decision.point is not None and decision.analysis is not None
        values.append(best_value(decision.analysis))
        wanted = decision.analysis.moves[0].point if decision.analysis.moves else PASS
        if decision.point == PASS != wanted:
            overruled.append((position.ply, wanted))
        position.play(position.to_play, decision.point)
    status = judge(evaluator, position, read=False)
    margin = status.white_score
    if not counts_dead_stones(position):
        margin = position.white_margin()
    extra, own = _find_extra(evaluator, position, status)
    return SelfPlayGame(
        number,
        tuple(position.moves),
        tuple(values),
        position.is_over and not position.is_void,
        status,
        margin,
        extra,
        own,
        tuple(overruled),
    )


def _find_extra(
    evaluator: Evaluator, position: Position, status: FinalStatus
) -> tuple[int, tuple[int, ...]]:
    """Return how many moves came when all was decided, and the plies of those on own points.

    Decided is a board on which every point has its final owner and the net, who knows nothing of
    the end, expects just that. Stones on points that become the enemy's count as dead there.
    A move on an own point that answers a move into own area is left out.
    """
    final = agreed_owners(position, status.dead)
    past = position.copy()
    extra = 0
    own: list[int] = []
    while past.ply > 0:
        move = past.moves[-1]
        past.undo()
        dead = [p for p in past.points() if final[p] == opponent(past.color_at(p)) != EMPTY]
        owners = agreed_owners(past, dead)
        if any(owners[p] != final[p] for p in past.points()):
            break
        if move.point == PASS:
            continue
        if not _expects(expected_ownership(evaluator, past), past, final):
            break
        extra += 1
        before = past.moves[-1] if past.ply else Move(EMPTY, PASS)
        provoked = before.point != PASS and final[before.point] == move.color
        if final[move.point] == move.color and not provoked:
            own.append(past.ply)
    return extra, tuple(reversed(own))


def _expects(ownership: Ownership | None, position: Position, final: Owners) -> bool:
    """Whether every point is expected to become its final owner's."""
    if ownership is None:
        return True
    signs = {BLACK: 1.0, WHITE: -1.0}
    return all(
        signs[int(final[p])] * float(ownership[row_col(p, position.width)]) >= EXPECTED
        for p in position.points()
        if final[p] != EMPTY
    )
