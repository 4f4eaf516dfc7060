"""Whether a search may end before its time: nothing can change its choice, or it is in no doubt.

Both are old ways to spend time where it counts (Huang, Coulom, Lin 2010, "Time Management for
Monte-Carlo Tree Search Applied to the Game of Go"; Baier and Winands 2012 call them EARLY and
CLOSE).
"""

from gtp_engine.search.choice import Child, ranked
from gtp_engine.search.params import SearchParams

RIVAL_SHARE = 0.5
"""Part of the most visits from which on a move is a serious rival."""


def is_settled(children: list[Child], playouts_left: float, params: SearchParams) -> bool:
    """Whether the move to be played has the most visits and no other can get as many any more.

    Args:
        children: The root's visited children.
        playouts_left: How many more there would be.
        params: How the move is chosen.
    """
    best, *others = ranked(children, params)
    most_of_others = max((other.visits for other in others), default=0)
    return most_of_others + playouts_left < best.visits


def is_clear(children: list[Child], params: SearchParams) -> bool:
    """Whether no serious rival of the most visited move looks better.

    Args:
        children: The root's visited children.
        params: How the move is chosen.
    """
    best, *others = ranked(children, params)
    return all(
        other.visits <= best.visits
        and (other.visits < RIVAL_SHARE * best.visits or other.utility <= best.utility)
        for other in others
    )
