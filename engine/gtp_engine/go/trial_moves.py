"""Moves tried on a scratch board and taken back, as reading does by the thousand.

A move writes down in a row of working memory what it changes, so that taking it back needs neither
a copy of the board nor a look at its past. Moves are taken back in the reverse order. Kept up are
colors, chains and the ko ban: all that reading looks at, but not the board's hash and its list of
empty points.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, WALL
from gtp_engine.go.board import BoardRecord, is_suicide, join_chains, neighbors
from gtp_engine.kernels import inline_kernel, int64, kernel

Work = npt.NDArray[np.int16]
"""Working memory, with a row for each move to be taken back."""

# A row: the point and what its records held, then the up to four chains captured, then up to four
# pairs of chains joined.
_POINT, _HEAD, _NEXT, _SIZE, _PSEUDO, _KO = 0, 1, 2, 3, 4, 5
_N_CAPTURED, _CAPTURED = 6, 7
_N_JOINED, _JOINED = 11, 12
UNDO_ROW = 20
"""Length of a row."""


@kernel
def _lift_chain(board: BoardRecord, head: int, captor: int) -> None:
    """Take a chain off; its own records stay as they were, for `_put_back`."""
    stone = head
    while True:
        board["color"][stone] = EMPTY
        for near in neighbors(board, stone):
            if board["color"][near] == captor:
                board["pseudo"][board["head"][near]] += 1
        stone = int64(board["next"][stone])
        if stone == head:
            return


@inline_kernel
def _put_back(board: BoardRecord, head: int, captor: int) -> None:
    stone = head
    while True:
        board["color"][stone] = 3 - captor
        for near in neighbors(board, stone):
            if board["color"][near] == captor:
                board["pseudo"][board["head"][near]] -= 1
        stone = int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _part(board: BoardRecord, keep: int, lose: int) -> None:
    """Undo `join_chains`."""
    after = board["next"][keep]
    board["next"][keep] = board["next"][lose]
    board["next"][lose] = after
    board["size"][keep] -= board["size"][lose]
    board["pseudo"][keep] -= board["pseudo"][lose]
    stone = lose
    while True:
        board["head"][stone] = lose
        stone = int64(board["next"][stone])
        if stone == lose:
            return


@kernel
def try_move(board: BoardRecord, point: int, color: int, work: Work, row: int) -> None:
    """Play a move that is not suicide, noting in the undo row there how to take it back."""
    # 1. The stone, a chain of its own that takes away its neighbours' pseudo-liberties.
    work[row + _POINT] = point
    work[row + _HEAD] = board["head"][point]
    work[row + _NEXT] = board["next"][point]
    work[row + _SIZE] = board["size"][point]
    work[row + _PSEUDO] = board["pseudo"][point]
    work[row + _KO] = board["ko_point"]
    board["color"][point] = color
    board["head"][point] = point
    board["next"][point] = point
    board["size"][point] = 1
    free = 0
    for near in neighbors(board, point):
        if board["color"][near] == EMPTY:
            free += 1
        elif board["color"][near] != WALL:
            board["pseudo"][board["head"][near]] -= 1
    board["pseudo"][point] = free

    # 2. Captures, all of them before the joins: taking back goes the other way round.
    n_captured = 0
    stones = 0
    taken = 0
    for near in neighbors(board, point):
        if board["color"][near] == 3 - color:
            head = int64(board["head"][near])
            if board["pseudo"][head] == 0:
                work[row + _CAPTURED + n_captured] = head
                n_captured += 1
                stones += board["size"][head]
                taken = near
                _lift_chain(board, head, color)
    work[row + _N_CAPTURED] = n_captured

    # 3. Joins.
    n_joined = 0
    own = point
    for near in neighbors(board, point):
        if board["color"][near] == color:
            head = int64(board["head"][near])
            if head != own:
                keep, lose = own, head
                if board["size"][own] < board["size"][head]:
                    keep, lose = head, own
                work[row + _JOINED + 2 * n_joined] = keep
                work[row + _JOINED + 2 * n_joined + 1] = lose
                n_joined += 1
                join_chains(board, keep, lose)
                own = keep
    work[row + _N_JOINED] = n_joined

    # 4. The ko ban.
    board["ko_point"] = 0
    if stones == 1 and board["size"][own] == 1 and board["pseudo"][own] == 1:
        board["ko_point"] = taken


@kernel
def take_back(board: BoardRecord, work: Work, row: int) -> None:
    """Undo the latest `try_move`, from its row."""
    point = int64(work[row + _POINT])
    color = int64(board["color"][point])
    for i in range(int64(work[row + _N_JOINED]) - 1, -1, -1):
        at = row + _JOINED + 2 * i
        _part(board, int64(work[at]), int64(work[at + 1]))
    for i in range(int64(work[row + _N_CAPTURED])):
        _put_back(board, int64(work[row + _CAPTURED + i]), color)
    for near in neighbors(board, point):
        if board["color"][near] != EMPTY and board["color"][near] != WALL:
            board["pseudo"][board["head"][near]] += 1
    board["color"][point] = EMPTY
    board["head"][point] = work[row + _HEAD]
    board["next"][point] = work[row + _NEXT]
    board["size"][point] = work[row + _SIZE]
    board["pseudo"][point] = work[row + _PSEUDO]
    board["ko_point"] = work[row + _KO]


@inline_kernel
def may_try(board: BoardRecord, point: int, color: int) -> bool:
    """Whether a move on an empty point is allowed in a ladder: no suicide, no simple ko."""
    return bool(point != board["ko_point"]) and not is_suicide(board, point, color)
