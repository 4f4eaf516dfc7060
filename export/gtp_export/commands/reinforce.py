"""Let a net with a policy win more often without search: REINFORCE against its past selves.

The same command goes on with a run that was killed; while a file PAUSE lies in its folder it stands
still.
"""

import argparse
import sys
from pathlib import Path

from gtp_engine.arguments import parse_count, parse_komi
from gtp_export.cards import command_line
from gtp_export.span import HOUR, add_span_arguments, read_span


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export reinforce` takes."""
    add = parser.add_argument
    add("net", metavar="NET", help="file or name to begin with")
    add("--size", type=int, default=9, metavar="N", help="side of the board (9)")
    add("--komi", type=parse_komi, help="points for White (7 on boards up to 9x9, else 7.5)")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the run")
    span = parser.add_mutually_exclusive_group().add_argument
    add_span_arguments(span, "", "the run", "samples", "60")
    add("--games", type=int, default=128, metavar="N", help="in step, then learned from (128)")
    add("--learning-rate", type=float, help="peak; a sixth of the preset's if left out")
    add("--licence", default="unknown", help="licence to write into the net")
    add("--seed", type=parse_count, default=1, metavar="N")


def run(arguments: argparse.Namespace) -> int:
    """Reinforce; all that is told goes to stderr."""
    from gtp_engine.coords import MAX_SIZE, MIN_SIZE
    from gtp_engine.evaluators.net_info import NetFileError
    from gtp_engine.evaluators.nets import find_net
    from gtp_engine.go.rules import default_komi

    size = arguments.size
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise NetFileError(f"--size must be between {MIN_SIZE} and {MAX_SIZE}")
    if arguments.games < 2 or not (arguments.learning_rate or 1.0) > 0:
        raise NetFileError("--games must be 2 or more, --learning-rate positive")
    span = read_span(arguments, "", "samples") or HOUR
    start = find_net(arguments.net)
    from gtp_export.learning.reinforcement import Reinforcement, ReinforceRun

    plan = ReinforceRun(
        start=start,
        size=size,
        komi=default_komi(size, size) if arguments.komi is None else arguments.komi,
        out=arguments.out,
        span=span,
        games=arguments.games,
        learning_rate=arguments.learning_rate,
        licence=arguments.licence,
        seed=arguments.seed,
        command=command_line(arguments.words),
    )
    Reinforcement(plan, lambda line: print(line, file=sys.stderr, flush=True)).learn()
    return 0
