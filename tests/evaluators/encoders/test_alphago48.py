"""AlphaGo's planes: diagrams, and random positions against plain Python."""

import numpy as np
import pytest
from tests.evaluators.encoders.encoding import drawn, encoded
from tests.go.diagrams import position_of
from tests.go.naive_board import EMPTY, NaiveGame, Spot
from tests.go.naive_ladders import ladders
from tests.go.random_positions import naive_copy, random_position

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex, row_col
from gtp_engine.go.position import Position

LADDER_CAPTURE, LADDER_ESCAPE, SENSIBLE = 44, 45, 46


def ages(position: Position) -> dict[Spot, int]:
    """Return how many turns ago each spot was last played, for the last seven."""
    found: dict[Spot, int] = {}
    for ago, move in enumerate(reversed(position.moves[-7:])):
        if move.point != PASS:
            found.setdefault(row_col(move.point, position.width), ago)
    return found


def is_eye(game: NaiveGame, spot: Spot, color: int) -> bool:
    row, col = spot
    if any(game.color_at(near) != color for near in game.near(spot)):
        return False
    diagonals = [(row + r, col + c) for r in (-1, 1) for c in (-1, 1)]
    enemies = sum(game.color_at(diagonal) == 3 - color for diagonal in diagonals)
    at_edge = any(diagonal not in game.spots() for diagonal in diagonals)
    return enemies + at_edge < 2


def rescues(before: NaiveGame, after: NaiveGame, spot: Spot, taken: set[Spot], color: int) -> bool:
    """Whether a chain that was in atari and is extended, or relieved by a capture, gets away."""
    saved = {
        stone
        for stone, at in before.stones.items()
        if at == color
        and len(before.liberties(stone)) == 1
        and (
            spot in before.liberties(stone)
            or any(near in taken for own in before.chain(stone) for near in before.near(own))
        )
    }
    laddered, _ = ladders(after)
    return any(len(after.liberties(stone)) > 1 and stone not in laddered for stone in saved)


def naive_planes(position: Position) -> np.ndarray:
    game = naive_copy(position)
    color = position.to_play
    age = ages(position)
    planes = np.zeros((48, position.height, position.width), np.uint8)
    planes[3] = 1
    for spot in game.spots():
        at = game.color_at(spot)
        planes[{color: 0, 3 - color: 1, EMPTY: 2}[at]][spot] = 1
        if at != EMPTY:
            planes[4 + age.get(spot, 7)][spot] = 1
            planes[12 + min(len(game.liberties(spot)), 8) - 1][spot] = 1
    _, working = ladders(game)
    for point in position.legal_moves():
        if point == PASS:
            continue
        spot = row_col(point, position.width)
        after = game.copy()
        taken = set(after.stones)
        after.play(color, spot)
        taken -= set(after.stones)
        is_suicide = spot not in after.stones
        planes[20 + (0 if is_suicide else min(len(taken), 7))][spot] = 1
        if not is_suicide:
            liberties = len(after.liberties(spot))
            planes[36 + min(liberties, 8) - 1][spot] = 1
            if liberties == 1:
                planes[28 + min(len(after.chain(spot)), 8) - 1][spot] = 1
            planes[LADDER_ESCAPE][spot] = rescues(game, after, spot, taken, color)
        planes[LADDER_CAPTURE][spot] = spot in working[3 - color]
        planes[SENSIBLE][spot] = not is_eye(game, spot, color)
    return planes


@pytest.mark.parametrize("seed", range(150))
def test_random_positions(seed: int) -> None:
    position = random_position(seed)
    planes, _ = encoded("alphago48", position)
    expected = naive_planes(position)
    for plane in range(48):
        assert drawn(planes[plane]) == drawn(expected[plane]), f"plane {plane}"


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_the_value_nets_plane_says_whose_turn_it_is(color: int) -> None:
    position = random_position(3)
    position.to_play = color
    planes, _ = encoded("alphago49", position)
    assert (planes[:48] == encoded("alphago48", position)[0]).all()
    assert (planes[48] == (color == BLACK)).all()


def test_stones_grow_old() -> None:
    position = Position(5)
    for vertex in ("A1", "B1", "C1", "pass", "D1", "E1", "A3", "B3", "C3", "D3"):
        position.play(position.to_play, parse_vertex(vertex, 5, 5))
    planes, _ = encoded("alphago48", position)
    by_age = [drawn(planes[4 + age]).splitlines() for age in range(8)]
    assert [rows[2] for rows in by_age[:4]] == ["...#.", "..#..", ".#...", "#...."]
    assert [rows[4] for rows in by_age[4:6]] == ["....#", "...#."]
    assert by_age[6] == ["....."] * 5  # the pass
    assert by_age[7][4] == "###.."


LADDER = """
    . . . . . . .
    . X O . . . .
    . X O X . . .
    . . X . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    """


def test_a_ladder_captures() -> None:
    planes, _ = encoded("alphago48", position_of(LADDER, to_play=BLACK))
    assert planes[LADDER_CAPTURE].sum() >= 1
    assert planes[LADDER_CAPTURE][0, 2] == 1  # from above, down to the stones below


@pytest.mark.parametrize("breaker", ["", "F2"])
def test_a_stone_ahead_breaks_a_ladder(breaker: str) -> None:
    position = position_of(
        """
        . . . . . . .
        . . . . . . .
        . . X X . . .
        . X O . . . .
        . . X . . . .
        . . . . . . .
        . . . . . . .
        """,
        to_play=WHITE,
    )
    if breaker:
        position.play(WHITE, parse_vertex(breaker, 7, 7))
        position.play(BLACK, PASS)
    planes, _ = encoded("alphago48", position)
    runs = planes[LADDER_ESCAPE].copy()
    assert runs[3, 3] == bool(breaker)
    runs[3, 3] = 0
    assert runs.sum() == 0
