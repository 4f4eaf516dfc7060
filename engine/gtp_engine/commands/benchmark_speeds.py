"""What `gtp-engine benchmark` measures. The jobs take turns, so that all fare alike."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gtp_engine.arena.signature import random_position
from gtp_engine.evaluators.composition import open_exactly
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.net_info import NetInfo
from gtp_engine.evaluators.rollouts import run_pattern_games
from gtp_engine.go.position import Position
from gtp_engine.go.rollouts import run_random_games
from gtp_engine.platforms import peak_memory_bytes
from gtp_engine.search.params import SearchParams
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

TURNS = 3
"""Turns that each job gets; its fastest counts, because other programs only ever slow one down."""
SECONDS_A_TURN = 0.7
FAKE_PLAYOUTS = 20_000
MANY_LEAVES = 16
"""Leaves at once as a GPU is handed them, whose inputs cost less each than one alone."""

ROLLOUTS, RAW, RAW_FP32, SEARCH = "random games", "raw", "raw fp32", "search"
PATTERNS = "pattern games"
FAKE, ENCODING = "fake", "encoding"
"""Kinds of jobs."""

BoardSize = tuple[int, int]
SIZES = ((9, 9), (19, 19))
"""Width and height of each, where the nets take them."""


def usual_sizes(infos: Sequence[NetInfo]) -> Sequence[tuple[int, int]]:
    """Return those of SIZES that one of the nets takes, or else the first net's largest board."""
    able = [size for size in SIZES if not infos or any(info.accepts(*size) for info in infos)]
    if able:
        return able
    largest = max(infos[0].board_sizes or (infos[0].board_max,))
    return [(largest, largest)]


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured, under one set of circumstances."""

    board: str
    kind: str
    """One of the kinds above."""
    count: int
    """Games, evaluations or visits."""
    wall_seconds: float
    cpu_seconds: float
    """Processor time of all threads."""
    threads: int = 1
    batch: int = 1
    use_cache: bool = False
    is_fp32: bool = False
    """Whether these are evaluations in fp32."""
    moves: int = 0
    """Of all games of patterns together, passes included."""
    evaluations: int = 0
    mean_batch: float = 0.0
    cache_hits: int = 0
    collisions: int = 0
    lock_wait: float = 0.0
    """Share of the threads' time spent waiting for the tree's lock; one thread never waits."""
    memory_mb: float = 0.0
    """Largest memory of the process so far."""

    @property
    def per_second(self) -> float:
        """Speed by the clock on the wall."""
        return self.count / max(self.wall_seconds, 1e-9)

    @property
    def per_cpu_second(self) -> float:
        """Speed by processor time."""
        return self.count / max(self.cpu_seconds, 1e-9)


class Job(Protocol):
    """Something to measure, in turns."""

    def run(self) -> Row:
        """Take one turn."""


def run_in_turns(jobs: Sequence[Job], on_turn: Callable[[], None] = lambda: None) -> list[Row]:
    """Return the best turn of each job.

    Args:
        on_turn: Called after each turn of a job.
    """
    best: list[Row | None] = [None] * len(jobs)
    for _ in range(TURNS):
        for i, job in enumerate(jobs):
            row, before = job.run(), best[i]
            if before is None or row.per_cpu_second > before.per_cpu_second:
                best[i] = row
            on_turn()
    return [row for row in best if row is not None]


def _name(size: BoardSize) -> str:
    return f"{size[0]}x{size[1]}"


def _timed(work: Callable[[], int], seconds: float = 0.0) -> tuple[int, float, float]:
    """Repeat some work for at least so long; return its count, the wall's and processor's time."""
    count = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while True:
        count += work()
        spent = time.perf_counter() - wall
        if spent >= seconds:
            return count, spent, time.process_time() - cpu


class RolloutJob:
    """Uniform random games that fill no eyes."""

    def __init__(self, size: BoardSize) -> None:
        self._size = size
        self._games = max(1, 100_000 // (size[0] * size[1]))

    def run(self) -> Row:
        """Take one turn."""

        def play() -> int:
            run_random_games(*self._size, self._games, seed=7)
            return self._games

        return Row(_name(self._size), ROLLOUTS, *_timed(play, SECONDS_A_TURN))


class PatternJob(RolloutJob):
    """Rollouts of the pattern policy."""

    def run(self) -> Row:
        """Take one turn."""
        moves = 0

        def play() -> int:
            nonlocal moves
            games = max(1, self._games // 10)
            moves += run_pattern_games(*self._size, games, seed=7)
            return games

        speed = _timed(play, SECONDS_A_TURN)
        return Row(_name(self._size), PATTERNS, *speed, moves=moves)


class RawJob:
    """A net alone, without encoding or search."""

    def __init__(self, kind: str, net: NetEvaluator, size: BoardSize, batch: int) -> None:
        self._kind, self._net, self._size, self._batch = kind, net, size, batch
        position = opening_position(size)
        self._is_fp32 = is_fp32(net)
        self._leaves = net.new_batch(batch, *size)
        for slot in range(batch):
            rules = position.rules.flags
            net.encode(self._leaves, slot, position.history, position.ply, rules, slot % 4, 0.0)

    def run(self) -> Row:
        """Take one turn."""

        def evaluate() -> int:
            self._net.net.run(self._leaves.spatial, self._leaves.features)
            return self._batch

        evaluate()
        speed = _timed(evaluate, SECONDS_A_TURN)
        return Row(_name(self._size), self._kind, *speed, batch=self._batch, is_fp32=self._is_fp32)


def is_fp32(net: NetEvaluator) -> bool:
    """Whether a net computes in fp32 where it runs."""
    return net.net.info.precision.startswith("fp32")


class TimedLock(threading.Condition):
    """A lock that knows how long threads have waited for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0
        """Seconds, of all threads together."""

    def __enter__(self) -> bool:
        started = time.perf_counter()
        entered = super().__enter__()
        self.waited += time.perf_counter() - started  # the lock is held now
        return entered


class SearchJob:
    """A search from scratch."""

    def __init__(
        self,
        kind: str,
        evaluator: Evaluator,
        size: BoardSize,
        playouts: int,
        *,
        threads: int = 1,
        batch: int = 1,
        use_cache: bool = False,
    ) -> None:
        self._kind, self._evaluator, self._size = kind, evaluator, size
        self._playouts, self._threads, self._batch = playouts, threads, batch
        self._use_cache = use_cache
        self._position = opening_position(size)

    def run(self) -> Row:
        """Take one turn."""
        net = self._evaluator if isinstance(self._evaluator, NetEvaluator) else None
        params = SearchParams(use_cache=self._use_cache)
        search = Search(self._evaluator, params, threads=self._threads, batch=self._batch)
        lock = TimedLock()
        if self._threads > 1:  # nobody else holds it otherwise, and looking at the clock takes time
            search.shared.lock = lock
        search.set_position(self._position)
        if net is not None:
            net.clear_cache()
        before = _counts(net)
        visits, wall, cpu = _timed(lambda: search.run(Limits(playouts=self._playouts)).visits)
        evaluations, runs, hits = (
            now - then for now, then in zip(_counts(net), before, strict=True)
        )
        return Row(
            _name(self._size),
            self._kind,
            visits,
            wall,
            cpu,
            threads=self._threads,
            batch=self._batch,
            use_cache=self._use_cache,
            evaluations=evaluations,
            mean_batch=evaluations / max(1, runs),
            cache_hits=hits,
            collisions=search.collisions,
            lock_wait=lock.waited / (wall * self._threads),
            memory_mb=peak_memory_bytes() / (1 << 20),
        )


def _counts(net: NetEvaluator | None) -> tuple[int, int, int]:
    """Return evaluations, runs and cache hits so far."""
    if net is None:
        return 0, 0, 0
    return net.batcher.evaluations, net.batcher.runs, net.cache_hits


class _EncodingNet(NetEvaluator):
    """Encodes positions for a net, ladders and all, and does not ask it."""

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        FakeEvaluator().evaluate(batch, n)


def fake_search_job(size: BoardSize) -> SearchJob:
    """Return a search that costs nothing but the search."""
    return SearchJob(FAKE, FakeEvaluator(), size, FAKE_PLAYOUTS)


def net_jobs(
    net: NetEvaluator,
    wanted: str | None,
    size: BoardSize,
    threads: Sequence[int],
    batches: Sequence[int],
    playouts: int,
) -> list[Job]:
    """Return what is measured of a net on one board.

    Args:
        wanted: Its name, under which its file in fp32 is found.
        batches: Leaves a thread to try with each.
    """
    jobs: list[Job] = [RawJob(RAW, net, size, batch) for batch in sorted({1, *batches})]
    if not is_fp32(net) and net.net.device == "cpu":
        fp32 = NetEvaluator(open_exactly(wanted, "cpu"), streams=1, max_batch=1, cache_mb=0)
        if is_fp32(fp32):  # a file that was named has no other beside it
            jobs.append(RawJob(RAW_FP32, fp32, size, 1))
    encoding = _EncodingNet(net.net, streams=1, max_batch=1, cache_mb=0)
    for batch in (1, MANY_LEAVES):
        jobs.append(SearchJob(ENCODING, encoding, size, FAKE_PLAYOUTS, batch=batch))
    jobs.append(SearchJob(SEARCH, net, size, playouts))
    jobs += [
        SearchJob(SEARCH, net, size, playouts, threads=workers, batch=batch, use_cache=True)
        for workers in threads
        for batch in batches
    ]
    return jobs


def opening_position(size: BoardSize) -> Position:
    """Return a position in the first third of a random game."""
    return random_position(*size, "chinese-ogs", size[0] * size[1] // 5, seed=1)
