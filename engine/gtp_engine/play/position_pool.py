"""Many positions at once: threads with a search each, whose leaves share one evaluation queue.

Positions wait by priority. A position that is alone gets all the threads and batches that suit
the device; the more there are, the fewer each one gets: leaves of different trees are in no doubt
about each other, so that no playout is wasted, and the queue makes the batches out of them.
"""

import heapq
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.position import Position
from gtp_engine.play.settings import Settings, default_memory
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.limits import Limits, ReportRequest
from gtp_engine.search.params import SearchParams
from gtp_engine.search.search import Search

LEAVES_A_POSITION = 8
"""Leaves in flight that a position gets before another one is taken up beside it, where a device
wants many. On two cores the 2 x 1 leaves that suit them make one position a core: measured on 100
positions of 9x9 with 50 visits, that gives 1.26 times the visits a second of one position on both
cores, where 4, 8 and 16 positions give 1.2, 0.8 and 0.65, as threads beyond the cores only take
the interpreter from each other."""

LEAST_MEMORY_MB = 16
"""Room for a tree, however many there are."""


@dataclass(frozen=True)
class PositionRequest:
    """A position to analyse."""

    position: Callable[[], Position]
    """Makes it, in the thread that searches; what it raises goes to `on_end`."""
    on_end: Callable[[Analysis | Exception | None], None]
    """Called once with what was found, why nothing could be, or None if it was stopped before it
    was begun."""
    limits: Limits
    params: SearchParams = field(default_factory=SearchParams)
    report: ReportRequest = field(default_factory=ReportRequest)
    """What to hear on the way; the last report comes with `on_end` besides."""
    priority: int = 0
    """The highest is begun first, then the earliest."""


def share_out(threads: int, batch: int, among: int) -> tuple[int, int]:
    """Return threads and leaves a thread of each of so many searches, at least one of both.

    Together they keep about as many leaves in flight as one search that has the device alone,
    which takes so many threads of so many leaves.
    """
    own_threads = max(1, threads // among)
    own_batch = threads * batch // (among * own_threads)
    return own_threads, max(1, min(batch, own_batch))


class PositionJob:
    """A request in a pool, which can be stopped."""

    def __init__(self, request: PositionRequest) -> None:
        """Wait for a pool to run it."""
        self.request = request
        self._guard = threading.Lock()
        self._search: Search | None = None
        self._has_begun = False
        self._is_stopped = False

    def stop(self) -> None:
        """End the search soon with what it has found, or never begin it; from any thread."""
        with self._guard:
            is_dropped = not (self._has_begun or self._is_stopped)
            self._is_stopped = True
            if self._search is not None:
                self._search.stop()
        if is_dropped:
            self.request.on_end(None)

    def run(self, make_search: Callable[[], Search]) -> None:
        """Search and tell the request what was found."""
        with self._guard:
            if self._is_stopped:
                return
            self._has_begun = True
        found: Analysis | Exception
        try:
            found = self._run(make_search())
        except Exception as error:
            found = error
        self.request.on_end(found)

    def _run(self, search: Search) -> Analysis:
        request = self.request
        search.params = request.params
        search.set_position(request.position(), avoid=request.report.avoid)
        with self._guard:
            self._search = search
            if self._is_stopped:
                search.stop()
        try:
            return search.run(request.limits, request.report)
        finally:
            with self._guard:
                self._search = None


class PositionPool:
    """Runs jobs on threads of its own, the most urgent first."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        at_once: int | None = None,
        threads: int | None = None,
        batch: int | None = None,
        memory_mb: int = 1024,
        seed: int = 0,
    ) -> None:
        """Make a pool without any thread yet.

        Args:
            evaluator: Judges the positions of all searches.
            at_once: Positions under way at a time; as many as suit the device when None.
            threads: Search threads of a position that is alone; None: the device's.
            batch: Leaves that each of them evaluates at once; None: the device's.
            memory_mb: Room for all trees together, in MiB.
            seed: Of every search.
        """
        self._evaluator = evaluator
        self._threads, self._batch = evaluator.suggest(threads, batch)
        in_flight = self._threads * self._batch
        self.at_once = at_once or max(self._threads, in_flight // LEAVES_A_POSITION)
        self._memory_mb = memory_mb
        self._seed = seed
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, PositionJob]] = []
        self._numbers = itertools.count()
        self._running: set[PositionJob] = set()
        self._n_threads = 0
        self._is_closed = False

    @classmethod
    def for_settings(
        cls, evaluator: Evaluator, settings: Settings, at_once: int | None = None
    ) -> Self:
        """Return a pool with the threads, the memory and the seed that a user wants."""
        return cls(
            evaluator,
            at_once=at_once,
            threads=settings.threads,
            batch=settings.batch,
            memory_mb=settings.memory or default_memory(),
            seed=settings.seed or 0,
        )

    def submit(self, request: PositionRequest) -> PositionJob:
        """Put a request in line and return at once."""
        job = PositionJob(request)
        with self._changed:
            heapq.heappush(self._waiting, (-request.priority, next(self._numbers), job))
            n_idle = self._n_threads - len(self._running)
            if len(self._waiting) > n_idle and self._n_threads < self.at_once:
                self._n_threads += 1
                threading.Thread(target=self._work, daemon=True).start()
            self._changed.notify()
        return job

    def wait(self) -> None:
        """Wait until everything that was put in line has ended."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._running)

    def close(self) -> None:
        """Stop what runs, drop what waits, and end the threads."""
        with self._changed:
            self._is_closed = True
            for job in [*self._running, *(job for _, _, job in self._waiting)]:
                job.stop()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._n_threads == 0)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    self._n_threads -= 1
                    self._changed.notify_all()
                    return
                _, _, job = heapq.heappop(self._waiting)
                self._running.add(job)
                share = min(self.at_once, len(self._running) + len(self._waiting))
            try:
                job.run(lambda share=share: self._new_search(share))  # type: ignore[misc]
            finally:
                with self._changed:
                    self._running.discard(job)
                    self._changed.notify_all()

    def _new_search(self, share: int) -> Search:
        """Return a search that takes one of so many shares of the machine."""
        threads, batch = share_out(self._threads, self._batch, share)
        # At most one position is alone; all others together get the second half of the memory.
        memory_mb = self._memory_mb // 2
        if share > 1:
            memory_mb = max(LEAST_MEMORY_MB, memory_mb // self.at_once)
        return Search(
            self._evaluator,
            threads=threads,
            batch=batch,
            memory_mb=memory_mb,
            seed=self._seed,
        )
