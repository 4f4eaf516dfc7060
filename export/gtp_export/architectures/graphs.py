"""Write a net of each architecture as ONNX, each norm folded into the layer before it."""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from gtp_export.architectures.chain_graph import OPSET_WITH_MAXIMA, ChainNodes
from gtp_export.architectures.dual import DualShape
from gtp_export.architectures.plain import OWNERSHIP, PlainShape
from gtp_export.architectures.shape import NORM_EPSILON, Weights
from gtp_export.architectures.tower import (
    KOMI_UNIT,
    OWN_KOMI,
    SCORE_COLUMNS,
    SCORE_UNIT,
    SIZE_CENTER,
    SIZE_SCALE,
    VALUE_POOL_OFFSET,
    TowerShape,
)
from gtp_export.convert.graph import OPSET, Graph

Floats = NDArray[np.float32]

SMALL_FROM = 1 << 20
"""Matrices of so many weights of a plain net are stored as bytes."""


class FoldedLayers:
    """Appends layers with given weights to a graph."""

    def __init__(self, graph: Graph, weights: Weights, small_from: int | None = None) -> None:
        """Start with a graph that holds what the caller put there.

        Args:
            graph: The graph.
            weights: All arrays of the net.
            small_from: Matrices of so many weights or more are stored as bytes with a scale a
                row. ONNX Runtime turns them into floats when it loads the net.
        """
        self.graph = graph
        self.weights = weights
        self._small_from = small_from

    def norm(self, name: str) -> tuple[Floats, Floats]:
        """Return [C] the factors and [C] the addends that a norm comes down to."""
        weights = self.weights
        variance = weights[f"{name}.running_var"].astype(np.float64)
        scale = weights[f"{name}.weight"] / np.sqrt(variance + NORM_EPSILON)
        bias = weights[f"{name}.bias"] - weights[f"{name}.running_mean"] * scale
        return scale.astype(np.float32), bias.astype(np.float32)

    def conv(
        self,
        tensor: str,
        name: str,
        scale: Floats | None,
        bias: Floats | None,
    ) -> str:
        """Convolve [B, in, H, W], zeros around the board; the result is [B, out, H, W]."""
        kernel = self._scaled(name, scale)
        inputs = [tensor, self.graph.floats(kernel, f"{name}.weight"), *self._bias(name, bias)]
        side = kernel.shape[2]
        pads = [side // 2] * 4
        return self.graph.node("Conv", *inputs, name=name, kernel_shape=[side, side], pads=pads)

    def dense(
        self,
        tensor: str,
        name: str,
        scale: Floats | None,
        bias: Floats | None,
    ) -> str:
        """Multiply [B, in] by a matrix; the result is [B, out]."""
        matrix = self._matrix(self._scaled(name, scale), f"{name}.weight")
        return self.graph.node("Gemm", tensor, matrix, *self._bias(name, bias), name=name, transB=1)

    def _scaled(self, name: str, scale: Floats | None) -> Floats:
        """Return a layer's weights, [out, ...], each output multiplied by a factor."""
        weights = self.weights[f"{name}.weight"]
        if scale is None:
            return weights
        return weights * scale.reshape(-1, *[1] * (weights.ndim - 1))

    def _bias(self, name: str, bias: Floats | None) -> list[str]:
        """Return the input that brings a layer's bias, none where there is no bias."""
        return [] if bias is None else [self.graph.floats(bias, f"{name}.bias")]

    def _matrix(self, matrix: Floats, name: str) -> str:
        if self._small_from is None or matrix.size < self._small_from:
            return self.graph.floats(matrix, name)
        step = np.maximum(np.abs(matrix).max(axis=1, keepdims=True), 1e-12) / 127.0
        levels = self.graph.signed_bytes(np.rint(matrix / step), name)
        floats = self.graph.node("Cast", levels, to=TensorProto.FLOAT)
        return self.graph.node("Mul", floats, self.graph.floats(step, f"{name}.step"))

    def per_point(self, tensor: str) -> str:
        """Turn [B, C] into [B, C, 1, 1]."""
        return self.graph.node("Unsqueeze", tensor, self.graph.ints([2, 3]))

    def flat(self, tensors: Sequence[str]) -> str:
        """Join tensors of [B, C, 1, 1] to [B, all channels]."""
        joined = self.graph.node("Concat", *tensors, axis=1)
        return self.graph.node("Flatten", joined, axis=1)


def dual_model(shape: DualShape, weights: Weights, metadata: dict[str, str]) -> onnx.ModelProto:
    """Return the net as an ONNX model with these entries of metadata."""
    graph = Graph("dual")
    layers = FoldedLayers(graph, weights)
    size = shape.board_size
    spatial = graph.input("spatial_in", TensorProto.UINT8, ["B", shape.planes, size, size])
    planes = graph.node("Cast", spatial, to=TensorProto.FLOAT)
    trunk = graph.node("Relu", layers.conv(planes, "stem", *layers.norm("stem_norm")))
    for block in range(shape.blocks):
        name = f"blocks.{block}"
        inner = layers.conv(trunk, f"{name}.conv1", *layers.norm(f"{name}.norm1"))
        inner = graph.node("Relu", inner)
        outer = layers.conv(inner, f"{name}.conv2", *layers.norm(f"{name}.norm2"))
        trunk = graph.node("Relu", graph.node("Add", trunk, outer))
    policy = _plane(layers, trunk, "policy")
    policy = layers.dense(policy, "policy_out", None, weights["policy_out.bias"])
    value = _plane(layers, trunk, "value")
    value = layers.dense(value, "value_hidden", *layers.norm("value_hidden_norm"))
    value = layers.dense(graph.node("Relu", value), "value_out", None, weights["value_out.bias"])
    graph.output("policy", policy, ["B", size * size + 1])
    graph.output("value", graph.node("Tanh", value), ["B", 1])
    return graph.model(metadata)


def _plane(layers: FoldedLayers, trunk: str, name: str) -> str:
    """Return the one plane that a head begins with, flat."""
    plane = layers.conv(trunk, name, *layers.norm(f"{name}_norm"))
    return layers.graph.node("Flatten", layers.graph.node("Relu", plane), axis=1)


def plain_model(shape: PlainShape, weights: Weights, metadata: dict[str, str]) -> onnx.ModelProto:
    """Return the net as an ONNX model with these entries of metadata."""
    graph = Graph("plain", OPSET_WITH_MAXIMA if shape.pools_chains else OPSET)
    layers = FoldedLayers(graph, weights, SMALL_FROM)
    size: int | str = shape.board_size or "H"
    sizes: list[int | str] = ["B", shape.planes, size, shape.board_size or "W"]
    spatial = graph.input("spatial_in", TensorProto.UINT8, sizes)
    planes = graph.node("Cast", spatial, to=TensorProto.FLOAT)
    chains = ChainNodes(graph, planes) if shape.pools_chains else None
    tensor = planes
    if shape.is_difference:
        own, other = graph.nodes("Split", planes, outputs=2, axis=1)
        tensor = graph.node("Sub", own, other)
    for i, (_, channels) in enumerate(shape.convolutions):
        tensor = layers.conv(tensor, f"convolutions.{i}", *layers.norm(f"norms.{i}"))
        tensor = graph.node("Relu", tensor)
        if chains is not None:
            tensor = chains.pool_half(tensor, channels)
    if shape.dense:
        tensor = graph.node("Flatten", tensor, axis=1)
        for i in range(len(shape.dense)):
            tensor = layers.dense(tensor, f"dense.{i}", *layers.norm(f"dense_norms.{i}"))
            tensor = graph.node("Relu", tensor)
        tensor = layers.dense(tensor, "out", None, weights["out.bias"])
    else:
        tensor = layers.conv(tensor, "out", None, weights["out.bias"])
        if chains is not None:
            tensor = chains.mean(tensor)
    if shape.head == OWNERSHIP:
        owner = graph.node("Squeeze", tensor, graph.ints([1]))
        # The chance is a sigmoid: 2 sigmoid(z) - 1 = tanh(z / 2).
        half = graph.node("Mul", owner, graph.floats(0.5))
        graph.output("ownership", graph.node("Tanh", half), ["B", *sizes[2:]])
    else:
        graph.output("policy", graph.node("Flatten", tensor, axis=1), ["B", "A"])
    return graph.model(metadata)


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
        self._write_value(trunk, features_in)

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

    def _write_value(self, trunk: str, features: str) -> None:
        graph, weights = self.graph, self._weights
        local = self.layers.conv(trunk, "value.conv", *self.layers.norm("value.norm"))
        local = graph.node("Relu", local)
        owner = self.layers.conv(local, "value.ownership", None, None)
        owner = graph.node("Tanh", graph.node("Squeeze", owner, graph.ints([1])))
        known = self._estimates(owner, features)
        pooled = graph.node("Concat", self._value_pool(local), known, axis=1)
        hidden = self.layers.dense(pooled, "value.hidden", *self.layers.norm("value.hidden_norm"))
        hidden = graph.node("Concat", graph.node("Relu", hidden), known, axis=1)
        value = self.layers.dense(hidden, "value.out", None, weights["value.out.bias"])
        score = self.layers.dense(hidden, "value.score", None, weights["value.score.bias"])
        graph.output("value", value, ["B", 3])
        graph.output("score", self._score_in_points(score), ["B", len(SCORE_COLUMNS)])
        graph.output("ownership", owner, ["B", "H", "W"])

    def _estimates(self, owner: str, features: str) -> str:
        """Return lead / SCORE_UNIT, spread / SCORE_UNIT and tanh(lead / 2 spread): [B, 3]."""
        graph = self.graph
        komi = graph.node("Gather", features, graph.ints([OWN_KOMI]), axis=1)
        komi = graph.node("Mul", komi, graph.floats(KOMI_UNIT))
        lead = graph.node("Add", self._board_sum(owner), komi)
        doubt = graph.node("Sub", graph.floats(1.0), graph.node("Mul", owner, owner))
        spread = graph.node("Add", self._board_sum(doubt), graph.floats(1.0))
        spread = graph.node("Sqrt", spread)
        points = graph.node("Concat", lead, spread, axis=1)
        points = graph.node("Mul", points, graph.floats(1 / SCORE_UNIT))
        ratio = graph.node("Mul", graph.node("Div", lead, spread), graph.floats(0.5))
        return graph.node("Concat", points, graph.node("Tanh", ratio), axis=1)

    def _board_sum(self, tensor: str) -> str:
        """Return [B, 1] the sums of [B, H, W]."""
        flat = self.graph.node("Flatten", tensor, axis=1)
        return self.graph.node("ReduceSum", flat, self.graph.ints([1]), keepdims=1)

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
