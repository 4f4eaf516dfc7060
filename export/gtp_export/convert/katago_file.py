"""KataGo's net files, model versions 3 to 17: from tokens to layers that fit together."""

from pathlib import Path

import numpy as np

from gtp_engine.evaluators.human_profile import N_META
from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_export.convert.katago_net import (
    Affine,
    AttentionBlock,
    Block,
    BottleneckBlock,
    Conv,
    FeedForwardBlock,
    FixedRope,
    KataGoNet,
    LearnedRope,
    MatMul,
    MetaEncoder,
    Multipliers,
    PolicyHead,
    PoolingBlock,
    ResidualBlock,
    RmsNorm,
    Trunk,
    ValueHead,
)
from gtp_export.convert.token_stream import FloatArray, TokenStream

OLDEST_VERSION = 3
NEWEST_VERSION = 17

_MAX_CHANNELS = 1 << 16
_MAX_KERNEL = 63
_MAX_BLOCKS = 1 << 12
_MAX_NESTING = 8
_SMALLEST_THETA, _LARGEST_THETA = 1e-3, 1e12

_ACTIVATIONS = {
    "ACTIVATION_IDENTITY": "identity",
    "ACTIVATION_RELU": "relu",
    "ACTIVATION_MISH": "mish",
    "ACTIVATION_SILU": "silu",
}


def read_katago(path: Path, data: bytes) -> KataGoNet:
    """Parse a KataGo net, text or binary, already unpacked.

    Raises:
        NetFileError: the file is truncated, has something after its end, does not fit
            together, holds a weight that is not finite, or is of an unknown version.
    """
    return _Reader(TokenStream(path, data)).net()


class _Reader:
    """Recursive descent over the token stream; each method reads one kind of layer."""

    def __init__(self, stream: TokenStream) -> None:
        self.stream = stream
        self.version = 0
        self.parameters = 0

    # -- whole net -----------------------------------------------------------------------------

    def net(self) -> KataGoNet:
        stream = self.stream
        name = stream.word("the net's name")
        self.version = self.read_version()
        planes = stream.integer("the number of input planes", 1, _MAX_CHANNELS)
        globals_ = stream.integer("the number of global inputs", 1, _MAX_CHANNELS)
        self.check_inputs(planes, globals_)
        multipliers = self.multipliers()
        has_meta = pass_alive = 0
        if self.version >= 15:
            has_meta = stream.integer("the version of the metadata encoder", 0, 1)
            pass_alive = stream.integer("the pass-alive flag", 0, 1)
            self.unused(6, "model option")
        trunk = self.trunk(planes, globals_, has_meta == 1)
        policy = self.policy_head(trunk.channels)
        value = self.value_head(trunk.channels)
        stream.finish()
        return KataGoNet(
            name=name,
            version=self.version,
            planes=planes,
            globals=globals_,
            multipliers=multipliers,
            meta_features=N_META if has_meta else 0,
            pass_alive_under_suicide=pass_alive == 1,
            trunk=trunk,
            policy=policy,
            value=value,
            parameters=self.parameters,
        )

    def read_version(self) -> int:
        version = self.stream.integer("the model version", -(10**9), 10**9)
        if version < OLDEST_VERSION:
            self.stream.fail(
                f"is of KataGo model version {version}; versions before {OLDEST_VERSION} "
                "are no longer readable, by KataGo either"
            )
        if version > NEWEST_VERSION:
            self.stream.fail(
                f"is of KataGo model version {version}; the newest known is {NEWEST_VERSION}"
            )
        return version

    def check_inputs(self, planes: int, globals_: int) -> None:
        expected = inputs_of_version(self.version)
        if (planes, globals_) != expected:
            self.stream.fail(
                f"has {planes} planes and {globals_} globals, but model version "
                f"{self.version} takes {expected[0]} and {expected[1]}"
            )

    def multipliers(self) -> Multipliers:
        if self.version < 13:
            return Multipliers()
        stream = self.stream
        stream.positive("the tdScore multiplier")
        return Multipliers(
            score_mean=stream.positive("the scoreMean multiplier"),
            score_stdev=stream.positive("the scoreStdev multiplier"),
            lead=stream.positive("the lead multiplier"),
            var_time=stream.positive("the varianceTime multiplier"),
            shortterm_winloss=stream.positive("the shorttermValueError multiplier"),
            shortterm_score=stream.positive("the shorttermScoreError multiplier"),
        )

    def unused(self, count: int, what: str) -> None:
        """Read options that must be 0: another value means something this reader ignores."""
        for _ in range(count):
            if self.stream.integer(what, -(10**9), 10**9) != 0:
                self.stream.fail(f"uses an unknown {what}")

    # -- layers --------------------------------------------------------------------------------

    def channels(self, what: str) -> int:
        return self.stream.integer(what, 1, _MAX_CHANNELS)

    def same(self, what: str, found: int, expected: int) -> None:
        if found != expected:
            self.stream.fail(f"{what} has {found} channels where {expected} fit")

    def conv(self, channels_in: int, channels_out: int | None = None) -> Conv:
        stream = self.stream
        name = stream.word("a convolution's name")
        height = stream.integer(f"{name}: kernel height", 1, _MAX_KERNEL)
        width = stream.integer(f"{name}: kernel width", 1, _MAX_KERNEL)
        if height % 2 == 0 or width % 2 == 0:
            stream.fail(f"{name}: kernels of even size ({height}x{width}) are unknown")
        found_in = self.channels(f"{name}: input channels")
        found_out = self.channels(f"{name}: output channels")
        dilation_y = stream.integer(f"{name}: dilation", 1, 64)
        dilation_x = stream.integer(f"{name}: dilation", 1, 64)
        self.same(f"the input of {name}", found_in, channels_in)
        if channels_out is not None:
            self.same(f"the output of {name}", found_out, channels_out)
        weights = stream.tensor(name, height, width, found_in, found_out)
        self.parameters += weights.size
        ordered = np.ascontiguousarray(weights.transpose(3, 2, 0, 1))
        return Conv(name, ordered, (dilation_y, dilation_x))

    def affine(self, channels: int) -> Affine:
        """Read a batch norm and merge its statistics, in float64."""
        stream = self.stream
        name = stream.word("a norm's name")
        self.same(name, self.channels(f"{name}: channels"), channels)
        epsilon = stream.positive(f"{name}: epsilon")
        has_scale = stream.integer(f"{name}: scale flag", 0, 1)
        has_bias = stream.integer(f"{name}: bias flag", 0, 1)
        mean = stream.tensor(f"{name}: mean", channels).astype(np.float64)
        variance = stream.tensor(f"{name}: variance", channels).astype(np.float64)
        if (variance + epsilon <= 0).any():
            stream.fail(f"{name} has a variance that is not positive")
        scale = np.ones(channels)
        bias = np.zeros(channels)
        if has_scale:
            scale = stream.tensor(f"{name}: scale", channels).astype(np.float64)
        if has_bias:
            bias = stream.tensor(f"{name}: bias", channels).astype(np.float64)
        self.parameters += channels * (has_scale + has_bias)
        merged = scale / np.sqrt(variance + epsilon)
        shift = bias - mean * merged
        if max(np.abs(merged).max(), np.abs(shift).max()) > np.finfo(np.float32).max:
            stream.fail(f"{name} has a scale or bias beyond what float32 holds")
        return Affine(name, merged, shift)

    def activation(self) -> str:
        name = self.stream.word("an activation's name")
        if self.version < 11:
            return "relu"
        kind = self.stream.word(f"{name}: kind")
        if kind not in _ACTIVATIONS:
            self.stream.fail(f"{name} is of the unknown kind {kind[:40]!r}")
        return _ACTIVATIONS[kind]

    def matmul(self, channels_in: int, channels_out: int | None = None) -> MatMul:
        stream = self.stream
        name = stream.word("a matrix's name")
        found_in = self.channels(f"{name}: inputs")
        found_out = self.channels(f"{name}: outputs")
        self.same(f"the input of {name}", found_in, channels_in)
        if channels_out is not None:
            self.same(f"the output of {name}", found_out, channels_out)
        weights = stream.tensor(name, found_in, found_out)
        self.parameters += weights.size
        return MatMul(name, weights)

    def bias(self, channels: int) -> FloatArray:
        name = self.stream.word("a bias's name")
        self.same(name, self.channels(f"{name}: channels"), channels)
        self.parameters += channels
        return self.stream.tensor(name, channels)

    def rms_epsilon(self, name: str) -> float:
        epsilon = self.stream.positive(f"{name}: epsilon")
        if epsilon > 1:
            self.stream.fail(f"{name}: epsilon {epsilon:g} is above 1")
        return epsilon

    def block_rms_norm(self, channels: int) -> RmsNorm:
        name = self.stream.word("a norm's name")
        self.same(name, self.channels(f"{name}: channels"), channels)
        epsilon = self.rms_epsilon(name)
        self.parameters += channels
        return RmsNorm(name, epsilon, self.stream.tensor(name, channels), None)

    def tip_rms_norm(self, channels: int) -> RmsNorm:
        stream = self.stream
        name = stream.word("a norm's name")
        self.same(name, self.channels(f"{name}: channels"), channels)
        epsilon = self.rms_epsilon(name)
        whole_board = stream.integer(f"{name}: spatial flag", 0, 1) == 1
        self.unused(1, "grouping of a norm")
        gamma = stream.tensor(f"{name}: gamma", channels)
        beta = stream.tensor(f"{name}: beta", channels)
        self.parameters += 2 * channels
        return RmsNorm(name, epsilon, gamma, beta, whole_board)

    # -- trunk ---------------------------------------------------------------------------------

    def trunk(self, planes: int, globals_: int, has_meta: bool) -> Trunk:
        stream = self.stream
        stream.word("the trunk's name")
        count = stream.integer("the number of blocks", 1, _MAX_BLOCKS)
        channels = self.channels("the trunk's channels")
        for what in ("mid", "regular", "dilated", "pooling"):
            stream.integer(f"the number of {what} channels", 0, _MAX_CHANNELS)
        norm_kind = 0
        if self.version >= 15:
            norm_kind = stream.integer("the kind of the trunk's norm", 0, 1)
            self.unused(5, "trunk option")
        stem = self.conv(planes, channels)
        global_mul = self.matmul(globals_, channels)
        meta_encoder = self.meta_encoder(channels) if has_meta else None
        blocks = self.blocks(count, channels, 0)
        tip_norm = self.tip_rms_norm(channels) if norm_kind else self.affine(channels)
        return Trunk(channels, stem, global_mul, meta_encoder, blocks, tip_norm, self.activation())

    def meta_encoder(self, channels: int) -> MetaEncoder:
        name = self.stream.word("the metadata encoder's name")
        width = self.channels(f"{name}: inputs")
        self.same(name, width, N_META)
        mul1 = self.matmul(N_META)
        bias1 = self.bias(mul1.channels_out)
        act1 = self.activation()
        mul2 = self.matmul(mul1.channels_out)
        bias2 = self.bias(mul2.channels_out)
        act2 = self.activation()
        mul3 = self.matmul(mul2.channels_out, channels)
        return MetaEncoder(mul1, bias1, act1, mul2, bias2, act2, mul3)

    def blocks(self, count: int, channels: int, depth: int) -> tuple[Block, ...]:
        if depth > _MAX_NESTING:
            self.stream.fail(f"nests blocks more than {_MAX_NESTING} deep")
        return tuple(self.block(channels, depth) for _ in range(count))

    def block(self, channels: int, depth: int) -> Block:
        kind = self.stream.word("the kind of a block")
        if kind == "ordinary_block":
            return self.residual_block(channels)
        if kind == "gpool_block":
            return self.pooling_block(channels)
        if kind == "nested_bottleneck_block":
            return self.bottleneck_block(channels, depth)
        if kind == "transformer_attention_block":
            return self.attention_block(channels)
        if kind == "transformer_ffn_block":
            return self.feed_forward_block(channels)
        self.stream.fail(f"has a block of the unknown kind {kind[:40]!r}")

    def residual_block(self, channels: int) -> ResidualBlock:
        self.stream.word("a block's name")
        norm1, act1, conv1 = self.affine(channels), self.activation(), self.conv(channels)
        norm2, act2 = self.affine(conv1.channels_out), self.activation()
        conv2 = self.conv(conv1.channels_out, channels)
        return ResidualBlock(norm1, act1, conv1, norm2, act2, conv2)

    def pooling_block(self, channels: int) -> PoolingBlock:
        self.stream.word("a block's name")
        norm1, act1, conv1 = self.affine(channels), self.activation(), self.conv(channels)
        pool_conv = self.conv(channels)
        pool_norm, pool_act = self.affine(pool_conv.channels_out), self.activation()
        pool_to_bias = self.matmul(3 * pool_conv.channels_out, conv1.channels_out)
        norm2, act2 = self.affine(conv1.channels_out), self.activation()
        conv2 = self.conv(conv1.channels_out, channels)
        return PoolingBlock(
            norm1, act1, conv1, pool_conv, pool_norm, pool_act, pool_to_bias, norm2, act2, conv2
        )

    def bottleneck_block(self, channels: int, depth: int) -> BottleneckBlock:
        name = self.stream.word("a block's name")
        count = self.stream.integer(f"{name}: number of inner blocks", 1, _MAX_BLOCKS)
        norm_in, act_in, conv_in = self.affine(channels), self.activation(), self.conv(channels)
        inner = conv_in.channels_out
        blocks = self.blocks(count, inner, depth + 1)
        norm_out, act_out = self.affine(inner), self.activation()
        conv_out = self.conv(inner, channels)
        return BottleneckBlock(norm_in, act_in, conv_in, blocks, norm_out, act_out, conv_out)

    def attention_block(self, channels: int) -> AttentionBlock:
        stream = self.stream
        name = stream.word("a block's name")
        heads = self.channels(f"{name}: heads")
        kv_heads = self.channels(f"{name}: key heads")
        qk_dim = self.channels(f"{name}: width of a query")
        v_dim = self.channels(f"{name}: width of a value")
        use_rope = stream.integer(f"{name}: RoPE flag", 0, 1)
        learned = stream.integer(f"{name}: learned RoPE flag", 0, 1)
        if heads % kv_heads:
            stream.fail(f"{name}: {heads} heads cannot share {kv_heads} key heads evenly")
        if use_rope and qk_dim % 2:
            stream.fail(f"{name}: RoPE needs an even width, not {qk_dim}")
        norm = self.block_rms_norm(channels)
        query = self.matmul(channels, heads * qk_dim)
        key = self.matmul(channels, kv_heads * qk_dim)
        value = self.matmul(channels, kv_heads * v_dim)
        out = self.matmul(heads * v_dim, channels)
        rope: LearnedRope | FixedRope | None = None
        if use_rope:
            rope = self.learned_rope(kv_heads, qk_dim // 2) if learned else self.fixed_rope()
        return AttentionBlock(heads, kv_heads, qk_dim, v_dim, norm, query, key, value, out, rope)

    def learned_rope(self, kv_heads: int, pairs: int) -> LearnedRope:
        name = self.stream.word("a RoPE's name")
        self.same(f"{name} (heads)", self.channels(f"{name}: heads"), kv_heads)
        self.same(f"{name} (pairs)", self.channels(f"{name}: pairs"), pairs)
        self.same(f"{name} (axes)", self.channels(f"{name}: axes"), 2)
        frequencies = self.stream.tensor(name, kv_heads, pairs, 2)
        self.parameters += frequencies.size
        return LearnedRope(frequencies)

    def fixed_rope(self) -> FixedRope:
        name = self.stream.word("a RoPE's name")
        theta = self.stream.positive(f"{name}: theta")
        if not _SMALLEST_THETA <= theta <= _LARGEST_THETA:
            self.stream.fail(f"{name}: theta is {theta:g}, which no RoPE has")
        return FixedRope(theta)

    def feed_forward_block(self, channels: int) -> FeedForwardBlock:
        stream = self.stream
        name = stream.word("a block's name")
        self.same(name, self.channels(f"{name}: channels"), channels)
        width = self.channels(f"{name}: inner channels")
        gated = stream.integer(f"{name}: SwiGLU flag", 0, 1)
        norm = self.block_rms_norm(channels)
        linear1 = self.matmul(channels, width)
        gate = self.matmul(channels, width) if gated else None
        return FeedForwardBlock(norm, linear1, gate, self.matmul(width, channels))

    # -- heads ---------------------------------------------------------------------------------

    def policy_head(self, trunk_channels: int) -> PolicyHead:
        stream = self.stream
        stream.word("the policy head's name")
        channels = self.policy_channels()
        conv1 = self.conv(trunk_channels)
        pool_conv = self.conv(trunk_channels)
        pool_norm, pool_act = self.affine(pool_conv.channels_out), self.activation()
        pooled = 3 * pool_conv.channels_out
        pool_to_bias = self.matmul(pooled, conv1.channels_out)
        norm1, act1 = self.affine(conv1.channels_out), self.activation()
        conv2 = self.conv(conv1.channels_out, channels)
        pass_bias = pass_act = pass_mul2 = None
        if self.version >= 15:
            pass_mul1 = self.matmul(pooled, conv1.channels_out)
            pass_bias = self.bias(pass_mul1.channels_out)
            pass_act = self.activation()
            pass_mul2 = self.matmul(pass_mul1.channels_out, channels)
        else:
            pass_mul1 = self.matmul(pooled, channels)
        return PolicyHead(
            channels,
            conv1,
            pool_conv,
            pool_norm,
            pool_act,
            pool_to_bias,
            norm1,
            act1,
            conv2,
            pass_mul1,
            pass_bias,
            pass_act,
            pass_mul2,
        )

    def policy_channels(self) -> int:
        if self.version < 12:
            return 1
        if self.version < 16:
            return 2
        if self.version == 16:
            return 4
        channels = self.stream.integer("the number of policy outputs", 0, 1000)
        if channels not in (2, 4):
            self.stream.fail(f"has {channels} policy outputs, where 2 or 4 are known")
        self.unused(3, "policy option")
        return channels

    def value_head(self, trunk_channels: int) -> ValueHead:
        self.stream.word("the value head's name")
        if self.version >= 17:
            self.unused(3, "value option")
        conv = self.conv(trunk_channels)
        norm, act = self.affine(conv.channels_out), self.activation()
        mul2 = self.matmul(3 * conv.channels_out)
        bias2, act2 = self.bias(mul2.channels_out), self.activation()
        value_mul = self.matmul(mul2.channels_out, 3)
        value_bias = self.bias(3)
        scores = score_outputs_of_version(self.version)
        score_mul = self.matmul(mul2.channels_out, scores)
        score_bias = self.bias(scores)
        ownership_conv = self.conv(conv.channels_out, 1)
        return ValueHead(
            conv,
            norm,
            act,
            mul2,
            bias2,
            act2,
            value_mul,
            value_bias,
            score_mul,
            score_bias,
            ownership_conv,
        )


def inputs_version(version: int) -> int:
    """Return which of KataGo's input encodings a model version takes, 3 to 7."""
    return {3: 3, 4: 3, 5: 4, 6: 5, 7: 6}.get(version, 7)


def inputs_of_version(version: int) -> tuple[int, int]:
    """Return the number of planes and globals a model version takes."""
    return ENCODERS[f"katago_v{inputs_version(version)}"][1:]


def score_outputs_of_version(version: int) -> int:
    """Return how many numbers the score output of a model version has."""
    if version >= 9:
        return 6
    if version == 8:
        return 4
    return 2 if version >= 4 else 1
