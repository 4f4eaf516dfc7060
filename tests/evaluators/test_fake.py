"""The fake evaluator: exact numbers, the same ones on every machine."""

import numpy as np

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.position import Position


def evaluated(position: Position) -> EvalBatch:
    evaluator: Evaluator = FakeEvaluator()
    batch = evaluator.new_batch(1, position.width, position.height)
    evaluator.encode(batch, 0, position.history, position.ply, position.rules.flags, 0, 0.0)
    evaluator.evaluate(batch, 1)
    return batch


def test_priors_are_dyadic_and_sum_to_one() -> None:
    for size in (2, 5, 9, 19):
        batch = evaluated(Position(size))
        n = int(batch.n_moves[0])
        assert n == size * size + 1 and batch.moves[0, n - 1] == PASS
        shares = batch.priors[0, :n].astype(float) * 2**20
        assert (shares == np.rint(shares)).all() and shares.sum() == 2**20
        assert (shares >= 0).all()
        assert -1 <= batch.value[0] < 1 and float(batch.value[0]) * 1024 % 1 == 0


def test_numbers_do_not_change() -> None:
    # Pinned: the signature of the search rests on them.
    batch = evaluated(Position(5))
    assert [float(batch.value[0]), float(batch.lead[0]), float(batch.stdev[0])] == [
        0.28515625,
        4.0,
        8.0,
    ]
    assert [int(share) for share in batch.priors[0, :4] * 2**20] == [141154, 11106, 10090, 10594]


def test_the_position_and_the_player_decide() -> None:
    position = Position(5)
    first = evaluated(position)
    position.to_play = WHITE
    assert evaluated(position).value[0] != first.value[0]
    position.to_play = BLACK
    assert evaluated(position).value[0] == first.value[0]
    position.play(BLACK, parse_vertex("C3", 5, 5))
    assert evaluated(position).value[0] != first.value[0]
    before = evaluated(position).value[0]
    position.play(WHITE, PASS)
    position.play(BLACK, PASS)
    assert evaluated(position).value[0] != before
