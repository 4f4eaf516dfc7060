"""Uniform random games."""

import numpy as np
import pytest
from tests.go.comparison import assert_same_board
from tests.go.diagrams import position_of
from tests.go.naive_board import NaiveGame

from gtp_engine.coords import BLACK, EMPTY, WHITE
from gtp_engine.go.board import BOARD, clear_board
from gtp_engine.go.position import Position
from gtp_engine.go.random_games import (
    area_difference,
    play_random_game,
    run_random_games,
)
from gtp_engine.go.rules import Ko, Rules
from gtp_engine.random_numbers import next_random, random_below


def test_random_numbers_are_even() -> None:
    state, counts = np.uint64(12345), np.zeros(7, int)
    for _ in range(7000):
        state = np.uint64(next_random(state))
        counts[random_below(state, 7)] += 1
    assert counts.min() > 800 and counts.max() < 1200


@pytest.mark.parametrize(("width", "height"), [(2, 2), (5, 5), (9, 9), (4, 13), (19, 19), (25, 25)])
def test_a_random_game_ends_with_a_sound_board(width: int, height: int) -> None:
    boards = np.zeros(2, BOARD)
    clear_board(boards[0], width, height)
    state = np.uint64(99)
    for _ in range(5):
        boards[1] = boards[0]
        following, moves = play_random_game(boards[1], BLACK, state)
        state = np.uint64(following)
        assert 2 <= moves <= 3 * width * height
        stones = {}
        position = Position(width, height, Rules(ko=Ko.SIMPLE))
        position.history.boards[position.ply] = boards[1]
        for row, colors in enumerate(position.grid()):
            for col, color in enumerate(colors):
                if color != EMPTY:
                    stones[row, col] = int(color)
        naive = NaiveGame(width, height, "simple", stones=stones)
        naive.captured = {color: position.captured(color) for color in (BLACK, WHITE)}
        assert_same_board(position, naive)


def test_area_difference_counts_stones_and_eyes() -> None:
    position = position_of(
        """
        . X O .
        X X O O
        X X O .
        """
    )
    assert area_difference(position.board) == 0
    assert area_difference(position_of(". X .\nX X X\nO . O").board) == 5


def test_runs_repeat_with_their_seed() -> None:
    first = run_random_games(9, 9, 50, 7)
    assert run_random_games(9, 9, 50, 7) == first != run_random_games(9, 9, 50, 9)
    moves, black_wins = run_random_games(9, 9, 2000, 1)
    assert 90 < moves / 2000 < 130 and 0.4 < black_wins / 2000 < 0.7
