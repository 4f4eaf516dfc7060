"""Fischer time: every move brings in some seconds. Capped or not."""

import math
from dataclasses import dataclass

from gtp_engine.play.clock.time_system import Budget, PlayerTime


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
        """Return what each player begins with."""
        return PlayerTime(min(self.main, self.limit))

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move."""
        if seconds > self._flag(left):
            return PlayerTime(0.0)
        return PlayerTime(min(self.limit, left.seconds - seconds + self.increment))

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left; there is no overtime to count stones in."""
        return PlayerTime(min(seconds, self.limit))

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""
        return Budget(
            bank=left.seconds,
            flag=self._flag(left),
            income=self.increment,
            surplus=max(0.0, left.seconds + self.increment - self.limit),
        )

    def _flag(self, left: PlayerTime) -> float:
        return min(left.seconds, self.longest_move)
