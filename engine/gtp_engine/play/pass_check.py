"""Whether a pass costs nothing: what follows it and what follows the move wanted, both searched."""

from gtp_engine.go.coords import PASS
from gtp_engine.go.position import Position
from gtp_engine.search.limits import Limits
from gtp_engine.search.search import Search

PASS_COST_LIMIT = 0.75
"""Points of lead that a pass may seem to cost; estimates waver by so much."""

MIN_PASS_CHECK_VISITS, MAX_PASS_CHECK_VISITS = 64, 400
"""Visits that look for a punishment of a pass."""


def pass_cost(
    search: Search,
    position: Position,
    best: int,
    visits: int,
    seconds: float | None = None,
) -> float:
    """Return what a pass costs beside the best move, in points of lead.

    Args:
        search: Its tree is used, and afterwards holds the position after the pass.
        position: The position searched.
        best: The move to compare with.
        visits: As many look at each side, but at least MIN_PASS_CHECK_VISITS and at most
            MAX_PASS_CHECK_VISITS.
        seconds: How long to look at most; None for no limit.
    """
    visits = min(MAX_PASS_CHECK_VISITS, max(MIN_PASS_CHECK_VISITS, visits))
    half = None if seconds is None else seconds / 2
    return lead_over_pass(search, position, best, Limits(visits=visits, seconds=half))


def lead_over_pass(search: Search, position: Position, move: int, limits: Limits) -> float:
    """Return by how many points a move leads more than a pass, answered as well as possible.

    A settled board may still ask for a move: points count as settled that a last answer keeps.
    Both are searched from the opponent's side, so that what a net makes of the turn cancels out.

    Args:
        search: Its tree is used, and afterwards holds the position after the pass.
        position: The player that `to_play` names is to move.
        move: The move.
        limits: Of each of the two searches.
    """
    leads = []
    for point in (move, PASS):
        after = position.copy()
        after.play(position.to_play, point, strict=False)
        search.set_position(after)
        leads.append(-search.run(limits).score_lead)
    return leads[0] - leads[1]
