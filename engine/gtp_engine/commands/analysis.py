"""Analyse positions for a program that asks in KataGo's JSON protocol, or those of game records.

Queries come on stdin, and answers go to stdout.
"""

import argparse
import logging
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gtp_engine.arguments import UsageError, parse_count, parse_size
from gtp_engine.commands.options import add_options, add_shared, read_settings
from gtp_engine.commands.process import end_process, open_pipes
from gtp_engine.frontends.analysis.overrides import (
    DEFAULT_VISITS,
    PERSPECTIVES,
    AnalysisSettings,
    OverrideError,
    parse_config,
    read_config,
)
from gtp_engine.platforms import end_by
from gtp_engine.play.settings import Settings

logger = logging.getLogger(__name__)

_OPTIONS = (
    "net",
    "human-profile",
    "device",
    "runtime",
    "threads",
    "batch",
    "memory",
    "log",
    "seed",
    "parameters",
)

_EXAMPLES = """examples:
  gtp-engine analysis                                    for KaTrain, Ogatak and scripts
  gtp-engine analysis --sgf games/ --out games.jsonl     every position of every game
  gtp-engine analysis --compare                          many positions at once against one by one
"""

_LOAD_AFTER = 0.1
"""Seconds after which the engine loads although nobody has asked for it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    how = parser.add_argument_group("analysing")
    how.add_argument(
        "--visits",
        type=parse_count,
        metavar="N",
        help=f"visits of a position where a query does not say ({DEFAULT_VISITS})",
    )
    add_shared(how, "positions")
    how.add_argument(
        "--winrates-as",
        metavar="WHOSE",
        help=f"for whom numbers speak: {', '.join(PERSPECTIVES)} (BLACK)",
    )
    how.add_argument(
        "--quit-without-waiting",
        "-quit-without-waiting",
        action="store_true",
        help="at the end of input, stop what is not finished",
    )
    records = parser.add_argument_group("game records")
    records.add_argument(
        "--sgf", nargs="+", type=Path, metavar="FILE", help="files or folders to analyse"
    )
    records.add_argument("--out", type=Path, metavar="FILE.jsonl", help="where answers go")
    compare = parser.add_argument_group("measuring")
    compare.add_argument(
        "--compare",
        action="store_true",
        help="measure 100 positions at once against the same one by one, 50 visits each",
    )
    board = "board to measure on (9, where the net takes it)"
    compare.add_argument("--size", type=parse_size, metavar="N|WxH", help=board)
    add_options(parser, _OPTIONS)
    # What programs made for KataGo put on its command line.
    parser.add_argument("-model", dest="net", help=argparse.SUPPRESS)
    parser.add_argument("-human-model", dest="kata_human_model", help=argparse.SUPPRESS)
    parser.add_argument(
        "-analysis-threads", dest="positions", type=parse_count, help=argparse.SUPPRESS
    )
    parser.add_argument("-config", dest="kata_config", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("-override-config", dest="kata_overrides", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Analyse until there is nothing left to do; return the exit status."""
    _check_purpose(args)
    # An option of --compare here, not the engine's first board.
    measured, args.size = args.size, None
    settings = read_settings(args)
    analysis = _analysis_settings(args, settings.parameters)
    if args.compare:
        from gtp_engine.commands.analysis_comparison import compare

        return compare(settings, measured, args.visits, args.positions)
    if args.sgf is not None:
        from gtp_engine.commands.analysis_records import analyse_files

        return analyse_files(args.sgf, args.out, settings, analysis, args.positions)
    end_by(signal.SIGINT)
    return _converse(settings, analysis, args.positions, not args.quit_without_waiting)


def _check_purpose(args: argparse.Namespace) -> None:
    """Refuse options that would do nothing beside others."""
    if (args.sgf is None) != (args.out is None):
        raise UsageError("--sgf and --out go together")
    if args.compare and args.sgf is not None:
        raise UsageError("--compare is not for game records")
    if args.size is not None and not args.compare:
        raise UsageError("--size is for --compare alone; queries and records name their own")
    if args.log is not None and (args.compare or args.sgf is not None):
        raise UsageError("--log is for a conversation, not for --sgf and --compare")


def _analysis_settings(args: argparse.Namespace, params: Mapping[str, Any]) -> AnalysisSettings:
    """Return what holds where queries say nothing; own options go before KataGo's."""
    settings = AnalysisSettings()
    if args.kata_human_model is not None:
        logger.warning("-human-model is not read: the one net is that of --net")
    told: list[tuple[str, Callable[[], Mapping[str, str]]]] = []
    if args.kata_config is not None:
        told.append((str(args.kata_config), partial(read_config, args.kata_config)))
    if args.kata_overrides is not None:
        told.append(("-override-config", partial(parse_config, args.kata_overrides.split(","))))
    if args.winrates_as is not None:
        told.append(("--winrates-as", lambda: {"reportAnalysisWinratesAs": args.winrates_as}))
    for source, values in told:
        try:
            settings = settings.with_overrides(values())[0]
        except OverrideError as error:
            raise UsageError(f"{source}: {error}") from None
    settings = replace(settings, params=replace(settings.params, **params))
    return settings.with_limits(visits=args.visits) if args.visits else settings


def _converse(
    settings: Settings, analysis: AnalysisSettings, at_once: int | None, waits: bool
) -> int:
    from gtp_engine.frontends.analysis.analyst import Analyst, format_line
    from gtp_engine.frontends.analysis.server import Server, read_lines
    from gtp_engine.frontends.journal import Journal

    queries, output = open_pipes()
    journal = Journal(settings.log)
    over = threading.Event()

    def send(found: dict[str, object]) -> None:
        line = format_line(found)
        journal.note("<", line)
        output.write(line)
        if output.is_closed:
            over.set()

    analyst = Analyst(settings, send, at_once=at_once)
    server = Server(analyst, analysis, send)

    def read() -> None:
        for line in read_lines(queries):
            journal.note(">", "" if line is None else line.decode("utf-8", "replace"))
            server.handle(line)
        if waits:
            analyst.wait()
        over.set()

    threading.Thread(target=read, daemon=True).start()
    if not over.wait(_LOAD_AFTER):
        analyst.start()
        over.wait()
    end_process(analyst)
