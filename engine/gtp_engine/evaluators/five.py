"""Judge positions of five in a row without a net: by what can be read out, and by shapes."""

import math
from typing import Any

import numpy as np

from gtp_engine.coords import EMPTY
from gtp_engine.evaluators.encoders.five import list_moves
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import NetlessEvaluator
from gtp_engine.five.shapes import Shapes, class_at
from gtp_engine.go.history import History
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, inline_kernel, int64, kernel

_OWN = np.array([0.0, 0.5, 3.0, 3.0, 30.0, 0.0])
_OTHERS = np.array([0.0, 0.4, 2.5, 2.0, 20.0, 0.0])
"""By class: how much a line speaks for a move at its point, one's own and the opponent's."""

_WORTH = np.array([0.0, 0.007, 0.11, 0.18, 0.3, 0.0]), np.array([0.0, 0.002, 0.09, 0.18, 0.5, 0.0])
_TO_MOVE = 0.12
"""By class: what a line at an empty point adds to half the logit of winning, one's own, and takes
from it, the opponent's; and what the move is worth. Fitted by logistic regression to 746 positions
of 34 games of the engine with itself at 100 playouts, own open fours apart, which were few: a loss
of 0.50 where guesses had 0.65, and 18 of 24 games against them at 200 playouts."""


@inline_kernel
def _weight(shapes: Shapes, point: int, to_play: int) -> float:
    """Return how much speaks for a move, by the lines through its point and its place; above 0."""
    weight = 0.0
    for direction in range(4):
        weight += _OWN[class_at(shapes, point, to_play, direction)]
        weight += _OTHERS[class_at(shapes, point, 3 - to_play, direction)]
    middle, stride = len(shapes.colors) // 2, shapes.stride
    rows, columns = abs(point // stride - middle // stride), abs(point % stride - stride // 2)
    return weight * weight + 0.1 / (1 + max(rows, columns))


@kernel
def estimate(shapes: Shapes, to_play: int) -> float:
    """Return the value that the shapes promise the player to move, -1 to 1."""
    logit = _TO_MOVE
    for point in range(len(shapes.colors)):
        if shapes.colors[point] == EMPTY:
            for direction in range(4):
                logit += _WORTH[0][class_at(shapes, point, to_play, direction)]
                logit -= _WORTH[1][class_at(shapes, point, 3 - to_play, direction)]
    return math.tanh(logit)


@kernel
def mix_priors(batch: EvalBatch, slot: int, shapes: Shapes, to_play: int, share: float) -> None:
    """Give the shapes a share of a slot's priors."""
    n_moves = int64(batch.slots[slot]["n_moves"])
    weights = np.empty(n_moves)
    total = 0.0
    for i in range(n_moves):
        weights[i] = _weight(shapes, int64(batch.moves[slot, i]), to_play)
        total += weights[i]
    for i in range(n_moves):
        prior = batch.priors[slot, i]
        batch.priors[slot, i] = prior + share * (weights[i] / total - prior)


@hot_kernel
def _encode(
    batch: EvalBatch, slot: int, history: History, ply: int, rules: RuleFlags, nodes: int
) -> None:
    shapes = list_moves(batch, slot, history, ply, rules, nodes)
    to_play = int64(history.turns[ply]["to_play"])
    numbers = batch.slots[slot]
    batch.priors[slot] = 0.0
    mix_priors(batch, slot, shapes, to_play, 1.0)
    known = int64(numbers["known_result"])
    value = float(known) if known != 0 else estimate(shapes, to_play)
    numbers["value"] = value
    numbers["lead"] = value
    numbers["stdev"] = 1.0
    numbers["no_result"] = 0.0


class FiveEvaluator(NetlessEvaluator):
    """Reads fours at every leaf, and judges what is left open by the shapes on the board."""

    name = "threats and shapes"

    def __init__(self, nodes: int) -> None:
        """Say how many positions are read at a leaf; 0: fives alone."""
        self._nodes = nodes

    def _judge(self, *leaf: Any) -> None:
        _encode(*leaf, self._nodes)
