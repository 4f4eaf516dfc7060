"""Write a tower as ONNX with its net info, its norms folded into the layers before them."""

import onnx
from onnx import TensorProto

from gtp_export.architectures.folded_layers import FoldedLayers
from gtp_export.architectures.shape import Weights
from gtp_export.architectures.tower import (
    SCORE_COLUMNS,
    SCORE_UNIT,
    SIZE_CENTER,
    SIZE_SCALE,
    VALUE_POOL_OFFSET,
    TowerShape,
)
from gtp_export.convert.graph import Graph


def tower_model(shape: TowerShape, weights: Weights, metadata: dict[str, str]) -> onnx.ModelProto:
    """Return the net as an ONNX model.

    Args:
        shape: The architecture.
        weights: All of `shape.arrays()`.
        metadata: The metadata entries to store.
    """
    writer = _TowerWriter(shape, weights)
    writer.write()
    return writer.graph.model(metadata)


class _TowerWriter:
    """Append the layers of one tower to a graph."""

    def __init__(self, shape: TowerShape, weights: Weights) -> None:
        self.graph = Graph("tower")
        self._shape = shape
        self._weights = weights
        self.layers = FoldedLayers(self.graph, weights)
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
        scale, bias = self.layers.norm("stem.norm")
        planes = graph.node("Cast", spatial, to=TensorProto.FLOAT)
        local = self.layers.conv(planes, "stem.conv", scale, bias)
        everywhere = self.layers.dense(features, "stem.globals", scale, None)
        return graph.node("Relu", graph.node("Add", local, self.layers.per_point(everywhere)))

    def _write_block(self, trunk: str, block: int) -> str:
        graph, name = self.graph, f"blocks.{block}"
        inner = self.layers.conv(trunk, f"{name}.conv1", *self.layers.norm(f"{name}.norm1"))
        inner = graph.node("Relu", inner)
        scale, bias = self.layers.norm(f"{name}.norm2")
        outer = self.layers.conv(inner, f"{name}.conv2", scale, bias)
        if self._shape.is_pooled(block):
            pooled = self.layers.dense(self._pool(inner), f"{name}.pool", scale, None)
            outer = graph.node("Add", outer, self.layers.per_point(pooled))
        return graph.node("Relu", graph.node("Add", trunk, outer))

    def _write_policy(self, trunk: str) -> None:
        graph = self.graph
        gathered = self.layers.conv(trunk, "policy.gather", *self.layers.norm("policy.gather_norm"))
        pooled = self._pool(graph.node("Relu", gathered))
        scale, bias = self.layers.norm("policy.norm")
        local = self.layers.conv(trunk, "policy.conv", scale, bias)
        everywhere = self.layers.dense(pooled, "policy.pool", scale, None)
        hidden = graph.node("Relu", graph.node("Add", local, self.layers.per_point(everywhere)))
        points = self.layers.conv(hidden, "policy.out", None, None)
        points = graph.node("Reshape", points, graph.ints([0, -1]))
        hidden = self.layers.dense(
            pooled, "policy.pass_hidden", *self.layers.norm("policy.pass_norm")
        )
        hidden = graph.node("Relu", hidden)
        pass_logit = self.layers.dense(
            hidden, "policy.pass_out", None, self._weights["policy.pass_out.bias"]
        )
        graph.output("policy", graph.node("Concat", points, pass_logit, axis=1), ["B", "A"])

    def _write_value(self, trunk: str) -> None:
        graph, weights = self.graph, self._weights
        features = self.layers.conv(trunk, "value.conv", *self.layers.norm("value.norm"))
        features = graph.node("Relu", features)
        hidden = self.layers.dense(
            self._value_pool(features), "value.hidden", *self.layers.norm("value.hidden_norm")
        )
        hidden = graph.node("Relu", hidden)
        value = self.layers.dense(hidden, "value.out", None, weights["value.out.bias"])
        score = self.layers.dense(hidden, "value.score", None, weights["value.score.bias"])
        owner = self.layers.conv(features, "value.ownership", None, None)
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

    def _pool(self, tensor: str) -> str:
        """Return mean, mean * (s - 14) / 10 and maximum: [B, 3C]."""
        graph = self.graph
        mean = graph.node("GlobalAveragePool", tensor)
        sized = graph.node("Mul", mean, self._size_offset)
        return self.layers.flat([mean, sized, graph.node("GlobalMaxPool", tensor)])

    def _value_pool(self, tensor: str) -> str:
        """Return mean, mean * (s - 14) / 10 and mean * ((s - 14)^2 / 100 - 0.1): [B, 3C]."""
        graph = self.graph
        mean = graph.node("GlobalAveragePool", tensor)
        sized = graph.node("Mul", mean, self._size_offset)
        square = graph.node("Mul", self._size_offset, self._size_offset)
        factor = graph.node("Sub", square, graph.floats(VALUE_POOL_OFFSET))
        return self.layers.flat([mean, sized, graph.node("Mul", mean, factor)])
