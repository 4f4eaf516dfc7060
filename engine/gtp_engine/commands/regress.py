"""Ask an engine the questions of GTP regression tests."""

import argparse
import logging
from pathlib import Path

from gtp_engine.arguments import UsageError
from gtp_engine.commands.options import DEFAULT_TIMEOUT, add_shared
from gtp_engine.platforms import INTERRUPTED_BY

_EXAMPLES = """examples:
  gtp-engine regress gnugo/regression/*.tst
  gtp-engine regress --engine "self --playouts 100 --seed 1" --commands reg_genmove 9x9.tst

Answers that are wrong and a summary go to stdout. Questions whose command the engine does not
list are left out.
"""

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="test files (.tst)")
    parser.add_argument(
        "--engine", default="self", metavar="COMMAND", help="its command line (self: this engine)"
    )
    parser.add_argument(
        "--commands", metavar="NAME,...", help="ask only with these commands (all it knows)"
    )
    add_shared(parser, timeout=DEFAULT_TIMEOUT)


def run(args: argparse.Namespace) -> int:
    """Ask all questions; return 0, or 1 if none was asked or the engine failed before the end.

    Where that ends early, by Ctrl-C too, the summary is that of the questions so far.
    """
    from gtp_engine.arena.gtp_client import EngineFailure, Engines, split_command
    from gtp_engine.arena.regress import Asker, Score, Tally, read_script

    try:
        scripts = [(file, list(read_script(file))) for file in args.files]
    except ValueError as error:
        raise UsageError(str(error)) from None
    wanted = None if args.commands is None else frozenset(map(str.strip, args.commands.split(",")))
    try:
        command = split_command(args.engine)
    except ValueError as error:
        raise UsageError(f"--engine: {error}") from None
    tally = Tally()
    status = 0
    with Engines() as engines:
        try:
            engine = engines.start(command, args.timeout)
            for file, steps in scripts:
                before = tally.score
                Asker(engine, file, wanted, tally).run(steps)
                right, asked = tally.score.right - before.right, tally.score.asked - before.asked
                logger.info(f"{file.name}: {Score(right, asked).text()}")
        except EngineFailure as failure:
            by = engines.signal
            logger.info("interrupted" if by else failure)
            status = INTERRUPTED_BY + by if by else 1
    if text := tally.text():
        print(text)
    if not status and not tally.score.asked:
        logger.error("no question asked")
        status = 1
    return status
