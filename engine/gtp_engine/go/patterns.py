"""What a move's surroundings look like, as numbers that are the same under the eight symmetries.

A *near code* holds the eight neighbours of a point: two bits of color for each diagonal one, and
three for each of the four beside it, color and liberties of its chain together:

    bits 0-7     diagonals NW NE SW SE: EMPTY, BLACK, WHITE or WALL
    bits 8-19    N W E S: 0 empty, 1-3 Black's with 1, 2, 3 or more liberties, 4-6 White's, 7 wall

From it alone follows whether a stone of a color there is suicide or fills an own eye. A *diamond
code* holds the colors of the twelve points up to two steps away, two bits each, seen by a player:
0 empty, 1 own, 2 the opponent's, 3 wall. Patterns are kept in their *canonical* form, the smallest
code of all symmetries with Black, or the player, to move.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import WALL, WHITE

Codes = npt.NDArray[np.uint32]

BESIDE = ((-1, 0), (0, -1), (0, 1), (1, 0))
DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))
DIAMOND = (
    *((-2, 0), (-1, -1), (-1, 0), (-1, 1), (0, -2), (0, -1)),
    *((0, 1), (0, 2), (1, -1), (1, 0), (1, 1), (2, 0)),
)
"""Rows down and columns right of the point."""

NEAR_BITS, DIAMOND_BITS = 20, 24
SIDES_AT = 8
"""First bit of the neighbours beside the point."""
WALL_SIDE = 7

_N_SYMMETRIES = 8


def _moved(offset: tuple[int, int], symmetry: int) -> tuple[int, int]:
    row, col = offset
    row, col = (-row if symmetry & 1 else row), (-col if symmetry & 2 else col)
    return (col, row) if symmetry & 4 else (row, col)


def _places(offsets: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Return [8, n] where each of n neighbours goes under each symmetry."""
    return np.array(
        [[offsets.index(_moved(one, s)) for one in offsets] for s in range(_N_SYMMETRIES)], np.int64
    )


DIAMOND_PLACES = _places(DIAMOND)
"""[8, 12] where each point of a diamond goes under each symmetry."""
DIAMOND_ORIGINS = np.argsort(DIAMOND_PLACES, axis=1)
"""[8, 12] which point of a diamond came to each place."""


def _field(codes: Codes, bit: int, width: int) -> Codes:
    return (codes >> np.uint32(bit)) & np.uint32((1 << width) - 1)


def near_symmetries(codes: Codes) -> Codes:
    """Return [8, n] near codes as they look under each symmetry."""
    found = np.zeros((_N_SYMMETRIES, len(codes)), np.uint32)
    beside, diagonal = _places(BESIDE), _places(DIAGONAL)
    for symmetry in range(_N_SYMMETRIES):
        for i in range(4):
            found[symmetry] |= _field(codes, 2 * i, 2) << np.uint32(2 * diagonal[symmetry, i])
            side = SIDES_AT + 3 * beside[symmetry, i]
            found[symmetry] |= _field(codes, SIDES_AT + 3 * i, 3) << np.uint32(side)
    return found


def diamond_symmetries(codes: Codes) -> Codes:
    """Return [8, n] diamond codes as they look under each symmetry; higher bits stay."""
    rest = codes & ~np.uint32((1 << DIAMOND_BITS) - 1)
    found = np.repeat(rest[None], _N_SYMMETRIES, axis=0)
    for symmetry in range(_N_SYMMETRIES):
        for i in range(len(DIAMOND)):
            place = np.uint32(2 * DIAMOND_PLACES[symmetry, i])
            found[symmetry] |= _field(codes, 2 * i, 2) << place
    return found


def near_swapped(codes: Codes) -> Codes:
    """Return near codes with the colors of all stones changed."""
    stone = np.array([0, 2, 1, 3], np.uint32)
    side = np.array([0, 4, 5, 6, 1, 2, 3, 7], np.uint32)
    found = np.zeros_like(codes)
    for i in range(4):
        found |= stone[_field(codes, 2 * i, 2)] << np.uint32(2 * i)
        bit = SIDES_AT + 3 * i
        found |= side[_field(codes, bit, 3)] << np.uint32(bit)
    return found


def near_colors(codes: Codes) -> Codes:
    """Return near codes with liberties left out, as if all chains had three."""
    color = np.array([0, 3, 3, 3, 6, 6, 6, 7], np.uint32)
    found = codes & np.uint32((1 << SIDES_AT) - 1)
    for i in range(4):
        bit = SIDES_AT + 3 * i
        found |= color[_field(codes, bit, 3)] << np.uint32(bit)
    return found


def is_refused(codes: Codes) -> npt.NDArray[np.bool_]:
    """Return [n] whether a black stone would be suicide or fill an own single-point eye."""
    sides = np.stack([_field(codes, SIDES_AT + 3 * i, 3) for i in range(4)])
    corners = np.stack([_field(codes, 2 * i, 2) for i in range(4)])
    lives = (sides == 0) | (sides == 2) | (sides == 3) | (sides == 4)
    is_suicide = ~lives.any(axis=0)
    is_own = ((sides >= 1) & (sides <= 3)) | (sides == WALL_SIDE)
    at_edge = (corners == WALL).any(axis=0)
    is_eye = is_own.all(axis=0) & ((corners == WHITE).sum(axis=0) + at_edge < 2)
    return is_suicide | is_eye
