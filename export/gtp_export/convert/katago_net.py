"""What a KataGo net consists of: a tree of dataclasses with the weights as numpy arrays.

Nothing here knows about files or graphs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtp_export.convert.token_stream import FloatArray


@dataclass(frozen=True)
class Conv:
    """A convolution with zero padding that keeps the board's size."""

    name: str
    weights: NDArray[np.floating[Any]]
    """[out, in, ky, kx]"""
    dilation: tuple[int, int]
    """(y, x)"""

    @property
    def channels_out(self) -> int:
        return int(self.weights.shape[0])


@dataclass(frozen=True)
class Affine:
    """A batch norm with its statistics merged: y = x * scale + bias, a channel each."""

    name: str
    scale: NDArray[np.float64]
    bias: NDArray[np.float64]

    @property
    def channels(self) -> int:
        return len(self.scale)


@dataclass(frozen=True)
class RmsNorm:
    """Root-mean-square norm: over the channels of a point, or over the whole board."""

    name: str
    epsilon: float
    gamma: FloatArray
    beta: FloatArray | None
    whole_board: bool = False


@dataclass(frozen=True)
class MatMul:
    """A matrix product without bias."""

    name: str
    weights: FloatArray
    """[in, out]"""

    @property
    def channels_out(self) -> int:
        return int(self.weights.shape[1])


@dataclass(frozen=True)
class ResidualBlock:
    """x + conv2(act(norm2(conv1(act(norm1(x))))))"""

    norm1: Affine
    act1: str
    conv1: Conv
    norm2: Affine
    act2: str
    conv2: Conv


@dataclass(frozen=True)
class PoolingBlock:
    """A residual block whose first convolution gets a bias pooled from the whole board."""

    norm1: Affine
    act1: str
    conv1: Conv
    pool_conv: Conv
    pool_norm: Affine
    pool_act: str
    pool_to_bias: MatMul
    norm2: Affine
    act2: str
    conv2: Conv


@dataclass(frozen=True)
class BottleneckBlock:
    """x + conv_out(act(norm(inner blocks(conv_in(act(norm(x)))))))"""

    norm_in: Affine
    act_in: str
    conv_in: Conv
    blocks: "tuple[Block, ...]"
    norm_out: Affine
    act_out: str
    conv_out: Conv


@dataclass(frozen=True)
class LearnedRope:
    """Rotary position embedding whose angle is x * frequencies[.., 0] + y * frequencies[.., 1]."""

    frequencies: FloatArray
    """[kv heads, pairs, 2]"""


@dataclass(frozen=True)
class FixedRope:
    """Rotary position embedding whose first half of pairs turns with y, the second with x."""

    theta: float


@dataclass(frozen=True)
class AttentionBlock:
    """x + out(attention(q, k, v of norm(x))), every point a token."""

    heads: int
    kv_heads: int
    qk_dim: int
    v_dim: int
    norm: RmsNorm
    query: MatMul
    key: MatMul
    value: MatMul
    out: MatMul
    rope: LearnedRope | FixedRope | None


@dataclass(frozen=True)
class FeedForwardBlock:
    """x + linear2(silu(linear1(n)) * gate(n)), n = norm(x)"""

    norm: RmsNorm
    linear1: MatMul
    gate: MatMul | None
    linear2: MatMul


Block = ResidualBlock | PoolingBlock | BottleneckBlock | AttentionBlock | FeedForwardBlock


@dataclass(frozen=True)
class MetaEncoder:
    """Three layers from the metadata of a player to a bias on the trunk."""

    mul1: MatMul
    bias1: FloatArray
    act1: str
    mul2: MatMul
    bias2: FloatArray
    act2: str
    mul3: MatMul


@dataclass(frozen=True)
class Trunk:
    """Everything from the inputs to the map both heads read."""

    channels: int
    stem: Conv
    global_mul: MatMul
    meta_encoder: MetaEncoder | None
    blocks: tuple[Block, ...]
    tip_norm: Affine | RmsNorm
    tip_act: str


@dataclass(frozen=True)
class PolicyHead:
    """Policy logits; channels: regular, optimistic, q of winning, q of the score."""

    channels: int
    conv1: Conv
    pool_conv: Conv
    pool_norm: Affine
    pool_act: str
    pool_to_bias: MatMul
    norm1: Affine
    act1: str
    conv2: Conv
    pass_mul1: MatMul
    pass_bias: FloatArray | None
    pass_act: str | None
    pass_mul2: MatMul | None


@dataclass(frozen=True)
class ValueHead:
    """Value logits, score outputs and ownership."""

    conv: Conv
    norm: Affine
    act: str
    mul2: MatMul
    bias2: FloatArray
    act2: str
    value_mul: MatMul
    value_bias: FloatArray
    score_mul: MatMul
    score_bias: FloatArray
    ownership_conv: Conv


@dataclass(frozen=True)
class Multipliers:
    """What the raw outputs are multiplied by to give points and the like."""

    score_mean: float = 20.0
    score_stdev: float = 20.0
    lead: float = 20.0
    var_time: float = 40.0
    shortterm_winloss: float = 0.25
    shortterm_score: float = 30.0


@dataclass(frozen=True)
class KataGoNet:
    """One KataGo net."""

    name: str
    version: int
    planes: int
    globals: int
    multipliers: Multipliers
    meta_features: int
    pass_alive_under_suicide: bool
    trunk: Trunk
    policy: PolicyHead
    value: ValueHead
    parameters: int
