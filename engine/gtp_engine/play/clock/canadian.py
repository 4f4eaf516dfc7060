"""Canadian overtime: after the main time, a number of moves in each period."""

from dataclasses import dataclass

from gtp_engine.play.clock.time_system import Budget, PlayerTime


@dataclass(frozen=True, slots=True)
class Canadian:
    """A main time, then a number of moves in each period; GTP's own time settings."""

    main: float
    period: float
    stones: int

    def start(self) -> PlayerTime:
        """Return what each player begins with."""
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

    def read(self, seconds: float, count: int) -> PlayerTime:
        """Return what a player has left; more stones than a period has are believed."""
        return PlayerTime(seconds, count)

    def budget(self, left: PlayerTime) -> Budget:
        """Return what the next move may draw on."""
        if left.count:
            return Budget(bank=left.seconds, flag=left.seconds, moves=left.count)
        share = self.period / self.stones
        return Budget(bank=left.seconds, flag=left.seconds + share, overtime=share)
