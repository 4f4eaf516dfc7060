"""`gtp-export`: make, convert and describe nets."""

import sys

from gtp_engine.messages import run_program
from gtp_export.commands import run


def main() -> int:
    """Run the command line and return its exit status."""
    return run_program("gtp-export", run)


if __name__ == "__main__":
    sys.exit(main())
