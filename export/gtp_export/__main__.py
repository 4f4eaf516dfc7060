"""`gtp-export`: make, convert and describe nets."""

import sys


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from gtp_engine.messages import run_program
        from gtp_export.commands import run
    except KeyboardInterrupt:
        return 130  # nothing is there yet that could say so
    return run_program("gtp-export", run)


if __name__ == "__main__":
    sys.exit(main())
