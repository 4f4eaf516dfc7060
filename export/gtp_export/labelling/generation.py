"""Fill a folder with shards of labelled positions, job by job; a killed run goes on where it was.

Every job makes one shard, and several processes may work on jobs. Which kind comes next depends
only on the shards that are there, so that the mixture stays as wanted however often the run is
interrupted. One shard in `VALID_EVERY` of each kind goes to the folder `valid`. A job plays whole
games, and a record's side depends on its moves, so that no game is on both sides, in other runs
neither. A note beside the folders says how long it took so far.
"""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gtp_engine.go.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.go.game_record import GameRecord
from gtp_export.labelling.record_positions import label_records
from gtp_export.labelling.samples import Samples, write_shard
from gtp_export.labelling.searching_teacher import open_teacher
from gtp_export.labelling.selfplay import draw_plan, play_games
from gtp_export.labelling.teacher import Teacher
from gtp_export.records.games import Games

TRAIN, VALID = "train", "valid"
"""Folders."""
VALID_EVERY = 20
RECORDS = "records"
OTHER = "other"
NOTE = "labelling.json"


@dataclass(frozen=True)
class Kind:
    """One kind of shard."""

    name: str
    """`records`, `other` for self-play on boards of any size, or a size such as "9x9"."""
    games: int
    """Games a shard."""
    share: float
    """Share of the shards; the shares of all kinds sum to 1."""


KINDS = (
    Kind("9x9", games=24, share=0.20),
    Kind("13x13", games=10, share=0.08),
    Kind("19x19", games=5, share=0.05),
    Kind(OTHER, games=12, share=0.09),
    Kind(RECORDS, games=256, share=0.58),
)
"""Half of the positions from records, where there are any: 19x19 is the hardest board to learn,
and games of people are more varied and nearer to what is met than self-play. The rest are the
small sizes that people play most, and enough of everything else that no size is foreign."""


@dataclass(frozen=True)
class Job:
    """One shard to make."""

    kind: Kind
    seed: int
    path: Path
    records: tuple[GameRecord, ...] = ()
    """Games of one board size to take positions from; none for self-play."""
    played_weight: float = 0.0


class Generator:
    """Makes shards in one process or several."""

    def __init__(
        self,
        teacher: Path,
        folder: Path,
        games: Games | None,
        seed: int,
        played_weight: float = 0.0,
        processes: int = 1,
        playouts: int = 0,
    ) -> None:
        """Count the shards that are there.

        Args:
            teacher: The net that gives the labels and draws the moves of self-play.
            folder: Where `train` and `valid` are, or will be made.
            games: Game records; without any, self-play makes everything.
            seed: Together with a job's number, makes its games.
            played_weight: As for `label_records`.
            processes: How many work at once.
            playouts: Of the teacher's search for each label; 0 for its net's own answers.

        Raises:
            NetFileError: The teacher cannot be used.
            OSError: A folder cannot be made.
        """
        self._opening = (teacher, playouts)
        self._teacher: Teacher | None = None
        if processes == 1:
            self._teacher = open_teacher(*self._opening)
        else:
            Teacher(teacher, "cpu")  # refuses a bad one; the processes open their own
        self._folder = folder
        self._games = games
        self._chunks = [] if games is None else _chunks(games, seed)
        self._seed = seed
        self._played_weight = played_weight
        self._processes = processes
        self._kinds = [kind for kind in KINDS if kind.name != RECORDS or self._chunks]
        self._planned = _count_shards(folder)

    def run(self, seconds: float, say: Callable[[str], None]) -> int:
        """Add shards for a while and return how many positions were made.

        Args:
            seconds: No job but the first is begun after that time.
            say: Told in a line about every shard.

        Raises:
            OSError: A shard cannot be written.
        """
        start = time.monotonic()
        before = seconds_spent(self._folder)
        positions = 0
        for job, made in self._made(start + seconds):
            positions += made
            elapsed = time.monotonic() - start
            _note_seconds(self._folder, before + elapsed)
            shard = f"{job.path.parent.name}/{job.path.name}"
            say(f"{positions} positions in {elapsed:.0f} s; last {shard}")
        return positions

    def _made(self, ends_at: float) -> Iterator[tuple[Job, int]]:
        """Work on jobs until a moment of the monotonic clock; give each with its positions."""
        if self._teacher is not None:
            job = self._next_job()
            while job is not None:
                yield job, _make_shard(self._teacher, job)
                job = self._next_job() if time.monotonic() < ends_at else None
            return
        context = get_context("spawn")
        with ProcessPoolExecutor(
            self._processes, context, _open_teacher_here, self._opening
        ) as pool:
            yield from self._made_by(pool, ends_at)

    def _made_by(self, pool: Executor, ends_at: float) -> Iterator[tuple[Job, int]]:
        running: dict[Future[int], Job] = {}
        while True:
            while len(running) < self._processes and (not running or time.monotonic() < ends_at):
                job = self._next_job()
                if job is None:
                    break
                running[pool.submit(_make_shard_here, job)] = job
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
            if time.monotonic() >= ends_at and not running:
                return

    def _next_job(self) -> Job | None:
        """Return the job that the mixture lacks most; None when nothing can be made."""
        while self._kinds:
            kind = min(
                self._kinds, key=lambda kind: (self._planned.get(kind.name, 0) + 1) / kind.share
            )
            number = self._planned.get(kind.name, 0)
            if kind.name == RECORDS and number >= len(self._chunks):
                self._kinds.remove(kind)
                continue
            self._planned[kind.name] = number + 1
            side, records = _side(number), tuple[GameRecord, ...]()
            if kind.name == RECORDS:
                side, records = self._records(number)
            return Job(
                kind,
                _job_seed(self._seed, kind, number),
                self._folder / side / f"{kind.name}-{number:06d}.npz",
                records,
                self._played_weight,
            )
        return None

    def _records(self, number: int) -> tuple[str, tuple[GameRecord, ...]]:
        """Return the games of a shard and the side they are on."""
        assert self._games is not None
        side, chunk = self._chunks[number]
        return side, tuple(self._games.record(int(game)) for game in chunk)


def seconds_spent(folder: Path) -> float:
    """Return how long shards have been made in a folder, all runs together; 0 if it is new."""
    try:
        return float(json.loads((folder / NOTE).read_text())["seconds"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return 0.0


def _note_seconds(folder: Path, seconds: float) -> None:
    partial = folder / f"{NOTE}.part"
    partial.write_text(json.dumps({"seconds": seconds}))
    partial.replace(folder / NOTE)


def _side(number: int) -> str:
    return VALID if number % VALID_EVERY == 1 else TRAIN


def _chunks(games: Games, seed: int) -> list[tuple[str, NDArray[np.int64]]]:
    """Return the games in random order, in groups of one side and one board size, a group a shard.

    The sides take turns as long as both have groups.
    """
    generator = np.random.Generator(np.random.PCG64([seed, len(games)]))
    order = generator.permutation(len(games))
    valid = games.is_valid(1.0 / VALID_EVERY)[order]
    left = {
        side: _groups(games, order[chosen], generator)
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
    games: Games, order: NDArray[np.int64], generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return games in groups of one board size, the groups in random order."""
    size = next(kind.games for kind in KINDS if kind.name == RECORDS)
    side = MAX_SIZE + 1
    codes = games.table.width.astype(np.int64)[order] * side + games.table.height[order]
    groups = []
    for code in np.unique(codes):
        alike = order[codes == code]
        groups += [alike[at : at + size] for at in range(0, len(alike), size)]
    return [groups[i] for i in generator.permutation(len(groups))]


_process_teacher: list[Teacher] = []
"""The teacher of a worker process."""


def _open_teacher_here(path: Path, playouts: int) -> None:
    _process_teacher.append(open_teacher(path, playouts))


def _make_shard_here(job: Job) -> int:
    return _make_shard(_process_teacher[0], job)


def _make_shard(teacher: Teacher, job: Job) -> int:
    """Write a job's shard; return its positions, 0 where no game of its records could be used."""
    samples = _make(teacher, job)
    if samples is None:
        return 0
    write_shard(job.path, samples)
    return len(samples.features)


def _count_shards(folder: Path) -> dict[str, int]:
    """Return by kind the number of the next shard; make the folders."""
    numbers: dict[str, int] = {}
    for side in (TRAIN, VALID):
        (folder / side).mkdir(parents=True, exist_ok=True)
        for path in (folder / side).glob("*-*.npz"):
            name, _, number = path.stem.rpartition("-")
            numbers[name] = max(numbers.get(name, 0), int(number) + 1)
    return numbers


def _job_seed(seed: int, kind: Kind, number: int) -> int:
    place = [item.name for item in KINDS].index(kind.name)
    return int(np.random.SeedSequence([seed, place, number]).generate_state(1)[0])


def _make(teacher: Teacher, job: Job) -> Samples | None:
    kind, seed = job.kind, job.seed
    if kind.name == RECORDS:
        return label_records(teacher, job.records, seed, job.played_weight)
    generator = np.random.Generator(np.random.PCG64(seed))
    if kind.name == OTHER:
        width, height = draw_size(generator)
    else:
        width, height = (int(side) for side in kind.name.split("x"))
    plans = [draw_plan(generator, width, height) for _ in range(kind.games)]
    return play_games(teacher, plans, width, height, seed)


def draw_size(generator: np.random.Generator) -> tuple[int, int]:
    """Draw a board size: all of 2 to 25, mostly 5 to 19, two in five rectangular."""
    low, high = (MIN_SIZE, MAX_SIZE) if generator.random() < 0.15 else (5, 19)
    width = int(generator.integers(low, high + 1))
    height = int(generator.integers(low, high + 1)) if generator.random() < 0.4 else width
    return width, height
