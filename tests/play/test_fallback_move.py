"""Moves without an evaluation."""

from dataclasses import replace

import numpy as np
import pytest
from tests.go.diagrams import position_of
from tests.search.scripted import FailingEvaluator, FlatEvaluator

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.board import BOARD
from gtp_engine.go.position import Position
from gtp_engine.go.random_games import area_difference, play_random_game
from gtp_engine.go.rules import Rules
from gtp_engine.play.fallback_move import (
    RANDOM_GAMES,
    criticality,
    decide_quickly,
    undisputed_points,
)
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

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


SAFE_BUT_FOR_A_PRISONER = """
    . X . X . . X
    X X X X . O X
    X X X X . . X
    X X X X X X X
    X X X X X X X
"""
"""All of it is Black's, proven."""

TWO_HALVES = """
    . . X . X O . . .
    . . X X O O . O .
    . X . X O . . O O
    . . X X O O . . .
    . X X O O . . O .
    X X O O . . O . .
    O O O . O . . . .
    . . . O . . O . .
    . . . . . . . . .
"""


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
    position = Position(5)
    state = np.uint64(int(position.board["hash"]) | 1)
    board = np.zeros(1, BOARD)
    owned, margins = [], []
    for _ in range(RANDOM_GAMES):
        board[0] = position.board
        state, _ = play_random_game(board[0], BLACK, state)
        state = np.uint64(state)
        owned.append(board[0]["color"] == BLACK)
        margins.append(area_difference(board[0]))
    together = np.mean(np.array(owned) * np.array(margins)[:, None], axis=0)
    expected = together - np.mean(owned, axis=0) * np.mean(margins)
    assert expected.max() > 1.0
    np.testing.assert_allclose(criticality(position), expected, atol=1e-9)
    worth = criticality(position_of(FULL))
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


def test_safe_territory_is_left_alone_but_for_stones_that_must_be_captured() -> None:
    japanese = Rules.parse("japanese")
    position = position_of(SAFE_BUT_FOR_A_PRISONER, japanese)
    assert decide_quickly(forbidding_search(), position).point == PASS
    position = position_of(SAFE_BUT_FOR_A_PRISONER, Rules.parse("tromp-taylor"))
    near = {parse_vertex(vertex, 7, 5) for vertex in ("F5", "E4", "F3", "E5", "E3")}
    assert decide_quickly(forbidding_search(), position).point in near


@pytest.mark.parametrize("rules", ["japanese", "chinese"])
def test_a_clean_up_captures_before_it_passes(rules: str) -> None:
    position = position_of(SAFE_BUT_FOR_A_PRISONER, Rules.parse(rules))
    for _ in range(4):
        assert position.color_at(parse_vertex("F4", 7, 5)) == WHITE
        decision = decide_quickly(forbidding_search(), position, cleanup=True)
        assert decision.point != PASS and "stones to capture" in decision.reason
        position.play(BLACK, decision.point)
        if not position.stones(WHITE):
            break
        position.play(WHITE, PASS)
    assert not position.stones(WHITE)
    position.play(WHITE, PASS)
    assert decide_quickly(forbidding_search(), position, cleanup=True).point == PASS


def test_land_that_is_owned_anyway_is_not_filled_where_it_costs_a_point() -> None:
    japanese = replace(Rules.parse("japanese"), komi=0.5)
    position = position_of(TWO_HALVES, japanese, to_play=WHITE)
    land = undisputed_points(position)
    assert {parse_vertex(vertex, 9, 9) for vertex in ("A9", "H9", "C1")} <= land
    while not position.is_over and position.ply < 100:
        land = undisputed_points(position)
        point = decide_quickly(forbidding_search(), position).point
        assert point is not None and point not in land
        position.play(position.to_play, point)
    assert position.is_over


@pytest.mark.parametrize(
    "rules, komi, passes",
    [("japanese", 9.5, True), ("tromp-taylor", 9.5, False), ("tromp-taylor", -9.5, True)],
)
def test_a_pass_that_the_tree_likes_is_made_where_it_forgets_no_stones(
    rules: str, komi: float, passes: bool
) -> None:
    position = position_of(SIX_IN_ATARI, replace(Rules.parse(rules), komi=komi))
    search = Search(FlatEvaluator(favourite=PASS))
    search.set_position(position)
    search.run(Limits(playouts=5))
    assert search.favourites()[0] == PASS
    assert (decide_quickly(search, position).point == PASS) is passes


def test_a_fallback_move_reports_what_the_tree_knows() -> None:
    position = Position(5, 5)
    search = Search(FakeEvaluator(), seed=1)
    heard: list[Analysis] = []
    report = ReportRequest(callback=heard.append, min_moves=1)
    decide_quickly(search, position, report)
    assert not heard, "it knows nothing"
    search.set_position(position)
    known = search.run(Limits(playouts=20))
    decision = decide_quickly(search, position, report)
    assert len(heard) == 1 and heard[0].is_final and decision.analysis is None
    assert (heard[0].visits, heard[0].playouts) == (known.visits, 0)
    assert [(move.point, move.visits, move.winrate) for move in heard[0].moves] == [
        (move.point, move.visits, move.winrate) for move in known.moves
    ]


def test_a_fallback_move_keeps_to_the_moves_asked_for() -> None:
    position = position_of(SIX_IN_ATARI)
    best = parse_vertex("A3", 5, 5)
    for rule in (
        AvoidRule(BLACK, frozenset([best]), depth=1),
        AvoidRule(BLACK, frozenset([parse_vertex("C1", 5, 5)]), depth=1, allow=True),
    ):
        point = decide_quickly(forbidding_search(), position, ReportRequest(avoid=(rule,))).point
        assert point is not None and (point in rule.points) == rule.allow
    for rules in (Rules.parse("japanese"), Rules.parse("tromp-taylor")):
        rule = AvoidRule(BLACK, frozenset([PASS]), depth=1)
        position = position_of(SAFE_BUT_FOR_A_PRISONER, rules)
        for ended in (False, True):
            if ended:
                position.play(WHITE, PASS)
            report = ReportRequest(avoid=(rule,))
            assert decide_quickly(forbidding_search(), position, report).point != PASS
    position = position_of(SIX_IN_ATARI)
    other = AvoidRule(WHITE, frozenset([best]), depth=1)
    report = ReportRequest(avoid=(other,))
    assert decide_quickly(forbidding_search(), position, report).point == best
