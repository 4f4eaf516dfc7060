"""Ladders: diagrams, and random positions against plain recursion."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go.diagrams import position_of
from tests.go.naive_ladders import ladders as naive_ladders
from tests.go.random_positions import naive_copy, random_position

from gtp_engine.coords import BLACK, WHITE, point_at, row_col
from gtp_engine.go import ladders
from gtp_engine.go.ladders import find_ladders, has_bit, new_reader
from gtp_engine.go.position import Position

READER = new_reader(16)


def read(position: Position) -> tuple[set[int], dict[int, set[int]]]:
    """Return the laddered points, and by color of the chased the moves that work."""
    found = READER.memory[find_ladders(READER, position.board)]
    points = position.points()
    return (
        {point for point in points if has_bit(found["chains"], point)},
        {
            color: {point for point in points if has_bit(found["working"][color], point)}
            for color in (BLACK, WHITE)
        },
    )


def shown(position: Position) -> str:
    """Return the board with `#` on laddered stones and `*` on moves that work."""
    laddered, working = read(position)
    text = ""
    for point in position.points():
        symbol = ".XO"[position.color_at(point)]
        if point in laddered:
            symbol = "#"
        elif point in working[BLACK] | working[WHITE]:
            symbol = "*"
        text += symbol
    width = position.width
    return "\n".join(text[i : i + width] for i in range(0, len(text), width))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "a ladder across the board, one way round",
            """
            . . . . . . .
            . X O . . . .
            . X O X . . .
            . . X . . . .
            . . . . . . .
            . . . . . . .
            . . . . . . .
            """,
            """
            . . * . . . .
            . X # * . . .
            . X # X . . .
            . . X . . . .
            . . . . . . .
            . . . . . . .
            . . . . . . .
            """,
        ),
        (
            "a chain in atari at the edge",
            """
            . . . . .
            . . . . .
            . . . . .
            X X X . .
            O O . X .
            """,
            """
            . . . . .
            . . . . .
            . . . . .
            X X X . .
            # # . X .
            """,
        ),
        (
            "it gets away by capturing, and so do the others",
            """
            . . . . .
            . . . . .
            O O O . .
            X X . O .
            O O . . .
            """,
            """
            . . . . .
            . . . . .
            O O O . .
            X X . O .
            O O . . .
            """,
        ),
        (
            "one liberty that opens up",
            """
            . . . . .
            . X . . .
            X O . . .
            . X . . .
            . . . . .
            """,
            """
            . . . . .
            . X . . .
            X O . . .
            . X . . .
            . . . . .
            """,
        ),
    ],
)
def test_diagrams(name: str, before: str, after: str) -> None:
    assert shown(position_of(before)) == plain_marks(after), name


def plain_marks(diagram: str) -> str:
    """Return a diagram with marks, without blanks."""
    return "\n".join("".join(line.split()) for line in diagram.strip().splitlines())


def long_ladder(breaker: bool) -> Position:
    """Return a ladder that runs from one corner of a 19x19 board to the other."""
    rows = [["."] * 19 for _ in range(19)]
    for row, col in [(2, 3), (3, 2), (4, 2)]:
        rows[row][col] = "X"
    rows[3][3] = "O"
    if breaker:
        rows[14][14] = "O"
    return position_of("\n".join("".join(row) for row in rows))


def test_long_ladder_and_its_breaker() -> None:
    laddered, working = read(long_ladder(breaker=False))
    assert {row_col(point, 19) for point in laddered} == {(3, 3)}
    assert {row_col(point, 19) for point in working[WHITE]} == {(3, 4)}
    laddered, working = read(long_ladder(breaker=True))
    assert laddered == set() == working[WHITE]


def test_reading_stops_at_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    position = long_ladder(breaker=False)
    position.play(BLACK, point_at(3, 4, 19))
    chain = point_at(3, 3, 19)
    reader = new_reader(1)
    reader.board[0] = position.board
    read_out = getattr(ladders._cannot_flee, "py_func", ladders._cannot_flee)
    assert read_out(reader.board[0], chain, reader.work)
    monkeypatch.setattr(ladders, "NODE_BUDGET", 20)
    assert not read_out(reader.board[0], chain, reader.work), "taken to escape"
    assert reader.board[0] == position.board


def test_reading_leaves_the_board_as_it_was() -> None:
    reader = new_reader(1)
    for seed in range(60):
        position = random_position(seed)
        before = position.board.copy()
        find_ladders(reader, position.board)
        assert position.board == before
        assert reader.board[0] == before, "every trial move was taken back"


def test_ladders_are_remembered_by_stones_and_ko() -> None:
    position = position_of(
        """
        . X O . .
        X O . O .
        . X O . .
        . . . . .
        """
    )
    reader = new_reader(16)
    first = find_ladders(reader, position.board)
    reader.memory[first]["chains"][:] = 7
    assert (reader.memory[find_ladders(reader, position.board)]["chains"] == 7).all()
    position.play(BLACK, position.points()[7])
    assert position.board["ko_point"] != 0
    with_ko = reader.memory[find_ladders(reader, position.board)].copy()
    position.board["ko_point"] = 0
    without_ko = reader.memory[find_ladders(reader, position.board)]
    assert with_ko["key"] != without_ko["key"]


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32))
def test_against_plain_recursion(seed: int) -> None:
    position = random_position(seed)
    laddered, working = read(position)
    expected, expected_working = naive_ladders(naive_copy(position))
    width = position.width
    assert {row_col(point, width) for point in laddered} == expected
    assert {
        color: {row_col(point, width) for point in points} for color, points in working.items()
    } == expected_working


def test_largest_board() -> None:
    rows = [["."] * 25 for _ in range(25)]
    for row, col in [(2, 3), (3, 2), (4, 2)]:
        rows[row][col] = "X"
    rows[3][3] = "O"
    laddered, _ = read(position_of("\n".join("".join(row) for row in rows)))
    assert {row_col(point, 25) for point in laddered} == {(3, 3)}


def test_no_stone_no_ladder() -> None:
    laddered, working = read(Position(19))
    assert laddered == set() == working[BLACK] | working[WHITE]
