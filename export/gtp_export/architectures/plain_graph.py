"""Write a plain net as ONNX with its net info."""

import onnx
from onnx import TensorProto

from gtp_export.architectures.chain_graph import OPSET_WITH_MAXIMA, ChainNodes
from gtp_export.architectures.folded_layers import FoldedLayers
from gtp_export.architectures.plain import OWNERSHIP, PlainShape
from gtp_export.architectures.shape import Weights
from gtp_export.convert.graph import OPSET, Graph

SMALL_FROM = 1 << 20
"""Matrices of so many weights are stored as bytes."""


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
