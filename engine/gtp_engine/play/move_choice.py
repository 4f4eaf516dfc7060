"""Choose a move: search, then play like somebody who knows when a game is over.

The search alone would go on where nothing is left to gain. So moves into own safe territory and
own eyes are not considered, a pass is answered with a pass when the count says that the game is
won, a board on which every point is settled is not played on, and a pass that would lose the
count is not made while there is something left to try.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.go.board import count_liberties
from gtp_engine.go.coords import BLACK, EMPTY, PASS, WALL, WHITE, opponent, row_col
from gtp_engine.go.line import AREA, pass_ends_phase
from gtp_engine.go.playouts import is_own_eye
from gtp_engine.go.position import Position
from gtp_engine.go.scoring import white_score
from gtp_engine.play.adjudication import FinalStatus, Ownership, adjudicate, pass_alive
from gtp_engine.play.decision import Decision
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.limits import Limits, ReportRequest
from gtp_engine.search.search import Search

SETTLED = 0.8
"""Ownership beyond which a point counts as decided."""

SETTLED_REASON = "every point is settled"

PASS_COST_LIMIT = 0.75
"""Points of lead that a pass on a settled board may seem to cost; estimates waver by so much."""

MIN_PASS_CHECK_VISITS = 24
"""Visits that look for a punishment of such a pass, at least."""

LARGEST_GAP = 4
"""Points of a neutral region between two players that may be left open."""

CLEANUP_PLAYOUTS = 64
"""Playouts whose ownership says which stones are still to be captured in a clean-up."""


def decide(
    search: Search,
    position: Position,
    limits: Limits,
    report: ReportRequest | None = None,
    *,
    cleanup: bool = False,
) -> Decision:
    """Return the move to play; the game itself is not changed.

    Args:
        search: The tree; what it knows about the position is used.
        position: The player that `to_play` names is to move.
        limits: When to end the search.
        report: Who wants to hear about it.
        cleanup: Capture every dead stone before passing.

    Raises:
        NetFileError: The net failed.
    """
    forbidden = territory_to_leave(position, strict=cleanup or not counts_dead_stones(position))
    if cleanup and _dead_enemies(search, position):
        forbidden.add(PASS)
    search.set_position(position, forbidden, report.avoid if report is not None else ())
    analysis = search.run(limits, report)
    moves = [move.point for move in analysis.moves] or search.root_moves()
    if cleanup:
        return Decision(position.to_play, moves[0], analysis, "clean-up")
    ownership = black_ownership_of(search)
    point, reason = mannered_move(position, moves, ownership)
    seconds = None if limits.seconds is None else max(0.0, limits.seconds - analysis.elapsed)
    if reason == SETTLED_REASON and not pass_is_free(search, position, analysis, seconds):
        point, reason = moves[0], "a pass would lose something"
    return Decision(position.to_play, point, analysis, reason)


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
    status = adjudicate(position, ownership)
    settled = ownership is not None and is_settled(position, ownership)
    wins_count = score_after_passes(position, status) > 0
    if pass_ends_phase(position.line, position.ply, position.rules.flags):
        provable = not counts_dead_stones(position)
        if wins_count and (settled or provable):
            return PASS, "the count is won"
        if best == PASS and not wins_count:
            others = [move for move in moves if move != PASS]
            if others and not (settled and counts_dead_stones(position)):
                return others[0], "a pass would lose the count"
        return best, "search"
    if best == PASS:
        if not wins_count and not counts_dead_stones(position):
            others = [move for move in moves if move != PASS]
            if others and score_after_passes(position, status, friendly=True) > 0:
                return others[0], "dead stones are still to be captured"
        return PASS, "search"
    if settled and wins_or_friendly(position, wins_count):
        assert ownership is not None
        if abs(float(ownership[row_col(best, position.width)])) >= SETTLED:
            return PASS, SETTLED_REASON
    return best, "search"


def pass_is_free(
    search: Search, position: Position, analysis: Analysis, seconds: float | None = None
) -> bool:
    """Whether a pass, answered as well as possible, costs no point.

    A settled board may still ask for a move: points count as settled that a last answer keeps.

    Args:
        search: Its tree is used, and afterwards holds the position after the pass.
        position: The position searched.
        analysis: What the search said about it.
        seconds: How long to look at most; None for no limit.
    """
    after = position.copy()
    after.play(position.to_play, PASS)
    search.set_position(after)
    visits = max(MIN_PASS_CHECK_VISITS, analysis.visits // 4)
    answered = search.run(Limits(visits=visits, seconds=seconds))
    return analysis.score_lead + answered.score_lead < PASS_COST_LIMIT


def wins_or_friendly(position: Position, wins_count: bool) -> bool:
    """Whether stopping now gives a fair result: dead stones come off, or are no matter."""
    return counts_dead_stones(position) or wins_count


def counts_dead_stones(position: Position) -> bool:
    """Whether dead stones come off the board without being captured when both have passed."""
    rules = position.rules
    return rules.friendly_pass_ok or rules.flags.scoring != AREA


def score_after_passes(
    position: Position, status: FinalStatus, *, friendly: bool | None = None
) -> float:
    """Return the points by which the player to move leads if both players pass now."""
    friendly = counts_dead_stones(position) if friendly is None else friendly
    score = (
        status.white_score
        if friendly
        else float(white_score(position.line, position.ply, position.rules.flags))
    )
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
    stride = position.width + 1
    gap = [open_points.pop()]
    borders: set[int] = set()
    for p in gap:
        for q in (p - stride, p - 1, p + 1, p + stride):
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
    board = position.board
    stride = position.width + 1
    around = (point - stride, point - 1, point + 1, point + stride)
    stones = [q for q in around if board["color"][q] in (BLACK, WHITE)]
    return any(count_liberties(board, q, 2) == 1 for q in stones)


def _points_with_enemies_in_region(
    position: Position, secure: npt.NDArray[np.uint8], color: int
) -> set[int]:
    """Return the empty points of own safe regions that hold enemy stones."""
    stride = position.width + 1
    inside = {p for p in position.points() if secure[p] == color and position.color_at(p) != color}
    found: set[int] = set()
    frontier = [p for p in inside if position.color_at(p) == opponent(color)]
    seen = set(frontier)
    while frontier:
        p = frontier.pop()
        if position.color_at(p) == EMPTY:
            found.add(p)
        for q in (p - stride, p - 1, p + 1, p + stride):
            if q in inside and q not in seen:
                seen.add(q)
                frontier.append(q)
    return found


def _dead_enemies(search: Search, position: Position) -> list[int]:
    """Return the enemy's stones that are dead but still on the board."""
    status = adjudicate(position, black_ownership(search, position, CLEANUP_PLAYOUTS))
    return [p for p in status.dead if position.color_at(p) == opponent(position.to_play)]


def black_ownership(search: Search, position: Position, playouts: int) -> Ownership | None:
    """Search a position a little and return the ownership expected, 1 for Black.

    Args:
        search: Its tree is used, and afterwards holds this position.
        position: May be one in which both players have passed.
        playouts: How many; what the tree already holds counts.

    Returns:
        [height, width] or None when the net has no ownership head.
    """
    search.set_position(position)
    search.run(Limits(visits=playouts))
    return black_ownership_of(search)


def black_ownership_of(search: Search) -> Ownership | None:
    """Return the ownership that a search expects at its root, 1 for Black."""
    ownership = search.ownership()
    if ownership is None:
        return None
    return ownership if search.to_play == BLACK else -ownership
