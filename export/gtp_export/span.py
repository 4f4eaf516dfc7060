"""How long a run is, what it has spent so far, and what halts or ends its processes."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from typing import NamedTuple

PAUSE = "PAUSE"
"""A file of this name in a run's folder halts all its processes until it is gone."""
LOOK_SECONDS = 0.5
"""A halted process looks that often whether the file is still there."""


class Spent(NamedTuple):
    """What a run, or a part of it, has spent: all processes, earlier parts of a resumed run too."""

    samples: int = 0
    """Drawn to learn from; labelled where labels are made."""
    core_seconds: float = 0.0
    """Processor time of all processes."""
    seconds: float = 0.0
    """On the wall, without what a halt took."""

    def plus(self, other: "Spent") -> "Spent":
        return Spent(
            self.samples + other.samples,
            self.core_seconds + other.core_seconds,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class Span:
    """How much of one unit a run may spend."""

    amount: float
    unit: str = "minutes"
    """samples, core-hours or minutes"""

    def share(self, spent: Spent) -> float:
        """Return which share of it is spent, above 1 beyond the end."""
        return self._counted(spent) / self.amount

    def times(self, factor: float) -> "Span":
        """Return a longer or shorter one."""
        return Span(factor * self.amount, self.unit)

    def left(self, spent: Spent) -> str:
        """Say how much is left, as in "1.5 of 4 core-hours left"."""
        left = max(0.0, self.amount - self._counted(spent))
        figures = f"{left:,.0f}" if self.unit == "samples" else f"{left:.2f}"
        return f"{figures} of {self.amount:,.6g} {self.unit} left"

    def _counted(self, spent: Spent) -> float:
        match self.unit:
            case "samples":
                return spent.samples
            case "core-hours":
                return spent.core_seconds / 3600.0
        return spent.seconds / 60.0


HOUR = Span(60.0)
"""What a run takes if nothing else is asked for."""


class Meter:
    """Measures what this process spends, and halts it while the run's folder says so."""

    def __init__(self, folder: Path) -> None:
        self.pause = folder / PAUSE
        self._core_seconds = time.process_time()
        self._seconds = time.perf_counter()

    def lap(self) -> Spent:
        """Return what was spent since the last lap."""
        before = self._core_seconds, self._seconds
        self._core_seconds, self._seconds = time.process_time(), time.perf_counter()
        return Spent(0, self._core_seconds - before[0], self._seconds - before[1])

    def forgive_seconds(self) -> None:
        """Count the time on the wall from now on; the processor's is not forgiven."""
        self._seconds = time.perf_counter()

    def is_halted(self) -> bool:
        return is_there(self.pause)

    def wait_while_halted(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Return when the file is not there, or all ends; the time until then does not count."""
        began = time.perf_counter()
        while self.is_halted() and not is_stopped():
            time.sleep(LOOK_SECONDS)
        self._seconds += time.perf_counter() - began


def is_there(file: Path) -> bool:
    """Whether there is a file; False too while a network drive does not answer."""
    return os.path.exists(file)  # where `Path.exists` raises the drive's error


def end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, even if that was killed."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
