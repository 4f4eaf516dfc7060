"""Choose a move: search, then play like somebody who knows when a game is over.

The search alone would go on where nothing is left to gain. Moves into own safe territory and own
eyes are not considered, and around the search stand these cases, the first that holds deciding:

| `Reason` | when | what is played |
|---|---|---|
| (`SEARCH`) | the pass was to be left out | the best move |
| `WON` | a pass ends the game, and the count is won: on any board where stones count as they stand, else on a settled one or whatever becomes of the open points | pass |
| `LOST` | a pass ends the game and is the best move, the count is lost, and something is left to try | the next best |
| `EARLY` | a pass is the best move, and hardly a stone is on the board | the next best |
| `SETTLED` | the best move is on a point that is somebody's, on a settled board or where such a move costs a point | pass |
| `SEARCH` | none of these | the best move |

What they choose is then looked at once more:

| `Reason` | when | what is played |
|---|---|---|
| `COSTS` | `SETTLED`, but a search sees the pass lose points | the best move |
| `BORDER` | a pass, and the count would leave land to nobody | the move that closes the border |
| `CAPTURE` | a pass that loses only because of dead stones; in a clean-up also for their sake | a move that captures |
| `HOPE` | `SETTLED`, the count is lost, and the search thinks better of it | the best move |
| `CLEANUP` | all others in a clean-up | what was chosen |
"""  # noqa: E501

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum

from gtp_engine.coords import BLACK, EMPTY, PASS
from gtp_engine.go.position import Position
from gtp_engine.play.adjudication.explanation import Ownership
from gtp_engine.play.decision import Decision
from gtp_engine.play.endgame import (
    Endgame,
    counts_dead_stones,
    own_moves_cost,
    territory_to_leave,
)
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.request import AvoidRule, ReportRequest, is_allowed
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

BORDER_COST = 2.0
"""Points of lead that closing a border may seem to cost; one is the stone in own land."""

STRICT_HOPE, FRIENDLY_HOPE = 0.1, 0.5
"""Chances of winning above which nobody passes because all seems settled, where the count is lost:
the opponent's pass would end the game, and stones that only seem dead, or a border that is still
open, may have misled the count. The first where dead stones stay on the board; where they
come off, a move too many costs manners, and in territory games a point."""

PASS_COST_LIMIT = 0.75
"""Points of lead that a pass may seem to cost; estimates waver by so much."""

LEAST_NODES, NODES_A_SECOND = 500, 50_000
"""Positions that a game may look at for a proof on the clock: about two milliseconds, and a sixth
of the time."""

MIN_PASS_CHECK_VISITS, MAX_PASS_CHECK_VISITS = 64, 400
"""Visits that look for a punishment of a pass."""

PASS_CHECK_SHARE = 0.1
"""Part of a fixed time per move that each side of a pass check may take beyond it. The search for
the move has used that time up, and no clock runs."""

OBVIOUS_PASS_COST = 4.0
"""Points of lead from which on a pass costs too much even if the net alone says so, without a
search: where play goes on most passes do. In 18 games by Japanese rules on 9x9 at 100 playouts, 112
of 148 passes seemed to cost so much; a search found none of them below PASS_COST_LIMIT."""


class Reason(StrEnum):
    """Why a move was chosen; the module says when each holds."""

    SEARCH = "search"
    PROVED = "a win is proved"
    WON = "the count is won"
    LOST = "a pass would lose the count"
    EARLY = "the game has hardly begun"
    SETTLED = "every point is settled"
    COSTS = "a pass would lose something"
    BORDER = "a border is still open"
    CAPTURE = "dead stones are still to be captured"
    HOPE = "a pass would lose a game that is not lost yet"
    CLEANUP = "clean-up"


def decide(
    search: Search,
    position: Position,
    limits: Limits,
    report: ReportRequest | None = None,
    *,
    cleanup: bool = False,
    order: Callable[[Analysis], list[int]] | None = None,
) -> Decision:
    """Return the move to play; the game itself is not changed.

    Args:
        search: The tree; what it knows about the position is used.
        position: The player that `to_play` names is to move.
        report: Who wants to hear about it, and which moves are to be avoided.
        order: Which of the moves found to play, the first of those returned; the best when None.

    Raises:
        NetFileError: The net failed.
    """
    ends_at = None if limits.seconds is None else time.perf_counter() + limits.seconds
    avoid = report.avoid if report is not None else ()
    if position.rules.must_move:  # there are no passes, and nothing to count
        nodes = search.params.threat_nodes
        if limits.seconds is not None:  # proofs are for a small share of the time
            nodes = min(nodes, LEAST_NODES + int(NODES_A_SECOND * limits.seconds))
        proved = position.proved_win(nodes)
        if proved is not None and is_allowed(proved, position.to_play, avoid):
            return Decision(position.to_play, proved, None, Reason.PROVED)
        limits = replace(limits, seconds=_seconds_until(ends_at))
        search.set_position(position, (), avoid)
        analysis = search.run(limits, report)
        moves = [move.point for move in analysis.moves] or search.root_moves()
        if avoid and (wanted := wanted_moves(position, avoid)):
            # The search looks at forced moves alone, whatever was asked for.
            moves = [move for move in moves if move in wanted] or sorted(wanted)
        return Decision(position.to_play, moves[0], analysis, Reason.SEARCH)
    wanted = wanted_moves(position, avoid)
    forbidden = left_alone(position, wanted, strict=cleanup or not counts_dead_stones(position))
    search.set_position(position, forbidden, avoid)
    analysis = search.run(limits, report)
    found = [move.point for move in analysis.moves] if order is None else order(analysis)
    moves = found or search.root_moves()
    if moves == [PASS] and is_begun_hardly(position):
        moves = [PASS, *(move for move in search.root_moves() if move != PASS)]
    end = Endgame(position, black_ownership_of(search))

    def chosen(point: int, reason: Reason) -> Decision:
        return Decision(position.to_play, point, analysis, reason)

    def pass_cost(move: int) -> float:
        visits = min(MAX_PASS_CHECK_VISITS, max(MIN_PASS_CHECK_VISITS, analysis.visits))
        left = _seconds_until(ends_at)
        half = None if left is None else left / 2
        if half is not None and limits.seconds is not None and limits.soft_seconds is None:
            beyond = PASS_CHECK_SHARE * limits.seconds
            if half < beyond:
                half, visits = beyond, MIN_PASS_CHECK_VISITS
        half_each = Limits(visits=visits, seconds=half, stop=limits.stop)
        return lead_over_pass(search, position, move, half_each, OBVIOUS_PASS_COST)

    point, reason = pass_or_play(end, moves) if PASS in wanted else (moves[0], Reason.SEARCH)
    if reason is Reason.SETTLED and pass_cost(moves[0]) >= PASS_COST_LIMIT:
        point, reason = moves[0], Reason.COSTS
    if point == PASS:
        border = end.closing_move()
        if border in wanted and pass_cost(border) > -BORDER_COST:
            return chosen(border, Reason.BORDER)
    must_capture = cleanup and (point == PASS or not is_urgent(analysis))
    if must_capture or (point == PASS and end.forgets_stones):
        captures = (end.liberties_of_dead & wanted) - forbidden
        taking = _best_of(search, position, captures, limits, _seconds_until(ends_at))
        if taking is not None:
            return chosen(taking, Reason.CAPTURE)
    hope = FRIENDLY_HOPE if end.is_friendly else STRICT_HOPE
    if reason is Reason.SETTLED and end.lead <= 0 and analysis.winrate > hope:
        return chosen(moves[0], Reason.HOPE)
    return chosen(point, Reason.CLEANUP if cleanup else reason)


def pass_or_play(end: Endgame, moves: list[int]) -> tuple[int, Reason]:
    """Return the best move, or a pass where the game is over, with the reason.

    Args:
        moves: The moves found, best first.
    """
    best = moves[0]
    if end.ends_phase:
        if end.lead > 0:
            if not end.is_friendly or end.is_settled or end.is_won_for_sure:
                return PASS, Reason.WON
        elif best == PASS and not end.is_lost_for_sure:
            others = [
                move
                for move in moves
                if move != PASS and not (end.is_friendly and end.is_settled_point(move))
            ]
            if others:
                return others[0], Reason.LOST
    if best == PASS and len(moves) > 1 and is_begun_hardly(end.position):
        return moves[1], Reason.EARLY
    is_idle = best != PASS and end.is_settled_point(best)
    if is_idle and (own_moves_cost(end.position.rules) or end.is_settled):
        return PASS, Reason.SETTLED
    return best, Reason.SEARCH


def is_begun_hardly(position: Position) -> bool:
    """Whether less than a sixteenth of the board is taken, as by five stones on 9x9.

    A net on a board of a size that it does not know may pass here.
    """
    return int((position.grid() != EMPTY).sum()) * 16 < position.area


def lead_over_pass(
    search: Search, position: Position, move: int, limits: Limits, obvious: float = math.inf
) -> float:
    """Return by how many points a move leads more than a pass, answered as well as possible.

    A settled board may still ask for a move: points count as settled that a last answer keeps.
    Both are searched from the opponent's side, so that what a net makes of the turn cancels out.

    Args:
        search: Its tree is used, and afterwards holds the position after one of the two.
        position: The player that `to_play` names is to move.
        limits: Of each of the two searches.
        obvious: Points from which on the difference stands as one visit of each side sees it.
    """

    def look(point: int, limits: Limits) -> Analysis:
        after = position.copy()
        after.play(position.to_play, point, strict=False)
        search.set_position(after)
        return search.run(limits)

    one = Limits(visits=1, stop=limits.stop)
    after_move, after_pass = look(move, one), look(PASS, one)
    if after_pass.score_lead - after_move.score_lead >= obvious:
        return after_pass.score_lead - after_move.score_lead
    after_pass = look(PASS, limits)
    if limits.visits is None or after_move.visits < limits.visits:
        # The tree may have lost what it knew after the move, and not get as far again.
        after_move = max(look(move, limits), after_move, key=lambda found: found.visits)
    return after_pass.score_lead - after_move.score_lead


def wanted_moves(position: Position, avoid: Iterable[AvoidRule]) -> set[int]:
    """Return the legal moves, the pass among them, that nobody has asked to leave out."""
    return {p for p in position.legal_moves() if is_allowed(p, position.to_play, avoid)}


def left_alone(position: Position, wanted: set[int], *, strict: bool) -> set[int]:
    """Return `territory_to_leave`, or nothing where only moves in it are wanted."""
    territory = territory_to_leave(position, strict=strict)
    return set() if wanted <= territory else territory


def is_urgent(analysis: Analysis) -> bool:
    """Whether the best move gains points over a pass, as far as the pass was looked at."""
    best = analysis.moves[0] if analysis.moves else None
    passed = next((move for move in analysis.moves if move.point == PASS), None)
    if best is None or best.point == PASS:
        return False
    return passed is None or best.score_lead - passed.score_lead >= PASS_COST_LIMIT


def _best_of(
    search: Search,
    position: Position,
    moves: set[int],
    limits: Limits,
    seconds: float | None,
) -> int | None:
    """Search a few moves alone; None where there are none."""
    if not moves:
        return None
    search.set_position(position, {*position.points(), PASS} - moves)
    analysis = search.run(replace(limits, seconds=seconds))
    found = [move.point for move in analysis.moves] or search.root_moves()
    return found[0] if found else None


def _seconds_until(ends_at: float | None) -> float | None:
    """Return how long it is to a moment of `time.perf_counter`; None for no moment."""
    return None if ends_at is None else max(0.0, ends_at - time.perf_counter())


def black_ownership_of(search: Search) -> Ownership | None:
    """Return the ownership that a search expects at its root, [height, width], 1 for Black."""
    ownership = search.ownership()
    if ownership is None:
        return None
    return ownership if search.to_play == BLACK else -ownership
