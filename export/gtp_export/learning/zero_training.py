"""The trainer of a run that learns from nothing: no faster than self-play, a net now and then.

It is the trainer of all other runs, on the newest games of self-play: their share grows with the
run, and for each new position no more than so many samples are drawn; meanwhile it waits.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gtp_engine.evaluators.net_info import NetFileError
from gtp_export.architectures.shape import Shape
from gtp_export.learning.batch import Batch, NetOutputs
from gtp_export.learning.losses import MASKED_LOGIT
from gtp_export.learning.net_export import NetExport
from gtp_export.learning.record_losses import RecordTargets, record_losses, targets_of
from gtp_export.learning.training import CHECKPOINT_SECONDS, Trainer, TrainError, TrainPlan
from gtp_export.quantise.quantisation import QuantisePlan, quantise_file
from gtp_export.zero.nets import NetRecord, add_net, describe_own, shape_of
from gtp_export.zero.part import Part, share_spent
from gtp_export.zero.settings import RunFolder, Settings
from gtp_export.zero.shards import SUFFIX, ShardError
from gtp_export.zero.targets import TargetSamples, Window

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.5
"""Between two looks for new shards while self-play is behind."""
LOSS_DECAY = 0.98
QUANTISE_POSITIONS = 200


class ZeroTargets(NamedTuple):
    """What self-play says about a batch of boards with A points."""

    legal: Tensor
    """[B, A + 1] bool."""
    policy: Tensor
    """[B, A + 1] the search's; sums to 1."""
    outcome: Tensor
    """[B] 1 won, 0.5 drawn, 0 lost, NaN unknown."""
    score: Tensor
    """[B] points, NaN where the game was not counted."""
    ownership: Tensor
    """[B, H, W] 1 and -1, 0 where nobody owns or knows."""


def batch_of(samples: TargetSamples, value_mix: float) -> Batch:
    """Return positions as tensors.

    Args:
        samples: The positions.
        value_mix: Weight of the search's value in the outcome that is learned.
    """
    known = targets_of(samples.seen)
    searched = torch.from_numpy((samples.value + 1.0) / 2.0)
    return Batch(
        spatial=torch.from_numpy(samples.seen.spatial),
        features=torch.from_numpy(samples.seen.features),
        targets=ZeroTargets(
            known.legal,
            torch.from_numpy(samples.policy),
            known.outcome.lerp(searched, value_mix),
            known.score,
            known.ownership,
        ),
    )


class ShardSource:
    """Draws from the newest games of a run."""

    def __init__(self, run: RunFolder, settings: Settings, encoder: str) -> None:
        """Read the shards that are there."""
        self._run = run
        self._settings = settings
        wanted = settings.game, settings.size, settings.size
        self._window = Window(encoder, wanted)
        self._known: set[str] = set()
        self.positions = 0
        """In all shards so far."""
        self.waited = 0.0
        self._batches: Iterator[TargetSamples] | None = None
        self.look()

    def look(self) -> None:
        """Take in new shards, and forget what has left the window."""
        paths = [
            path for path in self._run.shards.glob(f"*{SUFFIX}") if path.stem not in self._known
        ]
        ages = {path: path.stat().st_mtime_ns for path in paths}
        for path in sorted(paths, key=lambda path: (ages[path], path.stem)):
            self._known.add(path.stem)
            try:
                self.positions += self._window.add(path)
            except ShardError as error:
                logger.warning(f"{error}; left out")
            self._window.keep(self._settings.window_positions(self.positions))

    def draw(self, generator: np.random.Generator) -> Batch:
        """Return a batch; see `training.Source`."""
        if self._batches is None:
            self._batches = self._window.batches(self._settings.batch, generator)
        return batch_of(next(self._batches), self._settings.value_mix)


@dataclass(frozen=True)
class ZeroTask:
    """What is learned from self-play."""

    settings: Settings
    shards: ShardSource

    @property
    def shape(self) -> Shape:
        """The architecture."""
        return shape_of(self.settings)

    def source(
        self, batch_points: int, seed: int, rank: int = 0, processes: int = 1
    ) -> ShardSource:
        """Begin to draw."""
        return self.shards

    def losses(self, outputs: NetOutputs, targets: ZeroTargets) -> dict[str, Tensor]:
        """Return the losses by name, [] each: those of records, with the search's policy."""
        assert outputs.policy is not None
        logits = outputs.policy.masked_fill(~targets.legal, MASKED_LOGIT)
        action = targets.policy.argmax(1)
        known = RecordTargets(
            targets.legal, action, targets.outcome, targets.score, targets.ownership
        )
        entropy = torch.special.xlogy(targets.policy, targets.policy).sum(1)
        cross = (targets.policy * functional.log_softmax(logits, 1)).sum(1)
        found = record_losses(outputs, known, squared_ownership=False)
        return found | {"policy": (entropy - cross).mean()}

    def measure(self, net: nn.Module, device: str) -> dict[str, Any]:
        """Measure nothing: nets are judged by their games."""
        return {}


class _Trainer(Trainer):
    """A trainer whose learning rate follows the whole run."""

    share = 0.0

    @property
    def progress(self) -> float:
        """Share of the run that has passed."""
        return self.share


def train_run(run: RunFolder) -> int:
    """Train until this process is ended.

    Raises:
        NetFileError: The run or the net that it goes on from cannot be used.
        OSError: A file cannot be read.
    """
    settings = run.settings()
    part = Part(run, "train")
    part.end_with_parent()
    torch.set_num_threads(1)
    folder = run.path / "train"
    folder.mkdir(exist_ok=True)
    shards = ShardSource(run, settings, shape_of(settings).encoder)
    _wait_for(shards, settings.first_positions, part)
    trainer = _begin(run, settings, shards, folder)
    losses: dict[str, float] = {}
    saved = time.monotonic()
    steps_per_net = max(1, settings.net_samples // settings.batch)
    while True:
        part.wait_while_halted()
        part.note()
        wanted = (trainer.spent.samples + settings.batch) / settings.samples_per_position
        _wait_for(shards, wanted, part)
        try:
            found = trainer.step()
        except TrainError as error:
            logger.warning(str(error))
            settings = replace(settings, learning_rate=0.5 * settings.learning_rate)
            trainer = _begin(run, settings, shards, folder)
            continue
        for name, loss in found.items():
            losses[name] = LOSS_DECAY * losses.get(name, loss) + (1.0 - LOSS_DECAY) * loss
        is_due = trainer.steps % steps_per_net == 0
        try:
            if is_due or time.monotonic() - saved > CHECKPOINT_SECONDS:
                saved = time.monotonic()
                trainer.share = share_spent(run)
                trainer.save()
            if is_due:
                _export(run, settings, trainer, shards.positions, losses, folder)
        except (NetFileError, OSError) as error:
            logger.warning(f"{error}; training goes on")


def _begin(run: RunFolder, settings: Settings, shards: ShardSource, folder: Path) -> _Trainer:
    """Return a trainer at the run's last checkpoint, or at its start."""
    plan = TrainPlan(
        task=ZeroTask(settings, shards),
        out=folder,
        span=settings.to_span(),
        batch_points=settings.batch * settings.size**2,
        learning_rate=settings.learning_rate,
        average_decay=settings.average_decay,
        adam=settings.adam,
        seed=settings.seed,
        start=Path(settings.start) if settings.start else None,
        loss_weights={
            "policy": settings.policy_weight,
            "value": settings.value_weight,
            "score": settings.score_weight,
            "ownership": settings.ownership_weight,
        },
    )
    trainer = _Trainer(0, plan)
    trainer.restore()
    trainer.share = share_spent(run)
    return trainer


def _wait_for(shards: ShardSource, positions: float, part: Part) -> None:
    """Return when self-play has come to so many positions."""
    while shards.positions < positions:
        shards.look()
        if shards.positions < positions:
            time.sleep(WAIT_SECONDS)
            part.note()


def _export(
    run: RunFolder,
    settings: Settings,
    trainer: Trainer,
    positions: int,
    losses: dict[str, float],
    folder: Path,
) -> None:
    """Put the averaged net among the run's, quantised if it passes.

    Raises:
        NetFileError: The net puts out what is not finite.
        OSError: It cannot be written.
    """
    NetExport(folder, describe_own(settings, trainer.steps))(trainer.average, "next")
    file, precision = folder / "next.onnx", "fp32"
    if settings.int8:
        small = folder / "next-int8.onnx"
        try:
            quantise_file(file, small, QuantisePlan(positions=QUANTISE_POSITIONS))
            file, precision = small, "int8"
        except NetFileError as error:
            logger.info(f"{error}; it stays in fp32")
    rounded = {name: round(loss, 4) for name, loss in losses.items()}
    record = NetRecord("", trainer.steps, trainer.spent.samples, positions, rounded, precision)
    add_net(run, file, record)
