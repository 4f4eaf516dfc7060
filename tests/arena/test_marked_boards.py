"""Boards whose dead stones somebody has marked, from records and from JSON."""

import json
from pathlib import Path

import pytest

from gtp_engine.arena.marked_boards import MarkedBoard, read_marked
from gtp_engine.coords import BLACK, WHITE, parse_vertex

# Black has the left three columns, White the right two; the white stone at A3 is dead.
STONES = "AB[cb][ca][cc]AW[da][db][dc][aa]"


def point(vertex: str) -> int:
    return parse_vertex(vertex, 5, 3)


def read(path: Path) -> list[MarkedBoard]:
    complaints: list[str] = []
    boards = list(read_marked(path, complaints.append))
    assert not complaints
    return boards


@pytest.mark.parametrize("marks", ["TB[aa][ab][ac][ba][bb][bc]TW[ea][eb][ec]", "XD[aa]"])
def test_records_mark_territory_or_dead_stones(tmp_path: Path, marks: str) -> None:
    file = tmp_path / "game.sgf"
    root = marks if marks.startswith("XD") else ""
    last = "" if root else marks
    file.write_text(f"(;GM[1]SZ[5:3]RE[B+5]{STONES}{root};B[];W[]{last})")
    (board,) = read(file)
    assert board.dead == {point("A3")}
    black = {p for p, owner in board.owners.items() if owner == BLACK}
    assert black == {point(f"{col}{row}") for col in "ABC" for row in (1, 2, 3)}
    assert board.owners[point("E1")] == board.owners[point("D1")] == WHITE


def test_records_without_marks_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "game.sgf"
    file.write_text(f"(;GM[1]SZ[5:3]{STONES};B[];W[])")
    assert read(file) == []


JSON_BOARD = {
    "board": ["W bW ", "  bWb", " bbWb"],
    "correct_ownership": ["BBBWW", "BBBW*", " sBWW"],
}


def test_a_file_without_any_game_is_told(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text("playouts = 4")
    complaints: list[str] = []
    assert list(read_marked(file, complaints.append)) == []
    assert complaints == [f"{file}: there is no SGF game in it"]
    file.with_suffix(".sgf").write_text("(;SZ[99])")  # of which something is said already
    assert list(read_marked(file.with_suffix(".sgf"), complaints.append)) == []
    assert len(complaints) == 2 and "no SGF game" not in complaints[1]


def test_boards_in_json(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(JSON_BOARD))
    (board,) = read(tmp_path)
    assert board.name == "a" and board.position.rules.preset == "chinese"
    assert board.dead == {point("A3"), point("E1")}
    assert board.undecided == {point("E2"), point("B1")}
    assert point("E2") not in board.owners and point("A1") not in board.owners
    assert board.owners[point("A3")] == BLACK and board.owners[point("E1")] == WHITE


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        "{}",
        '{"board": [], "correct_ownership": []}',
        '{"board": ["xx", "  "], "correct_ownership": ["BB", "BB"]}',
        '{"board": ["bb", "bb"], "correct_ownership": ["BB", "BB"]}',
        '{"board": ["b ", "  "], "correct_ownership": ["B", "BB"]}',
    ],
)
def test_what_is_no_board_gets_a_sentence_and_the_rest_is_read(
    tmp_path: Path, document: str
) -> None:
    (tmp_path / "a.json").write_text(document)
    (tmp_path / "b.json").write_text(json.dumps(JSON_BOARD))
    complaints: list[str] = []
    (board,) = read_marked(tmp_path, complaints.append)
    assert board.name == "b"
    (complaint,) = complaints
    assert "a.json: not a marked board" in complaint and "\n" not in complaint
