"""Train a net on game records: read, train, evaluate, export and describe it.

A run ends after so many samples, core-hours or minutes. One that was killed goes on from its last
checkpoint when the same command is given again; while a file PAUSE lies in its folder it stands
still. With --from it begins with a net made here, to fine-tune it on other games, one's own for
example.
"""

import argparse
import sys
from pathlib import Path

from gtp_engine.arguments import parse_count, parse_names
from gtp_export.cards import command_line
from gtp_export.span import HOUR, add_span_arguments, read_span

ROLLOUT = "rollout"
"""The preset that makes a file of patterns."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export train` takes."""
    add = parser.add_argument
    kind = parser.add_mutually_exclusive_group(required=True).add_argument
    kind("--preset", default="", metavar="NAME", help="architecture; `list` names them")
    kind("--recipe", choices=("single-position",), help="AlphaGo's value net, on games it makes")
    add("--policies", nargs=2, metavar="NET", help="of these games: supervised, reinforced")
    add("--size", type=int, default=9, metavar="N", help="their boards (9)")
    add("--make", type=parse_count, default=20000, metavar="N", help="how many of them (20000)")
    add("--games", type=Path, nargs="+", default=[], metavar="FILE", help="games to learn from")
    add("--valid", type=Path, nargs="+", default=[], metavar="FILE", help="games to measure on")
    add("--out", type=Path, metavar="DIR", help="folder of the run")
    span = parser.add_mutually_exclusive_group().add_argument
    add_span_arguments(span, "", "the run", "samples", "60")
    add(
        "--from",
        dest="start",
        type=Path,
        metavar="NET",
        help="checkpoint or net made here to go on from",
    )
    add(
        "--freeze",
        type=parse_names,
        default=(),
        metavar="LAYERS",
        help="beginnings of names, with commas between",
    )
    add("--name", default="", help="name to write into the net; the preset's if left out")
    add("--licence", default="unknown", help="licence to write into the net")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto")
    add("--processes", type=int, default=1, help="training processes, on CPUs (1)")
    add("--threads", type=int, default=1, help="threads a process that encode positions (1)")
    add("--batch-points", type=int, default=64 * 361, metavar="N", help="points a batch (23104)")
    add("--learning-rate", type=float, help="peak; the preset's if left out")
    add("--positions", type=int, default=2000, metavar="N", help="to evaluate on (2000)")
    add("--keep-nets", action="store_true", help="keep the net of each measurement, in nets/")
    add("--int8", action="store_true", help="write an int8 net too")
    add("--fp16", action="store_true", help="write an fp16 net too")
    add("--seed", type=parse_count, default=1, metavar="N")


def run(arguments: argparse.Namespace) -> int:
    """Train; what is written goes to stderr at the end."""
    from gtp_engine.evaluators.net_info import NetFileError
    from gtp_export.architectures.presets import PRESETS, find_preset

    if arguments.preset == "list":
        print("\n".join(f"{name:<16}{preset.summary}" for name, preset in PRESETS.items()))
        print(f"{ROLLOUT:<16}patterns, not a net: policies for rollouts and a tree; no torch")
        return 0
    if arguments.recipe is not None:
        return _learn_values(arguments)
    if arguments.preset == ROLLOUT:
        return _fit_patterns(arguments)
    find_preset(arguments.preset)
    span = read_span(arguments, "", "samples") or HOUR
    _check(arguments)
    if not arguments.games or arguments.out is None:
        raise NetFileError("--games and --out are needed")
    from gtp_export.learning.record_run import RecordRun, run_records

    wanted = {"int8": arguments.int8, "fp16": arguments.fp16}
    plan = RecordRun(
        preset=arguments.preset,
        games=tuple(arguments.games),
        out=arguments.out,
        valid=tuple(arguments.valid),
        span=span,
        name=arguments.name,
        licence=arguments.licence,
        start=arguments.start,
        frozen=arguments.freeze,
        processes=arguments.processes,
        threads=arguments.threads,
        device=arguments.device,
        batch_points=arguments.batch_points,
        learning_rate=arguments.learning_rate,
        positions=arguments.positions,
        precisions=tuple(kind for kind, is_wanted in wanted.items() if is_wanted),
        keeps_nets=arguments.keep_nets,
        seed=arguments.seed,
        command=command_line(arguments.words),
    )
    run_records(plan, _say)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    from gtp_engine.evaluators.net_info import NetFileError

    for name in ("processes", "threads", "batch_points", "positions", "learning_rate"):
        amount = getattr(arguments, name)
        if amount is not None and not amount > 0:  # nan is not either
            raise NetFileError(f"--{name.replace('_', '-')} must be positive")


def _learn_values(arguments: argparse.Namespace) -> int:
    from gtp_engine.coords import MAX_SIZE
    from gtp_engine.evaluators.net_info import NetFileError
    from gtp_engine.evaluators.nets import find_net

    _check(arguments)
    if arguments.policies is None or arguments.out is None:
        raise NetFileError("--policies and --out are needed")
    if not 5 <= arguments.size <= MAX_SIZE:
        raise NetFileError(f"--size must be between 5 and {MAX_SIZE}")
    supervised, reinforced = map(find_net, arguments.policies)
    from gtp_export.learning.single_positions import SingleRun, run_single_positions

    run_single_positions(
        SingleRun(
            supervised=supervised,
            reinforced=reinforced,
            size=arguments.size,
            games=arguments.make,
            out=arguments.out,
            span=read_span(arguments, "", "samples") or HOUR,
            batch_points=arguments.batch_points,
            learning_rate=arguments.learning_rate,
            seed=arguments.seed,
        ),
        _say,
    )
    return 0


def _fit_patterns(arguments: argparse.Namespace) -> int:
    from gtp_engine.evaluators.net_info import NetFileError

    span = read_span(arguments, "", "samples")
    if span is not None and span.unit != "samples":
        raise NetFileError(f"--preset {ROLLOUT}: plays games over once; --samples bounds that")
    if not arguments.games or arguments.out is None:
        raise NetFileError("--games and --out are needed")
    if arguments.start is not None:
        raise NetFileError(f"--preset {ROLLOUT}: begins from nothing; --from is for nets")
    from gtp_export.pattern_fit import POSITIONS, run_fit

    run_fit(
        arguments.games,
        arguments.valid,
        arguments.out,
        name=arguments.name or ROLLOUT,
        licence=arguments.licence,
        positions=POSITIONS if span is None else int(span.amount),
        measured=arguments.positions,
        seed=arguments.seed,
        say=_say,
    )
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
