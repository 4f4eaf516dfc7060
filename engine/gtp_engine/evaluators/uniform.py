"""A player that knows nothing: how self-play begins where there is no net yet."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.encoders.inputs import find_begin
from gtp_engine.evaluators.eval_batch import EvalBatch, list_moves
from gtp_engine.evaluators.evaluator import NetlessEvaluator
from gtp_engine.go.history import History
from gtp_engine.go.rules import RuleFlags
from gtp_engine.go.symmetry import distinct_points
from gtp_engine.kernels import hot_kernel, int64, uint64
from gtp_engine.random_numbers import mix


@hot_kernel
def _know_nothing(
    batch: EvalBatch,
    slot: int,
    history: History,
    ply: int,
    rules: RuleFlags,
    state: npt.NDArray[np.uint64],
    is_listed: bool,
) -> None:
    numbers = batch.slots[slot]
    if not is_listed:
        list_moves(batch, slot, history, ply, rules)
        numbers["known_result"] = 0
    n_moves = int64(numbers["n_moves"])
    total = np.float32(0.0)
    for i in range(n_moves):
        state[0] = mix(state[0])
        batch.priors[slot, i] = np.float32(1024 + int64(state[0] >> uint64(59)))
        total += batch.priors[slot, i]
    for i in range(n_moves):
        batch.priors[slot, i] /= total
    numbers["value"] = numbers["known_result"]
    numbers["lead"] = 0.0
    numbers["stdev"] = 0.0
    numbers["no_result"] = 0.0


class UniformEvaluator(NetlessEvaluator):
    """Knows nothing: both players' chances are alike, and so are all moves, but for up to 3 %.

    A search would try moves that are quite alike in the order of the board; these it tries at
    random. For one thread.
    """

    name = "uniform"

    def __init__(self, seed: int = 0, encoder: str = "") -> None:
        """Fix the order of the moves by a seed.

        Args:
            encoder: What the nets of the game are shown; it lists the moves of games but Go.
        """
        self._state = np.array([seed], np.uint64)
        self._begin = find_begin(encoder)

    def _judge(self, *leaf: Any) -> None:
        if self._begin is not None:
            batch, slot, history, ply, rules = leaf
            maps = distinct_points(*batch.spatial.shape[:1:-1])
            self._begin(batch, slot, history, ply, rules, 0, 0.0, maps, 0, 0)
        _know_nothing(*leaf, self._state, self._begin is not None)
