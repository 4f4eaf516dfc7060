"""Write random nets in KataGo's file format, text or binary, for tests to convert."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gtp_export.convert.katago_file import inputs_of_version, score_outputs_of_version

ORDINARY = "ordinary_block"
POOLING = "gpool_block"
ATTENTION = "transformer_attention_block"
FEED_FORWARD = "transformer_ffn_block"


@dataclass(frozen=True)
class Nested:
    """A nested bottleneck of these inner blocks."""

    blocks: Sequence["str | Nested"]


@dataclass(frozen=True)
class NetPlan:
    """What net to write."""

    version: int = 8
    channels: int = 8
    mid: int = 6
    pooled: int = 4
    head: int = 4
    kernel: int = 3
    blocks: Sequence["str | Nested"] = (ORDINARY, POOLING)
    activation: str = "MISH"
    text: bool = False
    meta: bool = False
    rms_tip: int | None = None
    """None for a batch norm at the trunk's tip, else the spatial flag of an RMS norm."""
    learned_rope: bool | None = True
    """None for attention that knows no places."""
    gated: bool = True
    dilation: tuple[int, int] = (1, 1)
    """(y, x) of the convolutions in ordinary blocks."""
    policy_channels: int = 2
    seed: int = 1
    multipliers: Sequence[float] = field(default=(20, 20, 20, 20, 40, 0.25, 150))


def write_net(plan: NetPlan) -> bytes:
    """Return the content of the net's file, not gzipped."""
    return _Writer(plan).net()


class _Writer:
    def __init__(self, plan: NetPlan) -> None:
        self.plan = plan
        self.random = np.random.default_rng(plan.seed)
        self.parts: list[bytes] = []
        self.names = 0

    def net(self) -> bytes:
        plan = self.plan
        planes, globals_ = inputs_of_version(plan.version)
        self.line(f"test-v{plan.version}", plan.version, planes, globals_)
        if plan.version >= 13:
            self.line(*plan.multipliers)
        if plan.version >= 15:
            self.line(int(plan.meta), 0, *[0] * 6)
        self.trunk(planes, globals_)
        self.policy_head()
        self.value_head()
        return b"".join(self.parts)

    def line(self, *tokens: object) -> None:
        self.parts.append("\n".join(str(token) for token in tokens).encode() + b"\n")

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def tensor(self, values: np.ndarray) -> None:
        flat = np.ascontiguousarray(values, "<f4").ravel()
        if self.plan.text:
            self.line(" ".join(f"{value:.9g}" for value in flat.tolist()))
        else:
            self.parts += [b"@BIN@", flat.tobytes(), b"\n"]

    def normal(self, spread: float, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape, np.float32) * np.float32(spread)

    def conv(
        self,
        channels_in: int,
        channels_out: int,
        kernel: int,
        gain: float = 1.0,
        dilation: tuple[int, int] = (1, 1),
    ) -> None:
        self.line(self.name("conv"), kernel, kernel, channels_in, channels_out, *dilation)
        spread = gain * np.sqrt(1.6 / (kernel * kernel * channels_in))
        self.tensor(self.normal(spread, kernel, kernel, channels_in, channels_out))

    def norm(self, channels: int, has_scale: int = 1, has_bias: int = 1) -> None:
        self.line(self.name("norm"), channels, 0.001, has_scale, has_bias)
        self.tensor(self.normal(0.1, channels))
        self.tensor(1 + 0.5 * self.random.random(channels))
        for wanted, middle in ((has_scale, 1.0), (has_bias, 0.0)):
            if wanted:
                self.tensor(middle + self.normal(0.2, channels))

    def act(self) -> None:
        self.line(self.name("act"))
        if self.plan.version >= 11:
            self.line(f"ACTIVATION_{self.plan.activation}")

    def matmul(self, channels_in: int, channels_out: int, gain: float = 1.0) -> None:
        self.line(self.name("mul"), channels_in, channels_out)
        self.tensor(self.normal(gain / np.sqrt(channels_in), channels_in, channels_out))

    def bias(self, channels: int) -> None:
        self.line(self.name("bias"), channels)
        self.tensor(self.normal(0.2, channels))

    def rms(self, channels: int) -> None:
        self.line(self.name("rms"), channels, 1e-6)
        self.tensor(1 + self.normal(0.2, channels))

    def trunk(self, planes: int, globals_: int) -> None:
        plan = self.plan
        self.line("trunk", len(plan.blocks), plan.channels, plan.mid, plan.mid, plan.mid)
        self.line(plan.pooled)
        if plan.version >= 15:
            self.line(int(plan.rms_tip is not None), 0, 0, 0, 0, 0)
        self.conv(planes, plan.channels, plan.kernel)
        self.matmul(globals_, plan.channels)
        if plan.meta:
            self.line("meta", 192)
            self.matmul(192, 5)
            self.bias(5)
            self.act()
            self.matmul(5, 5)
            self.bias(5)
            self.act()
            self.matmul(5, plan.channels)
        for block in plan.blocks:
            self.block(block, plan.channels)
        if plan.rms_tip is None:
            self.norm(plan.channels)
        else:
            self.line("tip", plan.channels, 1e-6, plan.rms_tip, 0)
            self.tensor(1 + self.normal(0.2, plan.channels))
            self.tensor(self.normal(0.2, plan.channels))
        self.act()

    def block(self, block: "str | Nested", channels: int) -> None:
        if isinstance(block, Nested):
            self.nested(block, channels)
            return
        self.line(block, self.name("block"))
        {
            ORDINARY: self.ordinary,
            POOLING: self.pooling,
            ATTENTION: self.attention,
            FEED_FORWARD: self.feed_forward,
        }[block](channels)

    def nested(self, block: Nested, channels: int) -> None:
        self.line("nested_bottleneck_block", self.name("block"), len(block.blocks))
        self.norm(channels)
        self.act()
        self.conv(channels, self.plan.mid, 1)
        for child in block.blocks:
            self.block(child, self.plan.mid)
        self.norm(self.plan.mid)
        self.act()
        self.conv(self.plan.mid, channels, 1, gain=0.3)

    def ordinary(self, channels: int) -> None:
        self.norm(channels)
        self.act()
        self.conv(channels, self.plan.mid, 3, dilation=self.plan.dilation)
        self.norm(self.plan.mid, has_scale=0)
        self.act()
        self.conv(self.plan.mid, channels, 3, gain=0.3)

    def pooling(self, channels: int) -> None:
        self.norm(channels)
        self.act()
        self.conv(channels, self.plan.mid, 3)
        self.conv(channels, self.plan.pooled, 3)
        self.norm(self.plan.pooled)
        self.act()
        self.matmul(3 * self.plan.pooled, self.plan.mid, gain=0.3)
        self.norm(self.plan.mid)
        self.act()
        self.conv(self.plan.mid, channels, 3, gain=0.3)

    def attention(self, channels: int) -> None:
        heads, kv_heads, qk_dim, v_dim = 4, 2, 4, 3
        turns = self.plan.learned_rope is not None
        self.line(heads, kv_heads, qk_dim, v_dim, int(turns), int(bool(self.plan.learned_rope)))
        self.rms(channels)
        self.matmul(channels, heads * qk_dim)
        self.matmul(channels, kv_heads * qk_dim)
        self.matmul(channels, kv_heads * v_dim)
        self.matmul(heads * v_dim, channels)
        if self.plan.learned_rope:
            self.line(self.name("rope"), kv_heads, qk_dim // 2, 2)
            self.tensor(self.normal(0.5, kv_heads, qk_dim // 2, 2))
        elif turns:
            self.line(self.name("rope"), 10.0)

    def feed_forward(self, channels: int) -> None:
        self.line(channels, 2 * channels, int(self.plan.gated))
        self.rms(channels)
        for _ in range(1 + self.plan.gated):
            self.matmul(channels, 2 * channels)
        self.matmul(2 * channels, channels, gain=0.3)

    def policy_head(self) -> None:
        plan = self.plan
        channels = 1 if plan.version < 12 else 4 if plan.version == 16 else 2
        self.line("policy")
        if plan.version >= 17:
            channels = plan.policy_channels
            self.line(channels, 0, 0, 0)
        self.conv(plan.channels, plan.head, 1)
        self.conv(plan.channels, plan.head, 1)
        self.norm(plan.head)
        self.act()
        self.matmul(3 * plan.head, plan.head, gain=0.3)
        self.norm(plan.head)
        self.act()
        self.conv(plan.head, channels, 1)
        if plan.version < 15:
            self.matmul(3 * plan.head, channels, gain=0.3)
            return
        self.matmul(3 * plan.head, plan.head, gain=0.3)
        self.bias(plan.head)
        self.act()
        self.matmul(plan.head, channels, gain=0.3)

    def value_head(self) -> None:
        plan = self.plan
        self.line("value")
        if plan.version >= 17:
            self.line(0, 0, 0)
        self.conv(plan.channels, plan.head, 1)
        self.norm(plan.head)
        self.act()
        self.matmul(3 * plan.head, 2 * plan.head)
        self.bias(2 * plan.head)
        self.act()
        for outputs in (3, score_outputs_of_version(plan.version)):
            self.matmul(2 * plan.head, outputs, gain=0.3)
            self.bias(outputs)
        self.conv(plan.head, 1, 1)
