"""What every way of counting time has in common."""

import math
from dataclasses import dataclass
from typing import Protocol

MAX_SECONDS = 2.0**31
"""Longest time that counts as one: 68 years."""


class ClockError(ValueError):
    """The time given makes no sense; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class PlayerTime:
    """What a player has left."""

    seconds: float
    """In the main time, or in the present overtime period if count is not 0."""
    count: int = 0
    """In overtime: moves still to make in this period, or periods left; 0 in the main time."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a player may draw on, in terms that all time systems share."""

    bank: float
    """Seconds for this move and later ones together."""
    flag: float
    """Seconds that this move may take before the game is lost."""
    moves: int | None = None
    """How many moves the bank is for, this one counted; None: all that are left of the game."""
    income: float = 0.0
    """Seconds that every move brings in when it is made."""
    overtime: float = 0.0
    """Seconds that each move has once the bank is used up."""
    surplus: float = 0.0
    """Seconds of the bank that are lost unless this move uses them."""
    spare: float = 0.0
    """Seconds beyond the bank that a difficult move may use up for good."""


class TimeSystem(Protocol):
    """A way of counting time."""

    def start(self) -> PlayerTime:
        """Return what each player begins with."""

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move that took no more than `budget(left).flag`.

        A move that took longer has lost the game; zero seconds are left then.
        """

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left when the referee names these two numbers.

        Where they do not go together with the system, they are understood as the less time.
        """

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""


def check_seconds(seconds: float, what: str) -> float:
    """Return a time that a clock can be set to.

    Args:
        seconds: The time.
        what: Its name, for the complaint.

    Raises:
        ClockError: Negative, not a number, or beyond MAX_SECONDS.
    """
    if not 0 <= seconds <= MAX_SECONDS:
        wrong = "not a number" if math.isnan(seconds) else f"{seconds:g}"
        raise ClockError(f"{what} must be from 0 to {MAX_SECONDS:.0f} seconds, it is {wrong}")
    return seconds
