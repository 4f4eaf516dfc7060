"""The four ways to name an intersection."""

import pytest

from gtp_engine.coords import (
    BLACK,
    COLUMN_LETTERS,
    PASS,
    WHITE,
    action_to_point,
    format_vertex,
    opponent,
    parse_color,
    parse_vertex,
    point_at,
    point_to_action,
    row_col,
)

TABLE_9X9 = [
    # vertex, row, col, point, action
    ("A9", 0, 0, 11, 0),
    ("J1", 8, 8, 99, 80),
    ("E5", 4, 4, 55, 40),
]
TABLE_25X2 = [("A2", 0, 0, 27, 0), ("Z1", 1, 24, 77, 49), ("J2", 0, 8, 35, 8)]


@pytest.mark.parametrize(
    ("width", "height", "vertex", "row", "col", "point", "action"),
    [(9, 9, *entry) for entry in TABLE_9X9] + [(25, 2, *entry) for entry in TABLE_25X2],
)
def test_table(
    width: int, height: int, vertex: str, row: int, col: int, point: int, action: int
) -> None:
    assert point_at(row, col, width) == point
    assert row_col(point, width) == (row, col)
    assert point_to_action(point, width, height) == action
    assert action_to_point(action, width, height) == point
    assert parse_vertex(vertex, width, height) == point
    assert format_vertex(point, width, height) == vertex


@pytest.mark.parametrize(("width", "height"), [(2, 2), (9, 9), (19, 19), (25, 25), (2, 25), (7, 4)])
def test_every_intersection_goes_round(width: int, height: int) -> None:
    seen = set()
    for action in range(width * height):
        point = action_to_point(action, width, height)
        seen.add(point)
        assert point_to_action(point, width, height) == action
        assert point_at(*row_col(point, width), width) == point
        vertex = format_vertex(point, width, height)
        assert "I" not in vertex and parse_vertex(vertex.lower(), width, height) == point
    assert len(seen) == width * height and PASS not in seen


def test_pass() -> None:
    assert point_to_action(PASS, 9, 7) == 63 and action_to_point(63, 9, 7) == PASS
    assert format_vertex(PASS, 9, 9) == "pass"
    for text in ("pass", "PASS", "Pass"):
        assert parse_vertex(text, 9, 9) == PASS


def test_columns_skip_i() -> None:
    assert len(COLUMN_LETTERS) == 25 and "I" not in COLUMN_LETTERS


WRONG_VERTICES = " I5 i5 K1 A0 A10 A 5 55 A-1 A+1 A1x AA1 Z99 A1.0 resign A\u00b2 A\u0661 \u00c91"


@pytest.mark.parametrize("text", [*WRONG_VERTICES.split(" "), "A 1", 999 * "A9"])
def test_wrong_vertices_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="vertex"):
        parse_vertex(text, 9, 9)


@pytest.mark.parametrize("text", ["b", "B", "black", "Black", "BLACK"])
def test_black(text: str) -> None:
    assert parse_color(text) == BLACK and opponent(BLACK) == WHITE


@pytest.mark.parametrize("text", ["w", "W", "white", "White", "WHITE"])
def test_white(text: str) -> None:
    assert parse_color(text) == WHITE and opponent(WHITE) == BLACK


@pytest.mark.parametrize("text", ["", "x", "empty", "bw", "1", "blacks"])
def test_wrong_colors_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="color"):
        parse_color(text)
