"""Write a tower as ONNX by the net contract, its norms folded into the layers before them."""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from gtp_export.convert.graph import Graph
from gtp_export.tower import (
    NORM_EPSILON,
    SCORE_COLUMNS,
    SCORE_UNIT,
    SIZE_CENTER,
    SIZE_SCALE,
    VALUE_POOL_OFFSET,
    TowerShape,
    Weights,
)

HEADS = {
    "policy": "logits by action, pass last",
    "value": "logits of win, loss and no result, for the side to move",
    "score": "points for the side to move, before the chance of no result",
    "ownership": "-1..1 per point, 1 is the side to move's",
}


def build_model(shape: TowerShape, weights: Weights, metadata: dict[str, str]) -> onnx.ModelProto:
    """Return the net as an ONNX model.

    Args:
        shape: The architecture.
        weights: All of `shape.arrays()`.
        metadata: The metadata entries to store.

    Raises:
        ValueError: An array is missing or has another shape.
    """
    for name, size in shape.arrays().items():
        if name not in weights or weights[name].shape != size:
            raise ValueError(f"the weights lack {name} of shape {size}")
    writer = _TowerWriter(shape, weights)
    writer.write()
    return writer.graph.model(metadata)


class _TowerWriter:
    """Append the layers of one tower to a graph."""

    def __init__(self, shape: TowerShape, weights: Weights) -> None:
        self.graph = Graph("tower")
        self._shape = shape
        self._weights = weights
        self._size_offset = ""

    def write(self) -> None:
        graph = self.graph
        planes, features = self._shape.planes, self._shape.features
        spatial = graph.input("spatial_in", TensorProto.UINT8, ["B", planes, "H", "W"])
        features_in = graph.input("global_in", TensorProto.FLOAT, ["B", features])
        self._size_offset = self._write_size_offset(spatial)
        trunk = self._write_stem(spatial, features_in)
        for block in range(self._shape.blocks):
            trunk = self._write_block(trunk, block)
        self._write_policy(trunk)
        self._write_value(trunk)

    def _write_size_offset(self, spatial: str) -> str:
        """Return the scalar (s - 14) / 10, s the square root of the number of points."""
        graph = self.graph
        sizes = graph.node("Shape", spatial, start=2, end=4)
        area = graph.node("ReduceProd", graph.node("Cast", sizes, to=TensorProto.FLOAT), keepdims=0)
        side = graph.node("Sqrt", area)
        offset = graph.node("Sub", side, graph.floats(SIZE_CENTER))
        return graph.node("Div", offset, graph.floats(SIZE_SCALE))

    def _write_stem(self, spatial: str, features: str) -> str:
        graph = self.graph
        scale, bias = self._norm("stem.norm")
        planes = graph.node("Cast", spatial, to=TensorProto.FLOAT)
        local = self._conv(planes, "stem.conv", scale, bias)
        everywhere = self._dense(features, "stem.globals", scale, None)
        return graph.node("Relu", graph.node("Add", local, self._per_point(everywhere)))

    def _write_block(self, trunk: str, block: int) -> str:
        graph, name = self.graph, f"blocks.{block}"
        inner = self._conv(trunk, f"{name}.conv1", *self._norm(f"{name}.norm1"))
        inner = graph.node("Relu", inner)
        scale, bias = self._norm(f"{name}.norm2")
        outer = self._conv(inner, f"{name}.conv2", scale, bias)
        if self._shape.is_pooled(block):
            pooled = self._dense(self._pool(inner), f"{name}.pool", scale, None)
            outer = graph.node("Add", outer, self._per_point(pooled))
        return graph.node("Relu", graph.node("Add", trunk, outer))

    def _write_policy(self, trunk: str) -> None:
        graph = self.graph
        gathered = self._conv(trunk, "policy.gather", *self._norm("policy.gather_norm"))
        pooled = self._pool(graph.node("Relu", gathered))
        scale, bias = self._norm("policy.norm")
        local = self._conv(trunk, "policy.conv", scale, bias)
        everywhere = self._dense(pooled, "policy.pool", scale, None)
        hidden = graph.node("Relu", graph.node("Add", local, self._per_point(everywhere)))
        points = self._conv(hidden, "policy.out", None, None)
        points = graph.node("Reshape", points, graph.ints([0, -1]))
        hidden = self._dense(pooled, "policy.pass_hidden", *self._norm("policy.pass_norm"))
        hidden = graph.node("Relu", hidden)
        pass_logit = self._dense(
            hidden, "policy.pass_out", None, self._weights["policy.pass_out.bias"]
        )
        graph.output("policy", graph.node("Concat", points, pass_logit, axis=1), ["B", "A"])

    def _write_value(self, trunk: str) -> None:
        graph, weights = self.graph, self._weights
        features = self._conv(trunk, "value.conv", *self._norm("value.norm"))
        features = graph.node("Relu", features)
        hidden = self._dense(
            self._value_pool(features), "value.hidden", *self._norm("value.hidden_norm")
        )
        hidden = graph.node("Relu", hidden)
        value = self._dense(hidden, "value.out", None, weights["value.out.bias"])
        score = self._dense(hidden, "value.score", None, weights["value.score.bias"])
        owner = self._conv(features, "value.ownership", None, None)
        owner = graph.node("Tanh", graph.node("Squeeze", owner, graph.ints([1])))
        graph.output("value", value, ["B", 3])
        graph.output("score", self._score_in_points(score), ["B", len(SCORE_COLUMNS)])
        graph.output("ownership", owner, ["B", "H", "W"])

    def _score_in_points(self, raw: str) -> str:
        """Scale the raw columns to points; the spread goes through softplus first."""
        graph = self.graph
        mean, spread, lead = graph.nodes("Split", raw, outputs=3, axis=1)
        columns = graph.node("Concat", mean, graph.node("Softplus", spread), lead, axis=1)
        return graph.node("Mul", columns, graph.floats(SCORE_UNIT))

    # Layers -------------------------------------------------------------------------------------

    def _norm(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the factor and the addend that a norm comes down to."""
        weights = self._weights
        variance = weights[f"{name}.running_var"].astype(np.float64)
        scale = weights[f"{name}.weight"] / np.sqrt(variance + NORM_EPSILON)
        bias = weights[f"{name}.bias"] - weights[f"{name}.running_mean"] * scale
        return scale.astype(np.float32), bias.astype(np.float32)

    def _conv(
        self,
        tensor: str,
        name: str,
        scale: NDArray[np.float32] | None,
        bias: NDArray[np.float32] | None,
    ) -> str:
        kernel = self._weights[f"{name}.weight"]
        if scale is not None:
            kernel = kernel * scale[:, None, None, None]
        inputs = [tensor, self.graph.floats(kernel, f"{name}.weight")]
        if bias is not None:
            inputs.append(self.graph.floats(bias, f"{name}.bias"))
        side = kernel.shape[2]
        pads = [side // 2] * 4
        return self.graph.node("Conv", *inputs, name=name, kernel_shape=[side, side], pads=pads)

    def _dense(
        self,
        tensor: str,
        name: str,
        scale: NDArray[np.float32] | None,
        bias: NDArray[np.float32] | None,
    ) -> str:
        """Multiply [B, in] by a matrix; the result is [B, out]."""
        matrix = self._weights[f"{name}.weight"]
        if scale is not None:
            matrix = matrix * scale[:, None]
        inputs = [tensor, self.graph.floats(matrix, f"{name}.weight")]
        if bias is not None:
            inputs.append(self.graph.floats(bias, f"{name}.bias"))
        return self.graph.node("Gemm", *inputs, name=name, transB=1)

    def _per_point(self, tensor: str) -> str:
        """Turn [B, C] into [B, C, 1, 1]."""
        return self.graph.node("Unsqueeze", tensor, self.graph.ints([2, 3]))

    def _flat(self, tensors: Sequence[str]) -> str:
        joined = self.graph.node("Concat", *tensors, axis=1)
        return self.graph.node("Flatten", joined, axis=1)

    def _pool(self, tensor: str) -> str:
        """Return mean, mean * (s - 14) / 10 and maximum: [B, 3C]."""
        graph = self.graph
        mean = graph.node("GlobalAveragePool", tensor)
        sized = graph.node("Mul", mean, self._size_offset)
        return self._flat([mean, sized, graph.node("GlobalMaxPool", tensor)])

    def _value_pool(self, tensor: str) -> str:
        """Return mean, mean * (s - 14) / 10 and mean * ((s - 14)^2 / 100 - 0.1): [B, 3C]."""
        graph = self.graph
        mean = graph.node("GlobalAveragePool", tensor)
        sized = graph.node("Mul", mean, self._size_offset)
        square = graph.node("Mul", self._size_offset, self._size_offset)
        factor = graph.node("Sub", square, graph.floats(VALUE_POOL_OFFSET))
        return self._flat([mean, sized, graph.node("Mul", mean, factor)])
