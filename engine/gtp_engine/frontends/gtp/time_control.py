"""Clocks: GTP's own commands, those of KGS, and KataGo's, which know the most kinds."""

import contextlib

from gtp_engine.coords import BLACK, COLOR_NAMES, WHITE
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError, Interrupted
from gtp_engine.frontends.gtp.session import Registry, Session
from gtp_engine.play.clock.notation import (
    KGS_KINDS,
    KINDS,
    gtp_time_system,
    named_time_system,
)
from gtp_engine.play.clock.systems import TimeSystem
from gtp_engine.play.loading import EngineUnavailableError

commands = Registry()


def _set_clock(session: Session, system: TimeSystem) -> None:
    """Set the clock, and wait for the net: no clock runs yet, but with the next command one may.

    A server may count from now on all the same, so the wait is no longer than before a move.
    """
    engine = session.engine
    engine.clock.set_system(system)
    if engine.clock.is_limited:
        # The next genmove will say what the first is; the second means that nothing comes any more.
        with contextlib.suppress(EngineUnavailableError, Interrupted):
            session.wait_until_warm(engine.seconds_to_load(BLACK))


@commands.command("time_settings")
def time_settings(session: Session, arguments: Arguments) -> str:
    """Set main time and Canadian overtime, in seconds; overtime without stones is no limit."""
    main = arguments.number(0, "the main time")
    overtime = arguments.number(1, "the overtime")
    stones = arguments.integer(2, "the number of stones")
    _set_clock(session, gtp_time_system(main, overtime, stones))
    return ""


@commands.command("kata-time_settings")
def kata_time_settings(session: Session, arguments: Arguments) -> str:
    """Set a clock by the name of its kind, followed by its numbers."""
    _set_clock(session, named_time_system(arguments.words))
    return ""


@commands.command("kgs-time_settings")
def kgs_time_settings(session: Session, arguments: Arguments) -> str:
    """Set a clock by the name that the server KGS has for it."""
    if arguments.word(0, "the kind of clock").lower() not in KGS_KINDS:
        raise GtpError(f"syntax error: the kind of clock must be one of {', '.join(KGS_KINDS)}")
    return kata_time_settings(session, arguments)


@commands.command("kata-list_time_settings")
def list_time_settings(session: Session, arguments: Arguments) -> str:
    """List the kinds of clock that `kata-time_settings` knows."""
    return " ".join(KINDS)


@commands.command("time_left")
def time_left(session: Session, arguments: Arguments) -> str:
    """Say what a player has left, with the stones or, in byoyomi, the periods in overtime."""
    color = arguments.color(0)
    seconds = arguments.number(1, "the time")
    count = arguments.integer(2, "the number of stones") if len(arguments) > 2 else 0
    session.engine.clock.set_left(color, seconds, count)
    return ""


@commands.command("kata-debug-print-tc", is_listed=False)
def print_clock(session: Session, arguments: Arguments) -> str:
    """Tell the kind of clock and what each player has left, in two lines."""
    clock = session.engine.clock
    kind = type(clock.system).__name__
    lines = []
    for color in (BLACK, WHITE):
        left = clock.left(color)
        count = f", {left.count} in overtime" if left.count else ""
        lines.append(f"{COLOR_NAMES[color].capitalize()} {kind}: {left.seconds:g} s left{count}")
    return "\n".join(lines)
