"""Make a net of our own that judges positions as a teacher net does: label, train, measure.

A run ends after so many samples, core-hours or minutes; core-hours and minutes are for labels and
training together. One that was killed goes on where it was when the same command is given again;
while a file PAUSE lies in its folder it stands still.
"""

import argparse
import sys
from pathlib import Path

from gtp_engine.arguments import parse_count, parse_names
from gtp_engine.evaluators.devices import RUNTIMES
from gtp_engine.evaluators.net_info import NetFileError
from gtp_export.cards import command_line
from gtp_export.span import HOUR, Span, add_span_arguments, read_span

LABEL_SHARE = 0.3
"""Share of the core-hours or minutes that goes into labels, if nothing else is asked for."""
SAMPLES_PER_LABEL = 5
"""How often each position is learned from where samples end the run, if nothing else is asked
for."""

LATER_LEARNING_RATE = 0.01
"""Peak for a trained net, tuned by hand: at the one that suits random weights, `TrainPlan`'s, it
forgets what it knows, and at a third of that still much."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export distil` takes."""
    parser.add_argument("--teacher", type=Path, required=True, metavar="NET.onnx")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run")
    span = parser.add_mutually_exclusive_group().add_argument
    add_span_arguments(span, "", "the run", "samples", "60")
    span = parser.add_mutually_exclusive_group().add_argument
    add_span_arguments(span, "label-", "the labelling", "positions", "three tenths of the run")
    parser.add_argument(
        "--rounds", type=int, default=1, metavar="N", help="label and train a part N times (1)"
    )
    parser.add_argument("--preset", default="b6c64", help="architecture (b6c64)")
    parser.add_argument(
        "--from",
        dest="start",
        type=Path,
        metavar="NET",
        help="checkpoint or net made here to go on from",
    )
    parser.add_argument(
        "--learning-rate", type=float, metavar="RATE", help="peak (0.25; 0.01 with --from)"
    )
    parser.add_argument(
        "--freeze",
        type=parse_names,
        default=(),
        metavar="LAYERS",
        help="beginnings of names, with commas between",
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
    parser.add_argument(
        "--student-games",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the labels for games that the newest student, or --from, plays with itself (0)",
    )
    parser.add_argument("--name", default="student", help="name to write into the net")
    parser.add_argument("--licence", default="unknown", help="licence to write into the net")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument(
        "--runtime",
        choices=RUNTIMES,
        default="auto",
        help="of the teacher on a processor; auto: the faster",
    )
    parser.add_argument("--processes", type=int, default=1, help="processes, on CPUs (1)")
    parser.add_argument("--batch-points", type=int, metavar="N", help="points a batch (10400)")
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
    from gtp_export.learning.training import TrainPlan, choose_device

    shape = find_tower(arguments.preset)
    rate = arguments.learning_rate
    for name in ("processes", "rounds", "batch_points"):
        number = getattr(arguments, name)
        if number is not None and number < 1:
            raise NetFileError(f"--{name.replace('_', '-')} must be positive")
    span, label_span = _read_spans(arguments)
    if rate is not None and not rate > 0:
        raise NetFileError("--learning-rate must be positive")
    if not 0.0 <= arguments.played_weight < 1.0:
        raise NetFileError("--played-weight must be at least 0 and below 1")
    if arguments.playouts < 0 or arguments.playouts == 1:
        raise NetFileError("--playouts must be 0 for none, or at least 2")
    if not 0.0 <= arguments.student_games < 1.0:
        raise NetFileError("--student-games must be at least 0 and below 1")
    if rate is None:
        rate = TrainPlan.learning_rate if arguments.start is None else LATER_LEARNING_RATE
    device = choose_device(arguments.device)
    task = DistilTask(shape, arguments.out / "data")
    plan = TrainPlan(
        task=task,
        out=arguments.out,
        span=span,
        learning_rate=rate,
        processes=1 if device == "cuda" else arguments.processes,
        batch_points=arguments.batch_points or TrainPlan.batch_points,
        device=device,
        start=arguments.start,
        frozen=arguments.freeze,
        seed=arguments.seed,
    )
    labelling = Labelling(
        teacher=arguments.teacher,
        span=label_span,
        packs=arguments.games,
        played_weight=arguments.played_weight,
        playouts=arguments.playouts,
        processes=arguments.processes,
        rounds=arguments.rounds,
        student_share=arguments.student_games,
        runtime=arguments.runtime,
    )
    info = describe_student(shape, arguments.name, labelling, arguments.start, arguments.licence)
    net = distil(labelling, plan, task, info, command_line(arguments.words))
    print(f"gtp-export: wrote {net}", file=sys.stderr)
    return 0


def _read_spans(arguments: argparse.Namespace) -> tuple[Span, Span]:
    """Return how long to train and how long to label.

    Raises:
        NetFileError: One is not positive, or nothing is left for training.
    """
    whole = read_span(arguments, "", "samples") or HOUR
    labels = read_span(arguments, "label-", "positions")
    if whole.unit == "samples":
        return whole, labels or whole.times(1 / SAMPLES_PER_LABEL)
    labels = labels or whole.times(LABEL_SHARE)
    if labels.unit != whole.unit:
        return whole, labels
    if not labels.amount < whole.amount:
        raise NetFileError(f"--label-{whole.unit} must be less than --{whole.unit}")
    return Span(whole.amount - labels.amount, whole.unit), labels
