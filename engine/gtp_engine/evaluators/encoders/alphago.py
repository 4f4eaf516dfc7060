"""AlphaGo's input: 48 planes (Silver et al., "Mastering the game of Go with deep neural networks
and tree search", Nature 529, 2016, extended data table 2).

     0-2   own stones, the opponent's, empty points
     3     ones
     4-11  stones by their age in turns: 0, 1, .. 6, 7 or more
    12-19  stones by the liberties of their chain: 1, 2, .. 7, 8 or more
    20-27  legal moves by the stones they capture: 0, 1, .. 6, 7 or more
    28-35  legal moves into atari by the own stones that could then be captured: 1, .. 8 or more
    36-43  legal moves by the liberties of the chain they leave: 1, 2, .. 7, 8 or more
    44     moves that capture a chain of two liberties in a ladder
    45     moves by which an own chain in atari gets away from a ladder
    46     sensible moves: legal, and not into an own eye
    47     zeros
    48     for the value net alone (alphago49): ones where Black is to move
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WHITE
from gtp_engine.evaluators.encoders.inputs import Features, Planes, Seen, SymmetryMap
from gtp_engine.evaluators.encoders.stones import mark_ages, mark_by_liberties, mark_color
from gtp_engine.go.board import (
    BOARD,
    MAX_AREA,
    BoardRecord,
    count_liberties,
    is_capture_at,
    is_own_eye,
    neighbors,
    place_stone,
)
from gtp_engine.go.history import History, legal_points
from gtp_engine.go.ladders import Reader, can_be_captured, find_ladders, has_bit
from gtp_engine.kernels import hot_kernel, int64, kernel

N_PLANES = 48
N_LEVELS = 8
"""Planes by which a number is shown; the last one stands for all that is larger."""

AGE, LIBERTIES, CAPTURES, SELF_ATARI, LIBERTIES_AFTER = 4, 12, 20, 28, 36
LADDER_CAPTURE, LADDER_ESCAPE, SENSIBLE = 44, 45, 46


@kernel
def _mark_stones(history: History, ply: int, symmetry_map: SymmetryMap, planes: Planes) -> None:
    """Fill planes 0 to 19."""
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    mark_color(board, to_play, symmetry_map, planes[0])
    mark_color(board, 3 - to_play, symmetry_map, planes[1])
    mark_color(board, EMPTY, symmetry_map, planes[2])
    planes[3, :] = 1
    mark_ages(history, ply, symmetry_map, planes, int64(AGE))
    mark_by_liberties(board, BLACK, N_LEVELS, symmetry_map, planes, LIBERTIES)
    mark_by_liberties(board, WHITE, N_LEVELS, symmetry_map, planes, LIBERTIES)


@kernel
def _rescues(
    before: BoardRecord, after: BoardRecord, point: int, color: int, reader: Reader
) -> bool:
    """Whether a move gets an own chain out of atari and out of reach of a ladder.

    Either the chain extends with the move, or the move captures a chain next to it.
    """
    for near in neighbors(before, point):
        if (
            before["color"][near] == color
            and is_capture_at(before, point, near)
            and not can_be_captured(reader, after, point)
        ):
            return True
    for near in neighbors(before, point):
        if before["color"][near] != 3 - color or not is_capture_at(before, point, near):
            continue
        stone = int64(near)
        while True:
            for own in neighbors(before, stone):
                if (
                    before["color"][own] == color
                    and count_liberties(before, own, 2) == 1
                    and not can_be_captured(reader, after, own)
                ):
                    return True
            stone = int64(before["next"][stone])
            if stone == near:
                break
    return False


@kernel
def _mark_move(
    board: BoardRecord,
    scratch: npt.NDArray[np.void],
    point: int,
    color: int,
    reader: Reader,
    target: int,
    planes: Planes,
) -> None:
    """Fill planes 20 to 43, 45 and 46 at a legal move."""
    scratch[0] = board
    after = scratch[0]
    captured = place_stone(after, point, color)
    planes[CAPTURES + min(captured, N_LEVELS - 1), target] = 1
    if after["color"][point] == color:  # no suicide
        n = count_liberties(after, point, N_LEVELS)
        planes[LIBERTIES_AFTER + n - 1, target] = 1
        if n == 1:
            size = int64(after["size"][after["head"][point]])
            planes[SELF_ATARI + min(size, N_LEVELS) - 1, target] = 1
        if _rescues(board, after, point, color, reader):
            planes[LADDER_ESCAPE, target] = 1
    if not is_own_eye(board, point, color):
        planes[SENSIBLE, target] = 1


@hot_kernel
def alphago48(seen: Seen, spatial: Planes, features: Features) -> None:
    """Fill [48, H, W] planes, or 49; see `inputs.Encode`."""
    history, ply, rules, reader, symmetry_map, _ = seen
    board = history.boards[ply]
    color = int64(history.turns[ply]["to_play"])
    planes = spatial.reshape(spatial.shape[0], int64(board["width"]) * int64(board["height"]))
    planes[:] = 0
    if spatial.shape[0] > N_PLANES and color == BLACK:
        planes[N_PLANES, :] = 1
    _mark_stones(history, ply, symmetry_map, planes)
    moves = np.empty(MAX_AREA, np.int16)
    n_moves = legal_points(history, ply, rules, moves)
    scratch = np.empty(1, BOARD)
    for i in range(n_moves):
        point = int64(moves[i])
        if board["color"][point] == EMPTY:  # an encore's pass for ko may name a stone
            _mark_move(board, scratch, point, color, reader, symmetry_map[point], planes)
    ladders = reader.memory[find_ladders(reader, board)]
    for i in range(n_moves):
        if has_bit(ladders["working"][3 - color], int64(moves[i])):
            planes[LADDER_CAPTURE, symmetry_map[moves[i]]] = 1


alphago49 = alphago48
