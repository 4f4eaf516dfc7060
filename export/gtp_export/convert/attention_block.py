"""KataGo's attention block: every point of the board attends to every other."""

import numpy as np
from numpy.typing import NDArray

from gtp_export.convert.graph import Graph
from gtp_export.convert.katago_file import AttentionBlock, FixedRope, LearnedRope, MatMul
from gtp_export.convert.layers import BoardSize, dense, rms_norm
from gtp_export.convert.stream import Stream

LONGEST_SIDE = 25
"""The rotation tables reach this far; no board of this engine is longer."""


def add_attention_block(stream: Stream, block: AttentionBlock) -> None:
    """Append the block. Query heads that share a key head are treated as more query tokens."""
    graph = stream.graph
    normed = rms_norm(graph, stream.tokens(), block.norm)
    group = block.heads // block.kv_heads
    # [B, S, kv heads, group, width], and a group of one for keys and values.
    query = _split_heads(graph, normed, _query(block), [block.kv_heads, group, block.qk_dim])
    key = _split_heads(graph, normed, _key(block), [block.kv_heads, 1, block.qk_dim])
    value = _split_heads(graph, normed, block.value, [block.kv_heads, block.v_dim])
    if block.rope is not None:
        cosine, sine = _rotation(graph, stream.board, _frequencies(block))
        query = _rotate(graph, query, cosine, sine)
        key = _rotate(graph, key, cosine, sine)
    # [B, kv heads, group * S, width] x [B, kv heads, width, S]
    query = graph.node("Transpose", query, perm=[0, 2, 3, 1, 4])
    query = graph.node("Reshape", query, graph.ints([0, block.kv_heads, -1, block.qk_dim]))
    key = graph.node("Transpose", key, perm=[0, 2, 3, 4, 1])
    key = graph.node("Reshape", key, graph.ints([0, block.kv_heads, block.qk_dim, -1]))
    value = graph.node("Transpose", value, perm=[0, 2, 1, 3])
    weights = graph.node("Softmax", graph.node("MatMul", query, key), axis=-1)
    mixed = graph.node("MatMul", weights, value)
    mixed = graph.node("Reshape", mixed, graph.ints([0, block.kv_heads * group, -1, block.v_dim]))
    mixed = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = graph.node("Reshape", mixed, graph.ints([0, 0, block.heads * block.v_dim]))
    stream.add_tokens(dense(graph, mixed, block.out))


def _split_heads(graph: Graph, tokens: str, mul: MatMul, shape: list[int]) -> str:
    return graph.node("Reshape", dense(graph, tokens, mul), graph.ints([0, 0, *shape]))


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
    """Return cosine and sine of every point's angles, [S, kv heads or 1, 1, pairs].

    Tables along each axis are constants; the sum of two angles turns into products, which is
    far cheaper than computing cosines anew for every evaluation.
    """
    return board.once(
        ("rotation", steps.tobytes(), steps.shape), lambda: _make_rotation(graph, board, steps)
    )


def _make_rotation(graph: Graph, board: BoardSize, steps: NDArray[np.float64]) -> tuple[str, str]:
    heads, pairs, _ = steps.shape
    angles = np.arange(LONGEST_SIDE)[:, None, None, None] * steps[None]
    tables = {}
    for axis, (side, shape) in enumerate((("width", [1, -1]), ("height", [-1, 1]))):
        for name, function in (("cos", np.cos), ("sin", np.sin)):
            table = graph.floats(function(angles[..., axis]), "rope/table")
            length = board.width if side == "width" else board.height
            cut = graph.node("Slice", table, graph.ints([0]), length, graph.ints([0]))
            tables[name, axis] = graph.node("Reshape", cut, graph.ints([*shape, heads, 1, pairs]))
    flat = graph.ints([-1, heads, 1, pairs])
    cosine = graph.node(
        "Sub",
        graph.node("Mul", tables["cos", 0], tables["cos", 1]),
        graph.node("Mul", tables["sin", 0], tables["sin", 1]),
    )
    sine = graph.node(
        "Add",
        graph.node("Mul", tables["sin", 0], tables["cos", 1]),
        graph.node("Mul", tables["cos", 0], tables["sin", 1]),
    )
    return graph.node("Reshape", cosine, flat), graph.node("Reshape", sine, flat)


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
