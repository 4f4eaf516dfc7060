"""Both players' time in one game."""

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.play.clock.planner import MoveTime, Outlook, plan_move
from gtp_engine.play.clock.systems import MAX_SECONDS, ClockError, PlayerTime, TimeSystem, Unlimited


class Clock:
    """What both players have left under a time system."""

    def __init__(self, system: TimeSystem | None = None) -> None:
        """Start.

        Args:
            system: How time is counted; None for no limit.
        """
        self.set_system(system or Unlimited())

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

    def set_left(self, color: int, seconds: float, count: int) -> None:
        """Take over what the referee says a player has left.

        Args:
            color: The player.
            seconds: A little below zero is zero: a referee may be that late.
            count: Stones or periods left in overtime.

        Raises:
            ClockError: The numbers make no sense; the clock is as it was.
        """
        if not -MAX_SECONDS <= seconds <= MAX_SECONDS:
            raise ClockError("the time left is not a sensible number of seconds")
        if count < 0:
            raise ClockError(f"the number of stones or periods left is negative: {count}")
        self._left[color] = self.system.read(max(0.0, seconds), count)

    def spend(self, color: int, seconds: float) -> bool:
        """Count a move of a player.

        Returns:
            Whether it was made in time.
        """
        left = self._left[color]
        self._left[color] = self.system.spend(left, seconds)
        return seconds <= self.system.budget(left).flag

    def plan(self, color: int, outlook: Outlook, spent: float = 0.0) -> MoveTime:
        """Return how long a player may think about the next move.

        Args:
            color: The player.
            outlook: What to expect of the game.
            spent: Seconds of this move that are gone already.
        """
        left = self._left[color]
        left = PlayerTime(max(0.0, left.seconds - spent), left.count)
        return plan_move(self.system.budget(left), outlook)
