"""`gtp-engine`: the first word chooses a command; without one the engine speaks GTP."""

import sys

from gtp_engine.commands.table import run


def main() -> int:
    """Run the program with the process's arguments and return its exit status."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
