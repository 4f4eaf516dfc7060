"""What a caller asks of a search besides its limits: moves to avoid, and what to report."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis


@dataclass(frozen=True, slots=True)
class AvoidRule:
    """Restrict the moves of one player in the first plies below the root."""

    color: int
    points: frozenset[int]
    """Moves; PASS may be among them."""
    depth: int
    """How many plies deep the rule holds; 1 is the root's moves."""
    allow: bool = False
    """True: nothing but these; False: none of these."""

    def holds(self, color: int, depth: int) -> bool:
        """Whether it restricts a player's moves so many plies below the root, 0 at the root."""
        return color == self.color and depth < self.depth

    def forbids(self, move: int) -> bool:
        """Whether the move is not to be made where the rule holds."""
        return (move in self.points) != self.allow


def is_allowed(move: int, color: int, avoid: Iterable[AvoidRule]) -> bool:
    """Whether no rule forbids a move of a player at the root."""
    return not any(rule.holds(color, 0) and rule.forbids(move) for rule in avoid)


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What a caller wants to hear during a search."""

    interval: float = 1.0
    """Seconds between reports."""
    callback: Callable[["Analysis"], None] | None = None
    """Called from the searching thread, for each report and for the final one."""
    min_moves: int = 0
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    pv_length: int = 15
    """Longest principal variation."""
    avoid: tuple[AvoidRule, ...] = ()
    first_after: float | None = None
    """Seconds to the first report; None: as between the others."""
