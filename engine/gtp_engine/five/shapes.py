"""What a stone would make of its lines: a code for each point, line and player, and its class.

The code says what stands up to five points away on both sides, a digit of base 3 each: empty, own,
or neither. The class of a code is what an own stone in the middle makes of the line. Classes hold
by the player's own rule of length; whether renju forbids the stone, and whether caro lets the five
win, they do not say.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WALL, WHITE
from gtp_engine.five.lines import Colors, forbidden_reason, step_of, wins_at
from gtp_engine.five.rules import CARO_BIT, EXACT, RENJU_BIT
from gtp_engine.kernels import inline_kernel, int64, kernel

NOTHING, OPEN_TWO, THREE, FOUR, OPEN_FOUR, FIVE = 0, 1, 2, 3, 4, 5
"""A four is one stone short of five, open if at two points; a three lacks one stone of an open
four, an open two lacks one of a three."""

_REACH = 5
_POWERS = 3 ** np.arange(2 * _REACH)
_N_CODES = 3 ** (2 * _REACH)


def _classify() -> npt.NDArray[np.uint8]:
    """Return [exact, codes] the classes; exact is 1 where longer rows than five win nothing."""
    digits = np.arange(_N_CODES)[:, None] // _POWERS % 3
    lengths = np.ones(_N_CODES, np.int64)
    for side in (range(_REACH - 1, -1, -1), range(_REACH, 2 * _REACH)):
        unbroken = np.ones(_N_CODES, bool)
        for place in side:
            unbroken &= digits[:, place] == 1
            lengths += unbroken
    classes = np.zeros((2, _N_CODES), np.uint8)
    for exact in (0, 1):
        fives = lengths == 5 if exact else lengths >= 5
        n_fives = np.zeros(_N_CODES, np.int64)
        for place, power in enumerate(_POWERS):
            empty = digits[:, place] == 0
            n_fives[empty] += fives[np.flatnonzero(empty) + power]
        found = np.where(n_fives > 1, OPEN_FOUR, np.where(n_fives == 1, FOUR, NOTHING))
        found[fives] = FIVE
        if exact:
            found[lengths > 5] = NOTHING
        for shape in (THREE, OPEN_TWO):
            wanted = found == (OPEN_FOUR if shape == THREE else THREE)
            for place, power in enumerate(_POWERS):
                at = np.flatnonzero((digits[:, place] == 0) & (found == NOTHING))
                found[at[wanted[at + power]]] = shape
        classes[exact] = found
    return classes


_CLASSES = _classify()


class Shapes(NamedTuple):
    """A board on which stones are put and taken off, with the codes kept up to date."""

    colors: Colors
    """[points] what stands where; see `lines`."""
    codes: npt.NDArray[np.uint16]
    """[player's color, direction, points]; only those of empty points mean something."""
    frames: npt.NDArray[np.int16]
    """[points, 3] room for `lines.forbidden_reason`."""
    stride: int
    kind: int
    """Gomocup's number of the rules."""


@kernel
def new_shapes(colors: Colors, stride: int, n_points: int, kind: int) -> Shapes:
    """Return a board of its own with the stones of another."""
    shapes = Shapes(
        np.full(n_points, np.uint8(WALL)),
        np.zeros((3, 4, n_points), np.uint16),
        np.zeros((n_points, 3), np.int16),
        int64(stride),
        int64(kind),
    )
    for point in range(n_points):
        shapes.colors[point] = colors[point]
    for point in range(n_points):
        if colors[point] == WALL:
            continue
        for direction in range(4):
            step = step_of(stride, direction)
            for way in (-1, 1):
                is_blocked = False
                for n in range(1, _REACH + 1):
                    color = int64(WALL) if is_blocked else int64(colors[point + way * n * step])
                    is_blocked = color == WALL
                    if color != EMPTY:
                        power = _POWERS[_REACH - n if way < 0 else _REACH - 1 + n]
                        for player in (BLACK, WHITE):
                            digit = 1 if color == player else 2
                            shapes.codes[player, direction, point] += np.uint16(digit * power)
    return shapes


@kernel
def change(shapes: Shapes, point: int, color: int, sign: int) -> None:
    """Put a stone on an empty point (sign 1), or take it off again (-1)."""
    shapes.colors[point] = color if sign > 0 else EMPTY
    for direction in range(4):
        step = step_of(shapes.stride, direction)
        for way in (-1, 1):
            for n in range(1, _REACH + 1):
                at = point + way * n * step
                if shapes.colors[at] == WALL:
                    break
                # Seen from there, the stone lies the other way.
                power = sign * _POWERS[_REACH - n if way > 0 else _REACH - 1 + n]
                other = int64(3 - color)
                shapes.codes[color, direction, at] += np.uint16(power)
                shapes.codes[other, direction, at] += np.uint16(2 * power)


@inline_kernel
def class_at(shapes: Shapes, point: int, color: int, direction: int) -> int:
    """Return what a stone at an empty point makes of a line."""
    is_exact = shapes.kind & EXACT != 0 or (shapes.kind & RENJU_BIT != 0 and color == BLACK)
    return int64(_CLASSES[1 if is_exact else 0, shapes.codes[color, direction, point]])


@inline_kernel
def best_class(shapes: Shapes, point: int, color: int) -> int:
    """Return the highest class that a stone at an empty point makes."""
    best = int64(0)
    for direction in range(4):
        best = max(best, class_at(shapes, point, color, direction))
    return best


@inline_kernel
def is_win(shapes: Shapes, point: int, color: int) -> bool:
    """Whether a stone at an empty point wins."""
    if best_class(shapes, point, color) != FIVE:
        return False
    if shapes.kind & CARO_BIT == 0:
        return True
    return wins_at(shapes.colors, shapes.stride, point, color, shapes.kind)


@kernel
def is_allowed(shapes: Shapes, point: int, color: int) -> bool:
    """Whether a color may play at an empty point."""
    if color == WHITE or shapes.kind & RENJU_BIT == 0:
        return True
    # Only long rows, or two threes or fours, can be forbidden.
    n_made = 0
    for direction in range(4):
        made = class_at(shapes, point, color, direction)
        if made == FIVE:
            return True
        n_made += 1 if made >= THREE else 0
        n_made += 1 if made == OPEN_FOUR else 0  # two fours may be in one line
        n_made += 2 if _CLASSES[0, shapes.codes[color, direction, point]] == FIVE else 0
    if n_made < 2:
        return True
    return forbidden_reason(shapes.colors, shapes.stride, point, shapes.frames) == 0


@kernel
def find_wins(shapes: Shapes, color: int) -> tuple[int, int]:
    """Return at how many points, two at most, a color wins at once, and the first; 0 if none."""
    n, first = int64(0), int64(0)
    for point in range(len(shapes.colors)):
        if shapes.colors[point] == EMPTY and is_win(shapes, point, color):
            if n == 1:
                return int64(2), first
            n, first = int64(1), int64(point)
    return n, first


@kernel
def find_new_wins(shapes: Shapes, color: int, point: int) -> tuple[int, int]:
    """Return what `find_wins` does, where the color had no win before its stone at a point."""
    n, first = int64(0), int64(0)
    for direction in range(4):
        step = step_of(shapes.stride, direction)
        for way in (-1, 1):
            at = point + way * step
            for _ in range(_REACH - 1):
                if shapes.colors[at] == EMPTY and is_win(shapes, at, color):
                    if n == 1 and at != first:
                        return int64(2), first
                    n, first = int64(1), int64(at)
                elif shapes.colors[at] != color and shapes.colors[at] != EMPTY:
                    break
                at += way * step
    return n, first
