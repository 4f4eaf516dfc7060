"""How a command that talks to a client claims stdin and stdout, and how it ends."""

import os
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

from gtp_engine.platforms import claim_stdin

if TYPE_CHECKING:
    from gtp_engine.frontends.analysis.analyst import Analyst
    from gtp_engine.frontends.pipes import Output
    from gtp_engine.play.engine import Engine

_CLOSING_SECONDS = 0.2
"""How long the engine may take to wind up before the process ends."""


def open_pipes() -> "tuple[int, Output]":
    """Return a file descriptor of what the client says, and what writes to it.

    Where stdout is closed, leave with status 1.
    """
    from gtp_engine.frontends.pipes import Output, claim_stdout

    if sys.stdout is None:
        sys.exit("gtp-engine: stdout is closed, so there is nobody to talk to")
    return claim_stdin(), Output(claim_stdout())


def end_process(engine: "Engine | Analyst", status: int = 0) -> NoReturn:
    """End the process, whatever its threads are doing."""
    closing = threading.Thread(target=engine.close, daemon=True)
    closing.start()
    closing.join(_CLOSING_SECONDS)
    # Not by returning: the interpreter would wait for a thread that is compiling kernels, and the
    # process be aborted where another one is inside a runtime.
    os._exit(status)
