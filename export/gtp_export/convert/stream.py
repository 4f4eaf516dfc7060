"""The residual stream of a net: a map for convolutions, a list of tokens for transformers."""

from gtp_export.convert.graph import Graph
from gtp_export.convert.layers import BoardSize


class Stream:
    """One tensor in two layouts, [B, C, H, W] and [B, H*W, C]; each is made when it is asked for.

    Blocks read it in the layout they work in and add to it in the same, so that a row of blocks
    of one kind changes layout once.
    """

    def __init__(self, graph: Graph, board: BoardSize, tensor: str, channels: int) -> None:
        """Start from a map."""
        self.graph = graph
        self.board = board
        self.channels = channels
        self._map: str | None = tensor
        self._tokens: str | None = None

    def map(self) -> str:
        """Return the stream as a map [B, C, H, W]."""
        if self._map is None:
            graph = self.graph
            rows = graph.node("Transpose", str(self._tokens), perm=[0, 2, 1])
            shape = graph.node(
                "Concat",
                graph.ints([0, self.channels]),
                self.board.height,
                self.board.width,
                axis=0,
            )
            self._map = graph.node("Reshape", rows, shape)
        return self._map

    def tokens(self) -> str:
        """Return the stream as tokens [B, H*W, C]."""
        if self._tokens is None:
            rows = self.graph.node(
                "Reshape", str(self._map), self.graph.ints([0, self.channels, -1])
            )
            self._tokens = self.graph.node("Transpose", rows, perm=[0, 2, 1])
        return self._tokens

    def add_map(self, tensor: str) -> None:
        """Add a map to the stream."""
        self._map = self.graph.node("Add", self.map(), tensor)
        self._tokens = None

    def add_tokens(self, tensor: str) -> None:
        """Add tokens to the stream."""
        self._tokens = self.graph.node("Add", self.tokens(), tensor)
        self._map = None

    def set_tokens(self, tensor: str) -> None:
        """Put tokens in the stream's place."""
        self._tokens = tensor
        self._map = None
