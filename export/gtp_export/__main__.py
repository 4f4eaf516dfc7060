"""`gtp-export`: make, convert and describe nets."""

import sys

from gtp_engine.messages import set_up
from gtp_export.commands import run


def main() -> int:
    """Run the command line and return its exit status."""
    set_up("gtp-export")
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
