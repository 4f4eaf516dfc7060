"""`gtp-engine`: the first word chooses a command; without one the engine speaks GTP."""

import gc
import os
import sys


def main() -> int:
    """Run the program with the process's arguments and return its exit status."""
    # What a start loads stays: the collector would go through it again and again, which is a tenth
    # of a warm start.
    gc.set_threshold(200_000)
    try:
        from gtp_engine.commands.registry import run
        from gtp_engine.messages import INTERRUPTED_STATUS, run_program
    except KeyboardInterrupt:
        return 130  # nothing is there yet that could say so
    status = run_program("gtp-engine", run)
    if status == INTERRUPTED_STATUS:
        # Not by returning: the interpreter would wait for threads with games under way.
        os._exit(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
