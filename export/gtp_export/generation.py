"""Fill a folder with shards of labelled positions, job by job; a killed run goes on where it was.

Every job makes one shard. Which kind comes next depends only on the shards that are there, so
that the mixture stays as wanted however often the run is interrupted. One shard in
`VALID_EVERY` of each kind goes to the folder `valid`; as a job plays whole games, no game is on
both sides.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from gtp_engine.go.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.go.game_record import GameRecord
from gtp_export.labels import Teacher
from gtp_export.packs import games_of
from gtp_export.record_positions import label_records
from gtp_export.samples import Samples, write_shard
from gtp_export.selfplay import draw_plan, play_games

VALID_EVERY = 20
RECORDS = "records"
OTHER = "other"


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
    Kind("9x9", games=24, share=0.46),
    Kind("13x13", games=10, share=0.17),
    Kind("19x19", games=5, share=0.06),
    Kind(OTHER, games=12, share=0.16),
    Kind(RECORDS, games=256, share=0.15),
)
"""Sizes people play most, and enough of everything else that no size is foreign."""


def generate(
    teacher: Teacher,
    folder: Path,
    packs: Sequence[Path],
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    played_weight: float = 0.0,
) -> int:
    """Add shards for a while and return how many positions were made.

    Args:
        teacher: Gives the labels and draws the moves of self-play.
        folder: Where `train` and `valid` are, or will be made.
        packs: Game records; without any, self-play makes everything.
        seconds: No job but the first is begun after that time.
        seed: Together with a job's number, makes its games.
        say: Told in a line about every shard.
        played_weight: As for `label_records`.

    Raises:
        OSError: A shard cannot be written.
    """
    start = time.monotonic()
    kinds = [kind for kind in KINDS if packs or kind.name != RECORDS]
    done = _count_shards(folder)
    skip = sum(kind.games * done.get(RECORDS, 0) for kind in kinds if kind.name == RECORDS)
    records = islice(games_of(packs), skip, None)
    positions = 0
    while kinds and (positions == 0 or time.monotonic() - start < seconds):
        kind = min(kinds, key=lambda kind: (done.get(kind.name, 0) + 1) / kind.share)
        number = done.get(kind.name, 0)
        samples = _make(teacher, kind, records, _job_seed(seed, kind, number), played_weight)
        if samples is None:
            kinds.remove(kind)
            continue
        side = "valid" if number % VALID_EVERY == 1 else "train"
        write_shard(folder / side / f"{kind.name}-{number:06d}.npz", samples)
        done[kind.name] = number + 1
        positions += len(samples.features)
        elapsed = time.monotonic() - start
        say(f"{positions} positions in {elapsed:.0f} s; last {kind.name}, {side}")
    return positions


def _count_shards(folder: Path) -> dict[str, int]:
    """Return by kind the number of the next shard; make the folders."""
    numbers: dict[str, int] = {}
    for side in ("train", "valid"):
        (folder / side).mkdir(parents=True, exist_ok=True)
        for path in (folder / side).glob("*-*.npz"):
            name, _, number = path.stem.rpartition("-")
            numbers[name] = max(numbers.get(name, 0), int(number) + 1)
    return numbers


def _job_seed(seed: int, kind: Kind, number: int) -> int:
    place = [item.name for item in KINDS].index(kind.name)
    return int(np.random.SeedSequence([seed, place, number]).generate_state(1)[0])


def _make(
    teacher: Teacher, kind: Kind, records: Iterator[GameRecord], seed: int, played_weight: float
) -> Samples | None:
    if kind.name == RECORDS:
        return label_records(teacher, records, seed, kind.games, played_weight)
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
