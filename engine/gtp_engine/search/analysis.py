"""What a search found, as plain data. Perspective: the side to move at the root."""

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from gtp_engine.coords import format_vertex


@dataclass(frozen=True, slots=True)
class MoveReport:
    """One move at the root."""

    point: int
    """The move; PASS is 0."""
    visits: int
    """Playouts that went through it, those of a reused tree included."""
    winrate: float
    """0..1, a draw counting half."""
    score_lead: float
    """Expected points ahead."""
    score_stdev: float
    """Standard deviation of the final score, points."""
    utility: float
    """What the search maximised: value and score, -1..1 and a little beyond."""
    prior: float
    """What the search follows at first, 0..1 over the moves allowed: the net's policy, at the root
    after temperature and noise."""
    lcb: float
    """Lower confidence bound of the winrate."""
    utility_lcb: float = field(default=0.0, kw_only=True)
    """Lower confidence bound of the utility, by which moves are chosen."""
    order: int
    """0 for the best move, as the engine would choose."""
    pv: tuple[int, ...] = ()
    """Principal variation, this move first."""
    pv_visits: tuple[int, ...] = ()
    """Visits of the positions along the principal variation."""
    pv_edge_visits: tuple[int, ...] = ()
    """Playouts through each move of the principal variation."""
    ownership: npt.NDArray[Any] | None = None
    """[height, width] float32, -1..1, or None when not asked for."""
    ownership_stdev: npt.NDArray[Any] | None = None
    """[height, width] float32, 0..1, how far the ownership varies within the search; or None."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The state of a search at one moment."""

    to_play: int
    width: int
    height: int
    visits: int
    """Visits of the root, reused ones included."""
    playouts: int
    """Playouts of this search alone."""
    nodes: int
    """Nodes in the tree."""
    elapsed: float
    """Seconds since the search began."""
    winrate: float
    score_lead: float
    score_stdev: float
    utility: float
    raw_winrate: float
    """The net's own winrate at the root, before any search."""
    raw_score_lead: float
    is_final: bool = False
    """True for the last report of a search."""
    moves: tuple[MoveReport, ...] = field(default=())
    """Best first."""
    ownership: npt.NDArray[Any] | None = None
    """[height, width] float32, -1..1, or None when not asked for."""
    ownership_stdev: npt.NDArray[Any] | None = None
    """[height, width] float32, 0..1, how far the ownership varies within the search; or None."""

    def vertex(self, move: int) -> str:
        """Return the GTP name of a move on this board: "D4" or "pass"."""
        return format_vertex(move, self.width, self.height)


def unsearched(color: int, width: int, height: int, point: int) -> Analysis:
    """Return what there is to say of a move that was chosen without a search: that it is one.

    Args:
        color: Who made it.
        point: The move.
    """
    even = (0.5, 0.0, 0.0, 0.0)  # winrate, lead and its deviation, utility
    move = MoveReport(point, 0, *even, prior=0.0, lcb=0.0, utility_lcb=-1.0, order=0, pv=(point,))
    visits = playouts = nodes = 0
    return Analysis(
        *(color, width, height, visits, playouts, nodes, 0.0),
        *even,
        raw_winrate=0.5,
        raw_score_lead=0.0,
        is_final=True,
        moves=(move,),
    )
