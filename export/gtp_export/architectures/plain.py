"""Plain stacks of convolutions: the nets of the first supervised systems.

    dlgo-small   S. Pumperla and K. Ferguson, "Deep Learning and the Game of Go" (2019), its small
                 net: one plane, own stones 1 and the opponent's -1; four convolutions, a dense
                 layer, a dense output. The output for the pass was not in the book.
    alphago-sl   D. Silver et al., "Mastering the game of Go with deep neural networks and tree
                 search", Nature 529 (2016), Methods: 48 planes, twelve hidden layers, the first
                 5x5 and the rest 3x3, then 1x1 and a softmax over the points.
    gocnn        J. Siegel, "GoCNN" (2016): 8 planes, five 5x5 convolutions and a 5x5 output of
                 the chance that a point ends up as the mover's, trained with squared errors.
    gocnn-chain  the same with *chain pooling*, which its author wished for: half the channels of
                 each hidden layer become the maximum over the stones of a chain, and the stones
                 of a chain share one output, their mean.

Every hidden layer is followed by a norm and a ReLU. The originals knew no norm there; folded into
the layer before, it leaves the finished net as they had it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gtp_engine.evaluators.net_info import ENCODERS, VALUE_SCALAR
from gtp_export.architectures.shape import norm_arrays

POLICY, OWNERSHIP = "policy", "ownership"


@dataclass(frozen=True)
class PlainShape:
    """The numbers that define a plain net."""

    encoder: str
    convolutions: tuple[tuple[int, int], ...]
    """(side, channels) of each hidden convolution."""
    head: str
    """POLICY or OWNERSHIP, the only output."""
    head_side: int = 1
    """Side of the convolution that makes one output a point; unused with dense layers."""
    dense: tuple[int, ...] = ()
    """Width of each hidden dense layer between the convolutions and a dense output."""
    board_size: int | None = None
    """The only size; dense layers need one."""
    has_pass: bool = False
    """Only a dense output has one."""
    is_difference: bool = False
    """Whether the net sees the first plane minus the second instead of all planes."""
    pools_chains: bool = False

    value_kind = VALUE_SCALAR  # without meaning, as there is no value

    @property
    def planes(self) -> int:
        """Planes that the encoder fills."""
        return ENCODERS[self.encoder][1]

    @property
    def seen_planes(self) -> int:
        """Channels that enter the first convolution."""
        return 1 if self.is_difference else self.planes

    @property
    def heads(self) -> Mapping[str, str]:
        """The one output."""
        if self.head == OWNERSHIP:
            return {"ownership": "-1..1 per point, 1 is the side to move's"}
        passing = "pass last" if self.has_pass else "without the pass"
        return {"policy": f"logits by action, {passing}"}

    @property
    def outputs(self) -> int:
        """Outputs of a dense policy."""
        return (self.board_size or 0) ** 2 + int(self.has_pass)

    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight and running statistic by name."""
        shapes: dict[str, tuple[int, ...]] = {}
        width = self.seen_planes
        for i, (side, channels) in enumerate(self.convolutions):
            shapes[f"convolutions.{i}.weight"] = (channels, width, side, side)
            shapes |= norm_arrays(f"norms.{i}", channels)
            width = channels
        if not self.dense:
            side = self.head_side
            return shapes | {"out.weight": (1, width, side, side), "out.bias": (1,)}
        width *= (self.board_size or 0) ** 2
        for i, units in enumerate(self.dense):
            shapes[f"dense.{i}.weight"] = (units, width)
            shapes |= norm_arrays(f"dense_norms.{i}", units)
            width = units
        return shapes | {"out.weight": (self.outputs, width), "out.bias": (self.outputs,)}

    def describe(self) -> str:
        """Return the architecture in a phrase."""
        layers = [f"{side}x{side}x{channels}" for side, channels in self.convolutions]
        layers += [f"dense {units}" for units in self.dense]
        last = f"dense {self.outputs}" if self.dense else f"{self.head_side}x{self.head_side}x1"
        pooled = ", maxima over chains" if self.pools_chains else ""
        return f"convolutions {', '.join([*layers, last])}{pooled}"
