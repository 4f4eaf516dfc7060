"""The operations that architectures are written in, so that each is described once.

A shape's `compute` says what its net does with planes and globals, in calls of `Layers`. Carried
out three ways it is the list of the net's arrays (here), an ONNX file (`onnx_layers`) and the net
that PyTorch trains (`learning.torch_layers`). Maps are [B, C, H, W], vectors [B, C]; both can be
added, subtracted, multiplied and divided, by each other and by numbers.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

SIZE_CENTER, SIZE_SCALE = 14.0, 10.0
"""Of the side of a square board of as many points, where it enters a net."""
Value = Any
"""A map or vector: its `Width`, its name in a graph, or a tensor."""
Outputs = dict[str, Value]
"""By head: `policy` [B, A] logits; `value` [B, 3] logits or [B, 1] in -1..1; `score` [B, columns]
in points; `ownership` [B, H, W] before its tanh."""


class Layers(Protocol):
    """What a description may ask for; layers are told by the names of their arrays."""

    @property
    def size_offset(self) -> Value:
        """(s - 14) / 10 with s the square root of the board's points."""

    def conv(
        self,
        name: str,
        tensor: Value,
        channels: int,
        side: int,
        *,
        norm: str = "",
        bias: bool = False,
        everywhere: tuple[str, Value] | None = None,
    ) -> Value:
        """Convolve a map, zeros around the board.

        Args:
            channels: Outputs.
            side: Of the square kernel.
            norm: Norm that the sum passes; a layer without one is an output.
            bias: Whether the layer has a bias.
            everywhere: A dense layer and the vector it reads, added at every point before the norm.
        """

    def dense(self, name: str, tensor: Value, channels: int, *, norm: str = "") -> Value:
        """Multiply a vector by a matrix; without a norm the layer has a bias."""

    def relu(self, tensor: Value) -> Value: ...
    def tanh(self, tensor: Value) -> Value: ...
    def sqrt(self, tensor: Value) -> Value: ...
    def softplus(self, tensor: Value) -> Value:
        """Return log(1 + exp(x))."""

    def join(self, *tensors: Value) -> Value:
        """Return all channels behind each other."""

    def split(self, tensor: Value, *channels: int) -> list[Value]:
        """Return parts of so many channels each."""

    def mean(self, tensor: Value) -> Value:
        """Return [B, C, 1, 1] the means over the board."""

    def maximum(self, tensor: Value) -> Value:
        """Return [B, C, 1, 1] the maxima over the board."""

    def halve(self, tensor: Value) -> Value:
        """Return the maxima of squares of 2x2 points; an odd row or column at the end drops out."""

    def total(self, tensor: Value) -> Value:
        """Return [B, 1] the sums of all numbers of a board."""

    def flat(self, tensor: Value) -> Value:
        """Return a map as a vector."""

    def plane(self, tensor: Value) -> Value:
        """Return [B, H, W] of a map of one channel."""

    def any_of(self, tensor: Value) -> Value:
        """Return [B, 1, H, W] the maxima over the channels."""

    def sum_of(self, tensor: Value) -> Value:
        """Return [B, 1, H, W] the sums over the channels."""

    def numbers(self, tensor: Value) -> Value:
        """Return [B, 1, H, W] the points of a map of one channel counted from 1."""

    def neighbours(self, tensor: Value) -> Value:
        """Return for each point the maximum over itself and the four beside it; none below 0."""

    def attend(self, queries: Value, keys: Value, values: Value, heads: int, width: int) -> Value:
        """Return at each point, head by head, a mean of the values of all points.

        Points weigh as the softmax of their keys times the point's query over the root of `width`
        (Vaswani et al. 2017, "Attention Is All You Need", equation 1).

        Args:
            heads: Into so many the channels of all three maps are divided.
            width: Channels of a head.
        """

    def gather(self, tensor: Value, places: Value) -> Value:
        """Return what the point holds whose index `places`, [B, C or 1, H, W], has there."""

    def scatter(self, tensor: Value, places: Value, reduction: str) -> Value:
        """Return at each point the `max` of itself and those naming it, or those by `add`."""


@dataclass(frozen=True)
class Width:
    """How many channels a map or vector has, and points a channel where its layers must know."""

    channels: int
    points: int = 1

    def _with(self, other: "Width | float") -> "Width":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _with


class ArrayList:
    """Lists the arrays of a net; the interface is `Layers`."""

    size_offset = 1.0

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[int, ...]] = {}
        """Shape of every weight and running statistic by name."""
        self.layers_before: dict[str, tuple[str, ...]] = {}
        """By a norm's name the layers whose sum it norms; it is folded into the first."""

    def conv(
        self,
        name: str,
        tensor: Width,
        channels: int,
        side: int,
        *,
        norm: str = "",
        bias: bool = False,
        everywhere: tuple[str, Width] | None = None,
    ) -> Width:
        """List a kernel, [out, in, side, side], and what comes with it."""
        self.shapes[f"{name}.weight"] = (channels, tensor.channels, side, side)
        layers = [name]
        if everywhere is not None:
            other, vector = everywhere
            self.shapes[f"{other}.weight"] = (channels, vector.channels)
            layers.append(other)
        self._end(layers, channels, norm, bias)
        return Width(channels, tensor.points)

    def dense(self, name: str, tensor: Width, channels: int, *, norm: str = "") -> Width:
        self.shapes[f"{name}.weight"] = (channels, tensor.channels)
        self._end([name], channels, norm, bias=not norm)
        return Width(channels)

    def _end(self, layers: list[str], channels: int, norm: str, bias: bool) -> None:
        if bias:
            self.shapes[f"{layers[0]}.bias"] = (channels,)
        if norm:
            self.layers_before[norm] = tuple(layers)
            for part in ("weight", "bias", "running_mean", "running_var"):
                self.shapes[f"{norm}.{part}"] = (channels,)

    def join(self, *tensors: Width) -> Width:
        return Width(sum(tensor.channels for tensor in tensors), tensors[0].points)

    def split(self, tensor: Width, *channels: int) -> list[Width]:
        return [Width(part, tensor.points) for part in channels]

    def mean(self, tensor: Width) -> Width:
        return Width(tensor.channels)

    def halve(self, tensor: Width) -> Width:
        """Return a quarter of a square board's points."""
        return Width(tensor.channels, (math.isqrt(tensor.points) // 2) ** 2)

    def flat(self, tensor: Width) -> Width:
        """Return the points of all channels as channels."""
        return Width(tensor.channels * tensor.points)

    def plane(self, tensor: Width, *_: Any) -> Width:
        return Width(1, tensor.points)

    def relu(self, tensor: Width, *_: Any) -> Width:
        return tensor

    maximum = mean
    total = any_of = sum_of = numbers = plane
    tanh = sqrt = softplus = neighbours = attend = gather = scatter = relu
