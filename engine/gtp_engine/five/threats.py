"""Wins that can be read out: by a five, by fours alone, by fours and threes.

Whoever makes a four forces the one reply that stops the five. Whoever makes a three threatens to
win by fours, and what is tried against it is every move there is: so what is found is proved, and
what is not found may have been out of reach of the nodes allowed.

Under caro a five may be stopped at a distance: every move is tried against a four there, too.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY
from gtp_engine.five.rules import CARO_BIT
from gtp_engine.five.shapes import (
    FOUR,
    THREE,
    Shapes,
    best_class,
    change,
    find_new_wins,
    find_wins,
    is_allowed,
    is_win,
    new_shapes,
)
from gtp_engine.go.board import BoardRecord
from gtp_engine.kernels import int64, kernel

DEEPEST_FOURS = 40
"""Fours in a row that are read."""
NODES_OF_FOURS = 500
"""Positions looked at to see whether fours win, within a reading of threes."""
DEEPEST_THREES = 8
"""Own moves of a win in which not every one makes a four."""


@kernel
def find_blocks(shapes: Shapes, color: int, found: npt.NDArray[np.int16]) -> int:
    """Write a color's moves after which the opponent has no five, [points]; return how many.

    The opponent has one now, and the color has none itself.
    """
    n = 0
    other = int64(3 - color)
    n_wins, win = find_wins(shapes, other)
    if shapes.kind & CARO_BIT == 0:
        if n_wins == 1 and is_allowed(shapes, win, color):
            found[0] = win
            n = 1
        return n
    for point in range(len(shapes.colors)):
        if shapes.colors[point] == EMPTY:
            change(shapes, int64(point), color, int64(1))
            if find_wins(shapes, other)[0] == 0:
                found[n] = point
                n += 1
            change(shapes, int64(point), color, int64(-1))
    return n


@kernel
def win_by_fours(
    shapes: Shapes, color: int, nodes: int, line: npt.NDArray[np.int16]
) -> tuple[int, int]:
    """Look for a win by a five, or by fours each of which forces its answer.

    Args:
        shapes: As it was in the end.
        color: To move.
        nodes: How many positions may be looked at.
        line: [DEEPEST_FOURS, 4] room: own move, answer, next candidate, the only candidate.

    Returns:
        The first move, 0 where no win was found, and the nodes left.
    """
    other = int64(3 - color)
    n_points = len(shapes.colors)
    depth = int64(0)
    is_new, is_won = True, False
    while True:
        if is_new:
            is_new = False
            nodes -= 1
            if depth == 0:
                n_wins, win = find_wins(shapes, color)
                if n_wins > 0:
                    line[0, 0] = win
                    is_won = True
                    break
                n_answers, must = find_wins(shapes, other)
            else:  # there is none of the color's own, and of the other's what the answer made
                n_answers, must = find_new_wins(shapes, other, int64(line[depth - 1, 1]))
            is_end = n_answers > 1 or nodes <= 0 or depth + 1 == DEEPEST_FOURS
            line[depth, 2] = n_points if is_end or shapes.kind & CARO_BIT != 0 else 0
            line[depth, 3] = must
        point, must = int64(line[depth, 2]), int64(line[depth, 3])
        while point < n_points and not (
            shapes.colors[point] == EMPTY
            and (must == 0 or must == point)
            and best_class(shapes, point, color) >= FOUR
            and is_allowed(shapes, point, color)
        ):
            point += 1
        if point < n_points:
            line[depth, 0] = point
            line[depth, 2] = point + 1
            change(shapes, point, color, int64(1))
            n_wins, win = find_new_wins(shapes, color, point)
            if n_wins > 1 or not is_allowed(shapes, win, other):
                change(shapes, point, color, int64(-1))
                is_won = True
                break
            line[depth, 1] = win
            change(shapes, win, other, int64(1))
            depth += 1
            is_new = True
        elif depth > 0:
            depth -= 1
            _take_back(shapes, color, line, depth)
        else:
            break
    while depth > 0:
        depth -= 1
        _take_back(shapes, color, line, depth)
    return int64(line[0, 0]) if is_won else int64(0), int64(nodes)


@kernel
def _take_back(shapes: Shapes, color: int, line: npt.NDArray[np.int16], depth: int) -> None:
    """Take off the answer and the move of one depth."""
    change(shapes, int64(line[depth, 1]), int64(3 - color), int64(-1))
    change(shapes, int64(line[depth, 0]), color, int64(-1))


_NEW, _MOVE, _ANSWER, _DONE = 0, 1, 2, 3
"""What is to be done next: read a position, try its next move, try the next answer, go back."""


@kernel
def _win_by_threes(
    shapes: Shapes, color: int, nodes: int, deepest: int, line: npt.NDArray[np.int16]
) -> tuple[int, int]:
    """Look for a win by at most so many moves that make threes or fours, then fours alone.

    Returns:
        The first move, 0 where no win was found, and the nodes left.
    """
    other = int64(3 - color)
    n_points = len(shapes.colors)
    # By depth: own move, answer, next candidate, the only candidate, next answer, the only answer.
    frames = np.zeros((DEEPEST_THREES + 1, 6), np.int16)
    depth = int64(0)
    task, is_won = _NEW, False
    while True:
        frame = frames[depth]
        if task == _NEW:
            share = min(int64(nodes), int64(NODES_OF_FOURS))
            first, left = win_by_fours(shapes, color, share, line)
            nodes -= share - left
            if depth == 0 and first != 0:
                return first, int64(nodes)
            n_wins, must = find_wins(shapes, other)
            frame[2], frame[3] = 0, must
            is_won = first != 0
            task = _DONE if is_won or n_wins > 1 or depth == deepest else _MOVE
        elif task == _MOVE:
            point = int64(frame[2])
            while point < n_points and not (
                shapes.colors[point] == EMPTY
                and (frame[3] == 0 or frame[3] == point)
                and best_class(shapes, point, color) >= THREE
                and is_allowed(shapes, point, color)
            ):
                point += 1
            if point >= n_points or nodes <= 0:
                is_won = False
                task = _DONE
                continue
            frame[0], frame[2], frame[4] = point, point + 1, 0
            change(shapes, point, color, int64(1))
            n_wins, only = find_wins(shapes, color)
            frame[5] = only if shapes.kind & CARO_BIT == 0 else 0
            task = _ANSWER
            if n_wins == 0:
                share = min(int64(nodes), int64(NODES_OF_FOURS))
                first, left = win_by_fours(shapes, color, share, line)
                nodes -= share - left
                if first == 0:  # no threat
                    change(shapes, point, color, int64(-1))
                    task = _MOVE
        elif task == _ANSWER:
            answer = _next_answer(shapes, color, int64(frame[4]), int64(frame[5]))
            if answer < 2 * n_points:
                frame[4], frame[1] = answer + 1, answer % n_points
                change(shapes, int64(frame[1]), other, int64(1))
                depth += 1
                task = _NEW
            else:
                change(shapes, int64(frame[0]), color, int64(-1))
                is_won = True
                task = _DONE
        elif depth == 0:
            return int64(frame[0]) if is_won else int64(0), int64(nodes)
        else:
            depth -= 1
            frame = frames[depth]
            change(shapes, int64(frame[1]), other, int64(-1))
            task = _ANSWER
            if not is_won:
                change(shapes, int64(frame[0]), color, int64(-1))
                task = _MOVE


@kernel
def _next_answer(shapes: Shapes, color: int, start: int, only: int) -> int:
    """Return the next answer to a three, from a number below twice that of all points on.

    Those that make a four, or stop one, come in the first half; all others in the second.
    """
    n_points = len(shapes.colors)
    other = int64(3 - color)
    for number in range(start, 2 * n_points):
        point = int64(number % n_points)
        if shapes.colors[point] != EMPTY or (only != 0 and point != only):
            continue
        most = max(best_class(shapes, point, color), best_class(shapes, point, other))
        is_late = number >= n_points
        if is_late != (most >= FOUR) and is_allowed(shapes, point, other):
            return int64(number)
    return int64(2 * n_points)


@kernel
def find_win(board: BoardRecord, color: int, kind: int, nodes: int) -> int:
    """Return the first move of a win that can be read out, 0 where none was found.

    Args:
        board: Nobody has won.
        color: To move.
        kind: Gomocup's number of the rules.
        nodes: How many positions may be looked at.
    """
    shapes = new_shapes(board["color"], int64(board["stride"]), int64(board["n_points"]), kind)
    line = np.zeros((DEEPEST_FOURS, 4), np.int16)
    first = int64(0)
    for deepest in range(DEEPEST_THREES):
        first, nodes = _win_by_threes(shapes, color, nodes, int64(deepest), line)
        if first != 0 or nodes <= 0:
            break
    return first


@kernel
def moves_to_consider(
    shapes: Shapes, color: int, nodes: int, found: npt.NDArray[np.int16]
) -> tuple[int, int]:
    """Write the moves to choose from, in no order, into found, [points].

    The fives where there are some; the first of fours that win; what stops the opponent's five, or
    one of several that cannot all be stopped; else every legal move.

    Args:
        shapes: Nobody has won.
        color: To move.
        nodes: Positions that may be looked at for fours that win; with 0, fives alone are seen.
        found: Room.

    Returns:
        How many moves, and the result where it is known: 1 the color wins, -1 it loses, else 0.
    """
    n = int64(0)
    n_wins, _ = find_wins(shapes, color)
    if n_wins == 0 and nodes > 0:
        line = np.zeros((DEEPEST_FOURS, 4), np.int16)
        first, _ = win_by_fours(shapes, color, nodes, line)
        if first != 0:
            found[0] = first
            return int64(1), int64(1)
    is_threatened = n_wins == 0 and find_wins(shapes, int64(3 - color))[0] > 0
    if is_threatened:
        n = int64(find_blocks(shapes, color, found))
        if n > 0:
            return n, int64(0)
    if n_wins > 0 or is_threatened:
        winner = color if n_wins > 0 else int64(3 - color)
        for point in range(len(shapes.colors)):
            is_five = shapes.colors[point] == EMPTY and is_win(shapes, point, winner)
            if is_five and is_allowed(shapes, point, color):
                found[n] = point
                n += 1
    if n == 0:
        for point in range(len(shapes.colors)):
            if shapes.colors[point] == EMPTY and is_allowed(shapes, point, color):
                found[n] = point
                n += 1
    return n, int64(1 if n_wins > 0 else (-1 if is_threatened else 0))
