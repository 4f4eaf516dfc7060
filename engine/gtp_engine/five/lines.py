"""Rows of stones: who wins by a move, and which points renju forbids Black.

Kernels take the colors of the points of a board padded with a wall, as `gtp_engine.coords` lays
them out, and its stride. Renju's rules are those of the Renju International Federation, in their
order: a five wins whatever else it makes; then overline, double-four, double-three.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY
from gtp_engine.five.rules import CARO_BIT, EXACT, RENJU_BIT
from gtp_engine.kernels import inline_kernel, int64, kernel

FREE, OVERLINE, DOUBLE_FOUR, DOUBLE_THREE = 0, 1, 2, 3
REASONS = ("", "overline", "double-four", "double-three")
"""What renju forbids, by number."""
_UNDECIDED = -1

Colors = npt.NDArray[np.uint8]
"""[points] EMPTY, BLACK, WHITE or WALL."""

_NEAR = 3
"""How far from a stone another may be with which it is to make a straight four."""
_CANDIDATES = 2 * _NEAR
"""Points in one direction at which a three may become a straight four."""


@inline_kernel
def step_of(stride: int, direction: int) -> int:
    """Return how far the next point is: along a row, a column, and both diagonals."""
    if direction == 0:
        return 1
    return stride + direction - 2  # stride - 1, stride, stride + 1


@inline_kernel
def _reach(colors: Colors, point: int, step: int, color: int) -> int:
    """Return how many stones of a color stand behind a point without a gap."""
    n = 0
    at = point + step
    while colors[at] == color:
        n += 1
        at += step
    return n


@kernel
def wins_at(colors: Colors, stride: int, point: int, color: int, kind: int) -> bool:
    """Whether a stone at a point, set already or not, wins by rules of Gomocup's number."""
    is_exact = kind & EXACT != 0 or (kind & RENJU_BIT != 0 and color == BLACK)
    for direction in range(4):
        step = step_of(stride, direction)
        back = _reach(colors, point, -step, color)
        ahead = _reach(colors, point, step, color)
        length = back + 1 + ahead
        if length < 5 or (length > 5 and is_exact):
            continue
        if kind & CARO_BIT != 0 and length == 5:
            ends = colors[point - (back + 1) * step], colors[point + (ahead + 1) * step]
            if ends[0] == 3 - color and ends[1] == 3 - color:
                continue
        return True
    return False


@inline_kernel
def _longest(colors: Colors, stride: int, point: int) -> tuple[bool, bool]:
    """Whether a black stone at a point makes a row of exactly five, and a longer one."""
    five, longer = False, False
    for direction in range(4):
        step = step_of(stride, direction)
        length = 1 + _reach(colors, point, step, BLACK) + _reach(colors, point, -step, BLACK)
        five |= length == 5
        longer |= length > 5
    return five, longer


@kernel
def _count_fours(colors: Colors, stride: int, point: int) -> int:
    """Return how many fours a black stone at a point makes: sets of four that lack one for five."""
    n_fours = 0
    for direction in range(4):
        step = step_of(stride, direction)
        first, second = int64(0), int64(0)  # the sets found, as bits by place
        for place in range(-4, 5):
            at = point + place * step
            # Beyond a wall there is nothing, and no way to it but over the wall.
            if place == 0 or not _is_near(colors, point, step, place) or colors[at] != EMPTY:
                continue
            # Stones on both sides of the empty point, the new one among them.
            low, high = place, place
            while low > -5 and (low - 1 == 0 or colors[point + (low - 1) * step] == BLACK):
                low -= 1
            while high < 5 and (high + 1 == 0 or colors[point + (high + 1) * step] == BLACK):
                high += 1
            if high - low != 4 or not low <= 0 <= high:
                continue
            stones = int64(0)
            for each in range(low, high + 1):
                if each != place:
                    stones |= int64(1) << (each + 5)
            if first == 0:
                first = stones
            elif stones != first:
                second = stones
        n_fours += int64(first != 0) + int64(second != 0)
    return n_fours


@inline_kernel
def _is_near(colors: Colors, point: int, step: int, place: int) -> bool:
    """Whether no wall and no white stone stands between a point and another of its line."""
    way = 1 if place > 0 else -1
    for each in range(way, place, way):
        color = colors[point + each * step]
        if color != EMPTY and color != BLACK:
            return False
    return True


@kernel
def _at_once(colors: Colors, stride: int, point: int) -> int:
    """Return what can be said of a black stone at a point before threes are looked at."""
    five, longer = _longest(colors, stride, point)
    if five:
        return FREE
    if longer:
        return OVERLINE
    if _count_fours(colors, stride, point) >= 2:
        return DOUBLE_FOUR
    return _UNDECIDED


@kernel
def _makes_straight_four(colors: Colors, stride: int, point: int, direction: int, at: int) -> bool:
    """Whether another black stone makes a straight four with the one at a point, and no five."""
    if colors[at] != EMPTY:
        return False
    step = step_of(stride, direction)
    colors[at] = BLACK
    back = _reach(colors, point, -step, BLACK)
    ahead = _reach(colors, point, step, BLACK)
    before, behind = point - (back + 1) * step, point + (ahead + 1) * step
    offset = (at - point) // step
    is_straight = (
        back + 1 + ahead == 4
        and -back <= offset <= ahead
        and colors[before] == EMPTY
        and colors[behind] == EMPTY
        and colors[before - step] != BLACK
        and colors[behind + step] != BLACK
    )
    colors[at] = EMPTY
    if not is_straight:
        return False
    five, _ = _longest(colors, stride, at)
    return not five


@kernel
def forbidden_reason(colors: Colors, stride: int, point: int, frames: npt.NDArray[np.int16]) -> int:
    """Return why renju forbids Black an empty point; FREE where it does not.

    A three counts if the point that makes a straight four of it is not forbidden itself, with the
    stone on the board: so the question is asked again there, on a stack, until the stones are too
    many.

    Args:
        colors: The board; as it was in the end.
        stride: Of its points.
        point: An empty point.
        frames: [board's points, 3] room for the stack: point, next candidate, threes found.
    """
    verdict = _at_once(colors, stride, point)
    if verdict != _UNDECIDED:
        return verdict
    depth = 0
    frames[0, 0], frames[0, 1], frames[0, 2] = point, 0, 0
    colors[point] = BLACK
    while True:
        stone, candidate = int64(frames[depth, 0]), int64(frames[depth, 1])
        n_threes = int64(frames[depth, 2])
        if n_threes >= 2 or candidate >= 4 * _CANDIDATES:
            # This stone is judged; what stands on it is one frame below.
            colors[stone] = EMPTY
            if depth == 0:
                return DOUBLE_THREE if n_threes >= 2 else FREE
            depth -= 1
            verdict = DOUBLE_THREE if n_threes >= 2 else FREE
        else:
            frames[depth, 1] = candidate + 1
            direction, number = candidate // _CANDIDATES, candidate % _CANDIDATES
            place = number - _NEAR if number < _NEAR else number - _NEAR + 1
            step = step_of(stride, direction)
            at = stone + place * step
            if not _is_near(colors, stone, step, place):
                continue
            if not _makes_straight_four(colors, stride, stone, direction, at):
                continue
            verdict = _at_once(colors, stride, at)
            if verdict == _UNDECIDED:
                depth += 1
                frames[depth, 0], frames[depth, 1], frames[depth, 2] = at, 0, 0
                colors[at] = BLACK
                continue
        if verdict == FREE:
            # A three; this direction needs no further candidates.
            frames[depth, 2] += 1
            direction = (int64(frames[depth, 1]) - 1) // _CANDIDATES
            frames[depth, 1] = (direction + 1) * _CANDIDATES


def new_frames(n_points: int) -> npt.NDArray[np.int16]:
    """Return room for `forbidden_reason` on a board of so many points."""
    return np.zeros((n_points, 3), np.int16)
