"""What values the tensors inside a net take on real positions."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from gtp_engine.evaluators.contract import GLOBAL_INPUT, META_INPUT, SPATIAL_INPUT, NetInfo
from gtp_export.quantise.positions import PositionSet

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

    def joined(self, other: "Range") -> "Range":
        """Return the range over both sets of positions."""
        return Range(
            min(self.low, other.low),
            max(self.high, other.high),
            min(self.low_tail, other.low_tail),
            max(self.high_tail, other.high_tail),
        )


def watch_tensors(
    model: onnx.ModelProto, info: NetInfo, names: Sequence[str], positions: PositionSet
) -> dict[str, Range]:
    """Run a model on all positions and return the range of each named tensor."""
    found: dict[str, Range] = {}
    for start in range(0, len(names), TENSORS_AT_ONCE):
        part = names[start : start + TENSORS_AT_ONCE]
        for name, values in _values(model, info, part, positions):
            seen = _range_of(values)
            found[name] = found[name].joined(seen) if name in found else seen
    return found


def _values(
    model: onnx.ModelProto, info: NetInfo, names: Sequence[str], positions: PositionSet
) -> Iterable[tuple[str, NDArray[np.float32]]]:
    import onnxruntime

    watched = copy.deepcopy(model)
    del watched.graph.output[:]
    for name in names:
        watched.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        watched.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    for batch in positions.batches:
        feed: dict[str, NDArray[np.uint8] | NDArray[np.float32]] = {SPATIAL_INPUT: batch.spatial}
        split = info.global_features
        if split:
            feed[GLOBAL_INPUT] = batch.features[:, :split]
        if info.meta_features:
            feed[META_INPUT] = batch.features[:, split:]
        yield from zip(names, session.run(None, feed), strict=True)


def _range_of(values: NDArray[np.float32]) -> Range:
    low_tail, high_tail = np.quantile(values, [TAIL, 1.0 - TAIL])
    return Range(float(values.min()), float(values.max()), float(low_tail), float(high_tail))
