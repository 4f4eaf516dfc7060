"""From a teacher net to a net of our own in a given span: label, train, measure, export."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from gtp_engine.evaluators.net_info import NetInfo
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_engine.evaluators.runtimes import AUTO
from gtp_engine.files import write_whole
from gtp_export.architectures.net_file import describe_net
from gtp_export.architectures.shape import count_parameters
from gtp_export.architectures.tower import TowerShape
from gtp_export.cards import write_card
from gtp_export.labelling.generation import (
    TRAIN,
    VALID,
    Generator,
    count_by_kind,
    spent_on_labels,
)
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.losses import Targets, losses
from gtp_export.learning.measures import measure
from gtp_export.learning.net_export import NetExport
from gtp_export.learning.sample_source import SampleSource
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.training import TrainPlan, has_bfloat16, spent_in, train
from gtp_export.records.games import Games
from gtp_export.records.reading import read_table
from gtp_export.span import Span


@dataclass(frozen=True)
class DistilTask:
    """One tower on a folder of labelled positions."""

    shape: TowerShape
    data: Path
    """Folder with `train` and `valid`, which may grow meanwhile."""

    def source(
        self, batch_points: int, seed: int, rank: int = 0, processes: int = 1
    ) -> SampleSource:
        """Begin to draw."""
        return SampleSource(self.data / "train", batch_points, rank, processes)

    def losses(self, outputs: NetOutputs, targets: Targets) -> dict[str, Tensor]:
        """Return how far the net is from its teacher: means over the batch, [] each, by name."""
        return losses(outputs, targets)

    def measure(self, net: Net, device: str) -> dict[str, Any]:
        """Return how far it is from it on positions it does not learn from."""
        return measure(net, self.data / "valid", device)


def say(line: str) -> None:
    """Print a line of progress on stderr."""
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Labelling:
    """Where labelled positions come from."""

    teacher: Path
    """A net that reads the same inputs."""
    span: Span
    """How many positions are labelled, or how long."""
    packs: Sequence[Path] = ()
    """Game records whose positions are labelled besides those of self-play."""
    played_weight: float = 0.0
    """Share of the played move in the policy that is learned where a position comes from a
    record."""
    playouts: int = 0
    """Of the teacher's search for each label; 0 for its net's own answers."""
    processes: int = 1
    rounds: int = 1
    """So many times a part of the positions is labelled, and a part of the training done."""
    runtime: str = AUTO
    """What runs the teacher on a processor."""
    student_share: float = 0.0
    """Share of the shards whose positions are of games that the student plays with itself."""


def distil(
    labelling: Labelling, plan: TrainPlan, task: DistilTask, info: NetInfo, command: str
) -> Path:
    """Make a net that judges positions as the teacher does.

    A run that was interrupted goes on where it was: labelled positions, what they took, and
    checkpoints are kept.

    Args:
        labelling: What is labelled, and how.
        plan: How to train; its task is the next.
        task: The architecture, and the folder for labelled positions.
        info: The description to put into the net, of `describe_student`.
        command: What asks for such a run, for the card.

    Returns:
        The finished net's file.

    Raises:
        NetFileError: The teacher cannot be used.
        SgfError: There is no game in the packs.
        OSError: A file cannot be read or written.
    """
    games: Games | None = None
    for number in range(1, labelling.rounds + 1):
        part = number / labelling.rounds
        if number < labelling.rounds and plan.span.share(spent_in(plan.out)) >= part:
            continue
        span = labelling.span.times(part)
        if span.share(spent_on_labels(task.data)) < 1.0:
            if labelling.packs and games is None:
                games = read_table(labelling.packs)
            generator = Generator(
                labelling.teacher,
                task.data,
                games,
                plan.seed,
                labelling.played_weight,
                labelling.processes,
                labelling.playouts,
                _newest_student(plan),
                labelling.student_share,
                labelling.runtime,
            )
            generator.run(span, say)
        train(plan, NetExport(plan.out, info), say, until=part)
    write_facts(plan, task, command)
    write_card(plan.out / "student-final.md", plan.out, info)
    return plan.out / "student-final.onnx"


def _newest_student(plan: TrainPlan) -> Path | None:
    """Return the net that the run wrote last, or begins with; None where there is no net file."""
    written = plan.out / f"{plan.stem}-latest.onnx"
    if written.exists():
        return written
    return plan.start if plan.start is not None and plan.start.suffix == ".onnx" else None


def describe_student(
    shape: TowerShape, name: str, labelling: Labelling, start: Path | None, licence: str
) -> NetInfo:
    """Return the description of a distilled net, begun with another one or with nothing.

    Raises:
        NetFileError: The teacher cannot be opened.
    """
    teacher = OnnxNet(labelling.teacher, "cpu").info
    begun = f", begun with {start.name}" if start else ""
    files = ", ".join(path.name for path in labelling.packs)
    records = f", and of game records ({files})" if files else ""
    return replace(
        describe_net(shape, name),
        trained_sizes=(2, 25),
        source=f"distilled from {teacher.name}{begun}",
        trained_on=f"positions of quick self-play on all sizes, rules and komi{records}, "
        f"labelled by {teacher.name} ({teacher.architecture})",
        licence=licence,
        created_by="gtp-export distil",
    )


def write_facts(plan: TrainPlan, task: DistilTask, command: str) -> None:
    """Write what a card needs to know about a run to `facts.json`."""
    facts = {
        "command": command,
        "shape": asdict(task.shape),
        "parameters": count_parameters(task.shape),
        "learning_rate": plan.learning_rate,
        "processes": plan.processes,
        "device": plan.device,
        "precision": "bf16" if has_bfloat16(plan.device) else "fp32",
        "positions": {side: count_by_kind(task.data / side) for side in (TRAIN, VALID)},
    }
    write_whole(plan.out / "facts.json", json.dumps(facts, indent=1) + "\n")
