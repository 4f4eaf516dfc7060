"""The encoders that show stones alone: the book's, GoCNN's, AlphaGo Zero's, Leela Zero's."""

import numpy as np
import pytest
from tests.evaluators.encoders.encoding import drawn, encoded
from tests.go.diagrams import plain, position_of
from tests.go.random_positions import random_position

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.go.position import Position

START = """
    X . O .
    X X O .
    . . . .
    """


def played(*vertices: str) -> Position:
    """Return a game of 4x3 in which the players alternate."""
    position = Position(4, 3)
    for vertex in vertices:
        position.play(position.to_play, parse_vertex(vertex, 4, 3))
    return position


@pytest.mark.parametrize(("to_play", "own"), [(BLACK, 0), (WHITE, 1)])
def test_dlgo1_shows_own_stones_first(to_play: int, own: int) -> None:
    planes, _ = encoded("dlgo1", position_of(START, to_play=to_play))
    assert drawn(planes[own]) == plain(
        """
        X . . .
        X X . .
        . . . .
        """
    ).replace("X", "#")
    assert drawn(planes[1 - own]) == "..#.\n..#.\n...."


def test_gocnn8_sorts_chains_by_liberties() -> None:
    position = position_of(
        """
        X O . .
        . O . .
        . . . X
        """
    )
    planes, _ = encoded("gocnn8", position)
    assert drawn(planes[0]) == "#...\n....\n...."  # own, one liberty
    assert drawn(planes[1]) == "....\n....\n...#"
    assert drawn(planes[2]) == "....\n....\n...."
    assert drawn(planes[5]) == ".#..\n.#..\n...."  # the opponent's, three or more
    assert planes[3:5].sum() == 0 and planes[6].sum() == 0
    assert (planes[7] == 1).all()


def test_gocnn8_shows_the_ko() -> None:
    position = position_of(
        """
        . X O .
        X O . O
        . X O .
        """
    )
    position.play(BLACK, parse_vertex("C2", 4, 3))
    planes, _ = encoded("gocnn8", position)
    assert drawn(planes[6]) == "....\n.#..\n...."


KO = """
    . X O .
    X O . O
    . X O .
    """


def test_dlgo7_sorts_chains_by_liberties_and_shows_the_ko() -> None:
    position = position_of(KO)
    planes, _ = encoded("dlgo7", position)
    assert drawn(planes[0]) == ".#..\n....\n.#..", "own, one liberty"
    assert drawn(planes[1]) == "....\n#...\n....", "own, two"
    assert drawn(planes[3]) == "....\n.#..\n....", "the opponent's, one"
    assert drawn(planes[4]) == "..#.\n....\n..#."
    assert drawn(planes[5]) == "....\n...#\n....", "the opponent's, three or more"
    assert planes[2].sum() == planes[6].sum() == 0
    position.play(BLACK, parse_vertex("C2", 4, 3))
    planes, _ = encoded("dlgo7", position)
    assert drawn(planes[6]) == "....\n.#..\n....", "White may not take back"
    assert planes[:6].sum() == 7


@pytest.mark.parametrize(("name", "plane"), [("gocnn8", 6), ("dlgo7", 6), ("dlgo11", 10)])
def test_whoever_took_a_ko_is_not_banned_from_it(name: str, plane: int) -> None:
    position = position_of(KO)
    position.play(BLACK, parse_vertex("C2", 4, 3))
    position.to_play = BLACK
    planes, _ = encoded(name, position)
    assert planes[plane].sum() == 0


@pytest.mark.parametrize(("name", "plane"), [("dlgo7", 6), ("dlgo11", 10)])
def test_bans_are_those_of_ko_and_superko(name: str, plane: int) -> None:
    banned = 0
    for seed in range(60):
        position = random_position(seed, (2, 3))
        if position.turn["phase"] == 0:
            shown, _ = encoded(name, position)
            expected, _ = encoded("katago_v7", position)
            np.testing.assert_array_equal(shown[plane], expected[6])
            banned += int(expected[6].sum())
    assert banned


def test_dlgo11_tells_black_from_white() -> None:
    for to_play in (BLACK, WHITE):
        planes, _ = encoded("dlgo11", position_of(KO, to_play=to_play))
        assert drawn(planes[0]) == ".#..\n....\n.#.."
        assert drawn(planes[1]) == "....\n#...\n...."
        assert drawn(planes[4]) == "....\n.#..\n...."
        assert drawn(planes[5]) == "..#.\n....\n..#."
        assert drawn(planes[6]) == "....\n...#\n...."
        assert planes[[2, 3, 7, 10]].sum() == 0
        assert (planes[8] == (to_play == BLACK)).all() and (planes[9] == (to_play == WHITE)).all()
    open_board, _ = encoded("dlgo11", played("B2"))
    assert open_board[3].sum() == 1, "four liberties"


def history(name: str, position: Position) -> tuple[np.ndarray, np.ndarray]:
    """Return [8, H, W] own and the opponent's stones, newest first."""
    planes, _ = encoded(name, position)
    if name == "lz18":
        return planes[:8], planes[8:16]
    return planes[0:16:2], planes[1:16:2]


@pytest.mark.parametrize("name", ["lz18", "agz17"])
def test_history_goes_back_eight_plies(name: str) -> None:
    position = played("A1", "B1", "pass", "B2", "A2")
    own, other = history(name, position)  # White to move
    assert [int(plane.sum()) for plane in own] == [2, 2, 1, 1, 0, 0, 0, 0]
    assert [int(plane.sum()) for plane in other] == [2, 1, 1, 1, 1, 0, 0, 0]
    assert drawn(own[0]) == "....\n.#..\n.#.."
    assert drawn(other[0]) == "....\n#...\n#..."
    for _ in range(9):
        position.play(position.to_play, PASS, strict=False)
    own, other = history(name, position)  # Black to move
    assert [int(plane.sum()) for plane in own] == [2] * 8
    assert [int(plane.sum()) for plane in other] == [2] * 8


@pytest.mark.parametrize("name", ["lz18", "agz17"])
def test_captured_stones_stay_in_the_past(name: str) -> None:
    position = played("B1", "A1", "A2")
    own, _ = history(name, position)  # White to move, her stone has been taken
    assert [int(plane.sum()) for plane in own] == [0, 1, 0, 0, 0, 0, 0, 0]


def test_who_moves() -> None:
    for to_play in (BLACK, WHITE):
        position = position_of(START, to_play=to_play)
        black, white = int(to_play == BLACK), int(to_play == WHITE)
        leela, _ = encoded("lz18", position)
        assert (leela[16] == black).all() and (leela[17] == white).all()
        zero, _ = encoded("agz17", position)
        assert (zero[16] == black).all()
