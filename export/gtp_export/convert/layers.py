"""Layers of other programs' nets as graph nodes: convolutions, norms, activations, pooling."""

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_net import Affine, Conv, MatMul, RmsNorm

_NORM_EPSILON = 1e-5


class BoardSize:
    """Tensors that depend on the board's size alone; the graph has each of them once."""

    def __init__(self, graph: Graph, spatial_in: str) -> None:
        """Take the size from the input planes [B, C, H, W]."""
        self._graph = graph
        self._spatial_in = spatial_in

    @property
    def height(self) -> str:
        """int64 [1]"""
        return self._graph.node("Shape", self._spatial_in, start=2, end=3)

    @property
    def width(self) -> str:
        """int64 [1]"""
        return self._graph.node("Shape", self._spatial_in, start=3, end=4)

    @property
    def side(self) -> str:
        """float32 [1]: the square root of the number of points."""
        area = self._graph.node("Mul", self.height, self.width)
        return self._graph.node("Sqrt", self._graph.node("Cast", area, to=TensorProto.FLOAT))

    @property
    def side_excess(self) -> str:
        """float32 [1]: (side - 14) / 10."""
        difference = self._graph.node("Sub", self.side, self._graph.floats(14.0))
        return self._graph.node("Mul", difference, self._graph.floats(0.1))

    @property
    def squared_excess(self) -> str:
        """float32 [1]: side_excess^2 - 0.1."""
        square = self._graph.node("Mul", self.side_excess, self.side_excess)
        return self._graph.node("Sub", square, self._graph.floats(0.1))


def convolution(graph: Graph, tensor: str, conv: Conv, after: Affine | None = None) -> str:
    """Append a convolution, the norm after it folded into its weights."""
    weights = conv.weights.astype(np.float64)
    if after is not None:
        weights = weights * after.scale[:, None, None, None]
    inputs = [tensor, graph.floats(weights, f"{conv.name}/weights")]
    if after is not None and np.any(after.bias):
        inputs.append(graph.floats(after.bias, f"{conv.name}/bias"))
    _, _, height, width = conv.weights.shape
    pad_y = conv.dilation[0] * (height // 2)
    pad_x = conv.dilation[1] * (width // 2)
    return graph.node(
        "Conv",
        *inputs,
        name=conv.name,
        kernel_shape=[height, width],
        dilations=list(conv.dilation),
        pads=[pad_y, pad_x, pad_y, pad_x],
    )


def affine(graph: Graph, tensor: str, norm: Affine) -> str:
    """Append a scale and a bias a channel to a map [B, C, H, W].

    A batch norm with plain statistics: ONNX Runtime keeps its blocked layout through it (as a
    depthwise convolution that takes the activation along), which it does not through Mul and Add.
    """
    if not norm.bias.any() and (norm.scale == 1).all():
        return tensor
    ones = np.ones(norm.channels)
    return graph.node(
        "BatchNormalization",
        tensor,
        graph.floats(norm.scale, f"{norm.name}/scale"),
        graph.floats(norm.bias, f"{norm.name}/bias"),
        graph.floats(0 * ones, "zeros"),
        graph.floats((1 - _NORM_EPSILON) * ones, "ones"),
        name=norm.name,
        epsilon=_NORM_EPSILON,
    )


def activation(graph: Graph, tensor: str, kind: str) -> str:
    """Append an activation: identity, relu, mish or silu."""
    if kind == "relu":
        return graph.node("Relu", tensor)
    if kind == "silu":
        return graph.node("Mul", tensor, graph.node("Sigmoid", tensor), name="silu")
    if kind == "mish":
        return _mish(graph, tensor)
    return tensor


def _mish(graph: Graph, tensor: str) -> str:
    """Append x * tanh(softplus(x)) as x * w / (2 - w), w = u (2 - u), u = sigmoid(x).

    The same function without a logarithm, and exact to the last bits on both sides of zero. ONNX
    Runtime has no vectorised Softplus: on a CPU it took longer than all convolutions together.
    """
    two = graph.floats(2.0, "two")
    sigmoid = graph.node("Sigmoid", tensor)
    weight = graph.node("Mul", sigmoid, graph.node("Sub", two, sigmoid))
    product = graph.node("Mul", tensor, weight)
    return graph.node("Div", product, graph.node("Sub", two, weight), name="mish")


def dense(graph: Graph, tensor: str, mul: MatMul, scale: NDArray[np.float64] | None = None) -> str:
    """Append a matrix product, its outputs scaled by `scale`, [out], if given."""
    weights = mul.weights if scale is None else mul.weights * scale
    return graph.node("MatMul", tensor, graph.floats(weights, f"{mul.name}/weights"), name=mul.name)


def dense_bias(graph: Graph, tensor: str, mul: MatMul, bias: NDArray[np.float32]) -> str:
    """Append a matrix product with a bias [out] to a tensor [B, in]."""
    return graph.node(
        "Gemm",
        tensor,
        graph.floats(mul.weights, f"{mul.name}/weights"),
        graph.floats(bias, f"{mul.name}/bias"),
        name=mul.name,
    )


def channel_bias(graph: Graph, tensor: str, bias: str, channels: int) -> str:
    """Add a bias [B, C] to every point of a map [B, C, H, W]."""
    column = graph.node("Reshape", bias, graph.ints([0, channels, 1, 1]))
    return graph.node("Add", tensor, column)


def rms_norm(graph: Graph, tokens: str, norm: RmsNorm) -> str:
    """Append a root-mean-square norm of tokens [B, S, C].

    The nodes stand in the order that ONNX Runtime recognises and fuses.
    """
    axes = [1, 2] if norm.whole_board else [2]
    square = graph.node("Pow", tokens, graph.floats(2.0))
    mean = graph.node("ReduceMean", square, axes=axes, keepdims=1)
    root = graph.node("Sqrt", graph.node("Add", mean, graph.floats(norm.epsilon)))
    scaled = graph.node("Div", tokens, root)
    result = graph.node("Mul", scaled, graph.floats(norm.gamma, f"{norm.name}/gamma"))
    if norm.beta is None or not norm.beta.any():
        return result
    return graph.node("Add", result, graph.floats(norm.beta, f"{norm.name}/beta"))


def pool_mean_max(graph: Graph, tensor: str, board: BoardSize) -> str:
    """Pool a map to [B, 3C]: mean, mean times the excess of the side over 14, and maximum."""
    mean = graph.node("GlobalAveragePool", tensor)
    highest = graph.node("GlobalMaxPool", tensor)
    by_size = graph.node("Mul", mean, board.side_excess)
    return graph.node("Flatten", graph.node("Concat", mean, by_size, highest, axis=1))


def pool_means(graph: Graph, tensor: str, board: BoardSize) -> str:
    """Pool a map to [B, 3C]: the mean, weighted three ways by the board's size."""
    mean = graph.node("GlobalAveragePool", tensor)
    by_size = graph.node("Mul", mean, board.side_excess)
    by_square = graph.node("Mul", mean, board.squared_excess)
    return graph.node("Flatten", graph.node("Concat", mean, by_size, by_square, axis=1))
