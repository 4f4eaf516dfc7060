"""The map of chains and regions, by hand and against flood fills."""

import random

from tests.go.comparison import naive_twin, play_both
from tests.go.diagrams import position_of

from gtp_engine.coords import BLACK, EMPTY, WHITE, format_vertex, row_col
from gtp_engine.go.position import Position
from gtp_engine.go.regions import LARGEST_EYE, map_regions
from gtp_engine.go.rules import Rules


def test_eyes_by_hand() -> None:
    position = position_of(
        """
        . X O . O
        X X O O O
        O O O . .
        . . . . .
        """
    )
    found = map_regions(position)
    names = {
        format_vertex(region.points[0], 5, 4): (len(region.points), region.owner, region.is_eye)
        for region in found.regions
    }
    # The lower region is as large as an eye may be.
    assert names == {"A4": (1, BLACK, True), "D4": (1, WHITE, True), "D2": (7, WHITE, True)}
    assert LARGEST_EYE == 7
    black, white = sorted(found.chains, key=lambda chain: chain.color)
    assert (black.color, len(black.stones), len(black.liberties), black.eyes) == (BLACK, 3, 1, 1)
    assert (white.color, len(white.stones), white.eyes) == (WHITE, 8, 2)


def test_an_empty_board_is_nobodys() -> None:
    found = map_regions(Position(3, 2))
    assert found.chains == ()
    assert [(len(region.points), region.owner) for region in found.regions] == [(6, EMPTY)]
    assert not found.regions[0].is_eye


def test_chains_are_those_of_flood_fills() -> None:
    picker = random.Random(4)
    position, naive = Position(6, 5), naive_twin(6, 5, Rules())
    for _ in range(60):
        spots = naive.legal_moves(naive.to_play)
        if not spots:
            break
        play_both(position, naive, naive.to_play, picker.choice(spots))
        found = map_regions(position)
        for chain in found.chains:
            spot = row_col(chain.stones[0], 6)
            assert {row_col(point, 6) for point in chain.stones} == naive.chain(spot)
            assert {row_col(point, 6) for point in chain.liberties} == naive.liberties(spot)
        whole = [p for part in (*found.chains, *found.regions) for p in _points(part)]
        assert sorted(whole) == position.points()


def _points(part) -> tuple[int, ...]:
    return part.stones if hasattr(part, "stones") else part.points
