"""Judge positions of five in a row by a net, and by the shapes on the board beside it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import WALL
from gtp_engine.evaluators.encoders.five import OTHERS, OWN
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.five import estimate, mix_priors
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.five.shapes import new_shapes
from gtp_engine.go.symmetry import point_table
from gtp_engine.kernels import hot_kernel, int64


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
        mix_priors(batch, slot, shapes, to_play, share)
        if numbers["known_result"] == 0:
            numbers["value"] += share * (estimate(shapes, to_play) - numbers["value"])


class ShapedEvaluator(NetEvaluator):
    """A net whose policy and value are mixed with those of the shapes; see `Evaluator`."""

    adds_to_net = True

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
