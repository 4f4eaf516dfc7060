"""From a teacher net to a net of our own in a given time: label, train, measure, export."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from gtp_engine.evaluators.contract import NetInfo
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_export.cards import write_card
from gtp_export.generation import generate
from gtp_export.labels import Teacher
from gtp_export.networks import Tower
from gtp_export.tower_file import describe_tower, write_tower
from gtp_export.training import TrainPlan, train

GENERATION_SHARE = 0.3
"""Share of the span that goes into labelling positions before training begins."""


@dataclass(frozen=True)
class TowerExport:
    """Writes a net in training as a finished net file; can be sent to another process."""

    folder: Path
    info: NetInfo

    def __call__(self, net: Tower, stem: str) -> None:
        """Write `stem`.onnx.

        Raises:
            OSError: The file cannot be written.
        """
        write_tower(self.folder / f"{stem}.onnx", net.shape, net.weights(), self.info)


def say(line: str) -> None:
    """Print a line of progress on stderr."""
    print(line, file=sys.stderr, flush=True)


def distil(
    teacher_path: Path,
    packs: Sequence[Path],
    plan: TrainPlan,
    info: NetInfo,
) -> Path:
    """Make a net that judges positions as the teacher does.

    A run that was interrupted goes on where it was: labelled positions and checkpoints are kept.

    Args:
        teacher_path: A net that reads the same inputs.
        packs: Game records whose positions are labelled besides those of self-play.
        plan: How to train; its `minutes` hold for labelling and training together, `data` and
            `out` are folders to use.
        info: The description to put into the net, of `describe_student`.

    Returns:
        The finished net's file.

    Raises:
        NetFileError: The teacher cannot be used.
        OSError: A file cannot be written.
    """
    teacher = Teacher(teacher_path)
    seconds = 60.0 * GENERATION_SHARE * plan.minutes
    if not (plan.out / "checkpoint.pt").exists():
        generate(teacher, plan.data, packs, seconds, plan.seed, say)
    plan = replace(plan, minutes=(1.0 - GENERATION_SHARE) * plan.minutes)
    train(plan, TowerExport(plan.out, info), say)
    write_facts(plan)
    write_card(plan.out / "student-final.md", plan.out, info)
    return plan.out / "student-final.onnx"


def describe_student(plan: TrainPlan, name: str, teacher_path: Path, licence: str) -> NetInfo:
    """Return the description of a net distilled by a plan."""
    teacher = OnnxNet(teacher_path, "cpu").info
    return replace(
        describe_tower(plan.shape, name),
        trained_sizes=(2, 25),
        source=f"distilled from {teacher.name}",
        trained_on="positions of quick self-play on all sizes, rules and komi, and of game "
        f"records on 19x19, labelled by {teacher.name} ({teacher.architecture})",
        licence=licence,
        created_by="gtp-export distil",
    )


def write_facts(plan: TrainPlan) -> None:
    """Write what a card needs to know about a run to `facts.json`."""
    shards = {side: sorted((plan.data / side).glob("*.npz")) for side in ("train", "valid")}
    facts = {
        "shape": asdict(plan.shape),
        "parameters": plan.shape.parameters(),
        "learning_rate": plan.learning_rate,
        "processes": plan.processes,
        "positions": {side: _count_positions(paths) for side, paths in shards.items()},
    }
    (plan.out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


def _count_positions(paths: Sequence[Path]) -> dict[str, int]:
    """Return the number of positions by kind of shard."""
    counts: dict[str, int] = {}
    for path in paths:
        kind = path.stem.rpartition("-")[0]
        with np.load(path) as arrays:
            counts[kind] = counts.get(kind, 0) + len(arrays["features"])
    return counts
