"""Write a net with a policy and a value head as ONNX with its net info."""

import onnx
from onnx import TensorProto

from gtp_export.architectures.dual import DualShape
from gtp_export.architectures.folded_layers import FoldedLayers
from gtp_export.architectures.shape import Weights
from gtp_export.convert.graph import Graph


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
