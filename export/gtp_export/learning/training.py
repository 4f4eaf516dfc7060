"""Train a net at a task, within a span of samples, core-hours or minutes.

A `trainer.Trainer` in each process makes the steps. The first process also logs, measures, writes
checkpoints and nets. A run that was killed goes on from its last checkpoint, a minute old at most.

A file PAUSE in the run's folder halts the first process before its next step, and so the others,
which wait for its gradients; that may take as long as it likes.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import distributed, multiprocessing
from torch.multiprocessing.spawn import ProcessException, ProcessExitedException

from gtp_engine.children import isolate_pools
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.go.game_record import SgfError
from gtp_engine.messages import set_up
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.trainer import (
    CHECKPOINT_SECONDS,
    Trainer,
    TrainError,
    TrainPlan,
    follow_losses,
)
from gtp_export.progress_bar import ProgressBar
from gtp_export.span import end_with_parent

logger = logging.getLogger(__name__)

LEAST_SECONDS_BETWEEN_MEASUREMENTS = 60.0
MEASUREMENTS = 10
"""How often the net is measured and written in the course of a run, if it is not short."""
LOG_STEPS = 50
ALL_REDUCE_TIMEOUT = timedelta(days=365)
"""A halt may take long. A process that dies is noticed otherwise."""
METRICS = "metrics.jsonl"

Export = Callable[[Net, str], None]
"""Writes an averaged net under a file name's stem."""


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return what a run measured, oldest first; lines that a power cut has damaged are left out."""
    entries = []
    for line in (folder / METRICS).read_bytes().splitlines():
        with suppress(ValueError):
            entries.append(json.loads(line))
    return entries


def train(plan: TrainPlan, export: Export, until: float = 1.0) -> None:
    """Run the training, in as many processes as planned, to its end or to a share of it.

    Nobody else may be at work in the run's folder, see `alone_in`.

    Args:
        plan: What to do. All the rest must be picklable if it asks for more than a process.
        export: Called with the averaged net and `STEM-latest` now and then, and with
            `STEM-final` at the end.
        until: Which share of the span ends it for now.

    Raises:
        TrainError: The run cannot go on.
        NetFileError: The net to begin with, or what is to be frozen, cannot be used.
        OSError: A file cannot be written.
    """
    plan.out.mkdir(parents=True, exist_ok=True)
    if plan.processes == 1:
        _run(0, plan, export, until)
    else:
        _run_together(plan, export, until)


def _run_together(plan: TrainPlan, export: Export, until: float) -> None:
    """Run the training in several processes."""
    rendezvous = plan.out / "rendezvous"
    rendezvous.unlink(missing_ok=True)
    isolate_pools()
    failures = multiprocessing.get_context("spawn").SimpleQueue()
    arguments = (rendezvous, failures, plan, export, until)
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


def _run_rank(rank: int, rendezvous: Path, failures: Any, plan: TrainPlan, *how: Any) -> None:
    """Run one process's share; what a user can do something about is put into a queue."""
    end_with_parent()
    set_up("gtp-export")
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{rendezvous.resolve()}",
        rank=rank,
        world_size=plan.processes,
        timeout=ALL_REDUCE_TIMEOUT,
    )
    try:
        _run(rank, plan, *how)
    except (NetFileError, SgfError, OSError) as error:
        failures.put(error)
        sys.exit(1)
    finally:
        distributed.destroy_process_group()


def _run(rank: int, plan: TrainPlan, export: Export, until: float) -> None:
    torch.set_num_threads(1)
    trainer = Trainer(rank, plan)
    trainer.restore()
    if rank > 0:
        while trainer.progress < until:
            _step(trainer, plan)
        return
    if trainer.revived:
        logger.info(
            f"{trainer.revived} channels of {plan.start} let nothing through and learn anew"
        )
    with ProgressBar() as bar:
        reporter = _Reporter(trainer, plan, export, bar, until)
        while trainer.progress < until:
            reporter.before_step()
            reporter.after_step(_step(trainer, plan))
        reporter.finish()


def _step(trainer: "Trainer", plan: TrainPlan) -> dict[str, float]:
    try:
        return trainer.step()
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error) and not isinstance(error, MemoryError):
            raise
        raise TrainError(
            f"memory is exhausted at batches of {plan.batch_points} points; the checkpoint in "
            f"{plan.out} is kept, a smaller --batch-points resumes it"
        ) from None


@dataclass
class _Reporter:
    """Logs, measures, checkpoints and exports, in the first process."""

    trainer: Trainer
    plan: TrainPlan
    export: Export
    bar: ProgressBar
    until: float

    def __post_init__(self) -> None:
        self.began = self.measured = self.trainer.spent
        self.saved = time.perf_counter()
        _drop_half_a_line(self.plan.out / METRICS)
        self.means = self._last_losses()

    def _last_losses(self) -> dict[str, float]:
        """Return the mean losses told last by a run that goes on, which may have no step left."""
        is_new = self.trainer.steps == 0 or not (self.plan.out / METRICS).exists()
        entries = [] if is_new else read_metrics(self.plan.out)
        return dict(entries[-1].get("losses", {})) if entries else {}

    def before_step(self) -> None:
        meter = self.trainer.meter
        if meter.is_halted():
            self._save()
            logger.info(f"halted until {meter.pause} is gone")
            meter.wait_while_halted()
            logger.info("going on")

    def after_step(self, found: Mapping[str, float]) -> None:
        trainer = self.trainer
        follow_losses(self.means, found)
        if trainer.steps % LOG_STEPS == 0:
            self._log()
        is_due = self._is_measurement_due()
        if is_due or time.perf_counter() - self.saved > CHECKPOINT_SECONDS:
            self._save()
        if is_due and trainer.progress < self.until:
            self.measured = trainer.spent
            self._write("latest")

    def _is_measurement_due(self) -> bool:
        plan, spent, before = self.plan, self.trainer.spent, self.measured
        if spent.seconds - before.seconds < LEAST_SECONDS_BETWEEN_MEASUREMENTS:
            return False
        return plan.span.share(spent) - plan.span.share(before) > 1.0 / MEASUREMENTS

    def finish(self) -> None:
        self.bar.tell(1.0, "measuring")
        self._save()
        self._write("final" if self.trainer.progress >= 1.0 else "latest")

    def _save(self) -> None:
        self.trainer.save()
        self.saved = time.perf_counter()

    def _write(self, which: str) -> None:
        stem = f"{self.plan.stem}-{which}"
        self._measure(stem)
        self.export(self.trainer.average, stem)
        if self.plan.keep_nets:
            (self.plan.out / "nets").mkdir(exist_ok=True)
            self.export(self.trainer.average, f"nets/{self.trainer.steps:08}")

    def _log(self) -> None:
        trainer = self.trainer
        passed = self._passed()
        rate = (trainer.spent.samples - self.began.samples) / passed
        means = ", ".join(f"{name} {mean:.3f}" for name, mean in self.means.items())
        waited = f", {trainer.waited / passed:.1%} waiting" if trainer.waited else ""
        text = f"step {trainer.steps}, {rate:.0f} samples/s{waited}: {means}"
        left = self.plan.span.left(trainer.spent)
        self.bar.tell(trainer.progress, text, f"{left}, {text}")

    def _passed(self) -> float:
        """Return the seconds since this process began."""
        return max(1e-9, self.trainer.spent.seconds - self.began.seconds)

    def _measure(self, stem: str) -> None:
        """Append an entry to the metrics."""
        trainer = self.trainer
        figures = self.plan.task.measure(trainer.average, self.plan.device)
        entry = {
            "net": stem,
            "steps": trainer.steps,
            "samples": trainer.spent.samples,
            "seconds": round(trainer.spent.seconds, 1),
            "core_hours": round(trainer.spent.core_seconds / 3600.0, 4),
            "waited": round(trainer.waited / self._passed(), 4),
            "losses": {name: round(mean, 4) for name, mean in self.means.items()},
            "valid": figures,
        }
        with (self.plan.out / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        if figures:
            logger.info(f"{stem}, measured: {describe_figures(figures)}")


def describe_figures(figures: Mapping[str, Any]) -> str:
    """Return figures in words, those that belong together behind what they are of."""
    alone = ", ".join(
        f"{name.replace('_', ' ')} {figure:g}"
        for name, figure in figures.items()
        if not isinstance(figure, Mapping)
    )
    groups = [
        f"{name}: {describe_figures(group)}"
        for name, group in figures.items()
        if isinstance(group, Mapping)
    ]
    return "; ".join(part for part in (alone, *groups) if part)


def _drop_half_a_line(path: Path) -> None:
    """Take away what a full disk left of the last line, so that the next begins on its own."""
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
