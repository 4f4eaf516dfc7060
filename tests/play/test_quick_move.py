"""Moves without an evaluation."""

import numpy as np
from tests.go.diagrams import position_of
from tests.search.scripted import FailingEvaluator

from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.go.position import Position
from gtp_engine.play.quick_move import criticality, decide_quickly
from gtp_engine.search.limits import Limits
from gtp_engine.search.search import Search

SIX_IN_ATARI = """
    O O O O O
    O X X X X
    . X . X .
    . X X X .
    . . . . .
"""

FULL = """
    . X X O .
    X X X O O
    X X X O O
    X X X O O
    . X X O .
"""
"""Nothing but eyes is left; Black has three points more before komi."""


def forbidding_search() -> Search:
    """Return a search that fails when it evaluates anything."""
    return Search(FailingEvaluator(lambda call: True))


def test_random_games_find_the_point_that_decides() -> None:
    for to_play in (BLACK, WHITE):
        position = position_of(SIX_IN_ATARI, to_play=to_play)
        decision = decide_quickly(forbidding_search(), position)
        assert decision.point == parse_vertex("A3", 5, 5)
        assert decision.analysis is None and decision.color == to_play


def test_criticality_is_a_covariance() -> None:
    worth = criticality(position_of(FULL))
    assert np.all(np.abs(worth) <= 25)
    assert worth[parse_vertex("C3", 5, 5)] == 0.0, "who always owns a point decides nothing"


def test_the_tree_is_asked_first() -> None:
    position = Position(5, 5)
    search = Search(FakeEvaluator(), seed=1)
    search.set_position(position)
    best = search.run(Limits(playouts=60)).moves
    most_visited = max(best, key=lambda move: move.visits)
    decision = decide_quickly(search, position)
    assert decision.point == most_visited.point
    assert "tree" in decision.reason


def test_eyes_are_not_filled_and_a_won_count_is_accepted() -> None:
    position = position_of(FULL)
    assert decide_quickly(forbidding_search(), position).point == PASS, "only eyes are left"
    won = position_of(FULL.replace("X X X O O", "X X . O O", 1), to_play=BLACK)
    won.play(BLACK, PASS)
    answer = decide_quickly(forbidding_search(), won)
    assert answer.point == PASS and "count is won" in answer.reason, "White has the komi"
