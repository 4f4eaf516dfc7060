"""What values the tensors inside a net take on real positions."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.evaluators.nets.onnx_net import name_inputs
from gtp_engine.evaluators.runtimes.onnx_runtime import open_model
from gtp_export.quantise.positions import Positions

TAIL = 1e-4
"""Share of the values beyond either end of a percentile range."""
TENSORS_AT_ONCE = 32
"""Tensors watched in one pass over the positions; all of a large net's would fill the memory."""


@dataclass(frozen=True)
class Range:
    """The values of one tensor over all positions."""

    low: float
    high: float
    """Smallest and largest."""
    low_tail: float
    high_tail: float
    """The same without the outermost `TAIL` of either side, in the batch where they lie widest."""
    channel_low: NDArray[np.float32]
    channel_high: NDArray[np.float32]
    """[C] smallest and largest by channel of a map or of points [B, S, C]; [0] otherwise."""

    def joined(self, other: "Range") -> "Range":
        return Range(
            min(self.low, other.low),
            max(self.high, other.high),
            min(self.low_tail, other.low_tail),
            max(self.high_tail, other.high_tail),
            np.minimum(self.channel_low, other.channel_low),
            np.maximum(self.channel_high, other.channel_high),
        )

    def divided(self, by: NDArray[np.float32]) -> "Range":
        """Return the range of a map whose channels are divided by [C] factors; it has no tails."""
        low, high = self.channel_low / by, self.channel_high / by
        ends = float(low.min()), float(high.max())
        return Range(*ends, *ends, low, high)


def watch_tensors(
    model: onnx.ModelProto, info: NetInfo, names: Sequence[str], positions: Positions
) -> dict[str, Range]:
    """Run a model on all positions and return the range of each named tensor."""
    found: dict[str, Range] = {}
    for start in range(0, len(names), TENSORS_AT_ONCE):
        part = names[start : start + TENSORS_AT_ONCE]
        for name, values in tensor_values(model, info, part, positions):
            seen = _range_of(values)
            found[name] = found[name].joined(seen) if name in found else seen
    return found


def tensor_values(
    model: onnx.ModelProto, info: NetInfo, names: Sequence[str], positions: Positions
) -> Iterable[tuple[str, NDArray[np.float32]]]:
    """Run a model on all positions; give each named tensor of each batch."""
    watched = copy.deepcopy(model)
    del watched.graph.output[:]
    for name in names:
        watched.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    session = open_model(watched.SerializeToString())
    for batch in positions:
        feed = name_inputs(info, batch.spatial, batch.features)
        yield from zip(names, session.run(None, feed), strict=True)


def largest_values(
    model: onnx.ModelProto, info: NetInfo, names: Sequence[str], positions: Positions
) -> dict[str, float]:
    """Run a model on all positions; return the largest absolute value in each named tensor."""
    watched = copy.deepcopy(model)
    del watched.graph.output[:]
    for name in names:
        size, most = f"{name}/size", f"{name}/most"
        watched.graph.node.append(helper.make_node("Abs", [name], [size]))
        watched.graph.node.append(helper.make_node("ReduceMax", [size], [most], keepdims=0))
        watched.graph.output.append(helper.make_tensor_value_info(most, TensorProto.FLOAT, []))
    session = open_model(watched.SerializeToString())
    feeds = (name_inputs(info, batch.spatial, batch.features) for batch in positions)
    most_of = np.max([session.run(None, feed) for feed in feeds], axis=0)
    return dict(zip(names, most_of.tolist(), strict=True))


def _range_of(values: NDArray[np.float32]) -> Range:
    low_tail, high_tail = np.quantile(values, [TAIL, 1.0 - TAIL])
    low = high = np.zeros(0, np.float32)
    if values.ndim > 2:
        others = (0, 2, 3) if values.ndim == 4 else (0, 1)
        low, high = values.min(axis=others), values.max(axis=others)
    ends = float(values.min()), float(values.max())
    return Range(*ends, float(low_tail), float(high_tail), low, high)
