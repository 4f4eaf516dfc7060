"""Chains as nodes of a graph: which stones hang together, and maxima and means over them.

Every point gets the label of its chain, the largest index of its points; an empty point is a chain
of its own. In a round labels spread to neighbours of the same color; what a stone found out is
told to the stone that its old label names, and every stone asks that one again. The reach doubles
with each round, so that few do for the longest chains (after Shiloach and Vishkin, "An O(log n)
parallel connectivity algorithm", 1982).
"""

from onnx import TensorProto

from gtp_export.convert.graph import Graph

OPSET_WITH_MAXIMA = 18
"""ScatterElements knows maxima from here on."""
ROUNDS = 8
"""Of the 1.03 million chains on 24,496 boards of recorded games none needs more than seven."""
OWN_PLANES, OTHER_PLANES = (0, 3), (3, 6)
"""Planes of the encoders `gocnn8` and `gocnn21` that hold the stones."""


class ChainNodes:
    """Labels of a batch of boards, and what is computed with them."""

    def __init__(self, graph: Graph, planes: str) -> None:
        """Append the labelling of [B, C, H, W] planes."""
        self._graph = graph
        colors = graph.node("Concat", *self._colors(planes), axis=1)
        self._labels = self._label(colors)

    def pool_half(self, tensor: str, channels: int) -> str:
        """Put the maximum over the chain in the later half of [B, channels, H, W], all >= 0."""
        graph = self._graph
        split = graph.ints([channels - channels // 2, channels // 2])
        kept, pooled = graph.nodes("Split", tensor, split, outputs=2, axis=1)
        return graph.node("Concat", kept, self._over_chains(pooled, "max"), axis=1)

    def mean(self, tensor: str) -> str:
        """Return [B, C, H, W] with the mean over the chain at each point."""
        graph = self._graph
        ones = graph.node("Sub", tensor, tensor)
        ones = graph.node("Add", ones, graph.floats(1.0))
        return graph.node("Div", self._over_chains(tensor, "add"), self._over_chains(ones, "add"))

    def _colors(self, planes: str) -> list[str]:
        """Return the stones of either player as [B, 1, H, W] of 0 and 1, no point in both."""
        graph = self._graph
        own, other = (
            graph.node(
                "ReduceMax",
                graph.node("Slice", planes, *(graph.ints([n]) for n in (first, end, 1))),
                graph.ints([1]),
                keepdims=1,
            )
            for first, end in (OWN_PLANES, OTHER_PLANES)
        )
        return [own, graph.node("Mul", other, graph.node("Sub", graph.floats(1.0), own))]

    def _label(self, colors: str) -> str:
        """Return int64 [B, 1, H * W], from [B, 2, H, W]."""
        graph = self._graph
        shape = graph.node("Shape", colors)
        flat = graph.ints([0, 2, -1])
        ones = graph.node("Add", graph.node("Sub", colors, colors), graph.floats(1.0))
        first = graph.node("Slice", ones, graph.ints([0]), graph.ints([1]), graph.ints([1]))
        counted = graph.node(
            "CumSum", graph.node("Reshape", first, graph.ints([0, 1, -1])), graph.ints(2)
        )
        numbers = graph.node("Reshape", counted, graph.node("Shape", first))  # from 1
        labels = graph.node("Mul", numbers, colors)
        for _ in range(ROUNDS):
            column = graph.node("MaxPool", labels, kernel_shape=[3, 1], pads=[1, 0, 1, 0])
            row = graph.node("MaxPool", labels, kernel_shape=[1, 3], pads=[0, 1, 0, 1])
            found = graph.node("Mul", graph.node("Max", column, row), colors)
            found = graph.node("Reshape", found, flat)
            places = graph.node("Sub", graph.node("Reshape", labels, flat), graph.floats(1.0))
            places = graph.node("Cast", graph.node("Relu", places), to=TensorProto.INT64)
            told = graph.node("ScatterElements", found, places, found, axis=2, reduction="max")
            asked = graph.node("GatherElements", told, places, axis=2)
            labels = graph.node("Mul", graph.node("Reshape", asked, shape), colors)
        either = graph.node("ReduceSum", labels, graph.ints([1]), keepdims=1)
        stones = graph.node("ReduceSum", colors, graph.ints([1]), keepdims=1)
        empty = graph.node("Sub", graph.floats(1.0), stones)
        named = graph.node("Add", either, graph.node("Mul", numbers, empty))
        places = graph.node("Sub", named, graph.floats(1.0))
        places = graph.node("Reshape", places, graph.ints([0, 1, -1]))
        return graph.node("Cast", places, to=TensorProto.INT64)

    def _over_chains(self, tensor: str, reduction: str) -> str:
        """Return the maximum (of values >= 0) or the sum over the chain at each point."""
        graph = self._graph
        shape = graph.node("Shape", tensor)
        values = graph.node("Reshape", tensor, graph.ints([0, 0, -1]))
        labels = graph.node("Expand", self._labels, graph.node("Shape", values))
        nothing = graph.node("Sub", values, values)
        gathered = graph.node(
            "ScatterElements", nothing, labels, values, axis=2, reduction=reduction
        )
        spread = graph.node("GatherElements", gathered, labels, axis=2)
        return graph.node("Reshape", spread, shape)
