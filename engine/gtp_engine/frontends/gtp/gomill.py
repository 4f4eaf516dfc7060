"""gomill's extensions, and the processor time that many tournament programs ask for."""

import time

from gtp_engine.frontends.gtp.protocol import Arguments
from gtp_engine.frontends.gtp.session import Registry, Session

commands = Registry()


@commands.command("cputime", "gomill-cpu_time")
def cpu_time(session: Session, arguments: Arguments) -> str:
    """Give the processor seconds used so far, those of all threads together."""
    return f"{time.process_time():.3f}"


@commands.command("gomill-describe_engine")
def describe_engine(session: Session, arguments: Arguments) -> str:
    """Describe the engine and how it is set."""
    return session.engine.describe()


@commands.command("gomill-explain_last_move")
def explain_last_move(session: Session, arguments: Arguments) -> str:
    """Say why the latest generated move was chosen."""
    return session.last_reason
