"""No clock at all."""

import math
from dataclasses import dataclass

from gtp_engine.play.clock.time_system import Budget, PlayerTime


@dataclass(frozen=True, slots=True)
class Unlimited:
    """As much time as one wants."""

    def start(self) -> PlayerTime:
        """Return what each player begins with."""
        return PlayerTime(math.inf)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move: as much as before."""
        return left

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left: clients that keep no clock send zeros, for example."""
        return self.start()

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""
        return Budget(bank=math.inf, flag=math.inf)
