"""Speak the protocol of Gomocup and Piskvork on stdin and stdout.

Or, with --forbidden, say which points renju forbids Black. Each line of that file is a board in
JSON: {"black": ["h8", ...], "white": [...]}, columns a to o with i, row 1 at the bottom.
For each a line is printed such as {"k8":"overline"}, {} where nothing is forbidden.
"""

import argparse
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

from gtp_engine.arguments import UsageError, parse_size
from gtp_engine.commands.options import add_options, read_settings
from gtp_engine.commands.process import end_process, open_pipes
from gtp_engine.files import read_file
from gtp_engine.games import FIVE
from gtp_engine.platforms import end_by

OPTIONS = ("playouts", "net", "recipe", "parameters", "seed", "threads", "memory", "log")
"""The engine's options that mean something here; time is the manager's."""

MEMORY_MB = 96
"""For the tree: tournaments allow a program 350 MB in all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--forbidden",
        type=Path,
        metavar="FILE.jsonl",
        help="print what renju forbids on these boards",
    )
    parser.add_argument(
        "--size",
        dest="forbidden_size",
        type=parse_size,
        metavar="N|WxH",
        help="of the boards in FILE.jsonl, 5 to 25 (15)",
    )
    add_options(parser, OPTIONS, usual={"net": "none", "memory": f"{MEMORY_MB}"})
    parser.set_defaults(game=FIVE)


def run(args: argparse.Namespace) -> int:
    """Speak the protocol until the manager leaves, or answer for each board of a file."""
    if args.forbidden is not None:
        return _print_forbidden(args)
    if args.forbidden_size is not None:
        raise UsageError("--size is for --forbidden; the manager says how large the board is")
    settings = read_settings(args)
    settings = replace(settings, resign=False, memory=settings.memory or MEMORY_MB)
    end_by(signal.SIGINT)
    from gtp_engine.frontends.gomocup.server import Server, is_stop, parse_line
    from gtp_engine.frontends.journal import Journal
    from gtp_engine.frontends.pipes import Inbox
    from gtp_engine.play.engine import Engine

    requests, output = open_pipes()
    inbox = Inbox(requests, parse_line, "END", is_stop)
    inbox.start()
    note = Journal(settings.log).note
    engine = Engine(settings)
    Server(engine, inbox, output, note).run()
    end_process(engine)


def _print_forbidden(args: argparse.Namespace) -> int:
    """Print a line for each board; return 1 if one could not be used, which is told on stderr.

    Raises:
        UsageError: The file cannot be read, or the size is not supported.
    """
    from gtp_engine.five.game import FiveError, FiveGame
    from gtp_engine.five.rules import RENJU

    try:
        lines = read_file(args.forbidden).splitlines()
        width, height = args.forbidden_size or (15, 15)
        game = FiveGame(width, height, RENJU)
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
