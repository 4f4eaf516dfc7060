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
    parser.add_argument("--name", default="student", help="name to write into the net")
    parser.add_argument("--licence", default="unknown", help="licence to write into the net")
    parser.add_argument("--processes", type=int, default=1, help="training processes (1)")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace) -> int:
    """Label, train, measure and export; the net's path goes to stderr at the end."""
    from gtp_export.distillation import describe_student, distil
    from gtp_export.tower import PRESETS
    from gtp_export.training import TrainPlan

    if arguments.preset not in PRESETS:
        known = ", ".join(PRESETS)
        raise NetFileError(f"unknown preset {arguments.preset!r}; known are {known}")
    if arguments.minutes <= 0 or arguments.processes < 1:
        raise NetFileError("--minutes and --processes must be positive")
    plan = TrainPlan(
        shape=PRESETS[arguments.preset],
        data=arguments.out / "data",
        out=arguments.out,
        minutes=arguments.minutes,
        processes=arguments.processes,
        seed=arguments.seed,
    )
    info = describe_student(plan, arguments.name, arguments.teacher, arguments.licence)
    net = distil(arguments.teacher, arguments.games, plan, info)
    print(f"gtp-export: wrote {net}", file=sys.stderr)
    return 0
