"""Play against the engine in this terminal; its keys are on the screen."""

import argparse
import sys
from pathlib import Path

from gtp_engine.arguments import UsageError, parse_count
from gtp_engine.commands.options import add_options, add_shared, read_settings
from gtp_engine.commands.process import end_process
from gtp_engine.games import FIVE
from gtp_engine.play.table import SEATS

_NOT_HERE = ("lag", "ogs-chat", "name")
_EXAMPLES = """examples:
  gtp-engine play --size 9                      you have Black
  gtp-engine play --color white --handicap 4    you give four stones
  gtp-engine play --resume game.sgf --playouts 100
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    table = parser.add_argument_group("the table")
    add_shared(table, color="black")
    table.add_argument(
        "--handicap",
        type=parse_count,
        default=0,
        metavar="N",
        help="stones that Black begins with; komi is 0.5 then unless --komi says otherwise",
    )
    table.add_argument("--resume", type=Path, metavar="FILE.sgf", help="go on with a game")
    add_options(parser, without=_NOT_HERE)


def run(args: argparse.Namespace) -> int:
    """Play until the person leaves; return the exit status."""
    settings = read_settings(args)
    for name in ("handicap", "size", "rules", "komi"):
        if getattr(args, name) and args.resume is not None:
            raise UsageError(f"--{name} is for a new game, not for --resume")
    if args.handicap and settings.game == FIVE:
        raise UsageError("--handicap is not for five in a row")
    if sys.stdin is None or sys.stdout is None:
        name = "stdin" if sys.stdin is None else "stdout"
        sys.exit(f"gtp-engine: {name} is closed, so there is nothing to play on")
    from gtp_engine.frontends.journal import Journal
    from gtp_engine.frontends.terminal.game import TerminalGame
    from gtp_engine.frontends.terminal.screen import Screen
    from gtp_engine.go.handicap import HandicapError
    from gtp_engine.go.sgf import SgfError
    from gtp_engine.messages import collected
    from gtp_engine.play.engine import Engine
    from gtp_engine.play.loading import EngineUnavailableError

    engine = Engine(settings)
    try:
        with collected() as notices:
            note = Journal(settings.log).note
            game = TerminalGame(engine, Screen(), SEATS[args.color], notices, note)
            game.run(args.resume, args.handicap)
    except (SgfError, HandicapError, EngineUnavailableError) as error:
        raise UsageError(str(error)) from None
    end_process(engine)
    return 0
