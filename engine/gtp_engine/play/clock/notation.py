"""How clients spell time settings.

`time_settings MAIN OVERTIME STONES` has three numbers; `kgs-time_settings` and
`kata-time_settings` name a kind and then its numbers:

    none
    absolute        MAIN
    simple          PERIOD
    byoyomi         MAIN PERIOD PERIODS
    canadian        MAIN PERIOD STONES
    fischer         MAIN INCREMENT
    fischer-capped  MAIN INCREMENT LIMIT LONGEST_MOVE     (negative: no such bound)
"""

import math
from collections.abc import Callable, Sequence

from gtp_engine.arguments import parse_number
from gtp_engine.play.clock.systems import (
    Absolute,
    Byoyomi,
    Canadian,
    ClockError,
    Fischer,
    PlayerTime,
    Simple,
    TimeSystem,
    Unlimited,
    check_seconds,
)

KINDS = {
    "none": (),
    "absolute": ("the main time",),
    "simple": ("the time for a move",),
    "byoyomi": ("the main time", "the period", "the number of periods"),
    "canadian": ("the main time", "the period", "the number of stones"),
    "fischer": ("the main time", "the increment"),
    "fischer-capped": ("the main time", "the increment", "the limit", "the longest move"),
}
"""The kinds of clock, each with the numbers that follow its name."""

KGS_KINDS = ("none", "absolute", "byoyomi", "canadian")
"""The kinds of the server KGS."""

MAX_COUNT = 1_000_000
"""Most stones or periods."""


def gtp_time_system(main: float, overtime: float, stones: int) -> TimeSystem:
    """Return what GTP's `time_settings` means; overtime without stones is no clock at all.

    Raises:
        ClockError: A number makes no sense.
    """
    check_seconds(main, "the main time")
    check_seconds(overtime, "the overtime")
    if not 0 <= stones <= MAX_COUNT:
        raise ClockError(f"the number of stones must be from 0 to {MAX_COUNT}, it is {stones}")
    if overtime == 0:
        return Absolute(main)
    if stones == 0:
        return Unlimited()
    return Simple(overtime) if main == 0 and stones == 1 else Canadian(main, overtime, stones)


def named_time_system(words: Sequence[str]) -> TimeSystem:
    """Return the time system that a kind and its numbers name.

    Raises:
        ClockError: There is no such kind, a number is missing or makes no sense.
    """
    kind = words[0].lower() if words else ""
    if kind not in KINDS:
        raise ClockError(f"the kind of clock must be one of {', '.join(KINDS)}")
    names = KINDS[kind]
    if len(words) - 1 < len(names):
        raise ClockError(f"{names[len(words) - 1]} is missing")
    numbers = [_number(word, name) for word, name in zip(words[1:], names, strict=False)]
    values = [_CHECKS[name](number, name) for number, name in zip(numbers, names, strict=True)]
    return _MAKERS[kind](*values)


def settings_command(system: TimeSystem, knows: Callable[[str], bool]) -> str:
    """Return the command that sets an engine's clock, as exactly as it understands.

    To engines that know nothing but `time_settings`, the periods of byoyomi before the last one
    are main time, and so is what is left of Fischer's after an increment, as overtime of one move.
    They are told whole seconds, no more than there are: GTP has no others.
    """
    is_exact = knows("kata-time_settings")
    match system:
        case Absolute(main):
            return _time_settings(main, 0.0, 0, is_exact)
        case Canadian(main, period, stones):
            return _time_settings(main, period, stones, is_exact)
        case Simple(period):
            return _time_settings(0.0, period, 1, is_exact)
        case Byoyomi(main, period, periods):
            if is_exact:
                return f"kata-time_settings byoyomi {main:g} {period:g} {periods}"
            if knows("kgs-time_settings"):
                return f"kgs-time_settings byoyomi {int(main)} {max(1, int(period))} {periods}"
            return _time_settings(main + (periods - 1) * period, period, 1, is_exact)
        case Fischer(main, increment, limit, longest_move):
            if is_exact:
                bounds = [-1 if bound == math.inf else bound for bound in (limit, longest_move)]
                numbers = " ".join(f"{number:g}" for number in (main, increment, *bounds))
                return f"kata-time_settings fischer-capped {numbers}"
            return _time_settings(max(0.0, main - increment), increment, 1, is_exact)
        case _:
            return "time_settings 0 1 0"


def time_left_numbers(system: TimeSystem, left: PlayerTime, knows: Callable[[str], bool]) -> str:
    """Return the two numbers of `time_left`, for an engine told by `settings_command`.

    Seconds are rounded down, to whole ones where the engine may know no others.
    """
    seconds, count = left.seconds, left.count
    if knows("kata-time_settings"):
        return f"{math.floor(1000 * seconds) / 1000:.3f} {count}"
    match system:
        case Byoyomi(_, period, periods) if not knows("kgs-time_settings"):
            earlier = periods - 1 if count == 0 else count - 2
            if earlier >= 0:  # the last period is yet to come: to the engine it is the main time
                seconds, count = seconds + earlier * period, 0
        case Absolute():
            pass
        case Fischer(_, increment) if seconds >= increment + 1.0:
            seconds -= increment
        case Fischer():
            count = 1
    return f"{int(seconds)} {count}"


def _time_settings(main: float, period: float, stones: int, is_exact: bool) -> str:
    if not is_exact:
        main, period = int(main), max(1, int(period)) if period else 0
    return f"time_settings {main:g} {period:g} {stones}"


def _fischer(main: float, increment: float, *bounds: float) -> Fischer:
    system = Fischer(main, increment, *bounds)
    if system.limit < main:
        raise ClockError(f"the limit of {system.limit:g} s is below the main time of {main:g} s")
    return system


def _number(word: str, what: str) -> float:
    number = parse_number(word)
    if math.isnan(number):
        raise ClockError(f"{what} must be a number, not {word[:20]!r}")
    return number


def _positive(seconds: float, what: str) -> float:
    if check_seconds(seconds, what) == 0:
        raise ClockError(f"{what} must be above 0 seconds")
    return seconds


def _bound(seconds: float, what: str) -> float:
    """Return an upper bound; a negative number stands for none."""
    return math.inf if seconds < 0 else _positive(seconds, what)


def _count(number: float, what: str) -> int:
    if not (1 <= number <= MAX_COUNT and number == int(number)):
        raise ClockError(f"{what} must be a whole number from 1 to {MAX_COUNT}, not {number:g}")
    return int(number)


_CHECKS: dict[str, Callable[[float, str], float]] = {
    "the main time": check_seconds,
    "the increment": check_seconds,
    "the time for a move": _positive,
    "the period": _positive,
    "the number of periods": _count,
    "the number of stones": _count,
    "the limit": _bound,
    "the longest move": _bound,
}
_MAKERS: dict[str, Callable[..., TimeSystem]] = {
    "none": Unlimited,
    "absolute": Absolute,
    "simple": Simple,
    "byoyomi": Byoyomi,
    "canadian": gtp_time_system,
    "fischer": _fischer,
    "fischer-capped": _fischer,
}
