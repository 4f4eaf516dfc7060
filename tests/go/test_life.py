"""Pass-alive stones, areas and seki: diagrams, and random positions against the definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go.diagrams import plain, position_of
from tests.go.naive_life import area as naive_area
from tests.go.naive_life import independent_life as naive_independent_life
from tests.go.random_positions import naive_copy, random_position

from gtp_engine.coords import row_col
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.life import mark_area, mark_independent_life
from gtp_engine.go.position import Position

LETTERS = ".XO"


def shown(position: Position, owners: np.ndarray) -> str:
    """Return owners as a diagram."""
    letters = [LETTERS[owners[point]] for point in position.points()]
    width = position.width
    return "\n".join("".join(letters[i : i + width]) for i in range(0, len(letters), width))


def area_of(position: Position, flags: tuple[int, int], suicide: int = 0) -> str:
    owners = np.full(MAX_POINTS, 7, np.uint8)
    mark_area(position.board, *flags, suicide, owners)
    return shown(position, owners)


ALIVE = (0, 0)
SAFE = (1, 0)
FULL = (1, 1)

TWO_EYES = """
    . X . X . O .
    X X X X X O .
    . . . . . O .
    . . . . . O .
"""


@pytest.mark.parametrize(
    ("name", "before", "flags", "suicide", "after"),
    [
        (
            "two eyes",
            TWO_EYES,
            ALIVE,
            1,
            """
            XXXX...
            XXXXX..
            .......
            .......
            """,
        ),
        (
            "all of it, by area",
            TWO_EYES,
            FULL,
            1,
            """
            XXXX.OO
            XXXXXOO
            .....OO
            .....OO
            """,
        ),
        (
            "one eye is not enough",
            """
            . X O .
            X X O .
            O O O .
            """,
            ALIVE,
            0,
            """
            ....
            ....
            ....
            """,
        ),
        (
            "a dead stone in an eye, and outside no room for two enemy eyes",
            """
            . O X . X
            X X X X X
            . . . . .
            """,
            SAFE,
            0,
            """
            XXXXX
            XXXXX
            XXXXX
            """,
        ),
        (
            "where suicide is legal, too: the dead stone touches the chain",
            """
            . O X . X .
            X X X X X .
            . . . . . O
            . . . . . O
            """,
            ALIVE,
            1,
            """
            XXXXX.
            XXXXX.
            ......
            ......
            """,
        ),
        (
            "an open corner is no eye",
            """
            O O X . X .
            . X X X X .
            . . . . . O
            . . . . . O
            """,
            ALIVE,
            1,
            """
            ......
            ......
            ......
            ......
            """,
        ),
        (
            "three dead stones around the only empty point of an eye",
            """
            O O X . X .
            O . X X X .
            X X X . . O
            . . . . . O
            """,
            ALIVE,
            0,
            """
            XXXXX.
            XXXXX.
            XXX...
            ......
            """,
        ),
        (
            "no eye where suicide is legal: the corner stone touches no black one",
            """
            O O X . X .
            O . X X X .
            X X X . . O
            . . . . . O
            """,
            ALIVE,
            1,
            """
            ......
            ......
            ......
            ......
            """,
        ),
        (
            "what pass-alive stones enclose is theirs, however big",
            """
            . X . X . .
            X X X X . .
            . . . X . .
            . . . X . .
            . . . X O .
            """,
            SAFE,
            0,
            """
            XXXX..
            XXXX..
            XXXX..
            XXXX..
            XXXX..
            """,
        ),
        (
            "a dead chain inside tight pass-alive territory does not keep its eye",
            """
            . O X . X . X
            O X X X X X X
            X X . . . . .
            """,
            FULL,
            0,
            """
            XXXXXXX
            XXXXXXX
            XXXXXXX
            """,
        ),
        (
            "an empty board is nobody's",
            """
            . .
            . .
            """,
            FULL,
            0,
            """
            ..
            ..
            """,
        ),
    ],
)
def test_area(name: str, before: str, flags: tuple[int, int], suicide: int, after: str) -> None:
    assert area_of(position_of(before), flags, suicide) == plain(after), name


def test_seki_is_no_independent_life() -> None:
    # Black's two stones and White's five share two liberties; the outer groups live.
    position = position_of(
        """
        . X . O X . X
        X X . O X X X
        O O O O X . .
        X X X X X . .
        """
    )
    owners = np.zeros(MAX_POINTS, np.uint8)
    difference = mark_independent_life(position.board, 0, 0, 0, owners)
    assert shown(position, owners) == plain(
        """
        ....XXX
        ....XXX
        ....XXX
        XXXXXXX
        """
    )
    assert difference == -1
    mark_independent_life(position.board, 1, 0, 0, owners)
    assert shown(position, owners)[0] == "X"
    mark_independent_life(position.board, 0, 1, 0, owners)
    assert shown(position, owners).splitlines()[2] == "OOOOXXX"


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    flags=st.tuples(st.booleans(), st.booleans()),
    suicide=st.booleans(),
)
def test_area_against_its_definition(seed: int, flags: tuple[bool, bool], suicide: bool) -> None:
    position = random_position(seed)
    owners = np.full(MAX_POINTS, 7, np.uint8)
    mark_area(position.board, *map(int, flags), int(suicide), owners)
    expected = naive_area(naive_copy(position), *flags, suicide)
    found = {row_col(p, position.width): int(owners[p]) for p in position.points()}
    assert found == expected


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    keep_territories=st.booleans(),
    keep_stones=st.booleans(),
    suicide=st.booleans(),
)
def test_independent_life_against_its_definition(
    seed: int, keep_territories: bool, keep_stones: bool, suicide: bool
) -> None:
    position = random_position(seed)
    owners = np.full(MAX_POINTS, 7, np.uint8)
    difference = mark_independent_life(
        position.board, int(keep_territories), int(keep_stones), int(suicide), owners
    )
    expected = naive_independent_life(naive_copy(position), keep_territories, keep_stones, suicide)
    found = {row_col(p, position.width): int(owners[p]) for p in position.points()}
    assert (found, difference) == expected
