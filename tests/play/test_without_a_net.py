"""Whole games without a net: they end, with a pass, and the count is right."""

import pytest
from tests.go.diagrams import position_of

from gtp_engine.coords import BLACK, PASS
from gtp_engine.evaluators.rollouts.go import RolloutEvaluator
from gtp_engine.go.rules import Rules
from gtp_engine.kernels import JIT_ENABLED
from gtp_engine.play.adjudication.status import judge
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import Loader
from gtp_engine.play.move_choice import decide
from gtp_engine.play.settings import Settings
from gtp_engine.search.params import ROLLOUT_PARAMS, SearchParams
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

# Two living groups, a dead white stone in Black's land, and nothing left to play for.
ENDED = ". X . X O . .\nX X O X O O O\n. X X X O . O\nX . X O O O .\n. X X O . . O"


@pytest.mark.parametrize("rules", ["chinese", "japanese", "tromp-taylor"])
def test_a_settled_game_ends_with_a_pass(rules: str) -> None:
    position = position_of(ENDED, Rules.parse(rules))
    search = Search(RolloutEvaluator(3), ROLLOUT_PARAMS)
    position.play(BLACK, PASS)
    decision = decide(search, position, Limits(playouts=150))
    assert decision.point == PASS, decision


def test_dead_stones_are_counted_as_dead() -> None:
    position = position_of(ENDED)
    status = judge(RolloutEvaluator(3), position)
    assert len(status.dead) == 1
    assert status.white_score == pytest.approx(17 + 7.5 - 18)


def game_against_itself(size: tuple[int, int]) -> tuple[list[int | None], bool]:
    """Return the moves of a game, None for resigning, and whether it came to an end."""
    playouts = 60 if JIT_ENABLED else 8
    engine = Engine(Settings(net="none", size=size, playouts=playouts, threads=1, seed=5))
    moves: list[int | None] = []
    for _ in range(3 * size[0] * size[1]):
        moves.append(engine.genmove(engine.position.to_play).point)
        if moves[-1] is None or engine.position.is_over:
            break
    is_over = engine.position.is_over or moves[-1] is None
    engine.close()
    return moves, is_over


@pytest.mark.parametrize("size", [(5, 5), (2, 7)])
def test_a_game_against_itself_ends_and_is_the_same_again(size: tuple[int, int]) -> None:
    moves, is_over = game_against_itself(size)
    assert is_over
    assert game_against_itself(size) == (moves, True)


def test_a_search_without_a_net_has_numbers_of_its_own_unless_told() -> None:
    assert Loader(Settings(net="none")).params == ROLLOUT_PARAMS
    assert Loader(Settings(net="rollouts")).params == ROLLOUT_PARAMS
    assert Loader(Settings(net="default+rollouts")).params == SearchParams()
    told = Loader(Settings(net="none", parameters={"cpuct": 3.5})).params
    assert told.cpuct == 3.5 and told.lcb_min_visit_share == ROLLOUT_PARAMS.lcb_min_visit_share
