"""Clocks of both players, and how much of them a move may use.

A `TimeSystem` says how time is counted, a `PlayerTime` what one player has left under it, and
`plan` turns the two into a `MoveTime`. All of it is pure arithmetic in seconds; only `Clock`
keeps state. Only the standard library is imported here.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from gtp_engine.go.coords import BLACK, WHITE

MAX_SECONDS = 1e8
"""Longest time that counts as one: three years."""

MIN_MOVE_SECONDS = 0.05
"""Kept back for each move of a game that goes on for long, besides the lag."""


class ClockError(ValueError):
    """The time given makes no sense."""


@dataclass(frozen=True, slots=True)
class PlayerTime:
    """What a player has left."""

    seconds: float
    """In the main time, or in the overtime period if stones is not 0."""
    stones: int = 0
    """Moves still to make in this overtime period; 0 in the main time."""


@dataclass(frozen=True, slots=True)
class MoveTime:
    """How long to think about one move, in seconds of wall time."""

    soft: float
    """Enough for an ordinary move."""
    hard: float
    """Never longer."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the plan knows about the game."""

    moves_left: int
    """Own moves expected until the end."""
    most_moves_left: int
    """Own moves of a game that goes on for long; for these a little time is kept back."""
    lag: float = 0.2
    """Seconds that each move loses on the way to the client and back."""

    @property
    def least(self) -> float:
        """Seconds that even a move without any thought takes."""
        return self.lag + MIN_MOVE_SECONDS


class TimeSystem(Protocol):
    """A way of counting time."""

    def start(self) -> PlayerTime:
        """Return what each player begins with."""

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move; zero seconds left is a lost game."""

    def plan(self, left: PlayerTime, outlook: Outlook) -> MoveTime:
        """Return how long to think about the next move."""


@dataclass(frozen=True, slots=True)
class Absolute:
    """All moves in one main time."""

    main: float

    def start(self) -> PlayerTime:
        """Return what each player begins with."""
        return PlayerTime(self.main)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move."""
        return PlayerTime(max(0.0, left.seconds - seconds))

    def plan(self, left: PlayerTime, outlook: Outlook) -> MoveTime:
        """Share what is left among the moves expected, a little more now than later.

        Each move of a game as long as can be has its least time, or a fair share if there is not
        enough; only what is left beyond that is shared out.
        """
        seconds = max(0.0, left.seconds - 2 * outlook.lag)
        fair = seconds / outlook.most_moves_left
        kept = min(outlook.least, fair)
        usable = seconds - kept * outlook.most_moves_left
        share = usable / max(4.0, 0.75 * outlook.moves_left)
        shortest = 0.25 * fair
        soft = max(shortest, kept + share - outlook.lag)
        burst = min(4.0 * share, 0.25 * usable)
        return _move_time(soft, hard=max(shortest, kept + burst - outlook.lag))


@dataclass(frozen=True, slots=True)
class Canadian:
    """A main time, then a number of moves in each period. GTP's own time settings."""

    main: float
    period: float
    stones: int

    def start(self) -> PlayerTime:
        """Return what each player begins with."""
        if self.main > 0:
            return PlayerTime(self.main)
        return PlayerTime(self.period, self.stones)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move."""
        if left.stones == 0:
            if seconds <= left.seconds:
                return PlayerTime(left.seconds - seconds)
            left, seconds = PlayerTime(self.period, self.stones), seconds - left.seconds
        if seconds > left.seconds:
            return PlayerTime(0.0, left.stones)
        if left.stones <= 1:
            return PlayerTime(self.period, self.stones)
        return PlayerTime(left.seconds - seconds, left.stones - 1)

    def plan(self, left: PlayerTime, outlook: Outlook) -> MoveTime:
        """Share the period among its moves; main time adds to the first period's share."""
        if left.stones > 0:
            seconds = left.seconds - outlook.lag
            share = seconds / left.stones
            soft = 0.9 * share - outlook.lag
            # What one move takes beyond its share, the others of the period lack.
            others = max(0.5 * share, min(share, 2 * outlook.least))
            spare = seconds - (left.stones - 1) * others
            return _move_time(soft, hard=min(spare, 3.0 * share) - outlook.lag)
        in_overtime = self.plan(PlayerTime(self.period, self.stones), outlook)
        from_main = Absolute(self.main).plan(left, outlook)
        # Overtime is a cushion: nothing is lost when the main time runs out in mid-thought.
        soft = max(from_main.soft, in_overtime.soft)
        return _move_time(soft, hard=max(from_main.hard, in_overtime.hard))


@dataclass(frozen=True, slots=True)
class Unlimited:
    """No clock at all."""

    def start(self) -> PlayerTime:
        """Return what each player begins with."""
        return PlayerTime(math.inf)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move: as much as before."""
        return left

    def plan(self, left: PlayerTime, outlook: Outlook) -> MoveTime:
        """Set no bound: the caller has a default."""
        return MoveTime(math.inf, math.inf)


def gtp_time_system(main: float, period: float, stones: int) -> TimeSystem:
    """Return what GTP's `time_settings` means; a period without stones is no clock at all.

    Raises:
        ClockError: Negative, infinite or not a number.
    """
    for seconds in (main, period):
        if not 0 <= seconds <= MAX_SECONDS:
            raise ClockError("time settings are not between 0 and 100000000 seconds")
    if stones < 0:
        raise ClockError("the number of stones is negative")
    if period > 0 and stones == 0:
        return Unlimited()
    if period > 0:
        return Canadian(main, period, stones)
    return Absolute(main)


class Clock:
    """Both players' time."""

    def __init__(self) -> None:
        """Start without a time limit."""
        self.set_system(Unlimited())

    def set_system(self, system: TimeSystem) -> None:
        """Count time in another way; both players begin afresh."""
        self.system = system
        self._left = {color: system.start() for color in (BLACK, WHITE)}

    def reset(self) -> None:
        """Give both players back what they began with."""
        self.set_system(self.system)

    @property
    def is_limited(self) -> bool:
        """Whether time can run out."""
        return not isinstance(self.system, Unlimited)

    def left(self, color: int) -> PlayerTime:
        """Return what a player has left."""
        return self._left[color]

    def set_left(self, color: int, seconds: float, stones: int) -> None:
        """Take over what the referee says a player has left.

        Raises:
            ClockError: Negative or not a number.
        """
        if not -MAX_SECONDS <= seconds <= MAX_SECONDS or stones < 0:
            raise ClockError("time left is not a sensible number of seconds and stones")
        self._left[color] = PlayerTime(max(0.0, seconds), stones)

    def spend(self, color: int, seconds: float) -> None:
        """Count a move of a player."""
        self._left[color] = self.system.spend(self._left[color], seconds)

    def plan(self, color: int, outlook: Outlook) -> MoveTime:
        """Return how long a player may think about the next move."""
        return self.system.plan(self._left[color], outlook)


def outlook(area: int, ply: int) -> Outlook:
    """Return what a plan should expect of a game at a ply.

    Games last some 0.7 moves a point (260 on 19x19, 57 on 9x9); later a tenth of the board is
    taken as still to come. The longest ones, where every dead stone is captured, are taken to
    have 80 moves more than 1.1 a point.
    """
    expected = max(0.7 * area - ply, 0.1 * area, 8.0)
    most = max(1.1 * area + 80 - ply, 0.3 * area, 40.0)
    return Outlook(math.ceil(expected / 2), math.ceil(most / 2))


def _move_time(soft: float, hard: float) -> MoveTime:
    """Return a plan that is positive and consistent."""
    hard = max(0.01, hard)
    return MoveTime(min(max(0.01, soft), hard), hard)
