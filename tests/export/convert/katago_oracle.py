"""KataGo nets computed slowly in float64, straight from the description of their layers."""

import numpy as np

from gtp_export.convert.katago_net import (
    Affine,
    AttentionBlock,
    BottleneckBlock,
    Conv,
    FeedForwardBlock,
    FixedRope,
    KataGoNet,
    PoolingBlock,
    ResidualBlock,
    RmsNorm,
)


def evaluate(
    net: KataGoNet, planes: np.ndarray, globals_: np.ndarray, meta: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return raw policy [channels, H*W+1], value [3], misc and ownership [H, W] of one board."""
    trunk = net.trunk
    x = conv(planes.astype(float), trunk.stem)
    bias = globals_ @ trunk.global_mul.weights
    if trunk.meta_encoder is not None and meta is not None:
        encoder = trunk.meta_encoder
        hidden = act(meta @ encoder.mul1.weights + encoder.bias1, encoder.act1)
        hidden = act(hidden @ encoder.mul2.weights + encoder.bias2, encoder.act2)
        bias = bias + hidden @ encoder.mul3.weights
    x = x + bias[:, None, None]
    for block in trunk.blocks:
        x = x + residual(x, block)
    tip = trunk.tip_norm
    x = act(affine(x, tip) if isinstance(tip, Affine) else rms(x, tip), trunk.tip_act)
    return policy(net, x) | value(net, x)


def conv(x: np.ndarray, layer: Conv) -> np.ndarray:
    """Add up shifted copies of the padded map, one for each point of the kernel."""
    _, _, kernel_y, kernel_x = layer.weights.shape
    step_y, step_x = layer.dilation
    pad_y, pad_x = kernel_y // 2 * step_y, kernel_x // 2 * step_x
    padded = np.pad(x, ((0, 0), (pad_y, pad_y), (pad_x, pad_x)))
    height, width = x.shape[1:]
    total = np.zeros((layer.channels_out, height, width))
    for row in range(kernel_y):
        for column in range(kernel_x):
            top, left = row * step_y, column * step_x
            shifted = padded[:, top : top + height, left : left + width]
            total += np.einsum("oi,ihw->ohw", layer.weights[:, :, row, column], shifted)
    return total


def affine(x: np.ndarray, norm: Affine) -> np.ndarray:
    return x * norm.scale[:, None, None] + norm.bias[:, None, None]


def rms(x: np.ndarray, norm: RmsNorm) -> np.ndarray:
    square = (x**2).mean() if norm.whole_board else (x**2).mean(axis=0)
    result = x / np.sqrt(square + norm.epsilon) * norm.gamma[:, None, None]
    return result if norm.beta is None else result + norm.beta[:, None, None]


def act(x: np.ndarray, kind: str) -> np.ndarray:
    if kind == "relu":
        return np.maximum(x, 0)
    if kind == "mish":
        return x * np.tanh(np.logaddexp(0, x))
    return x / (1 + np.exp(-x)) if kind == "silu" else x


def size_terms(x: np.ndarray) -> tuple[float, float]:
    side = np.sqrt(x.shape[1] * x.shape[2]) - 14
    return side / 10, side * side / 100 - 0.1


def pool(x: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=(1, 2))
    return np.concatenate([mean, mean * size_terms(x)[0], x.max(axis=(1, 2))])


def residual(x: np.ndarray, block: object) -> np.ndarray:
    """Return what a block adds to its input."""
    match block:
        case ResidualBlock():
            inner = conv(act(affine(x, block.norm1), block.act1), block.conv1)
            return conv(act(affine(inner, block.norm2), block.act2), block.conv2)
        case PoolingBlock():
            before = act(affine(x, block.norm1), block.act1)
            pooled = act(affine(conv(before, block.pool_conv), block.pool_norm), block.pool_act)
            bias = pool(pooled) @ block.pool_to_bias.weights
            inner = conv(before, block.conv1) + bias[:, None, None]
            return conv(act(affine(inner, block.norm2), block.act2), block.conv2)
        case BottleneckBlock():
            inner = conv(act(affine(x, block.norm_in), block.act_in), block.conv_in)
            for child in block.blocks:
                inner = inner + residual(inner, child)
            return conv(act(affine(inner, block.norm_out), block.act_out), block.conv_out)
        case AttentionBlock():
            return attention(x, block)
        case FeedForwardBlock():
            normed = tokens(rms(x, block.norm))
            hidden = act(normed @ block.linear1.weights, "silu")
            if block.gate is not None:
                hidden = hidden * (normed @ block.gate.weights)
            return (hidden @ block.linear2.weights).T.reshape(x.shape)
    raise AssertionError(f"no such block: {block}")


def tokens(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1).T


def attention(x: np.ndarray, block: AttentionBlock) -> np.ndarray:
    """Attend head by head, with the pairs where the file has them: neighbours."""
    normed = tokens(rms(x, block.norm))
    query = normed @ block.query.weights
    key = normed @ block.key.weights
    val = normed @ block.value.weights
    mixed = []
    for head in range(block.heads):
        shared = head * block.kv_heads // block.heads
        q = query[:, head * block.qk_dim : (head + 1) * block.qk_dim]
        k = key[:, shared * block.qk_dim : (shared + 1) * block.qk_dim]
        v = val[:, shared * block.v_dim : (shared + 1) * block.v_dim]
        q, k = (rotate(part, block, shared, x.shape[1:]) for part in (q, k))
        scores = q @ k.T / np.sqrt(block.qk_dim)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        mixed.append(weights / weights.sum(axis=1, keepdims=True) @ v)
    return (np.concatenate(mixed, axis=1) @ block.out.weights).T.reshape(x.shape)


def rotate(
    part: np.ndarray, block: AttentionBlock, head: int, shape: tuple[int, ...]
) -> np.ndarray:
    """Turn each pair of neighbours of each point by the point's angle."""
    if block.rope is None:
        return part
    pairs = block.qk_dim // 2
    turned = part.copy()
    for point in range(len(part)):
        y, x = divmod(point, shape[1])
        for pair in range(pairs):
            if isinstance(block.rope, FixedRope):
                half = pairs // 2
                along = y if pair < half else x
                index = pair if pair < half else pair - half
                angle = along * block.rope.theta ** (-2 * index / pairs)
            else:
                step_x, step_y = block.rope.frequencies[head, pair].astype(float)
                angle = x * step_x + y * step_y
            a, b = part[point, 2 * pair : 2 * pair + 2]
            turned[point, 2 * pair] = a * np.cos(angle) - b * np.sin(angle)
            turned[point, 2 * pair + 1] = a * np.sin(angle) + b * np.cos(angle)
    return turned


def policy(net: KataGoNet, x: np.ndarray) -> dict[str, np.ndarray]:
    head = net.policy
    pooled = pool(act(affine(conv(x, head.pool_conv), head.pool_norm), head.pool_act))
    inner = conv(x, head.conv1) + (pooled @ head.pool_to_bias.weights)[:, None, None]
    moves = conv(act(affine(inner, head.norm1), head.act1), head.conv2)
    passing = pooled @ head.pass_mul1.weights
    if head.pass_bias is not None and head.pass_mul2 is not None:
        passing = act(passing + head.pass_bias, str(head.pass_act)) @ head.pass_mul2.weights
    logits = np.concatenate([moves.reshape(head.channels, -1), passing[:, None]], axis=1)
    return {"policy": logits}


def value(net: KataGoNet, x: np.ndarray) -> dict[str, np.ndarray]:
    head = net.value
    inner = act(affine(conv(x, head.conv), head.norm), head.act)
    mean = inner.mean(axis=(1, 2))
    by_size, by_square = size_terms(x)
    pooled = np.concatenate([mean, mean * by_size, mean * by_square])
    hidden = act(pooled @ head.mul2.weights + head.bias2, head.act2)
    return {
        "value": hidden @ head.value_mul.weights + head.value_bias,
        "misc": hidden @ head.score_mul.weights + head.score_bias,
        "ownership": conv(inner, head.ownership_conv)[0],
    }
