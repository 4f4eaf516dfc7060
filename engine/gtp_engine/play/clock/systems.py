"""Ways of counting time: what a player begins with, and what is left after a move.

| system    | a move may take                                                            |
|-----------|----------------------------------------------------------------------------|
| Unlimited | as long as one wants                                                       |
| Absolute  | what is left of one main time for all moves, "sudden death"                |
| Simple    | the same for each move, none of which can be saved                         |
| Byoyomi   | main time, then periods that are lost only when they are overstepped       |
| Canadian  | main time, then periods for a number of moves each; GTP's own settings     |
| Fischer   | main time, to which each move adds an increment; capped or not             |

Each puts what is left into the terms of a `Budget`, which is all that the planner knows. What their
methods do stands at `TimeSystem`.
"""

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
        """Return what is left after a move: zero seconds if it took too long to be in time."""

    def after_flag(self) -> PlayerTime:
        """Return what a player has for each move who goes on after the time was over."""

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left when the referee names these two numbers.

        Where they do not go together with the system, they are understood as the less time.
        """

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""


def check_seconds(seconds: float, what: str) -> float:
    """Return a time that a clock can be set to.

    Raises:
        ClockError: Negative, not a number, or beyond MAX_SECONDS.
    """
    if not 0 <= seconds <= MAX_SECONDS:
        wrong = "not a number" if math.isnan(seconds) else f"{seconds:g}"
        raise ClockError(f"{what} must be from 0 to {MAX_SECONDS:.0f} seconds, it is {wrong}")
    return seconds


@dataclass(frozen=True, slots=True)
class Unlimited:
    """As much time as one wants."""

    def start(self) -> PlayerTime:
        return PlayerTime(math.inf)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move: as much as before."""
        return left

    def after_flag(self) -> PlayerTime:
        return self.start()

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left: clients that keep no clock send zeros, for example."""
        return self.start()

    def budget(self, left: PlayerTime) -> Budget:
        return Budget(bank=math.inf, flag=math.inf)


@dataclass(frozen=True, slots=True)
class Simple:
    """The same time for each move."""

    period: float

    def start(self) -> PlayerTime:
        return PlayerTime(self.period, 1)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        return PlayerTime(self.period if seconds <= left.seconds else 0.0, 1)

    def after_flag(self) -> PlayerTime:
        return self.start()

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left for the next move, whatever it is counted as."""
        return PlayerTime(min(seconds, self.period), 1)

    def budget(self, left: PlayerTime) -> Budget:
        return Budget(bank=left.seconds, flag=left.seconds, moves=1)


PERIODS_KEPT = 2
"""Periods that no difficult move may use up: the last one, and one for an accident."""


@dataclass(frozen=True, slots=True)
class Byoyomi:
    """A main time, then a number of periods; a move within a period gives it back whole."""

    main: float
    period: float
    periods: int

    def start(self) -> PlayerTime:
        if self.main > 0:
            return PlayerTime(self.main)
        return PlayerTime(self.period, self.periods)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        if left.count == 0:
            if seconds < left.seconds:
                return PlayerTime(left.seconds - seconds)
            left, seconds = PlayerTime(self.period, self.periods), seconds - left.seconds
        count = left.count
        room = left.seconds
        while seconds > room and count > 1:
            seconds -= room
            room = self.period
            count -= 1
        return PlayerTime(0.0 if seconds > room else self.period, count)

    def after_flag(self) -> PlayerTime:
        return PlayerTime(self.period, 1)

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left; a period holds no more than its length.

        Without a main time whoever names no period means the last one, or at 0 the beginning.
        """
        if count == 0:
            if self.main > 0 or seconds == 0:
                return PlayerTime(seconds)
            count = 1
        return PlayerTime(min(seconds, self.period), count)

    def budget(self, left: PlayerTime) -> Budget:
        if left.count:
            return Budget(
                bank=left.seconds,
                flag=left.seconds + (left.count - 1) * self.period,
                moves=1,
                spare=self.period if left.count > PERIODS_KEPT else 0.0,
            )
        return Budget(
            bank=left.seconds,
            flag=left.seconds + self.periods * self.period,
            overtime=self.period,
        )


@dataclass(frozen=True, slots=True)
class Canadian:
    """A main time, then a number of moves in each period; GTP's own time settings."""

    main: float
    period: float
    stones: int

    def start(self) -> PlayerTime:
        return PlayerTime(self.main) if self.main > 0 else self._fresh_period

    @property
    def _fresh_period(self) -> PlayerTime:
        return PlayerTime(self.period, self.stones)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move; the one that outlasts the main time is in overtime."""
        if left.count == 0:
            if seconds < left.seconds:
                return PlayerTime(left.seconds - seconds)
            left, seconds = self._fresh_period, seconds - left.seconds
        if seconds > left.seconds:
            return PlayerTime(0.0, left.count)
        if left.count == 1:
            return self._fresh_period
        return PlayerTime(left.seconds - seconds, left.count - 1)

    def after_flag(self) -> PlayerTime:
        return self._fresh_period

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left; more stones than a period has are believed.

        Without a main time whoever names no stones means all of a period, or at 0 the beginning.
        """
        if count == 0:
            if self.main > 0 or seconds == 0:
                return PlayerTime(seconds)
            count = self.stones
        return PlayerTime(min(seconds, self.period), count)

    def budget(self, left: PlayerTime) -> Budget:
        if left.count:
            return Budget(bank=left.seconds, flag=left.seconds, moves=left.count)
        flag, share = left.seconds + self.period, self.period / self.stones
        return Budget(bank=left.seconds, flag=flag, overtime=share)


@dataclass(frozen=True, slots=True)
class Fischer:
    """A main time, to which each move adds an increment when it is made."""

    main: float
    increment: float
    limit: float = math.inf
    """What the main time is cut to after the increment."""
    longest_move: float = math.inf
    """Seconds that a single move may take."""

    def start(self) -> PlayerTime:
        return PlayerTime(min(self.main, self.limit))

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        if seconds > self._flag(left):
            return PlayerTime(0.0)
        return PlayerTime(min(self.limit, left.seconds - seconds + self.increment))

    def after_flag(self) -> PlayerTime:
        return PlayerTime(min(self.limit, self.increment))

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left; there is no overtime to count stones in."""
        return PlayerTime(min(seconds, self.limit))

    def budget(self, left: PlayerTime) -> Budget:
        return Budget(
            bank=left.seconds,
            flag=self._flag(left),
            income=self.increment,
            surplus=max(0.0, left.seconds + self.increment - self.limit),
        )

    def _flag(self, left: PlayerTime) -> float:
        return min(left.seconds, self.longest_move)


@dataclass(frozen=True, slots=True)
class Absolute(Fischer):
    """All moves in one main time."""

    increment: float = 0.0
