"""Batches for training, drawn from a folder of shards."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtp_export.labelling.samples import (
    Samples,
    SamplesError,
    join_samples,
    read_samples,
)
from gtp_export.learning.batch import Batch
from gtp_export.learning.losses import Targets

FEWEST_POINTS = 24
"""Smaller boards count as so many points, lest their batches grow huge."""
COMMON_SIZES = {(9, 9): 0.22, (13, 13): 0.12, (19, 19): 0.56}
"""How often a batch is of a size, and so how much time it gets, beside the others of these.

A batch of 19x19 holds a quarter of the positions of one of 9x9, and there is most to learn."""
OTHER_SIZES = 0.1
"""Share of the batches for all other sizes together."""


def make_batch(samples: Samples, index: NDArray[np.int64], symmetry: int) -> Batch:
    """Return the samples of an index [B] as seen under a symmetry."""
    width, height = samples.width, samples.height
    spatial = samples.spatial(index)
    points = samples.ownership[index].reshape(len(index), height, width)
    policy = samples.policy[index].astype(np.float32)
    turned = np.ascontiguousarray(transform_board(spatial, symmetry))
    owner = np.ascontiguousarray(transform_board(points, symmetry)).astype(np.float32) / 127.0
    stones = torch.from_numpy(turned[:, 1] | turned[:, 2]).bool()
    policy = transform_policy(policy, width, height, symmetry)
    # Half precision leaves sums a little off 1.
    policy /= policy.sum(axis=1, keepdims=True)
    value = samples.value[index].astype(np.float32)
    return Batch(
        spatial=torch.from_numpy(turned),
        features=torch.from_numpy(samples.features[index]),
        targets=Targets(
            policy=torch.from_numpy(policy),
            value=torch.from_numpy(value / value.sum(axis=1, keepdims=True)),
            score=torch.from_numpy(samples.score[index].astype(np.float32)),
            ownership=torch.from_numpy(owner),
            occupied=stones.flatten(1),
        ),
    )


def transform_board(array: NDArray[Any], symmetry: int) -> NDArray[Any]:
    """Return a view of [..., H, W] under a symmetry.

    Bit 0 flips rows, bit 1 columns, bit 2 transposes, in that order; other than with the engine's
    `symmetry.transform` rectangles are transposed too, as a net in training takes any board.
    """
    if symmetry & 1:
        array = array[..., ::-1, :]
    if symmetry & 2:
        array = array[..., ::-1]
    if symmetry & 4:
        array = np.swapaxes(array, -1, -2)
    return array


def transform_policy(
    policy: NDArray[np.float32], width: int, height: int, symmetry: int
) -> NDArray[np.float32]:
    """Return [N, A + 1] policies under a symmetry; the pass stays."""
    n = len(policy)
    points = transform_board(policy[:, :-1].reshape(n, height, width), symmetry)
    return np.concatenate([points.reshape(n, -1), policy[:, -1:]], axis=1)


def join_batches(parts: list[Batch]) -> Batch:
    """Return one batch of several with boards of one shape."""
    columns = zip(*(part.targets for part in parts), strict=True)
    return Batch(
        spatial=torch.cat([part.spatial for part in parts]),
        features=torch.cat([part.features for part in parts]),
        targets=Targets(*(torch.cat(column) for column in columns)),
    )


def read_shards(paths: Iterable[Path]) -> dict[tuple[int, int], Samples]:
    """Return the positions of shards by width and height; damaged ones are left out."""
    shards: dict[tuple[int, int], list[Samples]] = {}
    for path in sorted(paths):
        with suppress(SamplesError):
            samples = read_samples(path)
            shards.setdefault((samples.width, samples.height), []).append(samples)
    found = {}
    while shards:  # one size at a time, so that not everything is there twice
        size, alike = shards.popitem()
        found[size] = join_samples(alike)
    return found


class SampleSource:
    """Draws batches from the shards that a folder holds at first."""

    waited = 0.0
    """Seconds spent waiting for positions: all are in memory."""

    def __init__(self, folder: Path, batch_points: int, rank: int = 0, processes: int = 1) -> None:
        """Read the folder.

        Args:
            rank: Which of the processes this is. Each holds every so-many-th shard, so that all
                together hold all of them once; where there are too few for that, each holds all.

        Raises:
            FileNotFoundError: It holds no shard.
        """
        self._batch_points = batch_points
        paths = list(folder.glob("*.npz"))
        mine = [path for path in paths if _number(path) % processes == rank]
        self._pools = read_shards(mine or paths)
        if not self._pools:
            raise FileNotFoundError(f"{folder}: there are no shards of samples")

    def draw(self, generator: np.random.Generator) -> Batch:
        """Draw a batch of one board size, a quarter of it in each of four symmetries."""
        size = self._draw_size(generator)
        samples = self._pools[size]
        count = max(2, self._batch_points // max(FEWEST_POINTS, samples.area))
        index = generator.integers(len(samples.features), size=count)
        # Transposing changes the shape of a rectangle; with all flips a batch keeps one shape.
        transposed = 4 * int(generator.integers(2))
        parts = enumerate(np.array_split(index, 4))
        return join_batches(
            [make_batch(samples, part, flip + transposed) for flip, part in parts if len(part)]
        )

    def _draw_size(self, generator: np.random.Generator) -> tuple[int, int]:
        sizes = list(self._pools)
        counts = np.array([len(self._pools[size].features) for size in sizes], np.float64)
        common = np.array([COMMON_SIZES.get(size, 0.0) for size in sizes])
        others = np.where(common == 0.0, counts, 0.0)
        chances = common * ((1.0 - OTHER_SIZES) / max(common.sum(), 1e-9))
        chances += others * (OTHER_SIZES / max(others.sum(), 1.0))
        return sizes[int(generator.choice(len(sizes), p=chances / chances.sum()))]


def _number(shard: Path) -> int:
    """Return the number in a shard's name, 0 where there is none."""
    number = shard.stem.rpartition("-")[2]
    return int(number) if number.isdigit() else 0
