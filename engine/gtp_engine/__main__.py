"""`gtp-engine`: the first word chooses a command; without one the engine speaks GTP."""

import os
import sys

from gtp_engine.arguments import INTERRUPTED_STATUS
from gtp_engine.commands.table import run
from gtp_engine.messages import set_up


def main() -> int:
    """Run the program with the process's arguments and return its exit status."""
    if sys.stderr is None:  # closed; what is printed to None would go to stdout
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    set_up("gtp-engine")
    try:
        try:
            status = run(sys.argv[1:])
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read this has seen enough; Python must not try to flush stdout at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    if status == INTERRUPTED_STATUS:
        # Not by returning: the interpreter would wait for threads with games under way.
        os._exit(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
