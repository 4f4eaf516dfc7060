"""A board that keeps, move by move, what a pattern policy needs to know of every empty point.

Beside colors and chains there are the true liberties of every chain and the near code of every
point (see `patterns.py`), and from these the weight of a move there for either player. After a
move only what it changed is looked at again: the points around it and around captured stones, and
those next to a chain whose liberties went from one class of 1, 2, and 3 or more to another.

Weights are whole numbers and added up by blocks of points, so that a move is drawn in a few steps
and sums never drift.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, WALL, WHITE
from gtp_engine.go.board import MAX_POINTS, BoardRecord, corners, neighbors, touches_chain
from gtp_engine.go.patterns import SIDES_AT, WALL_SIDE
from gtp_engine.kernels import inline_kernel, int64, kernel

BLOCK_SHIFT = 4
N_BLOCKS = (MAX_POINTS >> BLOCK_SHIFT) + 1
_ROOM = N_BLOCKS << BLOCK_SHIFT
MOST_TAKEN = 16
"""Captured stones of a move that are remembered."""
MOST_LOCAL = 96
"""Room for what is said of moves near the last one."""

PatternRecord = Any
"""A numpy record of dtype PATTERN_BOARD."""
Weights = npt.NDArray[np.int32]
"""[2, near codes] the weight of a move for Black and for White; 0 where it is never played."""

PATTERN_BOARD = np.dtype(
    [
        ("width", np.int32),
        ("height", np.int32),
        ("stride", np.int32),
        ("n_points", np.int32),
        ("ko_point", np.int32),
        ("n_dirty", np.int32),
        ("n_taken", np.int32),  # stones that the last move captured
        ("n_local", np.int32),
        ("taken", np.uint16, (MOST_TAKEN,)),  # the first of them
        ("local_point", np.uint16, (MOST_LOCAL,)),  # see `rollout_policy.find_local`
        ("local_feature", np.int32, (MOST_LOCAL,)),
        ("local_weight", np.int32, (MOST_LOCAL,)),
        ("color", np.uint8, (_ROOM,)),
        ("head", np.uint16, (_ROOM,)),
        ("next", np.uint16, (_ROOM,)),
        ("size", np.int16, (_ROOM,)),  # stones of the chain, valid at its head
        ("liberties", np.int16, (_ROOM,)),  # true ones of the chain, valid at its head
        ("shown", np.uint8, (_ROOM,)),  # liberties of the chain in the codes around it
        ("code", np.uint32, (_ROOM,)),  # near code, of stones too
        ("is_dirty", np.uint8, (_ROOM,)),
        ("dirty", np.uint16, (_ROOM,)),  # empty points whose code has changed
        ("weight", np.int32, (2, _ROOM)),  # of a move of Black and of White
        ("sum", np.int64, (2, N_BLOCKS)),  # of the weights of 16 points
    ],
    align=True,
)


@inline_kernel
def _mark_dirty(board: PatternRecord, point: int) -> None:
    if board["color"][point] == EMPTY and board["is_dirty"][point] == 0:
        board["is_dirty"][point] = 1
        board["dirty"][board["n_dirty"]] = point
        board["n_dirty"] += 1


@inline_kernel
def _show_beside(board: PatternRecord, point: int, value: int) -> None:
    """Tell the four neighbours what stands on a point."""
    bit = SIDES_AT + 9  # to the one above, the point is the one below
    for near in neighbors(board, point):
        board["code"][near] = (int64(board["code"][near]) & ~(7 << bit)) | (value << bit)
        _mark_dirty(board, near)
        bit -= 3


@inline_kernel
def _show_diagonally(board: PatternRecord, point: int, color: int) -> None:
    bit = 6
    for near in corners(board, point):
        board["code"][near] = (int64(board["code"][near]) & ~(3 << bit)) | (color << bit)
        _mark_dirty(board, near)
        bit -= 2


@inline_kernel
def _side_value(color: int, shown: int) -> int:
    return shown + (3 if color == WHITE else 0)


@kernel
def _show_liberties(board: PatternRecord, head: int) -> None:
    """Tell all neighbours of a chain about its liberties, if their class has changed."""
    shown = min(int64(3), int64(board["liberties"][head]))
    if board["shown"][head] == shown:
        return
    board["shown"][head] = shown
    value = _side_value(int64(board["color"][head]), shown)
    stone = head
    while True:
        _show_beside(board, stone, value)
        stone = int64(board["next"][stone])
        if stone == head:
            return


@inline_kernel
def _is_first(board: PatternRecord, point: int, near: int) -> bool:
    """Whether a stone next to a point is the first of its chain there."""
    for other in neighbors(board, point):
        if other == near:
            return True
        if (
            board["color"][other] == board["color"][near]
            and board["head"][other] == board["head"][near]
        ):
            return False
    return True


@inline_kernel
def set_weight(board: PatternRecord, player: int, point: int, weight: int) -> None:
    """Change the weight of a move of a player, 0 for Black and 1 for White."""
    board["sum"][player, point >> BLOCK_SHIFT] += weight - int64(board["weight"][player, point])
    board["weight"][player, point] = weight


@kernel
def _take_chain(board: PatternRecord, head: int) -> None:
    """Take a captured chain off; its links stay, so that it can be walked once more."""
    captor = 3 - int64(board["color"][head])
    stone = head
    while True:
        board["color"][stone] = EMPTY
        _show_beside(board, stone, int64(0))
        _show_diagonally(board, stone, int64(EMPTY))
        _mark_dirty(board, stone)
        for near in neighbors(board, stone):
            if board["color"][near] == captor and _is_first(board, stone, near):
                board["liberties"][board["head"][near]] += 1
        if board["n_taken"] < MOST_TAKEN:
            board["taken"][board["n_taken"]] = stone
        board["n_taken"] += 1
        stone = int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _join(board: PatternRecord, keep: int, lose: int) -> None:
    """Make one chain of two; liberties of both count once."""
    color = int64(board["color"][keep])
    board["size"][keep] += board["size"][lose]
    stone = lose
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == EMPTY and not touches_chain(board, near, color, keep):
                board["liberties"][keep] += 1
        board["head"][stone] = keep
        stone = int64(board["next"][stone])
        if stone == lose:
            break
    after = board["next"][keep]
    board["next"][keep] = board["next"][lose]
    board["next"][lose] = after
    if board["shown"][keep] != board["shown"][lose]:
        board["shown"][keep] = 0


@kernel
def play_stone(board: PatternRecord, weights: Weights, point: int, color: int) -> None:
    """Play a move that is legal and no suicide, and bring all weights up to date."""
    # 1. The stone, and the liberty that every chain around it loses.
    enemy = 3 - color
    board["ko_point"] = 0
    board["n_taken"] = 0
    board["color"][point] = color
    board["head"][point] = point
    board["next"][point] = point
    board["size"][point] = 1
    set_weight(board, int64(0), point, int64(0))
    set_weight(board, int64(1), point, int64(0))
    _show_diagonally(board, point, color)
    free = 0
    for near in neighbors(board, point):
        beside = board["color"][near]
        if beside == EMPTY:
            free += 1
        elif beside != WALL and _is_first(board, point, near):
            board["liberties"][board["head"][near]] -= 1
    board["liberties"][point] = free

    # 2. Captures. A chain taken off keeps its head, and points next to the stone their links.
    taken_heads = (int64(0), int64(0), int64(0), int64(0))
    for near in neighbors(board, point):
        if board["color"][near] == enemy:
            head = int64(board["head"][near])
            if board["liberties"][head] == 0:
                taken_heads = (head, taken_heads[0], taken_heads[1], taken_heads[2])
                _take_chain(board, head)
            else:
                _show_liberties(board, head)

    # 3. Own chains become one. Where it has as many liberties as before, only the stone is new.
    head = point
    before = int64(0)
    is_alike = True
    for near in neighbors(board, point):
        if board["color"][near] == color:
            other = int64(board["head"][near])
            if other == head:
                continue
            if before != 0 and board["shown"][other] != before:
                is_alike = False
            before = int64(board["shown"][other])
            if head == point:
                board["shown"][point] = before
            if board["size"][other] >= board["size"][head]:
                _join(board, other, head)
                head = other
            else:
                _join(board, head, other)
    shown = min(int64(3), int64(board["liberties"][head]))
    if is_alike and before == shown:
        board["shown"][head] = shown
        _show_beside(board, point, _side_value(color, shown))
    else:
        board["shown"][head] = 0
        _show_liberties(board, head)

    # 4. Chains that captures gave liberties to, the ko, and the weights.
    for taken in taken_heads:
        if taken != 0:
            stone = taken
            while True:
                for near in neighbors(board, stone):
                    if board["color"][near] == color:
                        _show_liberties(board, int64(board["head"][near]))
                stone = int64(board["next"][stone])
                if stone == taken:
                    break
    if board["n_taken"] == 1 and board["size"][head] == 1 and board["liberties"][head] == 1:
        board["ko_point"] = board["taken"][0]
    _weigh_dirty(board, weights)


@inline_kernel
def _weigh_dirty(board: PatternRecord, weights: Weights) -> None:
    for i in range(int64(board["n_dirty"])):
        point = int64(board["dirty"][i])
        board["is_dirty"][point] = 0
        if board["color"][point] == EMPTY:
            code = int64(board["code"][point])
            set_weight(board, int64(0), point, int64(weights[0, code]))
            set_weight(board, int64(1), point, int64(weights[1, code]))
    board["n_dirty"] = 0


@kernel
def near_code(board: PatternRecord, point: int) -> int:
    """Return the near code of a point on the board, from scratch."""
    code = int64(0)
    bit = 0
    for near in corners(board, point):
        code |= int64(board["color"][near]) << bit
        bit += 2
    for near in neighbors(board, point):
        color = int64(board["color"][near])
        if color == WALL:
            code |= WALL_SIDE << bit
        elif color != EMPTY:
            shown = min(int64(3), int64(board["liberties"][board["head"][near]]))
            code |= _side_value(color, shown) << bit
        bit += 3
    return code


@kernel
def set_up(board: PatternRecord, source: BoardRecord, ko_point: int, weights: Weights) -> None:
    """Take over a position of a `board.BOARD`, with its ko ban if the player to move minds it."""
    n_points = int64(source["n_points"])
    board["width"] = source["width"]
    board["height"] = source["height"]
    board["stride"] = source["stride"]
    board["n_points"] = n_points
    board["ko_point"] = ko_point
    board["n_dirty"] = 0
    board["n_taken"] = 0
    board["n_local"] = 0
    board["liberties"][:] = 0
    board["is_dirty"][:] = 0
    board["weight"][:, :] = 0
    board["sum"][:, :] = 0
    for point in range(n_points):
        board["color"][point] = source["color"][point]
        board["head"][point] = source["head"][point]
        board["next"][point] = source["next"][point]
        board["size"][point] = source["size"][point]
    for point in range(n_points):
        if board["color"][point] == EMPTY:
            for near in neighbors(board, point):
                beside = board["color"][near]
                if beside != EMPTY and beside != WALL and _is_first(board, point, near):
                    board["liberties"][board["head"][near]] += 1
    for point in range(n_points):
        color = board["color"][point]
        if color == WALL:
            continue
        if color != EMPTY:
            head = int64(board["head"][point])
            board["shown"][head] = min(int64(3), int64(board["liberties"][head]))
        board["code"][point] = near_code(board, point)
        _mark_dirty(board, point)
    _weigh_dirty(board, weights)
