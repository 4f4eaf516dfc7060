"""Make a net of our own that judges positions as a teacher net does."""

import argparse
import sys
from pathlib import Path

from gtp_engine.arguments import parse_count
from gtp_engine.evaluators.net_info import NetFileError
from gtp_export.cards.command_line import command_line

LATER_LEARNING_RATE = 0.08
"""Peak for a trained net, tuned by hand: at the one that suits random weights, `TrainPlan`'s, it
forgets what it knows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export distil` takes."""
    parser.add_argument("--teacher", type=Path, required=True, metavar="NET.onnx")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run")
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the run (60)")
    parser.add_argument(
        "--label-minutes", type=float, metavar="M", help="of them for labels (three tenths)"
    )
    parser.add_argument("--preset", default="b6c64", help="architecture (b6c64)")
    parser.add_argument(
        "--from",
        dest="start",
        type=Path,
        metavar="NET",
        help="checkpoint or fp32 net to go on from",
    )
    parser.add_argument(
        "--learning-rate", type=float, metavar="RATE", help="peak (0.25; 0.08 with --from)"
    )
    parser.add_argument(
        "--games", type=Path, nargs="*", default=[], metavar="FILE", help="games to label too"
    )
    parser.add_argument(
        "--played-weight",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the recorded move in the policy at positions of records (0)",
    )
    parser.add_argument(
        "--playouts",
        type=int,
        default=0,
        metavar="N",
        help="of the teacher's search for each label (0: its net's own answers)",
    )
    parser.add_argument("--name", default="student", help="name to write into the net")
    parser.add_argument("--licence", default="unknown", help="licence to write into the net")
    parser.add_argument("--processes", type=int, default=1, help="processes (1)")
    parser.add_argument("--seed", type=parse_count, default=1, metavar="N")


def run(arguments: argparse.Namespace) -> int:
    """Label, train, measure and export; the net's path goes to stderr at the end."""
    from gtp_export.architectures.presets import find_tower
    from gtp_export.learning.distillation import (
        DistilTask,
        Labelling,
        describe_student,
        distil,
    )
    from gtp_export.learning.training import TrainPlan

    shape = find_tower(arguments.preset)
    label_minutes, rate = arguments.label_minutes, arguments.learning_rate
    if not arguments.minutes > 0 or arguments.processes < 1:
        raise NetFileError("--minutes and --processes must be positive")
    if label_minutes is not None and not 0 < label_minutes < arguments.minutes:
        raise NetFileError("--label-minutes must be positive and less than --minutes")
    if rate is not None and not rate > 0:
        raise NetFileError("--learning-rate must be positive")
    if not 0.0 <= arguments.played_weight < 1.0:
        raise NetFileError("--played-weight must be at least 0 and below 1")
    if arguments.playouts < 0 or arguments.playouts == 1:
        raise NetFileError("--playouts must be 0 for none, or at least 2")
    if rate is None:
        rate = TrainPlan.learning_rate if arguments.start is None else LATER_LEARNING_RATE
    task = DistilTask(shape, arguments.out / "data")
    plan = TrainPlan(
        task=task,
        out=arguments.out,
        minutes=arguments.minutes,
        learning_rate=rate,
        processes=arguments.processes,
        start=arguments.start,
        seed=arguments.seed,
    )
    labelling = Labelling(
        teacher=arguments.teacher,
        packs=arguments.games,
        played_weight=arguments.played_weight,
        minutes=label_minutes,
        playouts=arguments.playouts,
    )
    info = describe_student(shape, arguments.name, labelling, arguments.start, arguments.licence)
    net = distil(labelling, plan, task, info, _command_line(arguments))
    print(f"gtp-export: wrote {net}", file=sys.stderr)
    return 0


def _command_line(arguments: argparse.Namespace) -> str:
    """Return the command for the card."""
    return command_line(
        "distil",
        {
            "--teacher": arguments.teacher,
            "--games": arguments.games,
            "--preset": arguments.preset,
            "--out": arguments.out,
            "--minutes": arguments.minutes,
            "--label-minutes": arguments.label_minutes,
            "--from": arguments.start,
            "--learning-rate": arguments.learning_rate,
            "--played-weight": arguments.played_weight,
            "--playouts": arguments.playouts,
            "--processes": arguments.processes if arguments.processes > 1 else None,
            "--seed": None if arguments.seed == 1 else arguments.seed,
        },
    )
