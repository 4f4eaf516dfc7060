"""Results that are made up, for tests and benchmarks.

Priors and values are dyadic fractions drawn from a hash of the position, and no exponential,
logarithm or division that is not exact touches them, so that a search over them visits the same
nodes everywhere.
"""

from typing import Any

import numpy as np

from gtp_engine.evaluators.eval_batch import EvalBatch, list_moves
from gtp_engine.evaluators.evaluator import NetlessEvaluator
from gtp_engine.go.history import History
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64, uint64
from gtp_engine.random_numbers import mix

_PRIOR_BITS = 20


@hot_kernel
def _draw_results(
    batch: EvalBatch, slot: int, history: History, ply: int, rules: RuleFlags
) -> None:
    list_moves(batch, slot, history, ply, rules)
    turn = history.turns[ply]
    state = mix(history.boards[ply]["hash"])
    state = mix(state ^ uint64(turn["to_play"]) ^ (uint64(turn["passes"]) << uint64(8)))
    numbers = batch.slots[slot]
    n_moves = int64(numbers["n_moves"])
    # Shares fall off like 1, 1/2, 1/4 ... with random ranks, over a floor, in units of 2^-20; the
    # pass takes what is left of 1, so that the sum is exact.
    left = int64(1) << _PRIOR_BITS
    floor = left // (4 * n_moves)
    for i in range(n_moves - 1):
        state = mix(state)
        rank = int64(state & uint64(15))
        share = min(floor + ((int64(1) << (_PRIOR_BITS - 3)) >> rank), left)
        batch.priors[slot, i] = np.float32(share) / np.float32(1 << _PRIOR_BITS)
        left -= share
    batch.priors[slot, n_moves - 1] = np.float32(left) / np.float32(1 << _PRIOR_BITS)
    # An integer from -512 to 511, in 1/1024.
    draw = int64(mix(state) >> uint64(54)) - 512
    numbers["value"] = np.float32(draw) / np.float32(1024)
    numbers["lead"] = np.float32(draw // 64)
    numbers["stdev"] = np.float32(8)
    numbers["no_result"] = 0
    batch.ownership[slot, :] = numbers["value"]


class FakeEvaluator(NetlessEvaluator):
    """Answers at once with numbers drawn from a hash of the position."""

    name = "fake"
    has_ownership = True

    def _judge(self, *leaf: Any) -> None:
        _draw_results(*leaf)
