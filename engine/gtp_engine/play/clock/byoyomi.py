"""Japanese byoyomi: after the main time, periods that are lost only when they are overstepped."""

from dataclasses import dataclass

from gtp_engine.play.clock.time_system import Budget, PlayerTime

PERIODS_KEPT = 2
"""Periods that no difficult move may use up: the last one, and one for an accident."""


@dataclass(frozen=True, slots=True)
class Byoyomi:
    """A main time, then a number of periods; a move within a period gives it back whole."""

    main: float
    period: float
    periods: int

    def start(self) -> PlayerTime:
        """Return what each player begins with."""
        if self.main > 0:
            return PlayerTime(self.main)
        return PlayerTime(self.period, self.periods)

    def spend(self, left: PlayerTime, seconds: float) -> PlayerTime:
        """Return what is left after a move."""
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

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left; a period holds no more than its length."""
        if count == 0:
            return PlayerTime(seconds)
        return PlayerTime(min(seconds, self.period), count)

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""
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
