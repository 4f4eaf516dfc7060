"""Whether the judge tells needless moves in own land, and passes that lose, from other ones."""

from dataclasses import replace

import pytest
from tests.arena.test_self_play import game
from tests.go.diagrams import position_of

from gtp_engine.arena.endgame_review import (
    MARGIN,
    Judge,
    Verdict,
    doubts,
)
from gtp_engine.arena.many_games import Terms
from gtp_engine.arena.self_play import SelfPlayGame
from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.go.position import Move
from gtp_engine.go.rules import Rules

# Black's group on the left has three points in a row: two eyes if Black plays on the middle one,
# and one if White does. White's group lives, and so does Black's on the right.
THREE_IN_A_ROW = """
    X X O . O X . . .
    X X O . O X . . .
    X X O . O X . X .
    . X O . O X . . .
    . X O . O X . . .
    . X O . O X . . .
    X X O . O X . X .
    X X O . O X . . .
    X X O . O X . . .
"""
# Four in a row are two eyes whoever plays first.
FOUR_IN_A_ROW = """
    X X O . O X . . .
    X X O . O X . . .
    X X O . O X . X .
    . X O . O X . . .
    . X O . O X . . .
    . X O . O X . . .
    . X O . O X . X .
    X X O . O X . . .
    X X O . O X . . .
"""
MIDDLE = parse_vertex("A5", 9, 9)
JAPANESE = replace(Rules.parse("japanese"), komi=6.5)


@pytest.fixture(scope="module")
def net() -> Evaluator:
    """Return the net that comes along."""
    return open_net(None, "cpu")


def ending_of(diagram: str, black: int) -> SelfPlayGame:
    """Return a game to the diagram, in which White then passes and Black moves somewhere."""
    stones = position_of(diagram)
    moves = [Move(color, p) for color in (WHITE, BLACK) for p in stones.stones(color)]
    moves += [Move(WHITE, PASS), Move(BLACK, black)]
    last = len(moves) - 1
    made = {"own_moves": (last,)} if black != PASS else {"overruled": ((last, MIDDLE),)}
    return replace(game([]), moves=tuple(moves), **made)


def verdict_on(net: Evaluator, diagram: str, black: int) -> Verdict:
    terms = Terms(9, 9, JAPANESE)
    heard: list[int] = []
    games = [ending_of(diagram, black)]
    (verdict,) = Judge(net, terms, 64, 1, lambda: heard.append(1)).judge_ends(games)
    assert heard == [1]
    assert (verdict.game, verdict.ply, verdict.point) == (0, len(games[0].moves) - 1, MIDDLE)
    return verdict


def test_a_second_eye_is_necessary(net: Evaluator) -> None:
    made = verdict_on(net, THREE_IN_A_ROW, MIDDLE)
    # Dead, fifteen stones and three points would be White's: two points for Black, or 33 for White.
    assert made.was_made and made.gain > 5
    assert not made.is_needless and not made.is_wrong_pass
    passed = verdict_on(net, THREE_IN_A_ROW, PASS)
    assert not passed.was_made and passed.gain == made.gain
    assert passed.is_wrong_pass and not passed.is_needless


def test_a_third_eye_costs_a_point(net: Evaluator) -> None:
    made = verdict_on(net, FOUR_IN_A_ROW, MIDDLE)
    assert made.gain < 0
    assert made.is_needless and not made.is_wrong_pass
    passed = verdict_on(net, FOUR_IN_A_ROW, PASS)
    assert not passed.is_needless and not passed.is_wrong_pass


# White's stone on the left cannot live. Taken, Black has 45 points against 36 and a komi of 7; as
# it stands, 42 against 37.
A_STONE_TO_TAKE = """
    . X X X X O . . .
    X X X X X O . . .
    X X X X X O . . .
    X X X X X O . . .
    . O . X X O . . .
    X X X X X O . . .
    X X X X X O . O .
    X X X X X O . . .
    X X X X X O . . .
"""
# Lost whatever Black does.
TOO_LITTLE_LAND = """
    . . X O . . . . .
    . . X O . . . . .
    . . X O . . . . .
    . . X O . . . . .
    . . X O . . . . .
    . . X O . . . . .
    . . X O . . . . .
    . . X O . . . . .
    . . X O . . . . .
"""


def test_a_pass_is_told_that_lost_the_game(net: Evaluator) -> None:
    terms = Terms(9, 9, replace(Rules.parse("tromp-taylor"), komi=7.0))
    forgot = ending_of(A_STONE_TO_TAKE, PASS)
    lost = replace(ending_of(TOO_LITTLE_LAND, PASS), number=1)
    won = replace(forgot, number=2, white_margin=-5.0)
    even = replace(forgot, number=3, white_margin=0.0)
    heard: list[int] = []
    games = [forgot, lost, won, even]
    judge = Judge(net, terms, 64, 2, lambda: heard.append(1))
    assert judge.lost_by_passing(games) == [0]
    assert len(heard) == len(games)


def test_half_a_point_is_the_margin() -> None:
    for gain, is_needless in ((MARGIN - 0.01, True), (MARGIN, False)):
        assert Verdict(0, 9, MIDDLE, was_made=True, gain=gain).is_needless is is_needless
        assert Verdict(0, 9, MIDDLE, was_made=False, gain=gain).is_wrong_pass is not is_needless


def test_moves_are_judged_by_ply() -> None:
    moves = tuple(Move(BLACK, p) for p in (7, 8, PASS, 9))
    one = replace(game([]), moves=moves, own_moves=(1, 3), overruled=((2, 5),))
    terms = Terms(9, 9, JAPANESE)
    assert doubts(one, terms) == [(1, 8), (2, 5), (3, 9)]
    # By area a move in own land costs nothing.
    assert doubts(one, replace(terms, rules=Rules.parse("tromp-taylor"))) == [(2, 5)]
