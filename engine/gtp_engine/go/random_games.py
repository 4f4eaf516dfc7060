"""Uniform random games, the oldest measure of a board's speed.

Both players pick uniformly among the moves that are legal under simple ko and do not fill an own
single-point eye; a game ends at two passes or after 3 N^2 moves.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WALL
from gtp_engine.go.board import (
    BOARD,
    BoardRecord,
    clear_board,
    is_own_eye,
    is_suicide,
    neighbors,
    place_stone,
    swap_empty,
)
from gtp_engine.kernels import inline_kernel, int64, kernel, uint64
from gtp_engine.random_numbers import next_random, random_below


@kernel
def drop_own_eyes(
    board: BoardRecord, color: int, moves: npt.NDArray[np.int16], weights: npt.NDArray[np.float64]
) -> None:
    """Set to 0 the weights [n] of those of the moves [n] that fill an eye of the color's own."""
    for i in range(len(moves)):
        if is_own_eye(board, int64(moves[i]), color):
            weights[i] = 0.0


@inline_kernel
def _pick_move(board: BoardRecord, color: int, state: int) -> tuple[int, int]:
    """Draw a move uniformly from those allowed; 0 (pass) when there is none."""
    remaining = int64(board["n_empty"])
    while remaining > 0:
        state = next_random(state)
        at = random_below(state, remaining)
        point = int64(board["empty"][at])
        if (
            point != board["ko_point"]
            and not is_own_eye(board, point, color)
            and not is_suicide(board, point, color)
        ):
            return point, state
        # Set the refused point aside behind the ones still to be drawn from.
        remaining -= 1
        swap_empty(board, at, remaining)
    return int64(0), state


@kernel
def play_random_game(board: BoardRecord, to_play: int, state: int) -> tuple[int, int]:
    """Play the board to its end with random moves, in place.

    Returns:
        The generator's new state, and the number of moves, passes included.
    """
    limit = 3 * int64(board["width"]) * int64(board["height"])
    color = to_play
    passes = 0
    moves = 0
    x = uint64(state)
    while passes < 2 and moves < limit:
        point, x = _pick_move(board, color, x)
        if point == 0:
            passes += 1
            board["ko_point"] = 0
        else:
            passes = 0
            place_stone(board, point, color)
        color = 3 - color
        moves += 1
    return x, moves


@kernel
def area_difference(board: BoardRecord) -> int:
    """Return Black's stones and single-point eyes minus White's, at the end of a random game."""
    difference = 0
    stride = int64(board["stride"])
    for row in range(board["height"]):
        for col in range(board["width"]):
            point = (row + 1) * stride + col + 1
            owner = int64(board["color"][point])
            if owner == EMPTY:
                for near in neighbors(board, point):
                    if board["color"][near] != EMPTY and board["color"][near] != WALL:
                        owner = int64(board["color"][near])
                        break
            if owner != EMPTY:
                difference += 1 if owner == BLACK else -1
    return difference


@kernel
def tally_owners(
    boards: Any,
    to_play: int,
    games: int,
    owned: npt.NDArray[np.int64],
    margin_when_owned: npt.NDArray[np.int64],
    state: int,
) -> int:
    """Play random games from a position and add up who owns what at their ends.

    Args:
        boards: [2] the position, and a board to play on.
        to_play: Who begins; points and margins are this player's.
        owned: [MAX_POINTS] to be increased by the games in which a point ends as this player's
            stone.
        margin_when_owned: [MAX_POINTS] to be increased by the margins, stones and eyes, of these.

    Returns:
        The margins of all games together.
    """
    x = uint64(state)
    total = int64(0)
    sign = 1 if to_play == BLACK else -1
    for _ in range(games):
        # The whole record: slices of its arrays would make the compiler bring its text formatting.
        boards[1] = boards[0]
        x, _moves = play_random_game(boards[1], to_play, x)
        margin = sign * area_difference(boards[1])
        total += margin
        for point in range(len(owned)):
            if boards[1]["color"][point] == to_play:
                owned[point] += 1
                margin_when_owned[point] += margin
    return total


@kernel
def _run_random_games(boards: Any, games: int, state: int) -> tuple[int, int]:
    x = uint64(state)
    moves = 0
    black_wins = 0
    for _ in range(games):
        boards[1] = boards[0]
        x, played = play_random_game(boards[1], BLACK, x)
        moves += played
        black_wins += 1 if area_difference(boards[1]) > 0 else 0
    return moves, black_wins


def run_random_games(width: int, height: int, games: int, seed: int) -> tuple[int, int]:
    """Play random games from the empty board.

    Returns:
        The moves played in all, and the games in which Black's area is the larger.
    """
    boards: npt.NDArray[Any] = np.zeros(2, BOARD)
    clear_board(boards[0], width, height)
    moves, black_wins = _run_random_games(boards, games, uint64(seed | 1))
    return int(moves), int(black_wins)
