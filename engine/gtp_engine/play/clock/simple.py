"""Simple time: so many seconds for every move, none of which can be saved."""

from dataclasses import dataclass

from gtp_engine.play.clock.time_system import Budget, PlayerTime


@dataclass(frozen=True, slots=True)
class Simple:
    """The same time for each move."""

    period: float

    def start(self) -> PlayerTime:
        """Return what each player begins with."""
        return PlayerTime(self.period, 1)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move."""
        return PlayerTime(self.period if seconds <= left.seconds else 0.0, 1)

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left for the next move, whatever it is counted as."""
        return PlayerTime(min(seconds, self.period), 1)

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""
        return Budget(bank=left.seconds, flag=left.seconds, moves=1)
