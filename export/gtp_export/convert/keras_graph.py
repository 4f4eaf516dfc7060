"""A sequential Keras net as an ONNX graph, turned so that rows count from the top."""

import numpy as np
from onnx import TensorProto

from gtp_engine.evaluators.nets.net_info import (
    ENCODERS,
    NO_RESULT_NEVER,
    SPATIAL_INPUT,
    VALUE_SCALAR,
    NetInfo,
)
from gtp_export.convert.graph import Graph, GraphError
from gtp_export.convert.katago_net import MatMul
from gtp_export.convert.keras_file import (
    BOOK_ENCODERS,
    ActivationLayer,
    ConvLayer,
    DenseLayer,
    FlattenLayer,
    KerasNet,
    Layer,
    NormLayer,
    PadLayer,
    PoolLayer,
)
from gtp_export.convert.layers import dense_bias

ONE_PLANE = "dlgo1"
"""The encoder whose two planes the book has as one."""

_OPS = {
    "relu": "Relu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "elu": "Elu",
    "softplus": "Softplus",
}


def keras_graph(net: KerasNet) -> Graph:
    """Build the graph; a net with one output is a value net, any other a policy net.

    Raises:
        GraphError: the net's encoder is not known, or its outputs are no moves of its board.
    """
    encoder = keras_encoder(net)
    graph = Graph("keras")
    size, planes = net.size, ENCODERS[encoder][1]
    spatial = graph.input(SPATIAL_INPUT, TensorProto.UINT8, ["batch", planes, size, size])
    tensor = _board(graph, spatial, encoder)
    *layers, last = net.layers
    ending = "linear"
    if isinstance(last, ActivationLayer):
        ending = last.kind
    else:
        layers.append(last)
    for layer in layers:
        tensor = _layer(graph, tensor, layer)
    if net.outputs == 1:
        graph.output("value", _value(graph, tensor, ending), ["batch", 1])
    else:
        graph.output("policy", _policy(graph, tensor, net, ending), ["batch", net.outputs])
    return graph


def keras_encoder(net: KerasNet) -> str:
    """Return our name of the encoder a net was trained with.

    Raises:
        GraphError: It is not known, or makes another number of planes.
    """
    name = net.encoder or ("oneplane" if net.planes == 1 else None)
    if name is None:
        raise GraphError(
            f"takes {net.planes} planes and does not say whose; --encoder does, with one of "
            f"{', '.join(BOOK_ENCODERS)}"
        )
    if name not in BOOK_ENCODERS:
        known = ", ".join(BOOK_ENCODERS)
        raise GraphError(f"was trained with the encoder {name!r}; known are {known}")
    encoder = BOOK_ENCODERS[name]
    made = 1 if encoder == ONE_PLANE else ENCODERS[encoder][1]
    if net.planes != made:
        raise GraphError(f"takes {net.planes} planes, but the encoder {name!r} makes {made}")
    return encoder


def keras_info(net: KerasNet, name: str, source: str) -> NetInfo:
    """Describe a Keras net; `source` names the file it came from."""
    encoder = keras_encoder(net)
    convolutions = sum(isinstance(layer, ConvLayer) for layer in net.layers)
    dense = sum(isinstance(layer, DenseLayer) for layer in net.layers)
    is_value = net.outputs == 1
    return NetInfo(
        name=name,
        encoder=encoder,
        encoder_version=ENCODERS[encoder][0],
        spatial_planes=ENCODERS[encoder][1],
        heads={"value": "expected result, -1..1"} if is_value else {"policy": "move logits"},
        has_pass=net.outputs == net.size**2 + 1,
        value_kind=VALUE_SCALAR,
        no_result=NO_RESULT_NEVER,
        board_min=net.size,
        board_max=net.size,
        square_only=True,
        board_sizes=(net.size,),
        trained_sizes=(net.size, net.size),
        architecture=f"{convolutions} convolutions, {dense} dense layers",
        parameters=net.parameters,
        source=f"Keras, {source}",
        created_by="gtp-export convert",
    )


def _board(graph: Graph, spatial: str, encoder: str) -> str:
    """Return the planes as the net knows them: floats, rows from the bottom."""
    planes = graph.node("Cast", spatial, name="planes", to=TensorProto.FLOAT)
    first, last, axis, step = (graph.ints([value]) for value in (-1, -(1 << 30), 2, -1))
    planes = graph.node("Slice", planes, first, last, axis, step, name="from_the_bottom")
    if encoder != ONE_PLANE:
        return planes
    # Our planes are own and opponent's stones, 0 or 1; the book's one plane is their difference.
    own, other = graph.nodes("Split", planes, outputs=2, axis=1)
    return graph.node("Sub", own, other, name="own_minus_other")


def _layer(graph: Graph, tensor: str, layer: Layer) -> str:
    match layer:
        case ConvLayer():
            return graph.node(
                "Conv",
                tensor,
                graph.floats(layer.weights, f"{layer.name}/weights"),
                graph.floats(layer.bias, f"{layer.name}/bias"),
                name=layer.name,
                kernel_shape=list(layer.weights.shape[2:]),
                strides=list(layer.strides),
                pads=list(layer.pads),
            )
        case PoolLayer():
            return graph.node(
                "MaxPool" if layer.maximum else "AveragePool",
                tensor,
                kernel_shape=list(layer.window),
                strides=list(layer.strides),
                pads=list(layer.pads),
            )
        case PadLayer(pads=(top, left, bottom, right)):
            return graph.node("Pad", tensor, graph.ints([0, 0, top, left, 0, 0, bottom, right]))
        case NormLayer():
            shape = (-1, 1, 1) if layer.on_map else (-1,)
            scale = graph.floats(layer.scale.reshape(shape), f"{layer.name}/scale")
            bias = graph.floats(layer.bias.reshape(shape), f"{layer.name}/bias")
            return graph.node("Add", graph.node("Mul", tensor, scale), bias, name=layer.name)
        case FlattenLayer():
            return graph.node("Flatten", tensor)
        case DenseLayer():
            return dense_bias(graph, tensor, MatMul(layer.name, layer.weights), layer.bias)
        case ActivationLayer():
            if layer.kind == "softmax":
                return graph.node("Softmax", tensor, axis=1)
            return graph.node(_OPS[layer.kind], tensor)


def _value(graph: Graph, tensor: str, kind: str) -> str:
    """Return the value in -1..1; a sigmoid's range is stretched."""
    if kind not in ("tanh", "sigmoid"):
        raise GraphError(f"ends in one number without bounds ({kind}), which is no value")
    value = graph.node(_OPS[kind], tensor)
    if kind == "tanh":
        return value
    doubled = graph.node("Mul", value, graph.floats(2.0))
    return graph.node("Sub", doubled, graph.floats(1.0))


def _policy(graph: Graph, tensor: str, net: KerasNet, kind: str) -> str:
    """Return move logits with rows from the top; a final softmax is left away."""
    points = net.size**2
    if net.outputs not in (points, points + 1):
        raise GraphError(
            f"has {net.outputs} outputs; a policy for {net.size}x{net.size} has {points} "
            f"or, with a pass, {points + 1}"
        )
    if kind not in ("softmax", "linear"):
        tensor = graph.node(_OPS[kind], tensor)
    order = np.arange(points).reshape(net.size, net.size)[::-1].ravel()
    if net.outputs == points + 1:
        order = np.append(order, points)
    return graph.node("Gather", tensor, graph.ints(order, "rows_from_the_top"), axis=1)
