"""AlphaGo Zero's net: a residual tower with a policy and a value head.

D. Silver et al., "Mastering the game of Go without human knowledge", Nature 550 (2017), Methods,
in the size that tutorials re-made it: stem 3x3, blocks of two 3x3 convolutions; policy head 1x1 to
one plane, norm, ReLU, dense to N^2 + 1; value head 1x1 to one plane, norm, ReLU, dense, ReLU,
dense to one, tanh. 17 planes, one board size. The loss is (z - v)^2 - pi log p.
"""

from dataclasses import dataclass

from gtp_engine.evaluators.nets.net_info import VALUE_SCALAR
from gtp_export.architectures.layers import Layers, Outputs, Value

HEADS = {
    "policy": "logits by action, pass last",
    "value": "expected result for the side to move, -1..1",
}


@dataclass(frozen=True)
class DualShape:
    """The numbers that define a net of this kind."""

    blocks: int
    channels: int
    board_size: int = 19
    value_hidden: int = 256

    # The same for every net of this kind; see `Shape`.
    encoder = "agz17"
    heads = HEADS
    has_pass = True
    value_kind = VALUE_SCALAR

    def compute(self, layers: Layers, planes: Value, features: Value) -> Outputs:
        c = self.channels
        trunk = layers.relu(layers.conv("stem", planes, c, 3, norm="stem_norm"))
        for block in range(self.blocks):
            name = f"blocks.{block}"
            inner = layers.relu(layers.conv(f"{name}.conv1", trunk, c, 3, norm=f"{name}.norm1"))
            outer = layers.conv(f"{name}.conv2", inner, c, 3, norm=f"{name}.norm2")
            trunk = layers.relu(trunk + outer)
        policy = layers.flat(layers.relu(layers.conv("policy", trunk, 1, 1, norm="policy_norm")))
        value = layers.flat(layers.relu(layers.conv("value", trunk, 1, 1, norm="value_norm")))
        value = layers.dense("value_hidden", value, self.value_hidden, norm="value_hidden_norm")
        value = layers.dense("value_out", layers.relu(value), 1)
        actions = self.board_size**2 + 1
        return {
            "policy": layers.dense("policy_out", policy, actions),
            "value": layers.tanh(value),
        }

    def describe(self) -> str:
        return (
            f"{self.blocks} post-activation residual blocks x {self.channels} channels, 3x3; "
            f"policy and value heads of one plane, dense {self.value_hidden}"
        )
