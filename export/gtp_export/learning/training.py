"""Train a net at a task, within a span of time.

Each step, every process draws a batch of one board size, of about the same number of points
whatever the size; gradients are averaged over the processes. The learning rate follows one
cosine over the span. The weights that are measured and shipped are a running average. A run that
was killed goes on from its last checkpoint, minutes old at most.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, distributed, multiprocessing, nn
from torch.multiprocessing.spawn import ProcessException, ProcessExitedException

from gtp_engine.evaluators.net_info import NetFileError
from gtp_engine.go.game_record import SgfError
from gtp_export.architectures.shape import Shape, numbers_of
from gtp_export.learning.batch import Batch
from gtp_export.learning.nets import build_net
from gtp_export.learning.outputs import NetOutputs
from gtp_export.learning.running_norm import RunningNorm
from gtp_export.learning.starting_weights import freeze, load_weights, read_checkpoint

CHECKPOINT_SECONDS = 60.0
BUFFER_SYNC_STEPS = 50
LOG_STEPS = 50
ALL_REDUCE_TIMEOUT_MINUTES = 10
CHECKPOINT = "checkpoint.pt"
METRICS = "metrics.jsonl"


class TrainError(NetFileError):
    """A run that cannot go on; the message says why and what is kept."""


class Source(Protocol):
    """Where batches come from."""

    @property
    def waited(self) -> float:
        """Seconds the trainer has waited for batches."""

    def draw(self, generator: np.random.Generator) -> Batch:
        """Return the next batch, of boards of one size."""


class Task(Protocol):
    """What is to be learned; can be sent to another process."""

    @property
    def shape(self) -> Shape:
        """The architecture."""

    def source(self, batch_points: int, seed: int, rank: int = 0, processes: int = 1) -> Source:
        """Begin to draw batches of boards with so many points together, for one of the processes.

        Args:
            batch_points: Points of the boards of a batch, about.
            seed: Another one for every process.
            rank: Which process it is, from 0.
            processes: How many there are; together they draw from everything.
        """

    def losses(self, outputs: NetOutputs, targets: Any) -> dict[str, Tensor]:
        """Return the mean losses of a batch by name; those without a weight are only told."""

    def measure(self, net: nn.Module, device: str) -> dict[str, Any]:
        """Return how good a net is, on what is not learned from."""


@dataclass(frozen=True)
class TrainPlan:
    """How a net is to be trained."""

    task: Task
    out: Path
    """Folder for checkpoint, metrics and nets."""
    minutes: float
    """Length of the run, earlier parts of a resumed one included."""
    processes: int = 1
    batch_points: int = 10_400
    """Points of the boards of one process's batch: 128 boards of 9x9."""
    learning_rate: float = 0.25
    """Peak. Tuned by hand in runs of a minute."""
    momentum: float = 0.9
    adam: bool = False
    """Whether Adam moves the weights instead of SGD with Nesterov momentum."""
    weight_decay: float = 1e-4
    """On weights with more than one axis."""
    warm_up_steps: int = 100
    average_decay: float = 0.999
    max_gradient_norm: float = 3.0
    seed: int = 1
    export_minutes: float = 10.0
    """A net is written that often."""
    measure_minutes: float = 10.0
    """The net is measured that often."""
    stem: str = "student"
    """What the names of written nets begin with."""
    device: str = "cpu"
    start: Path | None = None
    """A net or checkpoint of the same architecture to begin with; of no account once the run has a
    checkpoint of its own."""
    frozen: tuple[str, ...] = ()
    """Beginnings of the names of arrays that stay as they are."""
    loss_weights: Mapping[str, float] = field(
        default_factory=lambda: {"policy": 1.0, "value": 2.5, "score": 0.5, "ownership": 1.0}
    )


Export = Callable[[nn.Module, str], None]
"""Writes an averaged net under a file name's stem."""


Say = Callable[[str], None]


class Progress(Protocol):
    """Shows how a run goes; can be sent to another process."""

    def __call__(self, share: float, text: str) -> None:
        """Show the share of the span that has passed, 0 to 1, and a line how it goes."""

    def close(self) -> None:
        """Leave the terminal as it was, however the run ended."""


def train(plan: TrainPlan, export: Export, say: Say, progress: Progress | None = None) -> None:
    """Run the training, in as many processes as planned, to its end.

    Args:
        plan: What to do. All the rest must be picklable if it asks for more than a process.
        export: Called with the averaged net every `export_minutes` and at the end.
        say: Told in lines what is measured, and how it goes unless there is `progress`.
        progress: Told how it goes.

    Raises:
        TrainError: The run cannot go on.
        NetFileError: The net to begin with, or what is to be frozen, cannot be used.
        OSError: A file cannot be written.
    """
    plan.out.mkdir(parents=True, exist_ok=True)
    if plan.processes == 1:
        _run(0, plan, export, say, progress)
        return
    rendezvous = plan.out / "rendezvous"
    rendezvous.unlink(missing_ok=True)
    failures = multiprocessing.get_context("spawn").SimpleQueue()
    arguments = (plan, export, say, progress, rendezvous, failures)
    try:
        multiprocessing.spawn(_run_rank, arguments, plan.processes)
    except ProcessException as error:
        if not failures.empty():
            raise failures.get() from None
        if isinstance(error, ProcessExitedException):
            raise TrainError(f"{error}; the checkpoint in {plan.out} is kept") from None
        raise
    finally:
        rendezvous.unlink(missing_ok=True)


def _run_rank(
    rank: int,
    plan: TrainPlan,
    export: Export,
    say: Say,
    progress: Progress | None,
    rendezvous: Path,
    failures: Any,
) -> None:
    """Run one process's share; what a user can do something about is put into a queue."""
    from datetime import timedelta

    distributed.init_process_group(
        "gloo",
        init_method=f"file://{rendezvous.resolve()}",
        rank=rank,
        world_size=plan.processes,
        timeout=timedelta(minutes=ALL_REDUCE_TIMEOUT_MINUTES),
    )
    try:
        _run(rank, plan, export, say, progress)
    except (NetFileError, SgfError, OSError) as error:
        failures.put(error)
        sys.exit(1)
    finally:
        distributed.destroy_process_group()


def _run(rank: int, plan: TrainPlan, export: Export, say: Say, progress: Progress | None) -> None:
    torch.set_num_threads(1)
    trainer = Trainer(rank, plan)
    trainer.restore()
    reporter = _Reporter(trainer, plan, export, say, progress) if rank == 0 else None
    try:
        _train_to_the_end(trainer, plan, reporter)
    finally:
        if reporter is not None:
            reporter.close()


def _train_to_the_end(trainer: "Trainer", plan: TrainPlan, reporter: "_Reporter | None") -> None:
    while trainer.progress < 1.0:
        try:
            found = trainer.step()
        except (MemoryError, RuntimeError) as error:
            if "memory" not in str(error) and not isinstance(error, MemoryError):
                raise
            raise TrainError(
                f"memory is exhausted at batches of {plan.batch_points} points; the checkpoint in "
                f"{plan.out} is kept, smaller batches go on from it (--batch-points)"
            ) from None
        if reporter is not None:
            reporter.after_step(found)
    if reporter is not None:
        reporter.finish()


class Trainer:
    """One process's share of a training run."""

    def __init__(self, rank: int, plan: TrainPlan) -> None:
        """Build the net, the same in every process."""
        torch.manual_seed(plan.seed)
        self._plan = plan
        self._rank = rank
        shape = plan.task.shape
        self.net = build_net(shape).to(plan.device)
        self.average = build_net(shape).to(plan.device)
        self._autocast = torch.autocast(
            plan.device, torch.bfloat16, enabled=has_bfloat16(plan.device)
        )
        self.steps = 0
        self.samples = 0
        """Samples drawn by this process."""
        self.progress = 0.0
        """Share of the span that has passed."""
        self._spent = 0.0
        self._clock = time.monotonic()
        self._source: Source | None = None
        self._first_draw = False
        if plan.start is not None and not (plan.out / CHECKPOINT).exists():
            load_weights(self.net, plan.start, self._draw())
        self._frozen_norms = freeze(self.net, plan.frozen)
        self.average.load_state_dict(self.net.state_dict())
        self.average.eval()
        groups = _parameter_groups(self.net, plan.weight_decay)
        self._optimizer: Any
        if plan.adam:
            self._optimizer = torch.optim.AdamW(groups, lr=plan.learning_rate)
        else:
            self._optimizer = torch.optim.SGD(
                groups, lr=plan.learning_rate, momentum=plan.momentum, nesterov=True
            )

    @property
    def seconds(self) -> float:
        """Time spent so far, in earlier parts of the run too."""
        return self._spent + time.monotonic() - self._clock

    @property
    def waited(self) -> float:
        """Seconds this process has waited for batches since it began."""
        return 0.0 if self._source is None else self._source.waited

    def step(self) -> dict[str, float]:
        """Draw a batch and move the weights; return the losses by name.

        Raises:
            TrainError: The run has diverged; the weights are as they were before the step.
        """
        batch = self._draw()
        self.net.train()
        for norm in self._frozen_norms:
            norm.eval()
        with self._autocast:
            outputs = self.net(batch.spatial, batch.features)
        found = self._plan.task.losses(outputs, batch.targets)
        weights = self._plan.loss_weights
        total = sum(weights[name] * loss for name, loss in found.items() if name in weights)
        self._optimizer.zero_grad(set_to_none=False)
        total.backward()
        self._share_gradients()
        found["gradient"] = torch.nn.utils.clip_grad_norm_(
            self.net.parameters(), self._plan.max_gradient_norm
        )
        if not torch.isfinite(found["gradient"]):
            raise TrainError(
                f"gradients are no longer finite at step {self.steps + 1}; the checkpoint in "
                f"{self._plan.out} is kept, a smaller --learning-rate goes on from it"
            )
        rate = self._learning_rate()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
        self.steps += 1
        self.samples += len(batch.features)
        self._update_average()
        return {name: float(loss.detach()) for name, loss in found.items()}

    def _draw(self) -> Batch:
        plan = self._plan
        if self._source is None:
            # Another seed after a restart, so that it does not draw the same again.
            seed = [plan.seed, self._rank, self.steps]
            drawn = int(np.random.SeedSequence(seed).generate_state(1)[0])
            self._source = plan.task.source(plan.batch_points, drawn, self._rank, plan.processes)
            self._first_draw = True
        generator = np.random.default_rng([plan.seed, self._rank, self.steps])
        batch = self._source.draw(generator).to(plan.device)
        if self._first_draw:  # what starting takes, compiling above all, is not training
            self._first_draw = False
            self._clock = time.monotonic()
        return batch

    def _learning_rate(self) -> float:
        warm = min(1.0, (self.steps + 1) / self._plan.warm_up_steps)
        cosine = 0.5 * (1.0 + np.cos(np.pi * min(1.0, self.progress)))
        return float(self._plan.learning_rate * warm * cosine)

    def _share_gradients(self) -> None:
        """Average the gradients over the processes; all take the first one's clock."""
        progress = self.seconds / (60.0 * self._plan.minutes)
        if self._plan.processes == 1:
            self.progress = progress
            return
        gradients = [p.grad for p in self.net.parameters() if p.grad is not None]
        clock = torch.tensor([progress if self._rank == 0 else 0.0])
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), clock])
        distributed.all_reduce(flat)
        self.progress = float(flat[-1])
        flat /= self._plan.processes
        at = 0
        for gradient in gradients:
            gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
            at += gradient.numel()
        if self.steps % BUFFER_SYNC_STEPS == 0:
            self._share_statistics()

    def _share_statistics(self) -> None:
        buffers = [b for name, b in self.net.named_buffers() if ".running_" in name]
        flat = torch.cat([buffer.flatten() for buffer in buffers])
        distributed.all_reduce(flat)
        flat /= self._plan.processes
        at = 0
        for buffer in buffers:
            buffer.copy_(flat[at : at + buffer.numel()].view_as(buffer))
            at += buffer.numel()

    def _update_average(self) -> None:
        # Early on the average follows closely, so that it forgets the random start.
        decay = min(self._plan.average_decay, (1.0 + self.steps) / (10.0 + self.steps))
        state = self.net.state_dict()
        with torch.no_grad():
            for name, average in self.average.state_dict().items():
                average.lerp_(state[name], 1.0 - decay)

    def save(self) -> None:
        """Write a checkpoint, all of it or nothing."""
        state = {
            "shape": numbers_of(self._plan.task.shape),
            "net": self.net.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "norm_steps": _norm_steps(self.net),
            "steps": self.steps,
            "samples": self.samples,
            "seconds": self.seconds,
        }
        path = self._plan.out / CHECKPOINT
        partial = path.with_suffix(".part")
        try:
            torch.save(state, partial)
            os.replace(partial, path)
        except (OSError, RuntimeError) as error:  # torch's own writer raises RuntimeError
            partial.unlink(missing_ok=True)
            raise TrainError(
                f"{path}: cannot be written: {str(error).splitlines()[0]}; the one before is kept"
            ) from None

    def restore(self) -> bool:
        """Go on from the checkpoint, if there is one; return whether there was.

        Raises:
            NetFileError: It is damaged, or holds a net of another shape.
        """
        path = self._plan.out / CHECKPOINT
        if not path.exists():
            return False
        state = read_checkpoint(path, self._plan.device)
        if state["shape"] != numbers_of(self._plan.task.shape):
            raise TrainError(f"{path}: holds a net of another shape; choose another --out")
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        self._optimizer.load_state_dict(state["optimizer"])
        for module in _norms(self.net):
            module.steps.fill_(state["norm_steps"])
        self.steps, self.samples = state["steps"], state["samples"]
        self._spent, self._clock = state["seconds"], time.monotonic()
        return True


def has_bfloat16(device: str) -> bool:
    """Whether a device computes faster in bfloat16 than in float32."""
    if device == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return bool(torch.cuda.is_bf16_supported())


def _norms(net: nn.Module) -> list[RunningNorm]:
    return [module for module in net.modules() if isinstance(module, RunningNorm)]


def _norm_steps(net: nn.Module) -> float:
    return max(float(norm.steps) for norm in _norms(net))  # frozen ones count none


def _parameter_groups(net: nn.Module, decay: float) -> list[dict[str, Any]]:
    weights = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() <= 1]
    return [
        {"params": weights, "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]


class _Reporter:
    """Logs, measures, checkpoints and exports, in the first process."""

    def __init__(
        self,
        trainer: Trainer,
        plan: TrainPlan,
        export: Export,
        say: Say,
        progress: Progress | None,
    ) -> None:
        self._trainer = trainer
        self._plan = plan
        self._export = export
        self._say = say
        self._progress = progress
        self._means: dict[str, float] = {}
        self._saved = self._measured = self._exported = trainer.seconds
        self._began, self._first_samples = trainer.seconds, trainer.samples
        _drop_half_a_line(plan.out / METRICS)

    def after_step(self, found: Mapping[str, float]) -> None:
        trainer, plan = self._trainer, self._plan
        for name, loss in found.items():
            self._means[name] = 0.98 * self._means.get(name, loss) + 0.02 * loss
        if trainer.steps % LOG_STEPS == 0:
            self._log()
        if trainer.seconds - self._saved > CHECKPOINT_SECONDS:
            trainer.save()
            self._saved = trainer.seconds
        stem = f"{plan.stem}-{trainer.seconds / 60:03.0f}min"
        if trainer.seconds - self._measured > 60.0 * plan.measure_minutes:
            self._measured = trainer.seconds
            self._measure(stem)
        if trainer.seconds - self._exported > 60.0 * plan.export_minutes:
            self._exported = trainer.seconds
            self._export(trainer.average, stem)

    def finish(self) -> None:
        if self._progress is not None:
            self._progress(1.0, "measuring")
        self._trainer.save()
        stem = f"{self._plan.stem}-final"
        self._measure(stem)
        self._export(self._trainer.average, stem)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.close()

    def _log(self) -> None:
        trainer = self._trainer
        passed = max(1e-9, trainer.seconds - self._began)
        rate = self._plan.processes * (trainer.samples - self._first_samples) / passed
        left = max(0.0, 60.0 * self._plan.minutes - trainer.seconds)
        means = ", ".join(f"{name} {mean:.3f}" for name, mean in self._means.items())
        waited = f", {trainer.waited / passed:.1%} waiting" if trainer.waited else ""
        text = f"step {trainer.steps}, {rate:.0f} samples/s{waited}: {means}"
        if self._progress is not None:
            self._progress(trainer.progress, text)
        else:
            self._say(f"{left / 60:.1f} min left, {text}")

    def _measure(self, stem: str) -> None:
        """Append an entry to the metrics."""
        trainer = self._trainer
        passed = max(1e-9, trainer.seconds - self._began)
        entry = {
            "net": stem,
            "steps": trainer.steps,
            "samples": trainer.samples * self._plan.processes,
            "seconds": round(trainer.seconds, 1),
            "waited": round(trainer.waited / passed, 4),
            "losses": {name: round(mean, 4) for name, mean in self._means.items()},
            "valid": self._plan.task.measure(trainer.average, self._plan.device),
        }
        with (self._plan.out / METRICS).open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self._say(json.dumps(entry["valid"]))


def _drop_half_a_line(path: Path) -> None:
    """Take away what a full disk left of the last line, so that the next begins on its own."""
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
