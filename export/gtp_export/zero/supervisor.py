"""A whole run on one machine: the coordinator here, all other parts as child processes."""

import logging
import os
import subprocess
import threading
import time
from typing import IO, Any

from gtp_engine.children import own_command
from gtp_engine.platforms import OWN_GROUP, kill_group
from gtp_export.progress_bar import ProgressBar
from gtp_export.span import is_there
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.judge import judge_last_net
from gtp_export.zero.part import Attempts
from gtp_export.zero.settings import NO_GATE, RunFolder
from gtp_export.zero.status import describe, newest_game, read_status

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
TELL_SECONDS = 15.0
"""Between two lines, or two states that a bar shows."""
GAME_SECONDS = 120.0
"""Between two games that are shown."""
END_SECONDS = 10.0
"""A child that has not ended by then is killed."""
LONGEST_PAUSE = 60.0
"""Seconds before a part that ends again and again is started again, at most."""
MOST_DOUBLINGS = 10
"""Of that pause: a number that doubles a thousand times is none any more."""
STEADY_SECONDS = 60.0
"""A part that ran so long has not ended because of how it starts."""


class Child:
    """A part of the run in a process of its own, started again where it fails."""

    def __init__(self, run: RunFolder, kind: str, *options: str) -> None:
        """Start it."""
        self._command = own_command("zero", kind, str(run.path), *options, package="gtp_export")
        self._kind = kind
        self._failures = 0
        self._due = 0.0
        self._start()

    def _start(self) -> None:
        self._began = time.perf_counter()
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,  # closed when this process ends, however it does
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # Each part has one processor; NumPy would take all of them for a small matrix.
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
            **OWN_GROUP,
        )
        assert self.process.stderr is not None
        threading.Thread(target=_relay, args=(self.process.stderr,), daemon=True).start()

    def look(self) -> None:
        """Start it again if it has failed, the later the oftener it has done so."""
        if self.process.poll() in (None, 0):  # at work, or ended by STOP or with the run
            return
        now = time.perf_counter()
        if self._due == 0.0:
            steady = now - self._began > STEADY_SECONDS
            self._failures = 0 if steady else self._failures + 1
            doublings = min(self._failures, MOST_DOUBLINGS)
            self._due = now + min(LONGEST_PAUSE, 2.0**doublings - 1.0)
            self.end()
            kill_group(self.process)  # what it had started
            status = self.process.returncode
            logger.warning(f"`zero {self._kind}` has ended with status {status}; it starts again")
        if now >= self._due:
            self._due = 0.0
            self._start()

    def end(self) -> None:
        """Let it know that it is to end."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> None:
        """Return when it has ended."""
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            kill_group(self.process)
            self.process.wait()
        kill_group(self.process)


def _relay(stream: IO[bytes]) -> None:
    with stream:
        for line in stream:
            text = line.decode("utf-8", errors="replace").rstrip()
            logger.info(text.removeprefix("gtp-export: "))


def supervise(run: RunFolder, ray: str | None = None, **changed: Any) -> int:
    """Run all parts until the span is over.

    Args:
        ray: Address of a Ray cluster that the workers are on, or "local"; None: processes here.

    Raises:
        NetFileError: Another coordinator is at work, or the run cannot be used.
    """
    coordinator = Coordinator(run, **changed)
    settings = coordinator.settings
    try:
        _run_parts(run, coordinator, ray)
        if settings.gate != NO_GATE:
            judge_last_net(run, settings, coordinator.part.wait_while_halted)
    finally:
        coordinator.look()
        coordinator.close()
    logger.info(f"{settings.span:g} {settings.span_unit} are over, {_Teller(run).status()}")
    logger.info(f"the best net is {run.best}")
    return 0


class _Teller:
    """Tells how a run goes, as far as its files can be read."""

    def __init__(self, run: RunFolder) -> None:
        """Read nothing yet."""
        self._run = run
        self._looks, self._games = Attempts(), Attempts()
        self._status = "its state cannot be read"

    def status(self) -> str:
        """Return the run's state in a line; while it cannot be read, the last one."""
        with self._looks.one():
            self._status = describe(read_status(self._run))
        return self._status

    def log_game(self) -> None:
        """Log the newest game."""
        with self._games.one():
            logger.info(newest_game(self._run))


def _run_parts(run: RunFolder, coordinator: Coordinator, ray: str | None) -> None:
    """Coordinate, with all other parts as children, until the span is over; see `supervise`."""
    children: list[Child] = []
    settings, teller = coordinator.settings, _Teller(run)
    if is_there(run.stop):
        logger.warning(f"{run.stop} is there, so that nothing is played")
    told = shown = time.perf_counter()
    try:
        coordinator.step()  # so that there is a net
        words = teller.status()
        players = [("work",)] * settings.workers if ray is None else [("work", "--ray", ray)]
        kinds = [*players, ("train",), ("judge",)]
        children += [Child(run, *kind) for kind in kinds if coordinator.share < 1.0]
        with ProgressBar() as bar:
            while (share := coordinator.share) < 1.0:
                coordinator.step()
                for child in children:
                    child.look()
                now = time.perf_counter()
                if is_new := now - told >= TELL_SECONDS:
                    told, words = now, teller.status()  # reads much: not every second
                amount = settings.span * (1.0 - share)
                text = f"{amount:.2f} of {settings.span:g} {settings.span_unit} left, {words}"
                bar.tell(share, text, text if is_new else "")
                if now - shown >= GAME_SECONDS:
                    shown = now
                    teller.log_game()
                time.sleep(LOOK_SECONDS)
    finally:
        for child in children:
            child.end()
        for child in children:
            child.wait()
