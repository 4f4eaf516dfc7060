"""Make a net of our own that judges positions as a teacher net does."""

import argparse
import sys
from pathlib import Path

from gtp_engine.evaluators.contract import NetFileError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export distil` takes."""
    parser.add_argument("--teacher", type=Path, required=True, metavar="NET.onnx")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run")
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the run (60)")
    parser.add_argument("--preset", default="b6c64", help="architecture (b6c64)")
    parser.add_argument("--games", type=Path, nargs="*", default=[], metavar="PACK")
    parser.add_argument(
        "--played-weight",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the recorded move in the policy at positions of records (0)",
    )
    parser.add_argument("--name", default="student", help="name to write into the net")
    parser.add_argument("--licence", default="unknown", help="licence to write into the net")
    parser.add_argument("--processes", type=int, default=1, help="training processes (1)")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace) -> int:
    """Label, train, measure and export; the net's path goes to stderr at the end."""
    from gtp_export.architectures.presets import find_tower
    from gtp_export.learning.distillation import DistilTask, describe_student, distil
    from gtp_export.learning.training import TrainPlan

    shape = find_tower(arguments.preset)
    if arguments.minutes <= 0 or arguments.processes < 1:
        raise NetFileError("--minutes and --processes must be positive")
    if not 0.0 <= arguments.played_weight < 1.0:
        raise NetFileError("--played-weight must be at least 0 and below 1")
    task = DistilTask(shape, arguments.out / "data")
    plan = TrainPlan(
        task=task,
        out=arguments.out,
        minutes=arguments.minutes,
        processes=arguments.processes,
        seed=arguments.seed,
    )
    info = describe_student(shape, arguments.name, arguments.teacher, arguments.licence)
    net = distil(arguments.teacher, arguments.games, plan, task, info, arguments.played_weight)
    print(f"gtp-export: wrote {net}", file=sys.stderr)
    return 0
