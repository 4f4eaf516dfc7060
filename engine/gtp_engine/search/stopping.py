"""What ends a search: limits, the clock, a settled or a clear choice, and whoever asks it to stop.

A choice is settled when no other move can get as many visits, and clear when it is in no doubt.
Both are old ways to spend time where it counts (Huang, Coulom, Lin 2010, "Time Management for
Monte-Carlo Tree Search Applied to the Game of Go"; Baier and Winands 2012 call them EARLY and
CLOSE).

Only the standard library is imported here.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gtp_engine.search.choice import Child

RIVAL_SHARE = 0.5
"""Part of the most visits from which on a move is a serious rival."""

CHECK_SECONDS = 0.05
"""How often a search looks whether its choice is still in doubt."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The first limit that is reached ends the search; at least the root is always evaluated."""

    playouts: int | None = None
    """New playouts, visits of a reused tree not counted."""
    visits: int | None = None
    """Visits of the root, those of a reused tree counted."""
    seconds: float | None = None
    """Wall time from the start of the search, beyond which no playout starts."""
    soft_seconds: float | None = None
    """Wall time after which the search ends once the choice is no longer in doubt; before, if
    nothing can change it any more."""
    stop: threading.Event | None = field(default=None, compare=False)
    """Ends the search once it is set, from any thread. Made for this search, or for all those
    that answer one question: it may be set before they begin."""


class StopCondition:
    """Whether one run is to go on. It counts the run's playouts."""

    def __init__(self, limits: Limits, visits_left: int, root_visits: Callable[[], int]) -> None:
        """Start the clock.

        Args:
            visits_left: Playouts at which the run ends at the latest.
            root_visits: Returns the root's visits, those in flight counted.
        """
        self.playouts = 0
        """Those that have begun."""
        self.started = time.perf_counter()
        self._limits = limits
        self._visits_left = visits_left
        self._root_visits = root_visits
        self._is_over = False
        self._next_look = self.started + min(CHECK_SECONDS, limits.soft_seconds or CHECK_SECONDS)

    def end(self) -> None:
        """End the run soon, from any thread."""
        self._is_over = True

    def is_met(self) -> bool:
        """Whether no other playout may start."""
        limits = self._limits
        return (
            self._is_over
            or (limits.stop is not None and limits.stop.is_set())
            or (limits.playouts is not None and self.playouts >= limits.playouts)
            or (limits.visits is not None and self._root_visits() >= limits.visits)
            or (limits.seconds is not None and self.elapsed() >= limits.seconds)
        )

    def elapsed(self) -> float:
        """Return the seconds since the run began."""
        return time.perf_counter() - self.started

    def has_time(self, seconds: float) -> bool:
        """Whether the run's time lasts for so many seconds more."""
        limit = self._limits.seconds
        return limit is None or self.elapsed() + seconds <= limit

    def allowance(self) -> int:
        """Return how many playouts may start now. The tree's lock is held."""
        if self.is_met():
            return 0
        left = self._visits_left - self.playouts
        if left <= 0:
            self._is_over = True
            return 0
        limits = self._limits
        if limits.playouts is not None:
            left = min(left, limits.playouts - self.playouts)
        if limits.visits is not None:
            left = min(left, limits.visits - self._root_visits())
        return left

    def count(self, n: int) -> None:
        """Count playouts that have begun. The tree's lock is held."""
        self.playouts += n

    def is_look_due(self) -> bool:
        """Whether it is time to look if the choice is still in doubt."""
        now = time.perf_counter()
        if self._limits.soft_seconds is None or now < self._next_look:
            return False
        self._next_look = now + CHECK_SECONDS
        return True

    def look(self, children: "list[Child]", n_moves: int) -> None:
        """End the run if its choice is in no doubt.

        Args:
            children: The root's visited children, in the order in which they would be played.
            n_moves: How many moves the root has, visited or not.
        """
        soft_seconds = self._limits.soft_seconds
        assert soft_seconds is not None
        elapsed = self.elapsed()
        if n_moves == 1:
            certain = True
        elif not children or self.playouts == 0:
            certain = elapsed >= soft_seconds
        elif elapsed >= soft_seconds:
            certain = is_clear(children)
        else:
            to_come = (soft_seconds - elapsed) * self.playouts / elapsed
            if self._limits.playouts is not None:
                to_come = min(to_come, self._limits.playouts - self.playouts)
            if self._limits.visits is not None:
                to_come = min(to_come, self._limits.visits - self._root_visits())
            certain = is_settled(children, to_come)
        if certain:  # never the other way: another thread may have ended the run meanwhile
            self.end()


def is_settled(children: "list[Child]", playouts_left: float) -> bool:
    """Whether the move to be played has the most visits and no other can get as many any more."""
    best, *others = children
    most_of_others = max((other.visits for other in others), default=0)
    return most_of_others + playouts_left < best.visits


def is_clear(children: "list[Child]") -> bool:
    """Whether no serious rival of the most visited move looks better."""
    best, *others = children
    return all(
        other.visits <= best.visits
        and (other.visits < RIVAL_SHARE * best.visits or other.utility <= best.utility)
        for other in others
    )
