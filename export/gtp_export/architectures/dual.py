"""AlphaGo Zero's net: a residual tower with a policy and a value head.

D. Silver et al., "Mastering the game of Go without human knowledge", Nature 550 (2017), Methods,
in the size that tutorials re-made it: stem 3x3, blocks of two 3x3 convolutions; policy head 1x1 to
one plane, norm, ReLU, dense to N^2 + 1; value head 1x1 to one plane, norm, ReLU, dense, ReLU,
dense to one, tanh. 17 planes, one board size. The loss is (z - v)^2 - pi log p.
"""

from dataclasses import dataclass

from gtp_engine.evaluators.net_info import ENCODERS, VALUE_SCALAR
from gtp_export.architectures.shape import norm_arrays

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
    planes = ENCODERS[encoder][1]
    heads = HEADS
    has_pass = True
    value_kind = VALUE_SCALAR

    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight and running statistic by name."""
        c, area = self.channels, self.board_size**2
        shapes: dict[str, tuple[int, ...]] = {
            "stem.weight": (c, self.planes, 3, 3),
            **norm_arrays("stem_norm", c),
        }
        for block in range(self.blocks):
            for half in (1, 2):
                shapes[f"blocks.{block}.conv{half}.weight"] = (c, c, 3, 3)
                shapes |= norm_arrays(f"blocks.{block}.norm{half}", c)
        return shapes | {
            "policy.weight": (1, c, 1, 1),
            **norm_arrays("policy_norm", 1),
            "policy_out.weight": (area + 1, area),
            "policy_out.bias": (area + 1,),
            "value.weight": (1, c, 1, 1),
            **norm_arrays("value_norm", 1),
            "value_hidden.weight": (self.value_hidden, area),
            **norm_arrays("value_hidden_norm", self.value_hidden),
            "value_out.weight": (1, self.value_hidden),
            "value_out.bias": (1,),
        }

    def describe(self) -> str:
        """Return the architecture in a phrase."""
        return (
            f"{self.blocks} post-activation residual blocks x {self.channels} channels, 3x3; "
            f"policy and value heads of one plane, dense {self.value_hidden}"
        )
