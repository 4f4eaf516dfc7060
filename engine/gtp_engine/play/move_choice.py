"""Choose a move: search, then play like somebody who knows when a game is over.

The search alone would go on where nothing is left to gain. So moves into own safe territory and
own eyes are not considered, a pass is answered with a pass when the count says that the game is
won, a board on which every point is settled is not played on, and a pass that would lose the
count is not made while there is something left to try or to hope for.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gtp_engine.go.board import count_liberties
from gtp_engine.go.coords import BLACK, EMPTY, PASS, WALL, WHITE, opponent, row_col
from gtp_engine.go.history import AREA, pass_ends_phase
from gtp_engine.go.position import Position
from gtp_engine.go.rollouts import is_own_eye
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import white_score
from gtp_engine.play.adjudication.chains import around, pass_alive
from gtp_engine.play.adjudication.expectation import SETTLED, Ownership
from gtp_engine.play.adjudication.status import FinalStatus, adjudicate
from gtp_engine.play.decision import Decision
from gtp_engine.play.pass_check import PASS_COST_LIMIT, pass_cost
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.limits import AvoidRule, Limits, ReportRequest, is_allowed
from gtp_engine.search.search import Search

SETTLED_REASON = "every point is settled"

LARGEST_GAP = 4
"""Points of a neutral region between two players that may be left open."""

BORDER_GAIN = 2.0
"""Points by which closing a border must raise the count."""

BORDER_COST = 2.0
"""Points of lead that it may seem to cost; one is the stone in own land."""

BORDER_REASON = "a border is still open"

STRICT_HOPE, FRIENDLY_HOPE = 0.1, 0.5
"""Chances of winning above which nobody passes because all seems settled, where the count is lost:
the opponent's pass would end the game. The first where dead stones stay on the board; where they
come off, a move too many costs manners, and in territory games a point."""

HOPE_REASON = "a pass would lose a game that is not lost yet"

CAPTURE_REASON = "dead stones are still to be captured"


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
        limits: When to end the search.
        report: Who wants to hear about it, and which moves are to be avoided.
        cleanup: Capture every dead stone before passing.
        order: Which of the moves found to play, the first of those returned; the best when None.

    Raises:
        NetFileError: The net failed.
    """
    ends_at = None if limits.seconds is None else time.monotonic() + limits.seconds
    avoid = report.avoid if report is not None else ()
    wanted = wanted_moves(position, avoid)
    forbidden = left_alone(position, wanted, strict=cleanup or not counts_dead_stones(position))
    search.set_position(position, forbidden, avoid)
    analysis = search.run(limits, report)
    found = [move.point for move in analysis.moves] if order is None else order(analysis)
    moves = found or search.root_moves()
    ownership = black_ownership_of(search)
    point, reason = moves[0], "search"
    if PASS in wanted:
        point, reason = mannered_move(position, moves, ownership)
    visits = analysis.visits
    if reason == SETTLED_REASON:
        left = _seconds_until(ends_at)
        if pass_cost(search, position, moves[0], visits, left) >= PASS_COST_LIMIT:
            point, reason = moves[0], "a pass would lose something"
    border = closing_move(position, ownership) if point == PASS else None
    if border in wanted:
        left = _seconds_until(ends_at)
        if pass_cost(search, position, border, visits, left) > -BORDER_COST:
            return Decision(position.to_play, border, analysis, BORDER_REASON)
    must_capture = cleanup and (point == PASS or not is_urgent(analysis))
    if must_capture or (point == PASS and pass_forgets_stones(position, ownership)):
        captures = (liberties_of_dead(position, ownership) & wanted) - forbidden
        taking = _best_of(search, position, captures, limits, _seconds_until(ends_at))
        if taking is not None:
            return Decision(position.to_play, taking, analysis, CAPTURE_REASON)
    if reason == SETTLED_REASON and count_is_doubtful(position, ownership, analysis.winrate):
        return Decision(position.to_play, moves[0], analysis, HOPE_REASON)
    return Decision(position.to_play, point, analysis, "clean-up" if cleanup else reason)


def wanted_moves(position: Position, avoid: Iterable[AvoidRule]) -> set[int]:
    """Return the legal moves, the pass among them, that nobody has asked to leave out."""
    return {p for p in position.legal_moves() if is_allowed(p, position.to_play, avoid)}


def left_alone(position: Position, wanted: set[int], *, strict: bool) -> set[int]:
    """Return `territory_to_leave`, or nothing where only moves in it are wanted."""
    territory = territory_to_leave(position, strict=strict)
    return set() if wanted <= territory else territory


def _seconds_until(ends_at: float | None) -> float | None:
    """Return how long it is to a moment of the monotonic clock; None for no moment."""
    return None if ends_at is None else max(0.0, ends_at - time.monotonic())


def mannered_move(
    position: Position, moves: list[int], ownership: Ownership | None
) -> tuple[int, str]:
    """Return the best move, or a pass where the game is over, with the reason.

    Args:
        position: The position searched.
        moves: The moves found, best first.
        ownership: Expected by the search; None when the net has no such head.
    """
    best = moves[0]
    is_last = pass_ends_phase(position.history, position.ply, position.rules.flags)
    is_idle = best != PASS and is_settled_point(position, best, ownership)
    if not (is_last or is_idle):
        return best, "search"
    settled = ownership is not None and is_settled(position, ownership)
    if is_last:
        friendly = counts_dead_stones(position)
        wins_count = score_after_passes(position, adjudicate(position, ownership)) > 0
        if wins_count and (settled or not friendly):
            return PASS, "the count is won"
        if best == PASS and not wins_count and not (settled and friendly):
            others = [
                move
                for move in moves
                if move != PASS and not (friendly and is_settled_point(position, move, ownership))
            ]
            return (others[0], "a pass would lose the count") if others else (best, "search")
    if is_idle and (settled or own_moves_cost(position.rules)):
        return PASS, SETTLED_REASON
    return best, "search"


def is_settled_point(position: Position, point: int, ownership: Ownership | None) -> bool:
    """Whether a point is somebody's beyond doubt."""
    if ownership is None:
        return False
    return abs(float(ownership[row_col(point, position.width)])) >= SETTLED


def closing_move(position: Position, ownership: Ownership | None) -> int | None:
    """Return the move that closes a border best where the count would leave land to nobody.

    Land counts for who surrounds it. Where a border has a gap that an answer would close, nobody
    does, and after two passes all of it would be lost. None where no move gains BORDER_GAIN points,
    and where all stones count as they stand: there the search itself sees the end of the game.
    """
    if ownership is None or not counts_dead_stones(position):
        return None
    status = adjudicate(position, ownership)
    sign = 1.0 if position.to_play == BLACK else -1.0
    open_land = {
        p
        for p in status.dame
        if position.color_at(p) == EMPTY
        and sign * float(ownership[row_col(p, position.width)]) >= SETTLED
    }
    if len(open_land) < BORDER_GAIN:
        return None
    gains = {}
    for p in _gaps(position, open_land, status):
        if position.is_legal(position.to_play, p):
            after = position.copy()
            after.play(position.to_play, p)
            gains[p] = sign * (status.white_score - adjudicate(after, ownership).white_score)
    best = max(gains, key=lambda p: gains[p], default=None)
    return best if best is not None and gains[best] >= BORDER_GAIN else None


def _gaps(position: Position, land: set[int], status: FinalStatus) -> list[int]:
    """Return empty points in or next to some land, two steps at most from a living enemy."""
    width = position.width
    enemy = opponent(position.to_play)
    living = [p for p in (*status.alive, *status.seki) if position.color_at(p) == enemy]
    near = {q for p in living for q in around(p, width)}
    behind = {q for p in near if position.color_at(p) == EMPTY for q in around(p, width)}
    edge = {q for p in land for q in around(p, width) if position.color_at(q) == EMPTY}
    return sorted((near | behind) & (land | edge))


def is_urgent(analysis: Analysis) -> bool:
    """Whether the best move gains points over a pass, as far as the pass was looked at."""
    best = analysis.moves[0] if analysis.moves else None
    passed = next((move for move in analysis.moves if move.point == PASS), None)
    if best is None or best.point == PASS:
        return False
    return passed is None or best.score_lead - passed.score_lead >= PASS_COST_LIMIT


def pass_forgets_stones(position: Position, ownership: Ownership | None) -> bool:
    """Whether two passes would lose a game that is won once the dead stones are captured."""
    if counts_dead_stones(position):
        return False
    status = adjudicate(position, ownership)
    return (
        score_after_passes(position, status)
        <= 0
        < score_after_passes(position, status, friendly=True)
    )


def liberties_of_dead(position: Position, ownership: Ownership | None) -> set[int]:
    """Return the points on which the enemy's dead stones can be captured sooner or later."""
    enemy = opponent(position.to_play)
    return {
        near
        for point in adjudicate(position, ownership).dead
        if position.color_at(point) == enemy
        for near in around(point, position.width)
        if position.color_at(near) == EMPTY and position.is_legal(position.to_play, near)
    }


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


def own_moves_cost(rules: Rules) -> bool:
    """Whether a needless move in own land costs its player a point."""
    return rules.flags.scoring != AREA


def counts_dead_stones(position: Position) -> bool:
    """Whether dead stones come off the board without being captured when both have passed."""
    rules = position.rules
    return rules.friendly_pass_ok or rules.flags.scoring != AREA


def count_is_doubtful(position: Position, ownership: Ownership | None, winrate: float) -> bool:
    """Whether two passes now would not win a game that the search has not given up.

    Stones that only seem dead, or a border that is still open, may have misled the count.
    """
    hope = FRIENDLY_HOPE if counts_dead_stones(position) else STRICT_HOPE
    return winrate > hope and score_after_passes(position, adjudicate(position, ownership)) <= 0.0


def score_after_passes(
    position: Position, status: FinalStatus, *, friendly: bool | None = None
) -> float:
    """Return the points by which the player to move leads if both players pass now."""
    friendly = counts_dead_stones(position) if friendly is None else friendly
    if not friendly:
        return score_as_it_stands(position)
    return status.white_score if position.to_play == WHITE else -status.white_score


def score_as_it_stands(position: Position) -> float:
    """Return the points by which the player to move leads if every stone counts as alive."""
    score = float(white_score(position.history, position.ply, position.rules.flags))
    return score if position.to_play == WHITE else -score


def is_settled(position: Position, ownership: Ownership) -> bool:
    """Whether nothing is left to play for but neutral points.

    Every stone and every larger region is somebody's beyond doubt; what is open are small gaps
    between settled points of both players.
    """
    width = position.width
    open_points = {
        p for p in position.points() if abs(float(ownership[row_col(p, width)])) < SETTLED
    }
    if any(position.color_at(p) != EMPTY for p in open_points):
        return False
    while open_points:
        gap, borders = _take_gap(position, ownership, open_points)
        if gap > LARGEST_GAP or len(borders) < 2:
            return False
    return True


def _take_gap(
    position: Position, ownership: Ownership, open_points: set[int]
) -> tuple[int, set[int]]:
    """Remove a connected region from the open points; return its size and who borders it."""
    gap = [open_points.pop()]
    borders: set[int] = set()
    for p in gap:
        for q in around(p, position.width):
            if q in open_points:
                open_points.remove(q)
                gap.append(q)
            elif position.color_at(q) != WALL and q not in gap:
                borders.add(BLACK if ownership[row_col(q, position.width)] > 0 else WHITE)
    return len(gap), borders


def territory_to_leave(position: Position, *, strict: bool) -> set[int]:
    """Return the points a player has no business filling: safe territory and own eyes.

    Args:
        position: The player that `to_play` names is asked.
        strict: Dead stones must be captured, so territory that holds some may be entered.
    """
    color = position.to_play
    board = position.board
    secure = pass_alive(position)
    enemy_near = _points_with_enemies_in_region(position, secure, color) if strict else set()
    return {
        point
        for point in position.points()
        if position.color_at(point) == EMPTY
        and (
            (secure[point] == color and point not in enemy_near)
            or (is_own_eye(board, point, color) and not _saves_a_chain(position, point))
        )
    }


def _saves_a_chain(position: Position, point: int) -> bool:
    """Whether a stone in an own eye would save a chain that is in atari."""
    stones = [q for q in around(point, position.width) if position.color_at(q) in (BLACK, WHITE)]
    return any(count_liberties(position.board, q, 2) == 1 for q in stones)


def _points_with_enemies_in_region(
    position: Position, secure: npt.NDArray[np.uint8], color: int
) -> set[int]:
    """Return the empty points of own safe regions that hold enemy stones."""
    inside = {p for p in position.points() if secure[p] == color and position.color_at(p) != color}
    found: set[int] = set()
    frontier = [p for p in inside if position.color_at(p) == opponent(color)]
    seen = set(frontier)
    while frontier:
        p = frontier.pop()
        if position.color_at(p) == EMPTY:
            found.add(p)
        for q in around(p, position.width):
            if q in inside and q not in seen:
                seen.add(q)
                frontier.append(q)
    return found


def black_ownership_of(search: Search) -> Ownership | None:
    """Return the ownership that a search expects at its root, 1 for Black."""
    ownership = search.ownership()
    if ownership is None:
        return None
    return ownership if search.to_play == BLACK else -ownership
