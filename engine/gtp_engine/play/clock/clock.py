"""Both players' time in one game, and what moves lose of it besides the search."""

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.play.clock.planner import (
    DEFAULT_LAG,
    MOVE_SECONDS,
    USUAL_LAG,
    MoveTime,
    Outlook,
    plan_loading,
    plan_move,
)
from gtp_engine.play.clock.systems import MAX_SECONDS, ClockError, PlayerTime, TimeSystem, Unlimited

ASSUMED_MOVES = 4
"""Moves of the usual loss that are taken to have been seen before the first one was."""

REMEMBERED_MOVES = 40
"""Moves of earlier games that count at most: a connection changes from day to day."""

CAUTION = 1.2
"""By how much the mean that was seen is multiplied."""

LEAST_MOVE_SECONDS = 0.02
"""What a move is taken to take here besides the search, however quick those before were."""

LEAST_SAMPLE, LARGEST_SAMPLE = -1.0, 3.0
"""Seconds between which a difference is the lag: beyond them somebody has set the clock."""


class Lag:
    """What moves lose besides the search: here, and on their way by the client's clock."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._moves, self._seconds = 0.0, 0.0
        """Moves that the client's clock told of, and what they seem to have lost on their way."""
        self._least = 0.0
        """Seconds that they have surely lost, whatever was rounded off."""
        self._made, self._overhead = 0.0, 0.0
        """How many moves were made, and what they took here besides the search."""
        self._rounding = 1.0
        """Seconds that the client's numbers may be off: 1 until one has a fraction."""
        self._largest = DEFAULT_LAG

    @property
    def on_the_way(self) -> float:
        """The mean that is lost there, as if half a second of it were rounded off."""
        seconds = max(self._least, self._seconds - 0.5 * self._rounding)
        return _mean(USUAL_LAG * DEFAULT_LAG, self._moves, seconds)

    @property
    def usual(self) -> float:
        """What a move without any thought takes on average."""
        here = _mean(MOVE_SECONDS, self._made, self._overhead)
        return self.on_the_way + max(LEAST_MOVE_SECONDS, here)

    @property
    def largest(self) -> float:
        """The most that one move is taken to lose on its way; no less than is assumed at first."""
        return max(self._largest, self.on_the_way)

    def learn(self, moves: int, counted: float, reported: float) -> None:
        """Take note of what moves have lost together on their way.

        What is rounded off one of the client's numbers is missing from the next, so that no more
        than a second is wrong however many moves there were. The bank that is planned with lacks
        it already.

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
            self._least = max(self._least, self._seconds - self._rounding)
            self._largest = max(self._largest, lost / moves - self._rounding)

    def made(self, overhead: float) -> None:
        """Take note of the seconds that a move took here besides the search."""
        self._made += 1
        self._overhead += overhead

    def forget(self) -> None:
        """Begin a game: what earlier ones have shown counts for less."""
        kept = min(1.0, REMEMBERED_MOVES / max(1.0, self._moves))
        self._moves *= kept
        self._least *= kept
        self._seconds = self._least
        kept = min(1.0, REMEMBERED_MOVES / max(1.0, self._made))
        self._made *= kept
        self._overhead *= kept
        self._largest = 0.5 * (self._largest + DEFAULT_LAG)


def _mean(assumed: float, moves: float, seconds: float) -> float:
    """Return the mean of a move's seconds, with some assumed, and a fifth more as luck may turn."""
    return (ASSUMED_MOVES * assumed + CAUTION * seconds) / (ASSUMED_MOVES + moves)


class Clock:
    """What both players have left under a time system."""

    def __init__(self, system: TimeSystem | None = None) -> None:
        """Start.

        Args:
            system: How time is counted; None for no limit.
        """
        self.lag = Lag()
        self.system = system or Unlimited()
        self._has_moved = False
        self.reset()

    def reset(self) -> None:
        """Give both players back what they began with."""
        if self._has_moved:  # several commands may begin one game
            self.lag.forget()
        self._has_moved = False
        self._left = {color: self.system.start() for color in (BLACK, WHITE)}
        self._counted = dict(self._left)
        """What is left by our own count, whatever settings came since."""
        self._unreported = {BLACK: 0, WHITE: 0}
        """Moves counted since the client said what is left."""

    def set_system(self, system: TimeSystem) -> None:
        """Count time in another way; both players begin afresh.

        Some clients send the settings anew before each move, and then what is left. That still says
        what was lost.
        """
        if system == self.system and any(self._unreported.values()):
            self._left = {color: system.start() for color in (BLACK, WHITE)}
            return
        self.system = system
        self.reset()

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
            seconds: A little below zero is zero: a referee may be that late.
            count: Stones or periods left in overtime.

        Raises:
            ClockError: The numbers make no sense; the clock is as it was.
        """
        if not -MAX_SECONDS <= seconds <= MAX_SECONDS:
            raise ClockError("the time left is not a sensible number of seconds")
        if count < 0:
            raise ClockError(f"the number of stones or periods left is negative: {count}")
        counted = self._counted[color]
        left = self._left[color] = self._counted[color] = self.system.read(max(0.0, seconds), count)
        moves, self._unreported[color] = self._unreported[color], 0
        # A period that has begun anew, or a full bank, tells nothing of what was lost before.
        fullest = self.system.read(MAX_SECONDS, counted.count).seconds
        if moves and counted.count == left.count and 0.0 < counted.seconds < fullest:
            self.lag.learn(moves, counted.seconds, left.seconds)

    def spend(
        self, color: int, seconds: float, overhead: float | None = None, *, goes_on: bool = False
    ) -> bool:
        """Count a move of a player.

        Args:
            overhead: How many of these seconds went to other things than the search.
            goes_on: Whether the game does so after the flag has fallen, as where nobody sees to it.

        Returns:
            Whether it was made in time.
        """
        self._has_moved = True
        left = self._left[color]
        after = self.system.spend(left, seconds)
        is_in_time = after.seconds > 0.0 or seconds <= self.system.budget(left).flag
        if goes_on and not is_in_time:
            after = self.system.after_flag()
        self._left[color] = self._counted[color] = after
        self._unreported[color] += 1
        if overhead is not None:
            self.lag.made(overhead)
        return is_in_time

    def plan(self, color: int, outlook: Outlook, spent: float = 0.0) -> MoveTime:
        """Return how long to think about a move of which so many seconds are gone already."""
        left = self._left[color]
        left = PlayerTime(max(0.0, left.seconds - spent), left.count)
        return plan_move(self.system.budget(left), outlook)

    def seconds_to_load(self, color: int, outlook: Outlook, *, is_first: bool) -> float:
        """Return for how long to wait for kernels and net before a move is made without."""
        return plan_loading(self.system.budget(self._left[color]), outlook, is_first=is_first)
