"""Counting finished games: diagrams with numbers worked out by hand."""

from dataclasses import replace

import pytest
from tests.go.diagrams import DEAD_IN_AN_EYE, position_of
from tests.go.naive_board import NaiveGame
from tests.go.random_positions import naive_copy, random_position

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, parse_vertex
from gtp_engine.go.position import Position
from gtp_engine.go.rules import HandicapBonus, Ko, Rules, Scoring, Tax
from gtp_engine.go.scoring import (
    agreed_owners,
    agreed_score,
    resulting_margin,
    white_score,
)

AREA = Rules(komi=0.5)
TERRITORY = Rules(ko=Ko.SIMPLE, scoring=Scoring.TERRITORY, tax=Tax.NONE, komi=0.5)

# Two living groups: Black has 5 points and 11 stones, White 2 points and 7 stones.
FINISHED = """
    . X . X O
    X X X X O
    . . X O O
    X X X O .
    . X O O .
"""


def score(position: Position) -> float:
    return float(white_score(position.history, position.ply, position.rules.flags))


def test_area() -> None:
    assert score(position_of(FINISHED, AREA)) == (7 + 2) - (11 + 5) + 0.5


def test_all_stones_live_where_dead_ones_are_to_be_captured() -> None:
    for rules, margin in (("tromp-taylor", 2.0), ("cgos", 2.0), ("chinese", -1.0)):
        position = position_of(DEAD_IN_AN_EYE, replace(Rules.parse(rules), komi=0.0))
        assert position.white_margin() == margin
        assert agreed_score(position) == 2.0


def test_territory_counts_stones_against_the_moves_made() -> None:
    # Set-up stones count as moves: each costs its player the point that it counts for.
    assert score(position_of(FINISHED, TERRITORY)) == 2 - 5 + 0.5


def test_tax_on_every_group() -> None:
    taxed = replace(AREA, tax=Tax.ALL)
    # Each side has one group and pays two points for it.
    assert score(position_of(FINISHED, taxed)) == score(position_of(FINISHED, AREA))
    # Black has two groups, White one between them.
    split = """
        . X . X O X . X .
        X X X X O X X X X
        O O O O O O O O O
        . . . . . . . . .
    """
    assert score(position_of(split, taxed)) == score(position_of(split, AREA)) + 2


SEKI = """
    . X . O X . X
    X X . O X X X
    O O O O X . .
    X X X X X . .
"""


def test_eyes_in_seki() -> None:
    # Left: Black's three stones with an eye, White's six; they share two liberties.
    free = score(position_of(SEKI, AREA))
    taxed = score(position_of(SEKI, replace(AREA, tax=Tax.SEKI)))
    assert taxed == free + 1  # Black's eye does not count
    with_groups = score(position_of(SEKI, replace(AREA, tax=Tax.ALL)))
    assert with_groups == taxed + 2  # and Black pays for the one group that is not in seki


TWO_GROUPS = """
    X . X . X X X
    X X X X X X X
    O O O O O O O
    O . O O O . O
    O O O O O O O
    X X X X X X X
    X . X X X . X
    X X X X X X X
"""


@pytest.mark.parametrize("scoring", [AREA, TERRITORY])
def test_groups_pay_where_players_agree_too(scoring: Rules) -> None:
    for diagram, tax in ((FINISHED, 0), (TWO_GROUPS, -2), (DEAD, 0)):
        free, taxed = (
            position_of(diagram, rules) for rules in (scoring, replace(scoring, tax=Tax.ALL))
        )
        dead = [parse_vertex("B3", 6, 4), parse_vertex("E2", 6, 4)] if diagram == DEAD else []
        assert agreed_score(taxed, dead) == agreed_score(free, dead) - tax
    for diagram in (FINISHED, TWO_GROUPS, SEKI):
        rules = replace(AREA, tax=Tax.ALL)
        assert agreed_score(position_of(diagram, rules)) == score(position_of(diagram, rules))


@pytest.mark.parametrize("taker", [BLACK, WHITE])
def test_button(taker: int) -> None:
    rules = replace(AREA, komi=0.0, button=True)
    position = position_of(FINISHED, rules, to_play=taker)
    bare = score(position_of(FINISHED, replace(rules, button=False)))
    half = 0.5 if taker == WHITE else -0.5
    assert score(position) == bare + half, "an unclaimed button is the next player's"
    position.play(taker, PASS)
    assert score(position) == bare + half


@pytest.mark.parametrize("rules", [AREA, TERRITORY])
@pytest.mark.parametrize("taker", [BLACK, WHITE])
def test_agreement_counts_the_button(rules: Rules, taker: int) -> None:
    position = position_of(FINISHED, replace(rules, button=True), to_play=taker)
    bare = agreed_score(position_of(FINISHED, rules))
    half = 0.5 if taker == WHITE else -0.5
    assert agreed_score(position) == bare + half
    position.play(taker, PASS)
    assert agreed_score(position) == bare + half


@pytest.mark.parametrize(
    ("bonus", "points"),
    [(HandicapBonus.ZERO, 0), (HandicapBonus.N, 2), (HandicapBonus.N_MINUS_ONE, 1)],
)
def test_handicap_bonus(bonus: HandicapBonus, points: int) -> None:
    position = Position(5, 5, replace(AREA, handicap_bonus=bonus))
    position.set_up([parse_vertex("B2", 5, 5), parse_vertex("D4", 5, 5)], [], WHITE)
    assert score(position) == -25 + 0.5 + points


DEAD = """
    . . X O . .
    . O X O . .
    . . X O X .
    X X X O . .
"""


def test_agreement() -> None:
    dead = [parse_vertex("B3", 6, 4), parse_vertex("E2", 6, 4)]
    area = position_of(DEAD, AREA)
    assert agreed_score(area, dead) == (8 + 4) - (6 + 6) + 0.5
    # By territory a dead stone is a prisoner and leaves a point.
    territory = position_of(DEAD, TERRITORY)
    assert agreed_score(territory, dead) == (8 + 1) - (6 + 1) + 0.5
    owners = agreed_owners(area, dead)
    assert owners[dead[0]] == BLACK
    assert owners[dead[1]] == WHITE


def test_agreement_counts_captured_stones() -> None:
    position = position_of(
        """
        O X . . O
        . X . . O
        X X . O O
        . X . O .
        """,
        TERRITORY,
    )
    position.play(BLACK, parse_vertex("A3", 5, 4))
    assert position.captured(WHITE) == 1
    # Black: two points on the left and the prisoner. White: one point. The middle is nobody's.
    assert agreed_score(position) == 0.5 + 1 - (2 + 1)


def test_nothing_is_owned_where_both_colors_touch() -> None:
    position = position_of(
        """
        X . O
        X . O
        """,
        AREA,
    )
    assert agreed_score(position) == 0.5
    assert [int(agreed_owners(position, [])[p]) for p in position.points()] == [1, 0, 2] * 2


@pytest.mark.parametrize("seed", range(40))
def test_agreed_area_against_flood_fill(seed: int) -> None:
    position = random_position(seed)
    game = naive_copy(position)
    expected = sum({EMPTY: 0, BLACK: -1, WHITE: 1}[_owner(game, spot)] for spot in game.spots())
    assert agreed_score(position) == expected + position.komi


@pytest.mark.parametrize("seed", range(40))
def test_agreed_territory_is_empty_points_and_prisoners(seed: int) -> None:
    position = random_position(seed)
    position.set_rules(replace(TERRITORY, multi_stone_suicide=True))
    game = naive_copy(position)
    expected = position.captured(BLACK) - position.captured(WHITE)
    for spot in game.spots():
        if game.color_at(spot) == EMPTY:
            expected += {EMPTY: 0, BLACK: -1, WHITE: 1}[_owner(game, spot)]
    assert agreed_score(position) == expected + position.komi


def _owner(game: NaiveGame, spot: tuple[int, int]) -> int:
    color = game.color_at(spot)
    if color != EMPTY:
        return color
    region = game.chain(spot)  # connected points of one color, here empty ones
    around = {game.color_at(near) for point in region for near in game.near(point)} - {EMPTY}
    return around.pop() if len(around) == 1 else EMPTY


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("B+3.5", -3.5),
        ("W+0.5", 0.5),
        ("w+12", 12.0),
        ("0", 0.0),
        ("Draw", 0.0),
        ("B+R", None),
        ("W+Time", None),
        ("Void", None),
        ("?", None),
        ("", None),
        ("B+nan", None),
        ("B+inf", None),
    ],
)
def test_resulting_margin(text: str, margin: float | None) -> None:
    assert resulting_margin(text) == margin
