"""Whether a pass costs nothing: what follows it and what follows the move wanted, both searched."""

from dataclasses import dataclass

from gtp_engine.go.coords import PASS
from gtp_engine.go.position import Position
from gtp_engine.search.limits import Limits
from gtp_engine.search.search import Search

PASS_COST_LIMIT = 0.75
"""Points of lead that a pass may seem to cost; estimates waver by so much."""

CHANCE_LIMIT = 0.05
"""Winrate, 0..1, that a pass on a board that is not quite settled may seem to cost."""

MIN_PASS_CHECK_VISITS, MAX_PASS_CHECK_VISITS = 64, 400
"""Visits that look for a punishment of a pass."""

SECOND_LOOK_VISITS = 200
"""Visits of each side where a shorter search cannot tell whether a move is needed."""


@dataclass(frozen=True, slots=True)
class PassCheck:
    """What a move is worth more than a pass."""

    points: float
    """Of lead."""
    chances: float
    """Of winrate, -1..1."""
    visits: int
    """Of the search that had fewer."""

    @property
    def is_free(self) -> bool:
        """Whether the pass leaves as many points, as far as was seen."""
        return self.points < PASS_COST_LIMIT

    @property
    def is_surely_free(self) -> bool:
        """Whether that was seen well enough, and nothing is risked for a point."""
        enough = self.visits >= MIN_PASS_CHECK_VISITS
        return enough and self.is_free and self.chances < CHANCE_LIMIT


def compare_with_pass(
    search: Search,
    position: Position,
    best: int,
    visits: int,
    seconds: float | None = None,
) -> PassCheck:
    """Return what the best move is worth more than a pass that is answered as well as possible.

    A settled board may still ask for a move: points count as settled that a last answer keeps.
    Both are searched from the opponent's side, so that what a net makes of the turn cancels out.

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
    found = []
    for move in (best, PASS):
        after = position.copy()
        after.play(position.to_play, move, strict=False)
        search.set_position(after)
        found.append(search.run(Limits(visits=visits, seconds=half)))
    with_move, with_pass = found
    return PassCheck(
        points=with_pass.score_lead - with_move.score_lead,
        chances=with_pass.winrate - with_move.winrate,
        visits=min(with_move.visits, with_pass.visits),
    )
