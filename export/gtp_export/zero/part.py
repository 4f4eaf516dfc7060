"""What every part of a run does: end with its parent, halt with the run, say what it has spent."""

import contextlib
import json
import logging
import os
import secrets
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import write_whole
from gtp_engine.platforms import claim_stdin
from gtp_export.run_settings import alone_in
from gtp_export.span import Meter, Spent
from gtp_export.zero.settings import RunFolder

logger = logging.getLogger(__name__)

COORDINATE = "coordinate"
"""The part whose time on the wall is the run's."""
NOTE_SECONDS = 5.0
"""Between two notes of what was spent; a killed process has counted all but so much."""

GRACE_SECONDS = 1.5


class Attempts:
    """Something that is done again and again, and may fail for a while."""

    def __init__(self) -> None:
        """Know of no problem yet."""
        self._problem = ""

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Return a context from which a NetFileError or OSError is told, and goes no further.

        The same one is told once until an attempt succeeds.
        """
        try:
            yield
            self._problem = ""
        except (NetFileError, OSError) as error:
            if str(error) != self._problem:
                logger.warning(f"{error}; it is tried again")
            self._problem = str(error)


class Part:
    """A process of a run, such as "work" or "train"."""

    def __init__(
        self, run: RunFolder, kind: str, *, alone: bool = False, with_children: bool = False
    ) -> None:
        """Begin to count.

        Args:
            alone: Whether the run has no more than one part of this kind at a time.
            with_children: Whether the processes that it starts count, once they have ended; those
                that are parts count themselves.

        Raises:
            NetFileError: Another one is at work where this is to be alone.
            OSError: The file that says so cannot be opened.
        """
        self._alone = contextlib.ExitStack()
        if alone:
            self._alone.enter_context(alone_in(run.path, f"{kind}.lock", f"`zero {kind}`"))
        self.is_over = False
        """Whether the run's span was over at the last note."""
        self._run = run
        self._with_children = with_children
        self._children = 0.0
        self._meter = Meter(run.path)
        self._file = run.spent / f"{kind}-{secrets.token_hex(8)}.json"
        self._spent = Spent()
        self._noted = time.perf_counter()
        self._lock = threading.Lock()

    def end_with_parent(
        self, ending: threading.Event | None = None, grace: float = GRACE_SECONDS
    ) -> None:
        """End this process when its stdin closes, as it does when its parent is killed.

        Nobody else may read stdin.

        Args:
            ending: Is set first; the process has so long then to end by itself.
            grace: Seconds.
        """

        def watch(parent: int) -> None:
            while os.read(parent, 4096):
                pass
            if ending is not None:
                ending.set()
                time.sleep(grace)
            self.note(0.0)
            os._exit(0)

        # A terminal or /dev/null says nothing about who started this.
        if sys.stdin is not None and stat.S_ISFIFO(os.fstat(0).st_mode):
            threading.Thread(target=watch, args=(claim_stdin(),), daemon=True).start()

    def close(self) -> None:
        """Write down what was spent, and let another part take the place."""
        self.note(0.0)
        self._alone.close()

    def note(self, seconds: float = NOTE_SECONDS) -> None:
        """Write down what was spent, if the last time is so long ago; call it often.

        What cannot be written now, on a full disk, is written later.
        """
        with self._lock:
            if time.perf_counter() - self._noted < seconds:
                return
            self._spent = self._spent.plus(self._meter.lap())
            if self._with_children:
                times = os.times()
                children, self._children = (
                    self._children,
                    times.children_user + times.children_system,
                )
                self._spent = self._spent.plus(Spent(0, self._children - children))
            self._noted = time.perf_counter()
            with contextlib.suppress(OSError):
                write_whole(self._file, json.dumps(self._spent._asdict()))
            with contextlib.suppress(OSError, NetFileError):
                self.is_over = share_spent(self._run) >= 1.0

    def is_halted(self) -> bool:
        """Whether the run is halted."""
        return self._meter.is_halted()

    def wait_while_halted(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Return when the run is not halted, or is stopped; call it often."""
        self._meter.wait_while_halted(is_stopped)


def spent_by(run: RunFolder, kind: str = "") -> Spent:
    """Return what all processes of a run have spent, or those of one kind."""
    total = Spent()
    for path in run.spent.glob(f"{kind}*.json"):
        total = total.plus(_read(path))
    return total


def share_spent(run: RunFolder) -> float:
    """Return which share of a run's span has passed; the coordinator's time is the run's."""
    spent = spent_by(run)._replace(seconds=spent_by(run, COORDINATE).seconds)
    return run.settings().to_span().share(spent)


def _read(path: Path) -> Spent:
    try:
        return Spent(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Spent()
