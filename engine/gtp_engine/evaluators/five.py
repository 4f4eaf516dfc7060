"""Judge positions of five in a row by what can be read out and by shapes, or by a net as well."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, WALL
from gtp_engine.evaluators.encoders.five import OTHERS, OWN, list_moves
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import NetlessEvaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.five.shapes import Shapes, class_at, new_shapes
from gtp_engine.go.history import History
from gtp_engine.go.rules import RuleFlags
from gtp_engine.go.symmetry import point_table
from gtp_engine.kernels import hot_kernel, inline_kernel, int64, kernel

SHARE_OF_A_LEAF = 200
"""At the root of a search so many times the nodes are read that are read at a leaf."""

_OF_OWN = np.array([0.0, 0.5, 3.0, 3.0, 30.0, 0.0])
_OF_OTHERS = np.array([0.0, 0.4, 2.5, 2.0, 20.0, 0.0])
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
        weight += _OF_OWN[class_at(shapes, point, to_play, direction)]
        weight += _OF_OTHERS[class_at(shapes, point, 3 - to_play, direction)]
    middle, stride = len(shapes.colors) // 2, shapes.stride
    rows, columns = abs(point // stride - middle // stride), abs(point % stride - stride // 2)
    return weight * weight + 0.1 / (1 + max(rows, columns))


@kernel
def _estimate(shapes: Shapes, to_play: int) -> float:
    """Return the value that the shapes promise the player to move, -1 to 1."""
    logit = _TO_MOVE
    for point in range(len(shapes.colors)):
        if shapes.colors[point] == EMPTY:
            for direction in range(4):
                logit += _WORTH[0][class_at(shapes, point, to_play, direction)]
                logit -= _WORTH[1][class_at(shapes, point, 3 - to_play, direction)]
    return math.tanh(logit)


@kernel
def _mix_priors(batch: EvalBatch, slot: int, shapes: Shapes, to_play: int, share: float) -> None:
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
def _mix(batch: EvalBatch, n: int, points: npt.NDArray[np.int16], share: float) -> None:
    """Give the shapes a share of what is said of the first n slots; a result that is known stays.

    Args:
        points: [8, points] `symmetry.point_table`.
    """
    height, width = batch.spatial.shape[2:]
    stride = int64(width + 1)
    colors = np.full((height + 2) * stride + 1, np.uint8(WALL))
    for slot in range(n):
        numbers = batch.slots[slot]
        to_play = int64(numbers["to_play"])
        own, others = batch.spatial[slot, OWN].reshape(-1), batch.spatial[slot, OTHERS].reshape(-1)
        shown_at = points[numbers["symmetry"]]
        for row in range(height):
            for column in range(width):
                point = (row + 1) * stride + column + 1
                at = shown_at[point]
                colors[point] = own[at] * to_play + others[at] * (3 - to_play)
        shapes = new_shapes(colors, stride, int64(len(colors)), int64(numbers["five"]))
        _mix_priors(batch, slot, shapes, to_play, share)
        if numbers["rollout_value"] == 0.0:
            numbers["value"] += share * (_estimate(shapes, to_play) - numbers["value"])


@hot_kernel
def _encode(
    batch: EvalBatch, slot: int, history: History, ply: int, rules: RuleFlags, nodes: int
) -> None:
    shapes = list_moves(batch, slot, history, ply, rules, nodes)
    to_play = int64(history.turns[ply]["to_play"])
    numbers = batch.slots[slot]
    batch.priors[slot] = 0.0
    _mix_priors(batch, slot, shapes, to_play, 1.0)
    known = int64(numbers["rollout_value"])
    value = float(known) if known != 0 else _estimate(shapes, to_play)
    numbers["value"] = value
    numbers["lead"] = value
    numbers["stdev"] = 1.0
    numbers["no_result"] = 0.0


class FiveEvaluator(NetlessEvaluator):
    """Reads fours at every leaf, and judges what is left open by the shapes on the board."""

    name = "threats and shapes"

    def __init__(self, nodes: int) -> None:
        """Say how many positions are read at the root; at a leaf, a share of them. 0: fives."""
        self._nodes = nodes // SHARE_OF_A_LEAF

    def _judge(self, *leaf: Any) -> None:
        _encode(*leaf, self._nodes)


class ShapedEvaluator(NetEvaluator):
    """A net whose policy and value are mixed with those of the shapes; see `Evaluator`."""

    def __init__(self, *served: Any, share: float) -> None:
        """Serve a net.

        Args:
            served: What `NetEvaluator` takes.
            share: Of the shapes, 0 to 1.

        Raises:
            NetFileError: The net wants to be told things that are not known.
        """
        super().__init__(*served)
        self._share = share

    @property
    def name(self) -> str:
        """The net's name and device, and the shapes."""
        return f"{super().name} with shapes"

    def describe(self) -> str:
        """Return what is used, in one line."""
        return f"{super().describe()}, {self._share:.0%} of policy and value from shapes"

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the results of the first n slots.

        Raises:
            NetFileError: The net failed.
        """
        super().evaluate(batch, n, use_cache=use_cache)
        height, width = batch.spatial.shape[2:]
        _mix(batch, n, point_table(width, height), self._share)
