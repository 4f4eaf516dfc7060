"""A Leela Zero net as an ONNX graph, turned so that rows count from the top."""

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from gtp_engine.evaluators.nets.net_info import (
    ENCODERS,
    NO_RESULT_NEVER,
    SPATIAL_INPUT,
    VALUE_SCALAR,
    NetInfo,
)
from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_net import Affine, Conv, MatMul
from gtp_export.convert.layers import convolution, dense_bias
from gtp_export.convert.leela_zero_file import (
    PLANES,
    POINTS,
    SIZE,
    ConvUnit,
    Dense,
    LeelaZeroNet,
)

KOMI = 7.5
"""All of Leela Zero's games were played with it; the net knows no other."""
_BLACK_MOVES, _WHITE_MOVES = 16, 17
"""The planes that are all ones if that color is to move."""


def leela_zero_graph(net: LeelaZeroNet) -> Graph:
    """Build the graph, for 19x19 only: the dense layers know no other size.

    The file's points count from the bottom row. The kernels are mirrored and the dense layers'
    points reordered, so that inputs and outputs count from the top as everywhere else here.
    """
    graph = Graph("leela-zero")
    spatial = graph.input(SPATIAL_INPUT, TensorProto.UINT8, ["batch", PLANES, SIZE, SIZE])
    planes = graph.node("Cast", spatial, name="planes", to=TensorProto.FLOAT)
    tensor = graph.node("Relu", _conv(graph, planes, net.stem, "stem"))
    for index, (first, second) in enumerate(net.blocks):
        inner = graph.node("Relu", _conv(graph, tensor, first, f"block{index}/conv1"))
        inner = _conv(graph, inner, second, f"block{index}/conv2")
        tensor = graph.node("Relu", graph.node("Add", inner, tensor))
    graph.output("policy", _policy(graph, tensor, net), ["batch", POINTS + 1])
    graph.output("value", _value(graph, planes, tensor, net), ["batch", 1])
    return graph


def leela_zero_info(net: LeelaZeroNet, name: str, source: str) -> NetInfo:
    """Describe a Leela Zero net; `source` names the file it came from."""
    return NetInfo(
        name=name,
        encoder="lz18",
        encoder_version=ENCODERS["lz18"][0],
        spatial_planes=PLANES,
        heads={"policy": "move logits, pass last", "value": "expected result, -1..1"},
        value_kind=VALUE_SCALAR,
        no_result=NO_RESULT_NEVER,
        board_min=SIZE,
        board_max=SIZE,
        square_only=True,
        board_sizes=(SIZE,),
        trained_sizes=(SIZE, SIZE),
        rules="area",
        komi_min=KOMI,
        komi_max=KOMI,
        architecture=f"{len(net.blocks)} residual blocks x {net.filters} channels, relu",
        parameters=net.parameters,
        source=f"Leela Zero format {2 if net.value_is_blacks else 1}, {source}",
        created_by="gtp-export convert",
    )


def _conv(graph: Graph, tensor: str, unit: ConvUnit, name: str) -> str:
    conv = Conv(name, unit.weights[:, :, ::-1], (1, 1))
    return convolution(graph, tensor, conv, Affine(name, np.ones(len(unit.bias)), unit.bias))


def _from_the_top() -> NDArray[np.int64]:
    """Return the file's index of every point, in our order."""
    return np.arange(POINTS).reshape(SIZE, SIZE)[::-1].ravel()


def _reordered_inputs(layer: Dense) -> Dense:
    """Reorder the points of a layer that reads maps, flattened channel by channel."""
    outputs, inputs = layer.weights.shape
    maps = layer.weights.reshape(outputs, inputs // POINTS, POINTS)
    return Dense(maps[:, :, _from_the_top()].reshape(outputs, inputs), layer.bias)


def _dense(graph: Graph, tensor: str, layer: Dense, name: str) -> str:
    return dense_bias(graph, tensor, MatMul(name, layer.weights.T), layer.bias)


def _policy(graph: Graph, tensor: str, net: LeelaZeroNet) -> str:
    maps = graph.node("Relu", _conv(graph, tensor, net.policy_conv, "policy/conv"))
    layer = _reordered_inputs(net.policy)
    order = np.append(_from_the_top(), POINTS)
    return _dense(
        graph, graph.node("Flatten", maps), Dense(layer.weights[order], layer.bias[order]), "policy"
    )


def _value(graph: Graph, planes: str, tensor: str, net: LeelaZeroNet) -> str:
    maps = graph.node("Relu", _conv(graph, tensor, net.value_conv, "value/conv"))
    hidden = _dense(
        graph, graph.node("Flatten", maps), _reordered_inputs(net.value_hidden), "value/hidden"
    )
    value = graph.node("Tanh", _dense(graph, graph.node("Relu", hidden), net.value, "value"))
    return graph.node("Mul", value, _side_sign(graph, planes)) if net.value_is_blacks else value


def _side_sign(graph: Graph, planes: str) -> str:
    """Return 1 where Black is to move and -1 where White is, [B, 1]."""
    one_point = [graph.ints([channel, 0, 0]) for channel in (_BLACK_MOVES, _WHITE_MOVES)]
    ends = [graph.ints([channel + 1, 1, 1]) for channel in (_BLACK_MOVES, _WHITE_MOVES)]
    black, white = (
        graph.node("Slice", planes, start, end, graph.ints([1, 2, 3]))
        for start, end in zip(one_point, ends, strict=True)
    )
    return graph.node("Flatten", graph.node("Sub", black, white))
