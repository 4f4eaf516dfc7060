"""Tune a net on games of one's own, and say whether it predicts such games better.

Games are those that `gtp-engine --keep-games` kept, or any others. Some are set aside; on these the
net before and after are compared. The same command goes on with a run that was killed.
"""

import argparse
import sys
from pathlib import Path

from gtp_engine.arguments import parse_count, parse_names
from gtp_export.cards import command_line
from gtp_export.span import Span, add_span_arguments, read_span


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export learn-from-games` takes."""
    add = parser.add_argument
    add("games", type=Path, nargs="+", metavar="DIR", help="folders and files of games")
    add("--player", default="", metavar="NAME", help="learn this player's moves alone")
    add("--net", default="human", metavar="NET", help="file or name to begin with (human)")
    add("--out", type=Path, required=True, metavar="FILE.onnx", help="a folder beside has the run")
    add("--valid", type=Path, nargs="+", default=[], metavar="FILE", help="games to measure on")
    add(
        "--others",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="other games, to see on what was forgotten",
    )
    span = parser.add_mutually_exclusive_group().add_argument
    add_span_arguments(span, "", "the run", "samples", "each position four times")
    add(
        "--freeze",
        type=parse_names,
        default=(),
        metavar="LAYERS",
        help="beginnings of names, with commas between",
    )
    add("--licence", default="unknown", help="licence to write into the net")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto")
    add("--processes", type=int, default=1, help="training processes, on CPUs (1)")
    add("--learning-rate", type=float, help="peak; a twentieth of the preset's if left out")
    add("--positions", type=int, default=4000, metavar="N", help="to compare on (4000)")
    add("--int8", action="store_true", help="write an int8 net too")
    add("--fp16", action="store_true", help="write an fp16 net too")
    add("--seed", type=parse_count, default=1, metavar="N")


def run(arguments: argparse.Namespace) -> int:
    """Tune; all that is told goes to stderr."""
    from gtp_engine.evaluators.net_info import NetFileError
    from gtp_engine.evaluators.nets import find_net

    target: Path = arguments.out
    if target.suffix != ".onnx":
        raise NetFileError(f"{target}: --out names the net to write, as in mine.onnx")
    for name in ("processes", "positions", "learning_rate"):
        amount = getattr(arguments, name)
        if amount is not None and not amount > 0:
            raise NetFileError(f"--{name.replace('_', '-')} must be positive")
    span = read_span(arguments, "", "samples") or Span(0, "samples")
    start = find_net(arguments.net)
    if target.exists() and target.samefile(start):
        raise NetFileError(f"{target}: the net cannot be written over itself")
    from gtp_export.learning.own_games import learn_from_games
    from gtp_export.learning.record_run import RecordRun

    wanted = {"int8": arguments.int8, "fp16": arguments.fp16}
    plan = RecordRun(
        preset="",
        games=tuple(arguments.games),
        out=target.with_suffix(""),
        valid=tuple(arguments.valid),
        span=span,
        licence=arguments.licence,
        start=start,
        frozen=arguments.freeze,
        processes=arguments.processes,
        device=arguments.device,
        learning_rate=arguments.learning_rate,
        positions=arguments.positions,
        precisions=tuple(kind for kind, is_wanted in wanted.items() if is_wanted),
        seed=arguments.seed,
        command=command_line(arguments.words),
        created_by="gtp-export learn-from-games",
    )
    learn_from_games(plan, arguments.player, tuple(arguments.others), target, _say)
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
