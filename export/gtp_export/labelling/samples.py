"""Training samples of one board size, and the shard files that hold them.

A sample is what a net sees and what it should have said, always for the side to move. Planes are
packed to bits, so that a 9x9 sample takes some 600 bytes and a 19x19 one 2.2 kB.
"""

import errno
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtp_engine.files import whole_file


class SamplesError(ValueError):
    """A shard file that cannot be read; the message names it."""


class Samples(NamedTuple):
    """Parallel arrays over N samples on boards of one size with A points."""

    width: int
    height: int
    planes: NDArray[np.uint8]
    """[N, bytes] the bits of [C, H, W], padded with zeros to whole bytes."""
    features: NDArray[np.float32]
    """[N, G] globals."""
    policy: NDArray[np.float16]
    """[N, A + 1] probability by action, pass last; zero on illegal moves."""
    value: NDArray[np.float16]
    """[N, 3] probability of win, loss and no result."""
    score: NDArray[np.float16]
    """[N, 3] the columns of `tower.SCORE_COLUMNS`, points."""
    ownership: NDArray[np.int8]
    """[N, A] ownership times 127, row by row from the top."""

    @property
    def area(self) -> int:
        """Points of the board."""
        return self.width * self.height

    def spatial(self, index: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the planes of some samples, [n, C, H, W]."""
        bits = np.unpackbits(self.planes[index], axis=1)
        planes = bits.shape[1] // self.area
        used = bits[:, : planes * self.area]
        return used.reshape(len(index), planes, self.height, self.width)


ARRAYS = ("planes", "features", "policy", "value", "score", "ownership")


def pack_samples(
    spatial: NDArray[np.uint8],
    features: NDArray[np.float32],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    score: NDArray[np.float32],
    ownership: NDArray[np.float32],
) -> Samples:
    """Pack a batch: [N, C, H, W] planes, and the rest as in `Samples`, ownership in -1..1."""
    n, planes, height, width = spatial.shape
    return Samples(
        width=width,
        height=height,
        planes=np.packbits(spatial.reshape(n, planes * height * width), axis=1),
        features=features.astype(np.float32),
        policy=policy.astype(np.float16),
        value=value.astype(np.float16),
        score=score.astype(np.float16),
        ownership=np.rint(ownership.reshape(n, -1) * 127).astype(np.int8),
    )


def join_samples(parts: Sequence[Samples]) -> Samples:
    """Return the samples of all parts, which share one board size.

    Raises:
        ValueError: There is no part, or the sizes differ.
    """
    sizes = {(part.width, part.height) for part in parts}
    if len(sizes) != 1:
        raise ValueError(f"samples of {len(sizes)} board sizes cannot be joined")
    joined: list[NDArray[Any]] = [
        np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS
    ]
    return Samples(parts[0].width, parts[0].height, *joined)


def write_samples(path: Path, samples: Samples) -> None:
    """Write samples to a file, all of it or nothing.

    Raises:
        OSError: The file cannot be written; nothing is left behind.
    """
    arrays = {name: getattr(samples, name) for name in ARRAYS}
    with whole_file(path) as file:
        np.savez(file, size=np.array([samples.width, samples.height]), **arrays)


def read_samples(path: Path) -> Samples:
    """Read what `write_samples` wrote.

    Raises:
        SamplesError: The file is no shard or is damaged.
    """
    with _opened(path) as arrays:
        width, height = (int(side) for side in arrays["size"])
        return Samples(width, height, *(arrays[name] for name in ARRAYS))


def count_samples(path: Path) -> int:
    """Return how many samples a shard holds, without reading all of it.

    Raises:
        SamplesError: The file is no shard or is damaged.
    """
    with _opened(path) as arrays:
        return len(arrays["features"])


_DAMAGE = (
    *(ValueError, KeyError, TypeError, EOFError, OSError, RuntimeError, SyntaxError, TokenError),
    *(struct.error, zipfile.BadZipFile, zlib.error),
)
"""What bytes that are no shard lead zipfile and numpy to."""


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a shard; what is wrong with it is a `SamplesError`."""
    try:
        # Opened here, because numpy leaves the file open when it turns out to be no archive.
        with path.open("rb") as file, np.load(file) as arrays:
            yield arrays
    except _DAMAGE as error:
        # zipfile may be led to a place in a file that there is not; other OSErrors are no damage.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise SamplesError(f"{path}: is not a shard of samples: {error}") from None
