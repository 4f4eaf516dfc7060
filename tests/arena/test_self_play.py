"""What games against itself say about their end, on hand-made games."""

from dataclasses import replace

import numpy as np
import pytest
from tests.go.diagrams import position_of
from tests.go.test_history import TRIPLE_KO, TRIPLE_KO_CYCLE, make_moves
from tests.search.scripted import FlatEvaluator

from gtp_engine.arena import self_play
from gtp_engine.arena.many_games import Terms
from gtp_engine.arena.self_play import (
    SelfPlayGame,
    _find_extra,
    play_self_games,
)
from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import Ko, Rules
from gtp_engine.play.adjudication.status import FinalStatus, adjudicate
from gtp_engine.search.stopping import Limits

TROMP_TAYLOR = replace(Rules.parse("tromp-taylor"), komi=0.5)
NOTHING = FinalStatus([], [], [], [], [], [], 0.5)


def game(values: list[float], white_margin: float = 5.0, white_score: float = 5.0) -> SelfPlayGame:
    """Return a game whose players thought so of their moves."""
    moves = tuple(Move(BLACK if ply % 2 == 0 else WHITE, PASS) for ply in range(len(values)))
    status = replace(NOTHING, white_score=white_score)
    return SelfPlayGame(0, moves, tuple(values), True, status, white_margin, 0, ())


def test_the_first_to_despair_often_enough_resigns() -> None:
    one = game([-0.9, 0.9, -0.9, 0.9, -0.7, 0.9, -0.9, -0.9, -0.9, -0.9])
    assert one.resigned(-0.8, turns=2, earliest=0) == BLACK
    assert one.resigned(-0.8, turns=2, earliest=4) == BLACK
    assert one.resigned(-0.8, turns=2, earliest=7) == WHITE
    assert one.resigned(-0.8, turns=2, earliest=8) is None
    assert one.resigned(-0.8, turns=3, earliest=0) is None
    assert one.resigned(-0.95, turns=1, earliest=0) is None
    assert one.won_by(WHITE) and not one.won_by(BLACK)


@pytest.mark.parametrize(
    "margin, score, forgot", [(5.0, 5.0, False), (-5.0, 5.0, True), (5.0, -5.0, True)]
)
def test_dead_stones_that_decide_a_game_are_noticed(
    margin: float, score: float, forgot: bool
) -> None:
    assert game([], margin, score).forgot_dead_stones is forgot


class Believer(FlatEvaluator):
    """Expects the left half to become Black's, the rest White's."""

    has_ownership = True

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the ownership; the positions asked about come as Black's and White's turns."""
        super().evaluate(batch, n, use_cache=use_cache)
        half = np.where(np.arange(25) % 5 < 3, 0.9, -0.9)
        batch.ownership[:n] = half if self.turns == 0 else -half
        self.turns = 1 - self.turns

    turns = 0


def test_moves_after_all_is_decided_are_counted() -> None:
    position = Position(5, rules=TROMP_TAYLOR)
    walls = ["C1", "D1", "C2", "D2", "C3", "D3", "C4", "D4", "C5", "D5"]
    # Black fills a point of its own, White enters and is answered, and both pass.
    for vertex in [*walls, "A1", "B3", "B2", "pass", "pass"]:
        position.play(position.to_play, parse_vertex(vertex, 5, 5))
    ownership = np.where(np.arange(25).reshape(5, 5) % 5 < 3, 0.9, -0.9).astype(np.float32)
    status = adjudicate(position, ownership)
    assert status.dead == [parse_vertex("B3", 5, 5)]
    assert _find_extra(Believer(), position, status) == (3, (10,))


def test_games_are_played_to_the_end() -> None:
    terms = Terms(4, 4, TROMP_TAYLOR, opening_moves=2)
    heard: list[int] = []
    games = play_self_games(
        FlatEvaluator(),
        terms,
        Limits(playouts=4),
        3,
        at_once=2,
        on_game=lambda one: heard.append(one.number),
    )
    assert [one.number for one in games] == sorted(heard) == [0, 1, 2]
    for one in games:
        assert len(one.values) == len(one.moves) and one.values[:2] == (0.0, 0.0)
        assert one.is_over == (tuple(move.point for move in one.moves[-2:]) == (PASS, PASS))


def test_a_long_cycle_ends_no_game_by_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    position = position_of(TRIPLE_KO, Rules(ko=Ko.SIMPLE), to_play=WHITE)
    make_moves(position, 2 * f"{TRIPLE_KO_CYCLE} ")
    assert position.is_over
    monkeypatch.setattr(self_play, "draw_opening", lambda *_: position)
    terms = Terms(4, 11, position.rules)
    (one,) = play_self_games(FlatEvaluator(), terms, Limits(playouts=1), 1, at_once=1)
    assert len(one.moves) == 12 and not one.is_over
