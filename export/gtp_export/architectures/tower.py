"""The shape of this project's own nets: a residual tower with global pooling, free of board size.

Described in the operations of `layers`, so that the ONNX writer and random nets need no torch:

    stem      3x3 convolution of the planes plus a linear map of the globals, norm, relu
    blocks    3x3 convolution, norm, relu, 3x3 convolution (+ pooled bias), norm, add, relu; or
              nested: 1x1 convolution to fewer channels, norm, relu, two such blocks, 1x1
              convolution back, norm, add, relu (KataGo's "nested bottleneck")
    attention every point reads all points (Vaswani et al. 2017, "Attention Is All You Need",
              section 3.2): queries, keys and values are 1x1 convolutions, normed; what was read
              passes a 1x1 convolution, norm, add, relu. It stands behind some of the blocks
    policy    1x1 convolution plus a bias from pooled features, norm, relu, 1x1 convolution;
              the pass comes from the pooled features alone
    value     1x1 convolution, norm, relu; ownership is a 1x1 convolution of that; pooling, what
              the ownership comes to, dense layer, norm, relu, and that with it again, outputs

The board fills the tensor: there is no mask, and the zero padding marks the edge. Pooled features
are mean, mean * (s - 14) / 10 and maximum over the board, with s the square root of its points;
the value head pools mean, mean * (s - 14) / 10 and mean * ((s - 14)^2 / 100 - 0.1). (Both as in
Wu 2019, "Accelerating Self-Play Learning in Go", appendix A.) What the ownership comes to is, with
o each point's -1..1: the lead l, that is the sum of o and own komi; the spread d, the root of 1
plus the sum of 1 - o^2; and tanh(l / 2d).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import ENCODERS, VALUE_WIN_LOSS_NORESULT
from gtp_export.architectures.layers import Layers, Outputs, Value
from gtp_export.architectures.shape import Shape, arrays_of

SCORE_COLUMNS = ("score_mean", "score_stdev", "lead")
SCORE_UNIT = 20.0
"""Points that one unit of a raw score output stands for."""
VALUE_POOL_OFFSET = 0.1
ESTIMATES = 3
"""Numbers that the ownership comes to."""
ESTIMATE_READERS = ("value.hidden", "value.out", "value.score")
"""Layers whose last inputs these are. Untrained they take no account of them: what a random
ownership comes to is far beyond any score."""
OWN_KOMI, KOMI_UNIT = 5, 20.0
"""Where the globals hold the mover's komi, and how many points 1 is there."""
UNTRAINED_NO_RESULT_LOGIT = -5.0
_OUTPUT_GAINS = {
    "policy.out": 1.5,
    "policy.pass_out": 1.0,
    "value.out": 0.3,
    "value.score": 0.1,
    "value.ownership": 0.3,
}


HEADS = {
    "policy": "logits by action, pass last",
    "value": "logits of win, loss and no result, for the side to move",
    "score": "points for the side to move, before the chance of no result",
    "ownership": "-1..1 per point, 1 is the side to move's",
}
FIVE_HEADS = {name: HEADS[name] for name in ("policy", "value")}


@dataclass(frozen=True)
class TowerShape:
    """The numbers that define a tower."""

    blocks: int
    channels: int
    """Channels of the trunk; multiples of 32 run best in int8."""
    head_channels: int = 32
    value_hidden: int = 64
    nested: int = 0
    """Channels inside nested blocks; 0: blocks are not nested."""
    attention: int = 0
    """Blocks of attention, spread evenly; the last one stands behind the last block."""
    attention_heads: int = 4

    # The same for every tower; see `Shape`.
    encoder = "katago_v7"
    board_size = None
    heads = HEADS
    has_pass = True
    value_kind = VALUE_WIN_LOSS_NORESULT

    def describe(self) -> str:
        nested = f" of two nested ones x {self.nested}" if self.nested else ""
        attention = (
            f", attention of {self.attention_heads} heads behind {self.attention} of them"
            if self.attention
            else ""
        )
        return (
            f"{self.blocks} post-activation residual blocks x {self.channels} channels{nested}, "
            f"3x3, global pooling in every third{attention}; heads of {self.head_channels} channels"
        )

    @property
    def readers(self) -> dict[str, tuple[str, ...]]:
        """By norm the layers whose first inputs are the ReLU of it, three times where it is pooled.

        Those that the trunk is added to are left out.
        """
        inner: dict[str, tuple[str, ...]] = {}
        for block in range(self.blocks):
            for name, pools in self._residuals(block):
                pool = (f"{name}.pool",) if pools else ()
                inner[f"{name}.norm1"] = (f"{name}.conv2", *pool)
        is_owned = "ownership" in self.heads
        heads = {
            "policy.gather_norm": ("policy.pool", "policy.pass_hidden"),
            "policy.norm": ("policy.out",),
            "policy.pass_norm": ("policy.pass_out",),
            "value.norm": ("value.hidden", "value.ownership") if is_owned else ("value.hidden",),
            "value.hidden_norm": ("value.out", "value.score") if is_owned else ("value.out",),
        }
        return inner | heads

    def _residuals(self, block: int) -> list[tuple[str, bool]]:
        """Return the two 3x3 convolutions of a block, or both pairs in a nested one, by name.

        With each stands whether it pools: the first one does in every third block.
        """
        name, pools = f"blocks.{block}", block % 3 == 1
        if not self.nested:
            return [(name, pools)]
        return [(f"{name}.first", pools), (f"{name}.second", False)]

    @property
    def _attended(self) -> tuple[int, ...]:
        """The blocks behind which attention stands."""
        if not self.attention:
            return ()
        return tuple(range(self.blocks - 1, -1, -(self.blocks // self.attention)))[: self.attention]

    def compute(self, layers: Layers, planes: Value, features: Value) -> Outputs:
        trunk = layers.conv(
            "stem.conv",
            planes,
            self.channels,
            3,
            norm="stem.norm",
            everywhere=("stem.globals", features),
        )
        trunk = layers.relu(trunk)
        for block in range(self.blocks):
            trunk = self._block(layers, trunk, block)
            if block in self._attended:
                trunk = self._attention(layers, trunk, f"attention.{block}")
        return {"policy": self._policy(layers, trunk), **self._value(layers, trunk, features)}

    def _block(self, layers: Layers, trunk: Value, block: int) -> Value:
        name, inner = f"blocks.{block}", trunk
        if self.nested:
            narrow = layers.conv(f"{name}.narrow", trunk, self.nested, 1, norm=f"{name}.norm1")
            inner = layers.relu(narrow)
        for residual, pools in self._residuals(block):
            inner = self._residual(layers, inner, residual, pools=pools)
        if not self.nested:
            return inner
        outer = layers.conv(f"{name}.widen", inner, self.channels, 1, norm=f"{name}.norm2")
        return layers.relu(trunk + outer)

    def _residual(self, layers: Layers, trunk: Value, name: str, *, pools: bool) -> Value:
        c = self.nested or self.channels
        inner = layers.relu(layers.conv(f"{name}.conv1", trunk, c, 3, norm=f"{name}.norm1"))
        pooled = (f"{name}.pool", _pool(layers, inner)) if pools else None
        outer = layers.conv(f"{name}.conv2", inner, c, 3, norm=f"{name}.norm2", everywhere=pooled)
        return layers.relu(trunk + outer)

    def _attention(self, layers: Layers, trunk: Value, name: str) -> Value:
        c = self.channels
        queries, keys, values = (
            layers.conv(f"{name}.{what}", trunk, c, 1, norm=f"{name}.{what}_norm")
            for what in ("queries", "keys", "values")
        )
        heads = self.attention_heads
        read = layers.attend(queries, keys, values, heads, c // heads)
        outer = layers.conv(f"{name}.out", read, c, 1, norm=f"{name}.norm2")
        return layers.relu(trunk + outer)

    def _policy(self, layers: Layers, trunk: Value) -> Value:
        h = self.head_channels
        gathered = layers.conv("policy.gather", trunk, h, 1, norm="policy.gather_norm")
        pooled = _pool(layers, layers.relu(gathered))
        local = layers.conv(
            "policy.conv", trunk, h, 1, norm="policy.norm", everywhere=("policy.pool", pooled)
        )
        points = layers.flat(layers.conv("policy.out", layers.relu(local), 1, 1))
        hidden = layers.dense("policy.pass_hidden", pooled, h, norm="policy.pass_norm")
        passing = layers.dense("policy.pass_out", layers.relu(hidden), 1)
        return layers.join(points, passing)

    def _value(self, layers: Layers, trunk: Value, features: Value) -> Outputs:
        h, v = self.head_channels, self.value_hidden
        local = layers.relu(layers.conv("value.conv", trunk, h, 1, norm="value.norm"))
        if "ownership" not in self.heads:
            hidden = layers.dense(
                "value.hidden", _value_pool(layers, local), v, norm="value.hidden_norm"
            )
            return {"value": layers.dense("value.out", layers.relu(hidden), 3)}
        owner = layers.plane(layers.conv("value.ownership", local, 1, 1))
        known = self._estimates(layers, owner, features)
        pooled = layers.join(_value_pool(layers, local), known)
        hidden = layers.dense("value.hidden", pooled, v, norm="value.hidden_norm")
        hidden = layers.join(layers.relu(hidden), known)
        value = layers.dense("value.out", hidden, 3)
        raw = layers.dense("value.score", hidden, len(SCORE_COLUMNS))
        mean, spread, lead = layers.split(raw, 1, 1, 1)
        score = layers.join(mean, layers.softplus(spread), lead) * SCORE_UNIT
        return {"value": value, "score": score, "ownership": owner}

    def _estimates(self, layers: Layers, owner: Value, features: Value) -> Value:
        """Return [B, ESTIMATES] what the ownership comes to, lead and spread in SCORE_UNIT."""
        points = layers.tanh(owner)
        count = ENCODERS[self.encoder][2]
        _, komi, _ = layers.split(features, OWN_KOMI, 1, count - OWN_KOMI - 1)
        lead = layers.total(points) + komi * KOMI_UNIT
        spread = layers.sqrt(layers.total(1.0 - points * points) + 1.0)
        return layers.join(
            layers.join(lead, spread) * (1 / SCORE_UNIT), layers.tanh(lead / spread * 0.5)
        )


class FiveTowerShape(TowerShape):
    """A tower that plays five in a row, where nothing is counted or owned."""

    encoder = "five"
    heads = FIVE_HEADS


def _pool(layers: Layers, tensor: Value) -> Value:
    """Return [B, 3C]: mean, mean * (s - 14) / 10 and maximum."""
    mean = layers.mean(tensor)
    return layers.flat(layers.join(mean, mean * layers.size_offset, layers.maximum(tensor)))


def _value_pool(layers: Layers, tensor: Value) -> Value:
    """Return [B, 3C]: mean, mean * (s - 14) / 10 and mean * ((s - 14)^2 / 100 - 0.1)."""
    mean, offset = layers.mean(tensor), layers.size_offset
    squared = mean * (offset * offset - VALUE_POOL_OFFSET)
    return layers.flat(layers.join(mean, mean * offset, squared))


TOWERS = {
    "tiny": TowerShape(blocks=2, channels=16, head_channels=16, value_hidden=16),
    "b4c32": TowerShape(blocks=4, channels=32),
    "b4c48": TowerShape(blocks=4, channels=48),
    "b6c64": TowerShape(blocks=6, channels=64),
    "b5c96n48": TowerShape(blocks=5, channels=96, nested=48),
    "b5c64a1": TowerShape(blocks=5, channels=64, attention=1),
    "b4c64a2": TowerShape(blocks=4, channels=64, attention=2),
    "b6c64a2": TowerShape(blocks=6, channels=64, attention=2),
    "b6c96": TowerShape(blocks=6, channels=96),
    "b10c128": TowerShape(blocks=10, channels=128),
    "b14c160": TowerShape(blocks=14, channels=160),
    "five-b4c32": FiveTowerShape(blocks=4, channels=32),
}
"""Named sizes; `tiny` is for trying things out, and the largest has 6.9 million weights."""


def random_weights(shape: Shape, seed: int) -> dict[str, NDArray[np.float32]]:
    """Return seeded weights, [*arrays_of(shape)[name]] each, of an untrained net of mild opinions.

    Hidden layers keep the size of their inputs; the outputs are scaled down so that the policy is
    near uniform and the values near zero, without two positions getting the same answer.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    weights = {}
    has_estimates = "ownership" in shape.heads
    # The ownership last, so that a seed's net stays what it was.
    for name, size in sorted(arrays_of(shape).items(), key=lambda item: "ownership" in item[0]):
        if name.endswith(("norm.weight", "norm1.weight", "norm2.weight", "running_var")):
            array = np.ones(size)
        elif len(size) == 1:
            array = np.zeros(size)
        else:
            reader = has_estimates and name.removesuffix(".weight") in ESTIMATE_READERS
            size = (size[0], size[1] - ESTIMATES) if reader else size
            gain = next((gain for part, gain in _OUTPUT_GAINS.items() if part in name), 1.0)
            array = generator.standard_normal(size) * gain / np.sqrt(np.prod(size[1:]))
            array = np.pad(array, ((0, 0), (0, ESTIMATES))) if reader else array
        weights[name] = array.astype(np.float32)
    if "value.out.bias" in weights:
        weights["value.out.bias"][2] = UNTRAINED_NO_RESULT_LOGIT
    return weights
