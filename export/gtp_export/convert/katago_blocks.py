"""KataGo's blocks, each of which reads the residual stream of a net and adds to it."""

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import MAX_SIZE
from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_net import (
    AttentionBlock,
    Block,
    BottleneckBlock,
    FeedForwardBlock,
    FixedRope,
    LearnedRope,
    MatMul,
    PoolingBlock,
    ResidualBlock,
)
from gtp_export.convert.layers import (
    BoardSize,
    activation,
    affine,
    channel_bias,
    convolution,
    dense,
    pool_mean_max,
    rms_norm,
)


class ResidualStream:
    """One tensor in two layouts, [B, C, H, W] and [B, H*W, C]; each is made when it is asked for.

    Blocks read it in the layout they work in and add to it in the same, so that a row of blocks
    of one kind changes layout once.
    """

    def __init__(self, graph: Graph, board: BoardSize, tensor: str, channels: int) -> None:
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
        self._map = self.graph.node("Add", self.map(), tensor)
        self._tokens = None

    def add_tokens(self, tensor: str) -> None:
        self._tokens = self.graph.node("Add", self.tokens(), tensor)
        self._map = None

    def set_tokens(self, tensor: str) -> None:
        """Put tokens in the stream's place."""
        self._tokens = tensor
        self._map = None


def add_block(stream: ResidualStream, block: Block) -> None:
    """Append a block of whatever kind to the stream."""
    match block:
        case ResidualBlock():
            _add_residual_block(stream, block)
        case PoolingBlock():
            _add_pooling_block(stream, block)
        case BottleneckBlock():
            _add_bottleneck_block(stream, block)
        case AttentionBlock():
            _add_attention_block(stream, block)
        case FeedForwardBlock():
            _add_feed_forward_block(stream, block)


def _add_bottleneck_block(stream: ResidualStream, block: BottleneckBlock) -> None:
    """Append the block: narrow the stream, run the inner blocks, widen and add the result."""
    graph = stream.graph
    tensor = activation(graph, affine(graph, stream.map(), block.norm_in), block.act_in)
    narrow = convolution(graph, tensor, block.conv_in)
    inner = ResidualStream(graph, stream.board, narrow, block.conv_in.channels_out)
    for child in block.blocks:
        add_block(inner, child)
    tensor = activation(graph, affine(graph, inner.map(), block.norm_out), block.act_out)
    stream.add_map(convolution(graph, tensor, block.conv_out))


def _add_residual_block(stream: ResidualStream, block: ResidualBlock) -> None:
    """Append the block; the second norm disappears into the first convolution."""
    graph = stream.graph
    tensor = activation(graph, affine(graph, stream.map(), block.norm1), block.act1)
    tensor = convolution(graph, tensor, block.conv1, after=block.norm2)
    tensor = activation(graph, tensor, block.act2)
    stream.add_map(convolution(graph, tensor, block.conv2))


def _add_pooling_block(stream: ResidualStream, block: PoolingBlock) -> None:
    """Append the block; the second norm scales the convolution and the pooled bias alike."""
    graph = stream.graph
    tensor = activation(graph, affine(graph, stream.map(), block.norm1), block.act1)
    pooled = convolution(graph, tensor, block.pool_conv, after=block.pool_norm)
    pooled = activation(graph, pooled, block.pool_act)
    pooled = pool_mean_max(graph, pooled, stream.board)
    bias = dense(graph, pooled, block.pool_to_bias, scale=block.norm2.scale)
    tensor = convolution(graph, tensor, block.conv1, after=block.norm2)
    tensor = channel_bias(graph, tensor, bias, block.norm2.channels)
    tensor = activation(graph, tensor, block.act2)
    stream.add_map(convolution(graph, tensor, block.conv2))


def _add_feed_forward_block(stream: ResidualStream, block: FeedForwardBlock) -> None:
    """Append the block, which works on each point by itself.

    KataGo 1.17 itself runs gated blocks alone.
    """
    graph = stream.graph
    normed = rms_norm(graph, stream.tokens(), block.norm)
    hidden = activation(graph, dense(graph, normed, block.linear1), "silu")
    if block.gate is not None:
        hidden = graph.node("Mul", hidden, dense(graph, normed, block.gate))
    stream.add_tokens(dense(graph, hidden, block.linear2))


# Attention ---------------------------------------------------------------------------------------


def _add_attention_block(stream: ResidualStream, block: AttentionBlock) -> None:
    """Append the block. Query heads that share a key head are treated as more query tokens."""
    graph = stream.graph
    kv_heads, group = block.kv_heads, block.heads // block.kv_heads
    normed = rms_norm(graph, stream.tokens(), block.norm)
    query = _split_heads(graph, normed, _query(block), [kv_heads, group, block.qk_dim])
    key = _split_heads(graph, normed, _key(block), [kv_heads, 1, block.qk_dim])
    value = _split_heads(graph, normed, block.value, [kv_heads, 1, block.v_dim])
    if block.rope is not None:
        cosine, sine = _rotation(graph, stream.board, _frequencies(block))
        query = _rotate(graph, query, cosine, sine)
        key = _rotate(graph, key, cosine, sine)
    # [B, kv heads, group * S, width] x [B, kv heads, width, S]
    query = graph.node("Reshape", query, graph.ints([0, kv_heads, -1, block.qk_dim]))
    key = graph.node("Reshape", key, graph.ints([0, kv_heads, -1, block.qk_dim]))
    value = graph.node("Reshape", value, graph.ints([0, kv_heads, -1, block.v_dim]))
    key = graph.node("Transpose", key, perm=[0, 1, 3, 2])
    weights = graph.node("Softmax", graph.node("MatMul", query, key), axis=-1)
    mixed = graph.node("MatMul", weights, value)
    # Back to [B, S, heads * width].
    mixed = graph.node("Reshape", mixed, graph.ints([0, block.heads, -1, block.v_dim]))
    mixed = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = graph.node("Reshape", mixed, graph.ints([0, 0, block.heads * block.v_dim]))
    stream.add_tokens(dense(graph, mixed, block.out))


def _split_heads(graph: Graph, tokens: str, mul: MatMul, shape: list[int]) -> str:
    """Append a matrix product and order its result [B, kv heads, group, S, width]."""
    split = graph.node("Reshape", dense(graph, tokens, mul), graph.ints([0, 0, *shape]))
    return graph.node("Transpose", split, perm=[0, 2, 3, 1, 4])


def _query(block: AttentionBlock) -> MatMul:
    """Return the query matrix with the scale of the dot product and the pair order applied."""
    scale = 1 / np.sqrt(block.qk_dim)
    weights = (_pairs_apart(block, block.query) * scale).astype(np.float32)
    return MatMul(block.query.name, weights)


def _key(block: AttentionBlock) -> MatMul:
    return MatMul(block.key.name, _pairs_apart(block, block.key))


def _pairs_apart(block: AttentionBlock, mul: MatMul) -> NDArray[np.float32]:
    """Order each head's outputs so that first members of all pairs precede all second ones.

    The file rotates neighbours (2p, 2p+1). A dot product does not mind the order of its terms
    as long as query and key agree, and halves are cheaper to split than neighbours.
    """
    if block.rope is None:
        return mul.weights
    split = mul.weights.reshape(len(mul.weights), -1, block.qk_dim // 2, 2)
    return np.ascontiguousarray(split.swapaxes(2, 3)).reshape(mul.weights.shape)


def _frequencies(block: AttentionBlock) -> NDArray[np.float64]:
    """Return the angle a step along x and y adds, [kv heads or 1, pairs, 2]."""
    match block.rope:
        case LearnedRope(frequencies):
            return frequencies.astype(np.float64)
        case FixedRope(theta):
            pairs = block.qk_dim // 2
            along_y = pairs // 2
            steps = np.zeros((1, pairs, 2))
            first, second = np.arange(along_y), np.arange(pairs - along_y)
            steps[0, :along_y, 1] = theta ** (-2 * first / pairs)
            steps[0, along_y:, 0] = theta ** (-2 * second / pairs)
            return steps
    raise AssertionError("blocks without RoPE have no frequencies")


def _rotation(graph: Graph, board: BoardSize, steps: NDArray[np.float64]) -> tuple[str, str]:
    """Return cosine and sine of every point's angles, [kv heads or 1, 1, S, pairs].

    Tables along each axis are constants; the sum of two angles turns into products, which is
    far cheaper than computing cosines anew for every evaluation.
    """
    heads, pairs, _ = steps.shape
    cos_x, sin_x = _axis_tables(graph, steps[..., 0], board.width, [heads, 1, -1, pairs])
    cos_y, sin_y = _axis_tables(graph, steps[..., 1], board.height, [heads, -1, 1, pairs])
    flat = graph.ints([heads, 1, -1, pairs])
    cosine = graph.node("Sub", graph.node("Mul", cos_x, cos_y), graph.node("Mul", sin_x, sin_y))
    sine = graph.node("Add", graph.node("Mul", sin_x, cos_y), graph.node("Mul", cos_x, sin_y))
    return graph.node("Reshape", cosine, flat), graph.node("Reshape", sine, flat)


def _axis_tables(
    graph: Graph, steps: NDArray[np.float64], length: str, shape: list[int]
) -> list[str]:
    """Return cosine and sine of 0, 1, ... `length` - 1 times steps [heads, pairs]."""
    angles = np.arange(MAX_SIZE)[None, :, None] * steps[:, None, :]
    tables = []
    for values in (np.cos(angles), np.sin(angles)):
        table = graph.floats(values, "rope/table")
        cut = graph.node("Slice", table, graph.ints([0]), length, graph.ints([1]))
        tables.append(graph.node("Reshape", cut, graph.ints(shape)))
    return tables


def _rotate(graph: Graph, tensor: str, cosine: str, sine: str) -> str:
    """Turn the pairs (i, pairs + i) of the last axis by their angles."""
    first, second = graph.nodes("Split", tensor, outputs=2, axis=-1)
    turned_first = graph.node(
        "Sub", graph.node("Mul", first, cosine), graph.node("Mul", second, sine)
    )
    turned_second = graph.node(
        "Add", graph.node("Mul", first, sine), graph.node("Mul", second, cosine)
    )
    return graph.node("Concat", turned_first, turned_second, axis=-1)
