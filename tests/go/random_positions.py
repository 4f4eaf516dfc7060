"""Random games that go on long enough for eyes, captures and dead stones to appear."""

import random

from tests.go.naive_board import NaiveGame

from gtp_engine.coords import EMPTY, PASS, WALL, row_col
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules


def random_position(seed: int, sizes: tuple[int, ...] = (2, 3, 4, 5, 6, 7)) -> Position:
    """Return a position from random moves that seldom fill own eyes."""
    generator = random.Random(seed)
    rules = Rules(multi_stone_suicide=generator.random() < 0.3)
    position = Position(generator.choice(sizes), generator.choice(sizes), rules)
    fills_eyes = generator.random() < 0.3
    for _ in range(generator.randrange(3 * position.area)):
        color = position.to_play
        moves = [
            move
            for move in position.legal_moves()
            if move != PASS and (fills_eyes or not _is_eye(position, move, color))
        ]
        position.play(color, generator.choice(moves) if moves else PASS)
    return position


def naive_copy(position: Position) -> NaiveGame:
    """Return the stones of a position as a naive game without history."""
    stones = {
        row_col(point, position.width): position.color_at(point)
        for point in position.points()
        if position.color_at(point) != EMPTY
    }
    game = NaiveGame(position.width, position.height, stones=stones)
    if position.board["ko_point"]:
        game.ko_spot = row_col(int(position.board["ko_point"]), position.width)
    return game


def _is_eye(position: Position, point: int, color: int) -> bool:
    stride = position.width + 1
    around = (point - stride, point - 1, point + 1, point + stride)
    return all(position.board["color"][near] in (color, WALL) for near in around)
