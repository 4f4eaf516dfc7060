"""From a teacher net to a net of our own in a given span: label, train, measure, export."""

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from gtp_engine.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.files import write_json, write_whole
from gtp_export.architectures.net_file import describe_net
from gtp_export.architectures.presets import find_tower
from gtp_export.architectures.shape import count_parameters
from gtp_export.architectures.tower import TowerShape
from gtp_export.cards import format_distilled_card
from gtp_export.labelling.generation import (
    TRAIN,
    VALID,
    ShardMaker,
    count_by_kind,
    spent_on_labels,
)
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.losses import Targets, losses
from gtp_export.learning.measures import measure
from gtp_export.learning.net_export import NetExport
from gtp_export.learning.sample_source import SampleSource
from gtp_export.learning.starting_weights import check_start, licence_of
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.trainer import CHECKPOINT, TrainPlan, has_bfloat16, spent_in
from gtp_export.learning.training import read_metrics, train
from gtp_export.plans import DistilRun
from gtp_export.records.games import Games
from gtp_export.records.reading import read_table
from gtp_export.run_settings import alone_in, keep_settings
from gtp_export.span import Span

logger = logging.getLogger(__name__)

LABEL_SHARE = 0.3
"""Share of the core-hours or minutes that goes into labels, if nothing else is asked for."""
SAMPLES_PER_LABEL = 5
"""How often each position is learned from where samples end the run, if nothing else is asked
for."""
LATER_LEARNING_RATE = 0.01
"""Peak for a trained net, tuned by hand: at the one that suits random weights, `TrainPlan`'s, it
forgets what it knows, and at a third of that still much."""


@dataclass(frozen=True)
class DistilTask:
    """One tower on a folder of labelled positions."""

    shape: TowerShape
    data: Path
    """Folder with `train` and `valid`."""

    def source(
        self, batch_points: int, seed: int, rank: int = 0, processes: int = 1
    ) -> SampleSource:
        return SampleSource(self.data / "train", batch_points, rank, processes)

    def losses(self, outputs: NetOutputs, targets: Targets) -> dict[str, Tensor]:
        """Return how far the net is from its teacher: means over the batch, [] each, by name."""
        return losses(outputs, targets)

    def measure(self, net: Net, device: str) -> dict[str, Any]:
        """Return how far it is from it on positions it does not learn from."""
        return measure(net, self.data / "valid", device)


def distil(run: DistilRun) -> None:
    """Make a net that judges positions as the teacher does, with its card.

    A run that was interrupted goes on where it was: labelled positions, what they took, and
    checkpoints are kept.

    Raises:
        NetFileError: The teacher cannot be used, or the options make no sense, or all games are on
            larger boards.
        SgfError: There is no game in the packs.
        OSError: A file cannot be read or written.
    """
    if not run.sides:
        raise NetFileError("--smallest-board is larger than --largest-board")
    if run.played_weight and not run.games:
        raise NetFileError("--played-weight is for the moves of records; --games names some")
    if run.student_playouts and not run.student_games:
        raise NetFileError("--student-playouts needs --student-games")
    task = DistilTask(find_tower(run.preset), run.out / "data")
    span, label_span = divide_span(run)
    rate = run.learning_rate
    if rate is None:
        rate = TrainPlan.learning_rate if run.start is None else LATER_LEARNING_RATE
    plan = TrainPlan.of(run, task=task, span=span, learning_rate=rate)
    if run.student_games and run.rounds == 1 and _newest_student(plan) is None:
        raise NetFileError(
            "--student-games needs a student: a net given by --from, or one of an earlier round"
        )
    info = describe_student(run, task.shape)
    has_begun = (run.out / CHECKPOINT).exists()
    check_start(task.shape, None if has_begun else run.start, run.freeze)
    settings: dict[str, Any] = {
        "teacher": run.teacher.name,
        "from": run.start.name if run.start else "",
        "smallest_board": run.smallest_board,
        "largest_board": run.largest_board,
    }
    with alone_in(run.out):
        games: Games | None = None
        for number in range(1, run.rounds + 1):
            part = number / run.rounds
            if number < run.rounds and span.share(spent_in(run.out)) >= part:
                continue
            labels = label_span.times(part)
            is_short = labels.share(spent_on_labels(task.data)) < 1.0
            if is_short and run.games and games is None:
                games = _read_games(run)
            keep_settings(run.out, **settings)
            if is_short:
                student = _newest_student(plan) if run.student_games else None
                ShardMaker(run, task.data, games, student).make_shards(labels)
            train(plan, NetExport(run.out, info), until=part)
        facts = {
            "command": run.command_line,
            "shape": asdict(task.shape),
            "parameters": count_parameters(task.shape),
            "learning_rate": plan.learning_rate,
            "processes": plan.processes,
            "device": plan.device,
            "precision": "bf16" if has_bfloat16(plan.device) else "fp32",
            "positions": {side: count_by_kind(task.data / side) for side in (TRAIN, VALID)},
        }
        write_json(run.out / "facts.json", facts)
        card = format_distilled_card(info, facts | {"run": read_metrics(run.out)[-1]})
        write_whole(run.out / "student-final.md", card)
        (run.out / f"{plan.stem}-latest.onnx").unlink(missing_ok=True)
    logger.info(f"wrote {run.out / 'student-final.onnx'}")


def divide_span(run: DistilRun) -> tuple[Span, Span]:
    """Return how long to train and how long to label.

    Raises:
        NetFileError: Nothing is left for training.
    """
    whole, labels = run.span, run.label_span
    if whole.unit == "samples":
        return whole, labels or whole.times(1 / SAMPLES_PER_LABEL)
    labels = labels or whole.times(LABEL_SHARE)
    if labels.unit != whole.unit:
        return whole, labels
    if not labels.amount < whole.amount:
        raise NetFileError(f"--label-{whole.unit} must be less than --{whole.unit}")
    return Span(whole.amount - labels.amount, whole.unit), labels


def _read_games(run: DistilRun) -> Games:
    games = read_table(run.games).on_boards(lambda *size: max(size) in run.sides)
    if not len(games):
        files = ", ".join(path.name for path in run.games)
        boards = f"{run.smallest_board} to {run.largest_board} points a side"
        raise NetFileError(f"{files}: no game is on a board of {boards}")
    return games


def _newest_student(plan: TrainPlan) -> Path | None:
    """Return the net that a run wrote last, or begins with, or that lies beside its checkpoint."""
    written = _written_nets(plan.out, plan.stem)
    if not written and plan.start is not None:
        if plan.start.suffix == ".onnx":
            return plan.start
        written = _written_nets(plan.start.parent, plan.stem)
    return max(written, key=lambda path: path.stat().st_mtime_ns, default=None)


def _written_nets(folder: Path, stem: str) -> list[Path]:
    files = (folder / f"{stem}-{which}.onnx" for which in ("latest", "final"))
    return [path for path in files if path.exists()]


def describe_student(run: DistilRun, shape: TowerShape) -> NetInfo:
    """Return the description of a distilled net, begun with another one or with nothing.

    Raises:
        NetFileError: The teacher cannot be opened.
    """
    teacher = OnnxNet(run.teacher, "cpu").info
    begun = f", begun with {run.start.name}" if run.start else ""
    files = ", ".join(path.name for path in run.games)
    records = f", and of game records ({files})" if files else ""
    sizes = "sizes"
    if run.smallest_board > MIN_SIZE:
        sizes += f" from {run.smallest_board}"
    if run.largest_board < MAX_SIZE:
        sizes += f" up to {run.largest_board}"
    return describe_net(
        shape,
        run.name,
        trained_sizes=(run.smallest_board, run.largest_board),
        source=f"distilled from {teacher.name}{begun}",
        trained_on=f"positions of quick self-play on all {sizes}, rules and komi{records}, "
        f"labelled by {teacher.name} ({teacher.architecture})",
        licence=licence_of(run, run.start),
        created_by="gtp-export distil",
    )
