"""Both players' time in one game, and what the connection takes of it."""

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.play.clock.planner import DEFAULT_LAG, USUAL_LAG, MoveTime, Outlook, plan_move
from gtp_engine.play.clock.systems import MAX_SECONDS, ClockError, PlayerTime, TimeSystem, Unlimited

ASSUMED_MOVES = 4
"""Moves of the usual lag that are taken to have been seen before the first one was."""

CAUTION = 1.2
"""By how much the mean that was seen is multiplied."""

LEAST_SAMPLE, LARGEST_SAMPLE = -1.0, 3.0
"""Seconds between which a difference is the lag: beyond them somebody has set the clock."""


class Lag:
    """What moves lose on their way, learned from the client's clock beside one's own."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._moves = 0
        self._seconds = 0.0
        self._rounding = 1.0
        """Seconds that the client's numbers may be off: 1 until one has a fraction."""
        self._largest = DEFAULT_LAG

    @property
    def usual(self) -> float:
        """The mean over all moves, and a fifth more, since luck may turn.

        What is rounded off one of the client's numbers is missing from the next, so that no more
        than a second is wrong however many moves there were.
        """
        assumed = ASSUMED_MOVES * USUAL_LAG * DEFAULT_LAG
        seen = max(0.0, self._seconds) * CAUTION
        return (assumed + seen) / (ASSUMED_MOVES + self._moves)

    @property
    def largest(self) -> float:
        """The most that one move is taken to lose; no less than is assumed at first."""
        return max(self._largest, self.usual)

    def learn(self, moves: int, counted: float, reported: float) -> None:
        """Take note of what moves have lost together.

        Args:
            moves: How many were made since the client's last number, at least 1.
            counted: Seconds left by our own count since then.
            reported: Seconds left by the client's.
        """
        if reported != int(reported):
            self._rounding = 0.0
        lost = counted - reported
        if moves * LEAST_SAMPLE <= lost <= moves * LARGEST_SAMPLE:
            self._moves += moves
            self._seconds += lost
            self._largest = max(self._largest, lost / moves - self._rounding)


class Clock:
    """What both players have left under a time system."""

    def __init__(self, system: TimeSystem | None = None) -> None:
        """Start.

        Args:
            system: How time is counted; None for no limit.
        """
        self.lag = Lag()
        self.set_system(system or Unlimited())

    def set_system(self, system: TimeSystem) -> None:
        """Count time in another way; both players begin afresh."""
        self.system = system
        self._left = {color: system.start() for color in (BLACK, WHITE)}
        self._unreported = {BLACK: 0, WHITE: 0}
        """Moves counted since the client said what is left."""

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
        counted = self._left[color]
        left = self._left[color] = self.system.read(max(0.0, seconds), count)
        moves, self._unreported[color] = self._unreported[color], 0
        # A period that has begun anew, or a full bank, tells nothing of what was lost before.
        fullest = self.system.read(MAX_SECONDS, counted.count).seconds
        if moves and counted.count == left.count and 0.0 < counted.seconds < fullest:
            self.lag.learn(moves, counted.seconds, left.seconds)

    def spend(self, color: int, seconds: float) -> bool:
        """Count a move of a player.

        Returns:
            Whether it was made in time.
        """
        left = self._left[color]
        self._left[color] = self.system.spend(left, seconds)
        self._unreported[color] += 1
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
