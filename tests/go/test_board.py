"""Stones on a board: captures, chains, ko, suicide, as tables of diagrams."""

import random
from typing import NamedTuple

import numpy as np
import pytest
from tests.go.comparison import assert_same_board
from tests.go.diagrams import diagram_of, plain, position_of
from tests.go.naive_board import NaiveGame

from gtp_engine.coords import BLACK, EMPTY, WHITE, parse_color, parse_vertex, point_at
from gtp_engine.go.board import (
    BOARD,
    WALL,
    ZOBRIST,
    clear_board,
    collect_liberties,
    count_liberties,
    hash_after,
    is_own_eye,
    is_playable,
    is_suicide,
    place_stone,
    same_stones,
)


class Play(NamedTuple):
    """Moves on a diagram, and what they leave."""

    name: str
    before: str
    moves: str
    after: str
    ko: str = ""
    captured: tuple[int, int] = (0, 0)
    """Black stones and White stones taken."""


PLAYS = [
    Play(
        "a stone in the corner",
        """
        . X .
        O . .
        . . .
        """,
        "b C3 w C1",
        """
        . X X
        O . .
        . . O
        """,
    ),
    Play(
        "one stone taken",
        """
        . X .
        X O X
        . . .
        """,
        "b B1",
        """
        . X .
        X . X
        . X .
        """,
        captured=(0, 1),
    ),
    Play(
        "a chain taken at the edge",
        """
        . O O X
        . X X .
        . . . .
        """,
        "b A3",
        """
        X . . X
        . X X .
        . . . .
        """,
        captured=(0, 2),
    ),
    Play(
        "one move takes four chains",
        """
        . . X . .
        . X O X .
        X O . O X
        . X O X .
        . . X . .
        """,
        "b C3",
        """
        . . X . .
        . X . X .
        X . X . X
        . X . X .
        . . X . .
        """,
        captured=(0, 4),
    ),
    Play(
        "the same chain touched twice is taken once",
        """
        O O X .
        . O X .
        O O X .
        X X . .
        """,
        "b A3",
        """
        . . X .
        X . X .
        . . X .
        X X . .
        """,
        captured=(0, 5),
    ),
    Play(
        "taking comes before one's own last liberty",
        """
        . O X .
        O X . .
        X . . .
        . . . .
        """,
        "b A4",
        """
        X . X .
        . X . .
        X . . .
        . . . .
        """,
        captured=(0, 2),
    ),
    Play(
        "a ko",
        """
        . X O .
        X . X O
        . X O .
        . . . .
        """,
        "w B3",
        """
        . X O .
        X O . O
        . X O .
        . . . .
        """,
        ko="C3",
        captured=(1, 0),
    ),
    Play(
        "a ko in the corner",
        """
        . X O
        X O .
        O . .
        """,
        "w A3",
        """
        O . O
        . O .
        O . .
        """,
        captured=(2, 0),
    ),
    Play(
        "a ko at the edge",
        """
        . O X . .
        O X . . .
        . . . . .
        """,
        "b A3",
        """
        X . X . .
        O X . . .
        . . . . .
        """,
        ko="B3",
        captured=(0, 1),
    ),
    Play(
        "no ko: the taking stone has another liberty",
        """
        . O X .
        . X . .
        . . . .
        . . . .
        """,
        "b A4",
        """
        X . X .
        . X . .
        . . . .
        . . . .
        """,
        captured=(0, 1),
    ),
    Play(
        "no ko: two stones were taken",
        """
        . O O X
        O X X .
        . . . .
        . . . .
        """,
        "b A4",
        """
        X . . X
        O X X .
        . . . .
        . . . .
        """,
        captured=(0, 2),
    ),
    Play(
        "no ko: a chain took",
        """
        . O X .
        X X O .
        O O . .
        """,
        "b A3",
        """
        X . X .
        X X O .
        O O . .
        """,
        captured=(0, 1),
    ),
    Play(
        "the ko ban lasts one move",
        """
        . X O .
        X . X O
        . X O .
        . . . .
        """,
        "w B3 b D1",
        """
        . X O .
        X O . O
        . X O .
        . . . X
        """,
        captured=(1, 0),
    ),
    Play(
        "suicide of three stones",
        """
        . X O .
        X O O .
        O O . .
        . . . .
        """,
        "b A4",
        """
        . . O .
        . O O .
        O O . .
        . . . .
        """,
        captured=(3, 0),
    ),
    Play(
        "suicide that leaves one liberty to a neighbour",
        """
        . X O
        X O .
        O O .
        """,
        "b A3 w A3 b C2",
        """
        O . O
        . O X
        O O .
        """,
        captured=(3, 0),
    ),
]


@pytest.mark.parametrize("case", PLAYS, ids=lambda case: case.name)
def test_plays(case: Play) -> None:
    position = position_of(case.before)
    board, width, height = position.board, position.width, position.height
    words = case.moves.split()
    for color_name, vertex in zip(words[::2], words[1::2], strict=True):
        color, point = parse_color(color_name), parse_vertex(vertex, width, height)
        assert board["color"][point] == EMPTY
        before = {enemy: position.captured(enemy) for enemy in (BLACK, WHITE)}
        expected = hash_after(board, point, color)
        taken = place_stone(board, point, color)
        assert taken == position.captured(3 - color) - before[3 - color]
        assert board["hash"] == np.uint64(expected)
    assert diagram_of(position) == plain(case.after)
    ko_point = parse_vertex(case.ko, width, height) if case.ko else 0
    assert board["ko_point"] == ko_point
    assert (position.captured(BLACK), position.captured(WHITE)) == case.captured


LEGALITY = """
    . X . O .
    X X O . O
    . . X O O
    O X X . X
    . O X X .
"""


@pytest.mark.parametrize(
    ("color", "vertex", "suicide", "playable", "with_multi_stone_suicide"),
    [
        ("b", "A5", False, True, True),
        ("w", "A5", True, False, False),
        ("b", "D4", True, False, False),
        ("w", "D4", False, True, True),
        ("b", "E5", True, False, False),
        ("w", "A1", False, True, True),
        ("b", "A1", False, True, True),
        ("w", "E1", True, False, False),
        ("b", "E1", False, True, True),
    ],
)
def test_suicide(
    color: str, vertex: str, suicide: bool, playable: bool, with_multi_stone_suicide: bool
) -> None:
    board = position_of(LEGALITY).board
    point = parse_vertex(vertex, 5, 5)
    assert is_suicide(board, point, parse_color(color)) == suicide
    assert is_playable(board, point, parse_color(color), 0) == playable
    assert is_playable(board, point, parse_color(color), 1) == with_multi_stone_suicide


def test_suicide_of_several_stones() -> None:
    board = position_of(". X O\nX O O\nO O .").board
    point = parse_vertex("A3", 3, 3)
    assert is_suicide(board, point, BLACK)
    assert not is_playable(board, point, BLACK, 0) and is_playable(board, point, BLACK, 1)


def test_stones_and_walls_are_not_playable() -> None:
    board = position_of(LEGALITY).board
    for point in (parse_vertex("B5", 5, 5), parse_vertex("D5", 5, 5), 0, 6, 12):
        assert board["color"][point] != EMPTY
        assert not is_playable(board, point, BLACK, 1) and not is_playable(board, point, WHITE, 1)


@pytest.mark.parametrize(
    ("vertex", "liberties"),
    [("A1", "A2 B1"), ("B3", "A3 B2 B4 C2 C4 D3"), ("E5", "D5 E4"), ("D1", "C1 D2 E1")],
)
def test_true_liberties(vertex: str, liberties: str) -> None:
    position = position_of(
        """
        . . . . X
        . . . . .
        . O O . .
        . . . . .
        X . . X .
        """
    )
    point = parse_vertex(vertex, 5, 5)
    found = np.empty(32, np.int16)
    n = collect_liberties(position.board, point, 32, found)
    expected = sorted(parse_vertex(name, 5, 5) for name in liberties.split())
    assert sorted(int(liberty) for liberty in found[:n]) == expected
    for limit in range(1, 9):
        assert count_liberties(position.board, point, limit) == min(limit, len(expected))


def test_a_long_chain_has_no_more_liberties_than_asked_for() -> None:
    position = position_of("\n".join([25 * "." + "", *(12 * ["." + 24 * "X"]), 25 * "."]))
    head = point_at(5, 5, 25)
    assert count_liberties(position.board, head, 32) == 32
    assert count_liberties(position.board, head, 7) == 7


@pytest.mark.parametrize(
    ("width", "height"), [(2, 2), (25, 25), (2, 25), (25, 2), (19, 19), (7, 9)]
)
def test_a_cleared_board(width: int, height: int) -> None:
    boards = np.zeros(1, BOARD)
    boards.view(np.uint8)[:] = 0xA5  # whatever lay there before
    board = boards[0]
    clear_board(board, width, height)
    points = {point_at(row, col, width) for row in range(height) for col in range(width)}
    assert {int(point) for point in board["empty"][: board["n_empty"]]} == points
    for point in range(int(board["n_points"])):
        assert board["color"][point] == (EMPTY if point in points else WALL)
        if point in points:
            for near in (point - 1, point + 1, point - width - 1, point + width + 1):
                assert 0 <= near < board["n_points"]
    assert board["hash"] == 0 and board["ko_point"] == 0 and list(board["captured"]) == [0, 0, 0]


def test_copies_hold_the_same_stones() -> None:
    position = position_of(PLAYS[3].before)
    boards = np.zeros(1, BOARD)
    boards[0] = position.board
    assert same_stones(boards[0], position.board)
    place_stone(boards[0], parse_vertex("A1", 5, 5), WHITE)
    assert not same_stones(boards[0], position.board)
    assert position.color_at(parse_vertex("A1", 5, 5)) == EMPTY


def test_hashes_of_single_stones_differ() -> None:
    assert len({int(value) for value in ZOBRIST.ravel()}) == ZOBRIST.size


@pytest.mark.parametrize("size", range(2, 26))
def test_random_stones_without_any_rules(size: int) -> None:
    """Either color anywhere empty, suicide included: the bookkeeping must hold."""
    generator = random.Random(size)
    width, height = generator.choice([(size, size), (size, 27 - size)])
    naive = NaiveGame(width, height, multi_stone_suicide=True)
    position = position_of("\n".join(height * [width * "."]))
    for index in range(min(4 * width * height, 700)):
        spot = generator.choice(naive.spots())
        color = generator.choice((BLACK, WHITE))
        if spot in naive.stones:
            continue
        place_stone(position.board, point_at(*spot, width), color)
        naive.play(color, spot)
        if naive.ko_spot is not None:
            assert naive.ko_capturer == color
        if index % 20 == 0 or width * height < 30:
            assert_same_board(position, naive)


@pytest.mark.parametrize(
    ("diagram", "vertex", "is_eye"),
    [
        (". X .|X . .|. . .", "A3", True),
        (". X .|X O .|. . .", "A3", False),
        (". X .|. . .|. . .", "A3", False),
        ("X . X|. X .|. . .", "B3", True),
        ("X . X|O X .|. . .", "B3", False),
        (". . . . .|. O X . .|. X . X .|. . X . .|. . . . .", "C3", True),
        (". . . . .|. O X . .|. X . X .|. . X O .|. . . . .", "C3", False),
        (". . . . .|. . O . .|. X . X .|. . X . .|. . . . .", "C3", False),
    ],
)
def test_own_eyes(diagram: str, vertex: str, is_eye: bool) -> None:
    position = position_of(diagram.replace("|", "\n"))
    point = parse_vertex(vertex, position.width, position.height)
    assert is_own_eye(position.board, point, BLACK) == is_eye
    assert not is_own_eye(position.board, point, WHITE)
