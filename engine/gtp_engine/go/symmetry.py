"""The eight symmetries of the board.

A symmetry is a number: bit 0 flips the rows, bit 1 the columns, bit 2 transposes, in that order
(KataGo's numbering). Only square boards can be transposed; elsewhere bit 2 is ignored, so that a
number drawn from 0..7 is always good.

One table serves both directions: an encoder writes what stands at a point to
`symmetry_maps[symmetry, point]`, and what a net says about that point is read from the same index.
"""

from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import point_at

N_SYMMETRIES = 8

Scalar = TypeVar("Scalar", bound=np.generic)


def symmetries(width: int, height: int) -> range:
    """Return the symmetries that are different from each other on a board of this size."""
    return range(N_SYMMETRIES if width == height else N_SYMMETRIES // 2)


def transform(planes: npt.NDArray[Scalar], symmetry: int) -> npt.NDArray[Scalar]:
    """Return planes [..., H, W] as they look under a symmetry."""
    height, width = planes.shape[-2:]
    if symmetry & 1:
        planes = planes[..., ::-1, :]
    if symmetry & 2:
        planes = planes[..., :, ::-1]
    if symmetry & 4 and width == height:
        planes = np.swapaxes(planes, -1, -2)
    return np.ascontiguousarray(planes)


@lru_cache(maxsize=64)
def action_table(width: int, height: int) -> npt.NDArray[np.int16]:
    """Return [8, H*W+1]: the action that each action becomes; the pass stays what it is."""
    area = width * height
    actions = np.arange(area, dtype=np.int16).reshape(height, width)
    table = np.empty((N_SYMMETRIES, area + 1), np.int16)
    table[:, area] = area
    for symmetry in range(N_SYMMETRIES):
        # Position i of the transformed board shows the action that went there.
        table[symmetry, transform(actions, symmetry).ravel()] = np.arange(area)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=64)
def point_table(width: int, height: int) -> npt.NDArray[np.int16]:
    """Return [8, points]: the action that each point becomes; PASS becomes H*W, other walls 0."""
    area = width * height
    table = np.zeros((N_SYMMETRIES, (height + 2) * (width + 1) + 1), np.int16)
    points = [point_at(row, col, width) for row in range(height) for col in range(width)]
    table[:, points] = action_table(width, height)[:, :area]
    table[:, 0] = area
    table.setflags(write=False)
    return table


@lru_cache(maxsize=64)
def distinct_points(width: int, height: int) -> npt.NDArray[np.int16]:
    """Return [4 or 8, points] the rows of `point_table` that are different from each other."""
    return point_table(width, height)[: len(symmetries(width, height))]
