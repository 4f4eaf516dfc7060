"""Perft for five in a row: how many sequences of moves there are, and how many of them win.

Games that are won end there; points that renju forbids are left out.
"""

from collections.abc import Iterator
from math import comb, factorial

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY
from gtp_engine.five.game import FiveGame
from gtp_engine.five.lines import Colors, forbidden_reason, new_frames, wins_at
from gtp_engine.five.rules import FREESTYLE, RENJU_BIT
from gtp_engine.kernels import kernel

MOST_POINTS_BY_SETS = 25
"""Largest board on which sequences are counted by the sets of stones that they lead to."""


@kernel
def _count(
    colors: Colors,
    stride: int,
    to_play: int,
    depth: int,
    kind: int,
    frames: npt.NDArray[np.int16],
    made: npt.NDArray[np.int16],
) -> tuple[int, int]:
    """Return how many sequences of a length there are, and how many win with their last move."""
    n_points = len(colors)
    total, wins = 0, 0
    ply, point, color = 0, 0, to_play
    while True:
        point += 1
        if point >= n_points:
            if ply == 0:
                return total, wins
            ply -= 1
            color = 3 - color
            point = made[ply]
            colors[point] = EMPTY
            continue
        if colors[point] != EMPTY:
            continue
        is_black_of_renju = color == BLACK and kind & RENJU_BIT != 0
        if is_black_of_renju and forbidden_reason(colors, stride, point, frames) != 0:
            continue
        is_won = wins_at(colors, stride, point, color, kind)
        if ply == depth - 1:
            total += 1
            wins += is_won
        elif not is_won:
            colors[point] = color
            made[ply] = point
            ply += 1
            color = 3 - color
            point = 0


def count_sequences(game: FiveGame, depth: int) -> tuple[int, int]:
    """Return the number of sequences of a length from a game on, and of those that win.

    Args:
        game: Not over; it is not changed.
        depth: Moves in a sequence, at least 1.
    """
    is_small = len(game.points()) <= MOST_POINTS_BY_SETS
    if is_small and game.rules.five == FREESTYLE.five and not game.moves and not _has_stones(game):
        return _count_by_sets(game, depth)
    room = new_frames(len(game.colors))
    made = np.zeros(depth, np.int16)
    rules = game.rules.five
    total, wins = _count(game.colors.copy(), game.stride, game.to_play, depth, rules, room, made)
    return int(total), int(wins)


def perft(game: FiveGame, depth: int) -> Iterator[tuple[int, int]]:
    """Yield the counts of each length from 1 to depth."""
    for length in range(1, depth + 1):
        yield count_sequences(game, length)


def _has_stones(game: FiveGame) -> bool:
    return any(game.colors[point] != EMPTY for point in game.points())


def _count_by_sets(game: FiveGame, depth: int) -> tuple[int, int]:
    """Count on an empty small board of freestyle, where millions of sequences meet in one board.

    After b black and w white moves nobody has won if neither set of stones holds a row of five;
    any order of such stones is a sequence.
    """
    area = len(game.points())
    if depth > area:
        return 0, 0
    total = _n_alive(game, depth - 1) * (area - depth + 1)
    return total, total - _n_alive(game, depth)


def _n_alive(game: FiveGame, plies: int) -> int:
    """Return how many sequences of a length leave nobody a winner."""
    n_black, n_white = (plies + 1) // 2, plies // 2
    area = len(game.points())
    rows = _rows_of_five(game)
    # Inclusion and exclusion over the rows that Black, and those that White, may fill.
    n_boards = 0
    for black, sign, stones in _unions(rows, n_black):
        for white, white_sign, white_stones in _unions(rows, n_white):
            if not black & white:
                free = area - stones - white_stones
                ways = comb(free, n_black - stones)
                rest = free - (n_black - stones)
                n_boards += sign * white_sign * ways * comb(rest, n_white - white_stones)
    return n_boards * factorial(n_black) * factorial(n_white)


def _rows_of_five(game: FiveGame) -> list[int]:
    """Return every five points in a row as bits."""
    found = []
    for row in range(game.height):
        for col in range(game.width):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                last_row, last_col = row + 4 * down, col + 4 * right
                if last_row < game.height and 0 <= last_col < game.width:
                    places = [(row + n * down) * game.width + col + n * right for n in range(5)]
                    found.append(sum(1 << place for place in places))
    return found


def _unions(rows: list[int], most: int) -> list[tuple[int, int, int]]:
    """Return unions of rows with at most so many points, with signs summed and their points."""
    signs: dict[int, int] = {0: 1}
    for row in rows:
        for union, sign in list(signs.items()):
            larger = union | row
            if larger.bit_count() <= most:
                signs[larger] = signs.get(larger, 0) - sign
    return [(union, sign, union.bit_count()) for union, sign in signs.items() if sign]
