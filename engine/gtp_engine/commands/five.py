"""`gtp-engine five`: questions about boards of five in a row."""

import argparse
import json
import sys
from pathlib import Path

from gtp_engine.arguments import UsageError, parse_size
from gtp_engine.files import read_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's options."""
    parser.description = (
        "Say which points renju forbids Black. Each line of the file is a board in JSON:\n"
        '{"black": ["h8", ...], "white": [...]}, columns a to o with i, row 1 at the bottom.\n'
        'For each a line is printed such as {"k8":"overline"}, {} where nothing is forbidden.'
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--forbidden", type=Path, metavar="FILE.jsonl", required=True)
    parser.add_argument(
        "--size",
        type=parse_size,
        default=(15, 15),
        metavar="N[xM]",
        help="columns and rows, 5 to 25 (15)",
    )


def run(args: argparse.Namespace) -> int:
    """Print a line for each board; return 1 if one could not be used, which is told on stderr.

    Raises:
        UsageError: The file cannot be read, or the size is not supported.
    """
    from gtp_engine.five.game import FiveError, FiveGame
    from gtp_engine.five.rules import RENJU

    try:
        lines = read_file(args.forbidden).splitlines()
        game = FiveGame(args.size[0], args.size[1], RENJU)
    except OSError as error:
        raise UsageError(f"{args.forbidden}: {error.strerror}") from None
    except FiveError as error:
        raise UsageError(f"--size: {error}") from None
    status = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            described = json.loads(line)
            black, white = (
                [game.point(str(name)) for name in described[color]] for color in ("black", "white")
            )
            game.set_up(black, white)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = str(error) if isinstance(error, FiveError) else "no board in JSON"
            print(f"{args.forbidden}, line {number}: {reason}", file=sys.stderr)
            print("{}")
            status = 1
            continue
        reasons = {game.name(p): reason for p in game.points() if (reason := game.forbidden(p))}
        print(json.dumps(reasons, separators=(",", ":")), flush=True)
    return status
