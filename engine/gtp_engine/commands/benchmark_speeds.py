"""What `gtp-engine benchmark` measures. The jobs take turns, so that all fare alike."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gtp_engine.arena.signature import random_position
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator, encode_positions
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import judges_of, open_whole
from gtp_engine.evaluators.rollouts.go import run_pattern_games
from gtp_engine.evaluators.runtimes.sessions import ONNX_RUNTIME, OPENVINO_BF16
from gtp_engine.go.position import Position
from gtp_engine.go.random_games import run_random_games
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


def usual_sizes(nets: Sequence[NetEvaluator]) -> Sequence[tuple[int, int]]:
    """Return those of SIZES that one of the nets takes, or else the first net's largest board."""
    able = [size for size in SIZES if not nets or any(net.accepts(*size) for net in nets)]
    if able:
        return able
    largest = nets[0].net.info.squares[-1]
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


Job = Callable[[], Row]
"""Measures something for one turn."""


def run_in_turns(jobs: Sequence[Job], on_turn: Callable[[], None] = lambda: None) -> list[Row]:
    """Return the best turn of each job; `on_turn` is called after each turn of a job."""
    best: list[Row | None] = [None] * len(jobs)
    for _ in range(TURNS):
        for i, job in enumerate(jobs):
            row, before = job(), best[i]
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


def random_games_job(size: BoardSize) -> Job:
    """Return uniform random games that fill no eyes."""
    games = max(1, 100_000 // (size[0] * size[1]))

    def play() -> int:
        run_random_games(*size, games, seed=7)
        return games

    return lambda: Row(_name(size), ROLLOUTS, *_timed(play, SECONDS_A_TURN))


def pattern_games_job(size: BoardSize) -> Job:
    """Return rollouts of the pattern policy."""
    games = max(1, 10_000 // (size[0] * size[1]))

    def run() -> Row:
        moves = 0

        def play() -> int:
            nonlocal moves
            moves += run_pattern_games(*size, games, seed=7)
            return games

        return Row(_name(size), PATTERNS, *_timed(play, SECONDS_A_TURN), moves=moves)

    return run


def opening_position(size: BoardSize) -> Position:
    """Return a position in the first third of a random game."""
    return random_position(*size, "chinese-ogs", size[0] * size[1] // 5, seed=1)


def opening_batch(net: NetEvaluator, size: BoardSize, batch: int) -> EvalBatch:
    """Return a batch of such a position under symmetries, encoded for a net."""
    symmetries = [slot % 4 for slot in range(batch)]
    return encode_positions(net, [opening_position(size)] * batch, symmetries)


def net_job(kind: str, net: NetEvaluator, size: BoardSize, batch: int) -> Job:
    """Return runs of a net alone, without encoding or search."""
    leaves = opening_batch(net, size, batch)

    def evaluate() -> int:
        net.net.run(leaves.spatial, leaves.features)
        return batch

    def run() -> Row:
        evaluate()
        speed = _timed(evaluate, SECONDS_A_TURN)
        return Row(_name(size), kind, *speed, batch=batch, is_fp32=is_fp32(net, size))

    return run


def is_fp32(net: NetEvaluator, size: BoardSize) -> bool:
    """Whether a net computes in fp32 where it runs, on boards of a size."""
    return all(
        one.info.precision.startswith("fp32") and one.runtime != OPENVINO_BF16
        for one in judges_of(net.net, *size)
    )


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


def search_job(
    kind: str,
    evaluator: Evaluator,
    size: BoardSize,
    playouts: int,
    *,
    threads: int = 1,
    batch: int = 1,
    use_cache: bool = False,
) -> Job:
    """Return a search from scratch."""
    position = opening_position(size)
    net = evaluator if isinstance(evaluator, NetEvaluator) else None

    def run() -> Row:
        params = SearchParams(use_cache=use_cache)
        search = Search(evaluator, params, threads=threads, batch=batch)
        lock = TimedLock()
        if threads > 1:  # nobody else holds it otherwise, and looking at the clock takes time
            search.shared.lock = lock
        search.set_position(position)
        if net is not None:
            net.clear_cache()
        before = _counts(net)
        visits, wall, cpu = _timed(lambda: search.run(Limits(playouts=playouts)).visits)
        evaluations, runs, hits = (
            now - then for now, then in zip(_counts(net), before, strict=True)
        )
        return Row(
            _name(size),
            kind,
            visits,
            wall,
            cpu,
            threads=threads,
            batch=batch,
            use_cache=use_cache,
            evaluations=evaluations,
            mean_batch=evaluations / max(1, runs),
            cache_hits=hits,
            collisions=search.shared.collisions,
            lock_wait=lock.waited / (wall * threads),
            memory_mb=peak_memory_bytes() / (1 << 20),
        )

    return run


def _counts(net: NetEvaluator | None) -> tuple[int, int, int]:
    """Return evaluations, runs and cache hits so far."""
    if net is None:
        return 0, 0, 0
    return net.batcher.evaluations, net.batcher.runs, net.cache_hits


class _EncodingNet(NetEvaluator):
    """Encodes positions for a net, ladders and all, and takes fake results in place of its own."""

    _fake = FakeEvaluator()

    def encode(self, *leaf: Any) -> None:
        super().encode(*leaf)
        self._fake.encode(*leaf)

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Leave the slots as they are."""


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
    alone = sorted({1, *batches})
    jobs: list[Job] = [net_job(RAW, net, size, batch) for batch in alone]
    if not is_fp32(net, size) and net.net.device == "cpu":
        exact = open_whole(wanted, "cpu", ONNX_RUNTIME, exactly=True)  # OpenVINO may mean bfloat16
        fp32 = NetEvaluator(exact, streams=1, max_batch=1, cache_mb=0)
        if is_fp32(fp32, size):  # a file that was named has no other beside it
            jobs.append(net_job(RAW_FP32, fp32, size, 1))
    encoding = _EncodingNet(net.net, streams=1, max_batch=1, cache_mb=0)
    for batch in (1, MANY_LEAVES):
        jobs.append(search_job(ENCODING, encoding, size, FAKE_PLAYOUTS, batch=batch))
    jobs += [search_job(SEARCH, net, size, playouts, batch=batch) for batch in alone]
    jobs += [
        search_job(SEARCH, net, size, playouts, threads=workers, batch=batch, use_cache=True)
        for workers in threads
        for batch in batches
    ]
    return jobs
