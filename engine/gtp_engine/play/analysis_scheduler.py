"""Many positions at once: threads with several searches each, stepped together.

Positions wait by priority. A position that is alone gets all the threads and batches that suit
the device; the more there are, the fewer each one gets: leaves of different trees do not depend
on each other, so no playout is wasted. A thread evaluates the leaves of its searches
together, and the batcher in front of the net merges what the threads ask.
"""

import contextlib
import heapq
import itertools
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.position import Position
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.play.settings import Settings, share_memory
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.batching import TreeBatcher
from gtp_engine.search.params import ROLLOUT_PARAMS, SearchParams
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.run import Run
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

logger = logging.getLogger(__name__)

LEAVES_A_STEP = 8
"""Leaves that a thread evaluates at once, taken from as many positions as that needs. What is paid
once a batch, in Python and in the runtime, is paid for all of them."""

LEAST_MEMORY_MB = 16
"""Room for a tree, however many there are."""


@dataclass(frozen=True)
class AnalysisRequest:
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


class AnalysisJob:
    """A request in a scheduler, which can be stopped."""

    def __init__(self, request: AnalysisRequest) -> None:
        """Wait for a scheduler to run it."""
        self.request = request
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._has_begun = False

    def stop(self) -> None:
        """End the search soon with what it has found, or never begin it; from any thread."""
        with self._guard:
            is_dropped = not (self._has_begun or self._stop.is_set())
            self._stop.set()
        if is_dropped:
            self._tell(None)

    @property
    def is_stopped(self) -> bool:
        """Whether it is to end, or will never begin."""
        return self._stop.is_set()

    def begin(self, make_search: Callable[[], Search]) -> Run | None:
        """Begin to search; None if there is nothing to do, which the request knows then."""
        with self._guard:
            if self._stop.is_set():
                return None
            self._has_begun = True
        request = self.request
        try:
            search = make_search()
            search.params = search.params.changed_by(request.params)
            search.set_position(request.position(), avoid=request.report.avoid)
            return search.begin(replace(request.limits, stop=self._stop), request.report)
        except Exception as error:
            self._tell(error)
            return None

    def end(self, run: Run, failure: Exception | None) -> None:
        """Tell the request what a run has found, or what has failed."""
        found: Analysis | Exception
        try:
            if failure is not None:
                run.abandon()
                raise failure
            found = run.end()
        except Exception as error:
            found = error
        self._tell(found)

    def _tell(self, found: Analysis | Exception | None) -> None:
        """Say how it has ended; who fails to hear it disturbs no other job of the thread."""
        try:
            self.request.on_end(found)
        except Exception:
            logger.exception("the end of an analysis was not heard")


class AnalysisScheduler:
    """Runs jobs on threads of its own, the most urgent first.

    What is more urgent than all that a thread has begun lets that wait, while its time runs on.
    """

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
        """Make a scheduler without any thread yet.

        Args:
            at_once: Positions under way at a time; as many as suit the device when None.
            threads: Search threads of a position that is alone; None: the device's.
            batch: Leaves that each of them evaluates at once; None: the device's.
            memory_mb: Room for all trees together, in MiB.
        """
        from gtp_engine.evaluators.rollouts.go import wants_rollout_params

        self.evaluator = evaluator
        """Judges the positions."""
        self._usual = ROLLOUT_PARAMS if wants_rollout_params(evaluator) else SearchParams()
        """Parameters that suit it; those of a request change them."""
        self._threads, self._batch = evaluator.suggest(threads, batch)
        in_flight = self._threads * self._batch
        n_threads = max(self._threads, in_flight // LEAVES_A_STEP)
        fills_steps = in_flight >= n_threads * LEAVES_A_STEP
        self.at_once = at_once or n_threads * (1 if fills_steps else LEAVES_A_STEP)
        self._most_threads = min(n_threads, self.at_once)
        self._memory_mb = memory_mb
        self._seed = seed
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, AnalysisJob]] = []
        self._numbers = itertools.count()
        self._running: set[AnalysisJob] = set()
        """Of all threads."""
        self._n_threads = 0
        self._is_closed = False

    @classmethod
    def for_settings(
        cls, evaluator: Evaluator, settings: Settings, at_once: int | None = None
    ) -> Self:
        """Return a scheduler with the threads, the memory and the seed that a user wants."""
        return cls(
            evaluator,
            at_once=at_once,
            threads=settings.threads,
            batch=settings.batch,
            memory_mb=share_memory(settings.memory)[0],
            seed=settings.seed or 0,
        )

    def submit(self, request: AnalysisRequest) -> AnalysisJob:
        """Put a request in line and return at once.

        It ends with an EngineUnavailableError if the system has no thread left and none is at work.
        """
        job = AnalysisJob(request)
        with self._changed:
            wanted = min(self._most_threads, len(self._waiting) + len(self._running) + 1)
            if self._n_threads < wanted:
                with contextlib.suppress(RuntimeError):  # the system has no thread left
                    threading.Thread(target=self._work, daemon=True).start()
                    self._n_threads += 1
            is_served = self._n_threads > 0
            if is_served:
                heapq.heappush(self._waiting, (-request.priority, next(self._numbers), job))
                self._changed.notify_all()
        if not is_served:
            request.on_end(EngineUnavailableError("the system has no thread left"))
        return job

    def wait(self) -> None:
        """Wait until everything that was put in line has ended."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._running)

    def close(self) -> None:
        """Stop what runs, drop what waits, and end the threads."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            # Those that wait go first, so that none is begun in place of one that was stopped.
            jobs = [*(job for _, _, job in self._waiting), *self._running]
        for job in jobs:  # without the lock, which `on_end` may want
            job.stop()
        with self._changed:
            self._changed.wait_for(lambda: self._n_threads == 0)

    def _work(self) -> None:
        """Step searches until the scheduler is closed and they have ended."""
        batcher = TreeBatcher(self.evaluator)
        own: dict[AnalysisJob, Run] = {}
        while self._take_up(own):
            self._advance(batcher, own)

    def _advance(self, batcher: TreeBatcher, own: dict[AnalysisJob, Run]) -> None:
        """Make a step of the most urgent searches of a thread, and end what has come to its end."""
        urgent = max((job.request.priority for job in own), default=0)
        moving = [run for job, run in own.items() if job.request.priority == urgent]
        failures = batcher.step(moving)
        for job, run in list(own.items()):
            failure = failures.get(run)
            if failure is not None or run.is_over:
                del own[job]
                job.end(run, failure)
                self._discard(job)

    def _take_up(self, own: dict[AnalysisJob, Run]) -> bool:
        """Begin this thread's share of what waits; False if there is nothing to do for ever."""
        with self._changed:
            if not own:
                self._changed.wait_for(lambda: self._has_turn() or self._is_closed)
                if not self._has_turn():
                    self._n_threads -= 1
                    self._changed.notify_all()
                    return False
            taken: list[AnalysisJob] = []
            self._drop_stopped()
            while self._has_turn() and len(own) + len(taken) < self._share_of_a_thread():
                _, _, job = heapq.heappop(self._waiting)
                self._running.add(job)
                taken.append(job)
            among = self._n_under_way()
        for job in taken:
            run = job.begin(lambda: self._new_search(among))
            if run is None:
                self._discard(job)
            else:
                own[job] = run
        return True

    def _drop_stopped(self) -> None:
        """Let go of those next in turn that were stopped while they waited. The lock is held."""
        while self._waiting and self._waiting[0][2].is_stopped:
            heapq.heappop(self._waiting)
            self._changed.notify_all()

    def _has_turn(self) -> bool:
        """Whether one of those that wait may begin. The lock is held."""
        return bool(self._waiting) and len(self._running) < self.at_once

    def _n_under_way(self) -> int:
        """Return how many positions share the machine, or will at once. The lock is held."""
        jobs = itertools.chain(self._running, (job for _, _, job in self._waiting))
        live = (job for job in jobs if not job.is_stopped)
        return sum(1 for _ in itertools.islice(live, self.at_once))

    def _share_of_a_thread(self) -> int:
        """Return how many of the positions are a thread's, at least 1. The lock is held."""
        return max(1, -(-self._n_under_way() // self._most_threads))

    def _discard(self, job: AnalysisJob) -> None:
        with self._changed:
            self._running.discard(job)
            self._changed.notify_all()

    def _new_search(self, share: int) -> Search:
        """Return a search that takes one of so many shares of the machine."""
        threads, batch = share_out(self._threads, self._batch, share)
        # At most one position is alone, and one that was stopped and is about to end; all others
        # together get the second half of the memory.
        memory_mb = self._memory_mb // 2
        if share > 1:
            memory_mb = max(LEAST_MEMORY_MB, memory_mb // self.at_once)
        return Search(
            self.evaluator,
            self._usual,
            threads=threads,
            batch=batch,
            memory_mb=memory_mb,
            seed=self._seed,
        )
