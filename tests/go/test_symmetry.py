"""The eight symmetries: what their numbers mean, and that the tables agree with it."""

import numpy as np
import pytest

from gtp_engine.coords import PASS, point_at
from gtp_engine.go.symmetry import (
    N_SYMMETRIES,
    action_table,
    point_table,
    symmetries,
    transform,
)

# What each symmetry makes of
#     1 2 3
#     4 5 6
#     7 8 9
TRANSFORMED = [
    "123456789",
    "789456123",  # rows
    "321654987",  # columns
    "987654321",  # both
    "147258369",  # transposed
    "741852963",  # rows, then transposed
    "369258147",  # columns, then transposed
    "963852741",
]


@pytest.mark.parametrize("symmetry", range(N_SYMMETRIES))
def test_numbering(symmetry: int) -> None:
    planes = np.arange(1, 10, dtype=np.uint8).reshape(1, 3, 3)
    shown = transform(planes, symmetry).ravel()
    assert "".join(map(str, shown)) == TRANSFORMED[symmetry]


@pytest.mark.parametrize(("width", "height"), [(5, 5), (3, 6), (7, 2)])
def test_tables(width: int, height: int) -> None:
    area = width * height
    plane = np.arange(area).reshape(height, width)
    actions = action_table(width, height)
    points = point_table(width, height)
    assert (actions[:, area] == area).all()
    assert (points[:, PASS] == area).all()
    for symmetry in range(N_SYMMETRIES):
        shown = np.empty(area, np.int64)
        shown[actions[symmetry, :area]] = plane.ravel()
        assert (shown == transform(plane, symmetry).ravel()).all()
        for row in range(height):
            for col in range(width):
                point = point_at(row, col, width)
                assert points[symmetry, point] == actions[symmetry, row * width + col]


def test_rectangles_are_not_transposed() -> None:
    assert list(symmetries(5, 5)) == list(range(8))
    assert list(symmetries(5, 6)) == list(range(4))
    assert (action_table(5, 6)[4:] == action_table(5, 6)[:4]).all()
