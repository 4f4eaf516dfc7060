"""Fill a folder with shards of labelled positions, job by job; a killed run goes on where it was.

Every job makes one shard, and several processes may work on jobs. Which kind comes next depends
only on the shards that are there, so that the mixture stays as wanted however often the run is
interrupted. One shard in `VALID_EVERY` of each kind goes to the folder `valid`. A job plays whole
games, and a record's side depends on its moves, so that no game is on both sides, in other runs
neither. A note beside the folders says what it took so far.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtp_engine.children import isolate_pools
from gtp_engine.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.devices import cuda_obstacle
from gtp_engine.files import write_whole
from gtp_engine.go.game_record import GameRecord
from gtp_export.labelling.record_positions import label_records
from gtp_export.labelling.samples import Samples, SamplesError, count_samples, write_samples
from gtp_export.labelling.searching_teacher import SearchingTeacher
from gtp_export.labelling.selfplay import draw_plan, play_games
from gtp_export.labelling.teacher import Teacher
from gtp_export.plans import DistilRun
from gtp_export.records.games import Games
from gtp_export.run_settings import alone_in, read_record
from gtp_export.span import Meter, Span, Spent, end_with_parent

logger = logging.getLogger(__name__)

TRAIN, VALID = "train", "valid"
"""Folders."""
VALID_EVERY = 20
RECORDS = "records"
OTHER = "other"
STUDENT = "student"
STUDENT_POSITIONS = 1500
"""Of a shard of the student's games, about."""
STUDENT_SIZES = {(9, 9): 0.4, (13, 13): 0.1, (19, 19): 0.4}
"""Share of the student's shards by board size; the rest is for any other."""
GPU_SCALE = 3
"""A GPU makes shards of so many times as many games: it labels more positions at once as fast."""
NOTE = "labelling.json"
ALL_SIDES = range(MIN_SIZE, MAX_SIZE + 1)


@dataclass(frozen=True)
class Kind:
    """One kind of shard."""

    name: str
    """`records`, `other` for self-play on boards of any size, a size such as "9x9", or `student`
    for games of the student with itself."""
    games: int
    """Games a shard."""
    share: float
    """Share of the shards, of what can be made."""

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height where all boards of this kind are alike."""
        width, by, height = self.name.partition("x")
        return (int(width), int(height)) if by else None


KINDS = (
    Kind("9x9", games=24, share=0.20),
    Kind("13x13", games=10, share=0.08),
    Kind("19x19", games=5, share=0.05),
    Kind(OTHER, games=12, share=0.09),
    Kind(RECORDS, games=256, share=0.58),
    Kind(STUDENT, games=0, share=0.0),
)
"""Half of the positions from records, where there are any: 19x19 is the hardest board to learn,
and games of people are more varied and nearer to what is met than self-play. The rest are the
small sizes that people play most, and enough of everything else that no size is foreign. The
student's share is asked for; its games are as many as fit a shard."""


@dataclass(frozen=True)
class Job:
    """One shard to make."""

    kind: Kind
    seed: int
    path: Path
    records: tuple[GameRecord, ...] = ()
    """Games of one board size to take positions from; none for self-play."""
    scale: int = 1
    """How many times as many games as its kind says it plays."""


@dataclass(frozen=True)
class LabelNote:
    """What stands in a folder's note; earlier versions wrote less."""

    seconds: float = 0.0
    core_seconds: float = 0.0
    scale: int | None = None
    """See `Job`."""
    seed: int | None = None
    """Of the first run, which divided the records."""
    games: str | None = None
    """Fingerprint of the records; None where there are none."""


class ShardMaker:
    """Makes shards in one process or several."""

    def __init__(
        self, run: DistilRun, folder: Path, games: Games | None, student: Path | None = None
    ) -> None:
        """Count the shards that are there.

        Args:
            run: The teacher, and how it labels; its seed and a job's number make the job's games.
            folder: Where `train` and `valid` are, or will be made.
            games: Game records; without any, self-play makes everything.
            student: The net that plays the games of a share of the shards.

        A file PAUSE in the folder above halts all processes until it is gone.

        Raises:
            NetFileError: The teacher or the student cannot be used, or the folder has labels of
                other games.
            OSError: A folder cannot be made.
        """
        self._run = run
        self._opening = (run, folder.parent, student)
        self._worker: _Worker | None = None
        if run.processes == 1:
            self._worker = _Worker(*self._opening)
        else:  # refuses bad ones; the processes open their own
            for net in (run.teacher, student):
                if net is not None:
                    Teacher(net, "cpu", run.runtime)
        self._folder = folder
        self._games = games
        # The chunks that shards are made of are the same in all runs that add to a folder.
        note = _read_note(folder)
        self._scale = note.scale or (1 if cuda_obstacle() else GPU_SCALE)
        self._games_hash = note.games if games is None else games.fingerprint()
        if note.games not in (None, self._games_hash):
            raise NetFileError(f"{folder}: its labels are of other games; choose another --out")
        self._seed = run.seed if note.seed is None else note.seed
        self._chunks = [] if games is None else _chunks(games, self._seed, self._scale)
        student_share = 0.0 if student is None else run.student_games
        shares = {kind: (1.0 - student_share) * kind.share for kind in KINDS}
        shares |= {kind: student_share for kind in KINDS if kind.name == STUDENT}
        self._kinds = [
            replace(kind, share=share)
            for kind, share in shares.items()
            if share > 0.0
            and (kind.name != RECORDS or self._chunks)
            and (kind.size is None or max(kind.size) in run.sides)
        ]
        self._planned = _list_shards(folder)

    def make_shards(self, span: Span) -> int:
        """Add shards until a span is spent, and return how many positions were made.

        Args:
            span: For all shards of the folder, earlier ones too.

        Raises:
            NetFileError: One of several processes has died, or another run is at work there.
            OSError: A shard cannot be written.
        """
        with alone_in(self._folder):
            self._spent = before = spent_on_labels(self._folder)
            for job, took in self._made(span):
                self._spent = self._spent.plus(took)
                self._write_note()
                shard = f"{job.path.parent.name}/{job.path.name}"
                made = self._spent.samples - before.samples
                logger.info(f"{made} positions, {span.left(self._spent)}; last {shard}")
            return self._spent.samples - before.samples

    def _write_note(self) -> None:
        _, core_seconds, seconds = self._spent
        note = LabelNote(seconds, core_seconds, self._scale, self._seed, self._games_hash)
        write_whole(self._folder / NOTE, json.dumps(asdict(note)))

    def _made(self, span: Span) -> Iterator[tuple[Job, Spent]]:
        """Work on jobs as long as a span is not spent; give each with what it took."""
        if self._worker is not None:
            while span.share(self._spent) < 1.0 and (job := self._next_job()) is not None:
                yield job, self._worker.make(job)
            return
        isolate_pools()
        context = get_context("spawn")
        with ProcessPoolExecutor(
            self._run.processes, context, _begin_to_work_here, self._opening
        ) as pool:
            try:
                yield from self._made_by(pool, span)
            except BrokenProcessPool:
                raise NetFileError(
                    f"a process that labels has died; the shards in {self._folder} are kept"
                ) from None

    def _made_by(self, pool: Executor, span: Span) -> Iterator[tuple[Job, Spent]]:
        meter = Meter(self._folder.parent)
        running: dict[Future[Spent], Job] = {}
        while True:
            while len(running) < self._run.processes and span.share(self._spent) < 1.0:
                job = self._next_job()
                if job is None:
                    break
                running[pool.submit(_make_shard_here, job)] = job
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                took = future.result()
                took = took._replace(
                    core_seconds=took.core_seconds + meter.lap().core_seconds,
                    seconds=took.seconds / self._run.processes,
                )
                yield running.pop(future), took

    def _next_job(self) -> Job | None:
        """Return the job that the mixture lacks most; None when nothing can be made."""
        while self._kinds:
            kind = min(
                self._kinds, key=lambda kind: (len(self._planned[kind.name]) + 1) / kind.share
            )
            planned = self._planned[kind.name]
            number = next(number for number in count() if number not in planned)
            if kind.name == RECORDS and number >= len(self._chunks):
                self._kinds.remove(kind)
                continue
            planned.add(number)
            side, records = _side(number), tuple[GameRecord, ...]()
            if kind.name == RECORDS and self._games is not None:
                side, chunk = self._chunks[number]
                records = tuple(self._games.record(int(game)) for game in chunk)
            place = [item.name for item in KINDS].index(kind.name)
            seeds = np.random.SeedSequence([self._seed, place, number])
            return Job(
                kind,
                int(seeds.generate_state(1)[0]),
                self._folder / side / f"{kind.name}-{number:06d}.npz",
                records,
                self._scale,
            )
        return None


def count_by_kind(folder: Path) -> dict[str, int]:
    """Return the number of positions by kind of shard; damaged shards are not counted."""
    counts: dict[str, int] = {}
    for path in sorted(folder.glob("*.npz")):
        kind = path.stem.rpartition("-")[0]
        with suppress(SamplesError):
            counts[kind] = counts.get(kind, 0) + count_samples(path)
    return counts


def spent_on_labels(folder: Path) -> Spent:
    """Return the positions in a folder, and what they took by its note, all runs together."""
    note = _read_note(folder)
    samples = sum(sum(count_by_kind(folder / side).values()) for side in (TRAIN, VALID))
    return Spent(samples, note.core_seconds, note.seconds)


def _read_note(folder: Path) -> LabelNote:
    """Return what a folder's note says; nothing where there is none, or none that can be read."""
    with suppress(FileNotFoundError, ValueError):
        return read_record(folder / NOTE, LabelNote)
    return LabelNote()


def _side(number: int) -> str:
    return VALID if number % VALID_EVERY == 1 else TRAIN


def _chunks(games: Games, seed: int, scale: int) -> list[tuple[str, NDArray[np.int64]]]:
    """Return the games in random order, in groups of one side and one board size, a group a shard.

    The sides take turns as long as both have groups. Groups are `scale` times as large as usual.
    """
    generator = np.random.Generator(np.random.PCG64([seed, len(games)]))
    order = generator.permutation(len(games))
    valid = games.is_valid(1.0 / VALID_EVERY)[order]
    left = {
        side: _groups(games, order[chosen], generator, scale)
        for side, chosen in ((TRAIN, ~valid), (VALID, valid))
    }
    chunks: list[tuple[str, NDArray[np.int64]]] = []
    while left[TRAIN] or left[VALID]:
        side = _side(len(chunks))
        if not left[side]:
            side = TRAIN if side == VALID else VALID
        chunks.append((side, left[side].pop()))
    return chunks


def _groups(
    games: Games, order: NDArray[np.int64], generator: np.random.Generator, scale: int
) -> list[NDArray[np.int64]]:
    """Return games in groups of one board size, the groups in random order."""
    size = scale * next(kind.games for kind in KINDS if kind.name == RECORDS)
    groups = []
    for width, height in games.sizes:
        alike = order[np.isin(order, games.of_size(width, height))]
        groups += [alike[at : at + size] for at in range(0, len(alike), size)]
    return [groups[i] for i in generator.permutation(len(groups))]


class _Worker:
    """Makes shards in one process."""

    def __init__(self, run: DistilRun, folder: Path, student: Path | None) -> None:
        self._run = run
        self._meter = Meter(folder)
        self._teacher = _open(run.teacher, run.playouts, run.runtime)
        self._teacher.before_labels = self._meter.wait_while_halted
        self._student = None
        if student is not None:
            self._student = _open(student, run.student_playouts, run.runtime)

    def make(self, job: Job) -> Spent:
        """Write a job's shard; it has no positions where no game of its records could be used."""
        samples = self._samples(job)
        if samples is None:
            return self._meter.lap()
        write_samples(job.path, samples)
        return self._meter.lap()._replace(samples=len(samples.features))

    def _samples(self, job: Job) -> Samples | None:
        kind, seed, sides = job.kind, job.seed, self._run.sides
        if kind.name == RECORDS:
            return label_records(self._teacher, job.records, seed, self._run.played_weight)
        generator = np.random.Generator(np.random.PCG64(seed))
        if kind.name == STUDENT:
            width, height = _draw_student_size(generator, sides)
            plans = [
                replace(draw_plan(generator, width, height), random_rate=0.0, pass_rate=0.0)
                for _ in range(max(1, job.scale * STUDENT_POSITIONS // (width * height)))
            ]
            return play_games(self._teacher, plans, width, height, seed, self._student)
        width, height = kind.size or draw_size(generator, sides)
        plans = [draw_plan(generator, width, height) for _ in range(job.scale * kind.games)]
        return play_games(self._teacher, plans, width, height, seed)


def _open(net: Path, playouts: int, runtime: str) -> Teacher:
    """Open a net that answers after a search, or without one."""
    if playouts:
        return SearchingTeacher(net, playouts, runtime)
    return Teacher(net, runtime=runtime)


_worker_here: list[_Worker] = []
"""The one of a worker process."""


def _begin_to_work_here(*opening: Any) -> None:
    end_with_parent()
    _worker_here.append(_Worker(*opening))


def _make_shard_here(job: Job) -> Spent:
    return _worker_here[0].make(job)


def _list_shards(folder: Path) -> defaultdict[str, set[int]]:
    """Return the numbers of the shards by kind; a kill may have left out some. Make the folders."""
    numbers = defaultdict[str, set[int]](set)
    for side in (TRAIN, VALID):
        (folder / side).mkdir(parents=True, exist_ok=True)
        for path in (folder / side).glob("*-*.npz"):
            name, _, number = path.stem.rpartition("-")
            if number.isdecimal():  # not the copy that somebody made of one
                numbers[name].add(int(number))
    return numbers


def _draw_student_size(generator: np.random.Generator, sides: range) -> tuple[int, int]:
    shares = {size: share for size, share in STUDENT_SIZES.items() if max(size) in sides}
    draw = generator.random() * (1.0 - sum(STUDENT_SIZES.values()) + sum(shares.values()))
    for size, share in shares.items():
        draw -= share
        if draw < 0.0:
            return size
    return draw_size(generator, sides)


def draw_size(generator: np.random.Generator, sides: range = ALL_SIDES) -> tuple[int, int]:
    """Draw a board size: all of 2 to 25, mostly 5 to 19, two in five rectangular.

    Args:
        sides: What the longest side may be.
    """
    while True:
        low, high = (MIN_SIZE, MAX_SIZE) if generator.random() < 0.15 else (5, 19)
        low, high = min(low, sides[-1]), min(high, sides[-1])
        width = int(generator.integers(low, high + 1))
        height = int(generator.integers(low, high + 1)) if generator.random() < 0.4 else width
        if max(width, height) in sides:
            return width, height
