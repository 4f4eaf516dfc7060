"""The trainer of a run that learns from nothing: no faster than self-play, a net now and then.

It is the trainer of all other runs, on the newest games of self-play: their share grows with the
run, and for each new position no more than so many samples are drawn; meanwhile it waits.
"""

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.architectures.shape import Shape
from gtp_export.learning.batch import Batch, NetOutputs
from gtp_export.learning.losses import MASKED_LOGIT, divergence
from gtp_export.learning.net_export import NetExport
from gtp_export.learning.record_losses import RecordTargets, record_losses, targets_of
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.trainer import (
    CHECKPOINT_SECONDS,
    Trainer,
    TrainError,
    TrainPlan,
    follow_losses,
)
from gtp_export.plans import QuantisePlan
from gtp_export.quantise.quantisation import quantise_file
from gtp_export.zero.nets import NetRecord, add_net, describe_own, first_net, list_nets, shape_of
from gtp_export.zero.part import Part, share_spent
from gtp_export.zero.settings import RunFolder, Settings
from gtp_export.zero.shards import ShardError, UnreadableShardError, new_shards
from gtp_export.zero.targets import TargetSamples, Window

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.5
"""Between two looks for new shards while self-play is behind."""
LOOK_SECONDS = 5.0
"""The same while training is behind, for its window is to hold the newest games."""
END_SECONDS = 5.0
"""What the last step and its checkpoint may take when this process is to end."""
QUANTISED = QuantisePlan(positions=200, judged=400, seven_bit=True)
"""How nets are quantised: on half as many positions as usual, for a run has many nets; and workers
and players may lack VNNI, where weights of 8 bits overflow. That 7 bits round more hardly shows: on
7x7 a policy KL of 0.0008 where 8 bits have 0.0007."""


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
        self._window = Window(encoder, settings.boards)
        self._known: set[str] = set()
        self.positions = 0
        """In all shards so far."""
        self.waited = 0.0
        self._batches: Iterator[TargetSamples] | None = None
        self.look()

    def look(self) -> None:
        """Take in new shards, and forget what has left the window."""
        for path in new_shards(self._run.shards, self._known):
            try:
                self.positions += self._window.add(path)
            except UnreadableShardError:
                continue  # looked at again the next time
            except ShardError as error:
                logger.debug(f"{error}; left out")  # the coordinator warns
            self._known.add(path.stem)
            self._window.keep(self._settings.window_positions(self.positions))

    def draw(self, generator: np.random.Generator) -> Batch:
        """Return a batch; see `trainer.Source`."""
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
        found = record_losses(outputs, known, squared_ownership=False)
        return found | {"policy": divergence(targets.policy, functional.log_softmax(logits, 1))}

    def measure(self, net: Net, device: str) -> dict[str, Any]:
        """Measure nothing: nets are judged by their games."""
        return {}


class _Trainer(Trainer):
    """A trainer whose learning rate follows the whole run."""

    share = 0.0

    @property
    def progress(self) -> float:
        """Share of the run that has passed."""
        return self.share


class Learning:
    """The training of a run, a step at a time."""

    def __init__(self, run: RunFolder, settings: Settings) -> None:
        """Read the shards that there are; a net is made or restored once there are enough.

        Raises:
            NetFileError: There is no such architecture.
        """
        self._run = run
        self._settings = settings
        self._folder = run.path / "train"
        self._folder.mkdir(exist_ok=True)
        self._shards = ShardSource(run, settings, shape_of(settings).encoder)
        self._trainer: _Trainer | None = None
        self._begun_at = 0
        """Steps of the trainer when it was made or restored."""
        self._losses: dict[str, float] = {}
        self.checkpoints = 0
        """Written so far by this process."""
        self._saved = self._looked = time.perf_counter()
        self._owes_net = False
        """Whether a net was due that is not made yet, for no checkpoint could be written."""

    @property
    def has_begun(self) -> bool:
        """Whether there is a net to train."""
        return self._trainer is not None

    def step(self) -> bool:
        """Train on a batch, unless self-play is behind; return whether it was not.

        Raises:
            NetFileError: The net that the run goes on from cannot be used, or no new one be made,
                or what is restored cannot learn.
            OSError: A file cannot be written.
        """
        if self._is_ahead() or time.perf_counter() - self._looked >= LOOK_SECONDS:
            self._shards.look()
            self._looked = time.perf_counter()
            if self._is_ahead():
                return False
        if self._trainer is None:
            self._trainer = self._begin()
            self._begun_at = self._trainer.steps
            made = {net.steps for net in list_nets(self._run, {})}
            if self._trainer.steps not in (0, *made) and self._is_due(self._trainer):
                self._export(self._trainer)  # the process ended before it could
        trainer, settings = self._trainer, self._settings
        try:
            found = trainer.step()
        except TrainError:
            self._trainer, self._owes_net = None, False
            if trainer.steps == self._begun_at:
                raise NetFileError(
                    f"{self._folder}: gradients are not finite from the first step on; "
                    "without its checkpoint.pt training begins anew from its start"
                ) from None
            self._settings = replace(settings, learning_rate=0.5 * settings.learning_rate)
            logger.warning(
                f"gradients are no longer finite after {trainer.steps} steps; training goes on "
                "from its last checkpoint, or its start, at half the rate"
            )
            return True
        follow_losses(self._losses, found)
        self._owes_net = self._owes_net or self._is_due(trainer)
        if self._owes_net or time.perf_counter() - self._saved > CHECKPOINT_SECONDS:
            self.save()
        if self._owes_net:
            self._owes_net = False
            self._export(trainer)
        return True

    def save(self) -> None:
        """Write a checkpoint, if there is a net to train.

        Raises:
            NetFileError: It cannot be written, or the run's settings not be read.
            OSError: The same.
        """
        if self._trainer is None:
            return
        self._saved = time.perf_counter()
        self._trainer.share = share_spent(self._run)
        self._trainer.save()
        self.checkpoints += 1

    def _is_due(self, trainer: Trainer) -> bool:
        """Whether a net is to be made after so many steps."""
        settings = self._settings
        return trainer.steps % max(1, settings.net_samples // settings.batch) == 0

    def _is_ahead(self) -> bool:
        """Whether the next batch would be too many samples for so few positions."""
        samples = 0 if self._trainer is None else self._trainer.spent.samples
        bound = (samples + self._settings.batch) / self._settings.samples_per_position
        return self._shards.positions < max(bound, self._settings.first_positions)

    def _begin(self) -> _Trainer:
        """Return a trainer at the run's last checkpoint, or at its start."""
        settings = self._settings
        plan = TrainPlan(
            task=ZeroTask(settings, self._shards),
            out=self._folder,
            span=settings.to_span(),
            batch_points=settings.batch * settings.size**2,
            learning_rate=settings.learning_rate,
            average_decay=settings.average_decay,
            adam=settings.adam,
            seed=settings.seed,
            start=self._start,
            loss_weights={
                "policy": settings.policy_weight,
                "value": settings.value_weight,
                "score": settings.score_weight,
                "ownership": settings.ownership_weight,
            },
        )
        trainer = _Trainer(0, plan)
        trainer.restore()
        trainer.share = share_spent(self._run)
        return trainer

    @property
    def _start(self) -> Path | None:
        """The net that the run goes on from: its own copy, as the file may be elsewhere by now."""
        start = self._settings.start
        return (first_net(self._run) or Path(start)) if start else None

    def _export(self, trainer: Trainer) -> None:
        """Put the averaged net among the run's, quantised if it passes."""
        settings, folder = self._settings, self._folder
        NetExport(folder, describe_own(settings, trainer.steps))(trainer.average, "next")
        file, precision = folder / "next.onnx", "fp32"
        small = self._quantised(file) if settings.int8 else None
        if small is not None:
            file, precision = small, "int8"
        losses = {name: round(loss, 4) for name, loss in self._losses.items()}
        samples, positions = trainer.spent.samples, self._shards.positions
        add_net(
            self._run, file, NetRecord("", trainer.steps, samples, positions, losses, precision)
        )

    def _quantised(self, file: Path) -> Path | None:
        """Return the net in int8, its stem too if it passes so; None if it does not pass."""
        target = self._folder / "int8.onnx"
        for keep_fp32 in (("heads",), ("stem", "heads")):
            try:
                quantise_file(file, target, replace(QUANTISED, keep_fp32=keep_fp32))
                return target
            except NetFileError as error:
                logger.info(f"{error}; more stays in fp32")
        return None


def train_run(run: RunFolder) -> int:
    """Train until the run is over or this process is ended.

    Raises:
        NetFileError: Another trainer is at work, or the run or the net that it goes on from cannot
            be used.
        OSError: A file cannot be read.
    """
    settings = run.settings()
    part = Part(run, "train", alone=True)
    ending = threading.Event()
    part.end_with_parent(ending, END_SECONDS)
    torch.set_num_threads(1)
    learning = Learning(run, settings)
    told: object = None
    while not (part.is_over or ending.is_set()):
        part.wait_while_halted(ending.is_set)
        part.note()
        try:
            if learning.step():
                continue
        except (NetFileError, OSError) as error:
            problem = str(error), learning.checkpoints
            if problem != told:  # a full disk would fill the screen too
                what = (
                    "training goes on" if learning.has_begun else "no training until it is mended"
                )
                logger.warning(f"{error}; {what}")
            told = problem
        time.sleep(WAIT_SECONDS)
    try:
        learning.save()  # the span may be made longer
    except (NetFileError, OSError) as error:
        logger.warning(f"{error}; training would go on from the checkpoint before")
    return 0
