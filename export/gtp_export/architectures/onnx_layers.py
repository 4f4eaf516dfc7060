"""Write a described net as ONNX, each norm folded into the layer before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partialmethod

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_export.architectures.layers import SIZE_CENTER, SIZE_SCALE
from gtp_export.architectures.shape import NORM_EPSILON, Shape, Weights, arrays_of
from gtp_export.convert.graph import OPSET, Attribute, Graph

Floats = NDArray[np.float32]

SMALL_FROM = 1 << 20
"""Matrices of so many weights are stored as bytes with a scale a row; ONNX Runtime turns them into
floats when it loads the net."""
OPSET_WITH_MAXIMA = 18
"""ScatterElements knows maxima from here on."""


def write_graph(shape: Shape, weights: Weights, metadata: Mapping[str, str]) -> onnx.ModelProto:
    """Return a net as an ONNX model with these entries of metadata.

    Raises:
        ValueError: An array is missing or has another shape.
    """
    for name, size in arrays_of(shape).items():
        if name not in weights or weights[name].shape != size:
            raise ValueError(f"the weights lack {name} of shape {size}")
    graph = Graph("net", OPSET_WITH_MAXIMA if getattr(shape, "pools_chains", False) else OPSET)
    _, planes, features = ENCODERS[shape.encoder]
    side: list[int | str] = [shape.board_size or "H", shape.board_size or "W"]
    spatial = graph.input("spatial_in", TensorProto.UINT8, ["B", planes, *side])
    globals_in = graph.input("global_in", TensorProto.FLOAT, ["B", features]) if features else ""
    layers = OnnxLayers(graph, spatial, weights)
    heads = shape.compute(
        layers,
        layers.node("Cast", Node(spatial, layers), to=TensorProto.FLOAT),
        Node(globals_in, layers),
    )
    if "ownership" in heads:
        heads["ownership"] = layers.tanh(heads["ownership"])
    sizes: dict[str, list[int | str]] = {
        "policy": ["A"],
        "ownership": side,
        "value": ["V"],
        "score": ["S"],
    }
    for name, node in heads.items():
        graph.output(name, node.name, ["B", *sizes[name]])
    return graph.model(metadata)


@dataclass(frozen=True)
class Node:
    """A tensor of the graph."""

    name: str
    layers: "OnnxLayers"

    def __add__(self, other: "Node | float") -> "Node":
        return self.layers.node("Add", self, other)

    def __sub__(self, other: "Node | float") -> "Node":
        return self.layers.node("Sub", self, other)

    def __rsub__(self, other: "Node | float") -> "Node":
        return self.layers.node("Sub", other, self)

    def __mul__(self, other: "Node | float") -> "Node":
        return self.layers.node("Mul", self, other)

    def __truediv__(self, other: "Node | float") -> "Node":
        return self.layers.node("Div", self, other)


class OnnxLayers:
    """Appends layers with given weights to a graph; the interface is `Layers`."""

    def __init__(self, graph: Graph, spatial: str, weights: Weights) -> None:
        self._graph = graph
        self._spatial = Node(spatial, self)
        self._weights = weights

    def node(self, op: str, *inputs: Node | float | str, **attributes: Attribute) -> Node:
        """Append an operation and return its output."""
        names = [self._name(tensor) for tensor in inputs]
        return Node(self._graph.node(op, *names, name="", **attributes), self)

    def _name(self, tensor: Node | float | str) -> str:
        if isinstance(tensor, Node):
            return tensor.name
        return tensor if isinstance(tensor, str) else self._graph.floats(tensor)

    @property
    def size_offset(self) -> Node:
        """A scalar."""
        sizes = self.node("Shape", self._spatial, start=2, end=4)
        area = self.node("ReduceProd", self.node("Cast", sizes, to=TensorProto.FLOAT), keepdims=0)
        return (self.node("Sqrt", area) - SIZE_CENTER) / SIZE_SCALE

    def conv(
        self,
        name: str,
        tensor: Node,
        channels: int,
        side: int,
        *,
        norm: str = "",
        bias: bool = False,
        everywhere: tuple[str, Node] | None = None,
    ) -> Node:
        """Append a convolution; what is added everywhere is a matrix product of its own."""
        scale, addend = self._ending(name, norm, bias)
        kernel = self._graph.floats(self._scaled(name, scale), f"{name}.weight")
        local = self._graph.node(
            "Conv",
            *(tensor.name, kernel, *addend),
            name=name,
            kernel_shape=[side, side],
            pads=[side // 2] * 4,
        )
        if everywhere is None:
            return Node(local, self)
        other, vector = everywhere
        added = self._gemm(other, vector, scale, [])
        return Node(local, self) + self.node("Unsqueeze", added, self._graph.ints([2, 3]))

    def dense(self, name: str, tensor: Node, channels: int, *, norm: str = "") -> Node:
        return self._gemm(name, tensor, *self._ending(name, norm, bias=not norm))

    def _gemm(self, name: str, tensor: Node, scale: Floats | None, addend: list[str]) -> Node:
        matrix = self._matrix(self._scaled(name, scale), f"{name}.weight")
        product = self._graph.node("Gemm", tensor.name, matrix, *addend, name=name, transB=1)
        return Node(product, self)

    def _ending(self, name: str, norm: str, bias: bool) -> tuple[Floats | None, list[str]]:
        """Return [C] factors, where a norm follows, and the constant of what is added, if any."""
        weights = self._weights
        if not norm:
            key = f"{name}.bias"
            return None, [self._graph.floats(weights[key], key)] if bias else []
        variance = weights[f"{norm}.running_var"].astype(np.float64)
        scale = weights[f"{norm}.weight"] / np.sqrt(variance + NORM_EPSILON)
        addend = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
        constant = self._graph.floats(addend.astype(np.float32), f"{name}.bias")
        return scale.astype(np.float32), [constant]

    def _scaled(self, name: str, scale: Floats | None) -> Floats:
        """Return a layer's weights, [out, ...], each output multiplied by a factor."""
        weights = self._weights[f"{name}.weight"]
        if scale is None:
            return weights
        return weights * scale.reshape(-1, *[1] * (weights.ndim - 1))

    def _matrix(self, matrix: Floats, name: str) -> str:
        if matrix.size < SMALL_FROM:
            return self._graph.floats(matrix, name)
        step = np.maximum(np.abs(matrix).max(axis=1, keepdims=True), 1e-12) / 127.0
        levels = self._graph.signed_bytes(np.rint(matrix / step), name)
        floats = self._graph.node("Cast", levels, to=TensorProto.FLOAT)
        return self._graph.node("Mul", floats, self._graph.floats(step, f"{name}.step"))

    relu = partialmethod(node, "Relu")
    tanh = partialmethod(node, "Tanh")
    sqrt = partialmethod(node, "Sqrt")
    softplus = partialmethod(node, "Softplus")
    mean = partialmethod(node, "GlobalAveragePool")
    maximum = partialmethod(node, "GlobalMaxPool")
    halve = partialmethod(node, "MaxPool", kernel_shape=[2, 2], strides=[2, 2])

    def join(self, *tensors: Node) -> Node:
        return self.node("Concat", *tensors, axis=1)

    def split(self, tensor: Node, *channels: int) -> list[Node]:
        names = self._graph.nodes(
            "Split", tensor.name, self._graph.ints(channels), outputs=len(channels), axis=1
        )
        return [Node(name, self) for name in names]

    def total(self, tensor: Node) -> Node:
        return self.node("ReduceSum", self.flat(tensor), self._graph.ints([1]), keepdims=1)

    def flat(self, tensor: Node) -> Node:
        return self.node("Flatten", tensor, axis=1)

    def plane(self, tensor: Node) -> Node:
        return self.node("Squeeze", tensor, self._graph.ints([1]))

    def any_of(self, tensor: Node) -> Node:
        return self.node("ReduceMax", tensor, self._graph.ints([1]), keepdims=1)

    def sum_of(self, tensor: Node) -> Node:
        return self.node("ReduceSum", tensor, self._graph.ints([1]), keepdims=1)

    def numbers(self, tensor: Node) -> Node:
        ones = self._points(tensor - tensor + 1.0)
        counted = self.node("CumSum", ones, self._graph.ints(2))
        return self.node("Reshape", counted, self.node("Shape", tensor))

    def neighbours(self, tensor: Node) -> Node:
        column = self.node("MaxPool", tensor, kernel_shape=[3, 1], pads=[1, 0, 1, 0])
        row = self.node("MaxPool", tensor, kernel_shape=[1, 3], pads=[0, 1, 0, 1])
        return self.node("Max", column, row)

    def attend(self, queries: Node, keys: Node, values: Node, heads: int, width: int) -> Node:
        by_head = self._graph.ints([0, heads, width, -1])
        query, key, value = (
            self.node("Reshape", tensor, by_head) for tensor in (queries, keys, values)
        )
        asked = self.node("Transpose", query * width**-0.5, perm=[0, 1, 3, 2])
        weights = self.node("Softmax", self.node("MatMul", asked, key), axis=-1)
        read = self.node("MatMul", value, self.node("Transpose", weights, perm=[0, 1, 3, 2]))
        return self.node("Reshape", read, self.node("Shape", queries))

    def gather(self, tensor: Node, places: Node) -> Node:
        held = self.node("GatherElements", *self._indexed(tensor, places), axis=2)
        return self.node("Reshape", held, self.node("Shape", tensor))

    def scatter(self, tensor: Node, places: Node, reduction: str) -> Node:
        values, index = self._indexed(tensor, places)
        start = values if reduction == "max" else values - values
        told = self.node("ScatterElements", start, index, values, axis=2, reduction=reduction)
        return self.node("Reshape", told, self.node("Shape", tensor))

    def _indexed(self, tensor: Node, places: Node) -> tuple[Node, Node]:
        """Return [B, C, H * W] of both, the places as numbers for each channel."""
        values = self._points(tensor)
        index = self.node("Cast", self._points(places), to=TensorProto.INT64)
        return values, self.node("Expand", index, self.node("Shape", values))

    def _points(self, tensor: Node) -> Node:
        return self.node("Reshape", tensor, self._graph.ints([0, 0, -1]))
