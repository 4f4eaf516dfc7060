"""Layers of a net as nodes of a graph, each norm folded into the layer before it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from gtp_export.architectures.shape import NORM_EPSILON, Weights
from gtp_export.convert.graph import Graph

Floats = NDArray[np.float32]


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
        """Return the factor and the addend that a norm comes down to."""
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
