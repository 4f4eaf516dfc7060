"""KataGo's attention block: every point of the board attends to every other."""

import numpy as np
from numpy.typing import NDArray

from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_net import AttentionBlock, FixedRope, LearnedRope, MatMul
from gtp_export.convert.layers import BoardSize, dense, rms_norm
from gtp_export.convert.stream import Stream

LONGEST_SIDE = 25
"""The rotation tables reach this far; no board of this engine is longer."""


def add_attention_block(stream: Stream, block: AttentionBlock) -> None:
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
    split = mul.weights.reshape(mul.channels_in, -1, block.qk_dim // 2, 2)
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
    return board.once(
        ("rotation", steps.tobytes(), steps.shape), lambda: _make_rotation(graph, board, steps)
    )


def _make_rotation(graph: Graph, board: BoardSize, steps: NDArray[np.float64]) -> tuple[str, str]:
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
    angles = np.arange(LONGEST_SIDE)[None, :, None] * steps[:, None, :]
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
