"""Absolute time, "sudden death": one main time for all moves."""

from dataclasses import dataclass

from gtp_engine.play.clock.time_system import Budget, PlayerTime


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

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left; there is no overtime to count stones in."""
        return PlayerTime(seconds)

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""
        return Budget(bank=left.seconds, flag=left.seconds)
