"""Plain stacks of convolutions: the nets of the first supervised systems.

    dlgo-small   S. Pumperla and K. Ferguson, "Deep Learning and the Game of Go" (2019), its small
                 net: one plane, own stones 1 and the opponent's -1; four convolutions, a dense
                 layer, a dense output. The output for the pass was not in the book.
    alphago-sl   D. Silver et al., "Mastering the game of Go with deep neural networks and tree
                 search", Nature 529 (2016), Methods: 48 planes, twelve hidden layers, the first
                 5x5 and the rest 3x3, then 1x1 and a softmax over the points.
                 The value net has a plane more, and a dense layer of 256 before its one output.
    gocnn        J. Siegel, "GoCNN" (2016): 8 planes, five 5x5 convolutions and a 5x5 output of
                 the chance that a point ends up as the mover's, trained with squared errors.
    gocnn-chain  the same with *chain pooling*, which its author wished for: half the channels of
                 each hidden layer become the maximum over the stones of a chain, and the stones
                 of a chain share one output, their mean.

    pierre       a course's program for five in a row (2017): four planes, four 5x5 convolutions,
                 two maxima of 2x2 points, three dense layers; a smaller net played its rollouts.

Every hidden layer is followed by a norm and a ReLU. The originals knew no norm there; folded into
the layer before, it leaves the finished net as they had it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gtp_engine.evaluators.nets.net_info import ENCODERS, VALUE_SCALAR
from gtp_export.architectures.layers import Layers, Outputs, Value

POLICY, OWNERSHIP, VALUE = "policy", "ownership", "value"
CHAIN_ROUNDS = 8
"""Of the 1.03 million chains on 24,496 boards of recorded games none needs more than seven."""
STONE_PLANES = (3, 3)
"""How many first planes of the encoders `gocnn8` and `gocnn21` hold own and others' stones."""


@dataclass(frozen=True)
class PlainShape:
    """The numbers that define a plain net."""

    encoder: str
    convolutions: tuple[tuple[int, int], ...]
    """(side, channels) of each hidden convolution."""
    head: str
    """POLICY, OWNERSHIP or VALUE, the only output."""
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
    halved_after: tuple[int, ...] = ()
    """Numbers, from 0, of the convolutions that maxima of 2x2 points follow."""

    value_kind = VALUE_SCALAR  # without meaning where there is no value

    @property
    def heads(self) -> Mapping[str, str]:
        """The one output."""
        if self.head == VALUE:
            return {"value": "expected result for the side to move, -1..1"}
        if self.head == OWNERSHIP:
            return {"ownership": "-1..1 per point, 1 is the side to move's"}
        passing = "pass last" if self.has_pass else "without the pass"
        return {"policy": f"logits by action, {passing}"}

    @property
    def outputs(self) -> int:
        """Outputs of a dense policy or value."""
        return 1 if self.head == VALUE else (self.board_size or 0) ** 2 + int(self.has_pass)

    def compute(self, layers: Layers, planes: Value, features: Value) -> Outputs:
        """Return the one head; see `Shape`."""
        count = ENCODERS[self.encoder][1]
        places = chain_places(layers, planes, count) if self.pools_chains else None
        tensor = planes
        if self.is_difference:
            own, other = layers.split(planes, 1, 1)
            tensor = own - other
        for i, (side, channels) in enumerate(self.convolutions):
            hidden = layers.conv(f"convolutions.{i}", tensor, channels, side, norm=f"norms.{i}")
            tensor = layers.relu(hidden)
            if i in self.halved_after:
                tensor = layers.halve(tensor)
            if places is not None:
                half = channels // 2
                kept, pooled = layers.split(tensor, channels - half, half)
                tensor = layers.join(kept, over_chains(layers, pooled, places, "max"))
        if self.dense:
            tensor = layers.flat(tensor)
            for i, units in enumerate(self.dense):
                hidden = layers.dense(f"dense.{i}", tensor, units, norm=f"dense_norms.{i}")
                tensor = layers.relu(hidden)
            out = layers.dense("out", tensor, self.outputs)
            return {"value": layers.tanh(out)} if self.head == VALUE else {"policy": out}
        tensor = layers.conv("out", tensor, 1, self.head_side, bias=True)
        if places is not None:
            ones = tensor - tensor + 1.0
            total, stones = (over_chains(layers, of, places, "add") for of in (tensor, ones))
            tensor = total / stones
        if self.head == OWNERSHIP:
            # The chance is a sigmoid: 2 sigmoid(z) - 1 = tanh(z / 2).
            return {"ownership": layers.plane(tensor) * 0.5}
        return {"policy": layers.flat(tensor)}

    def describe(self) -> str:
        """Return the architecture in a phrase."""
        layers = [
            f"{side}x{side}x{channels}{' halved' if i in self.halved_after else ''}"
            for i, (side, channels) in enumerate(self.convolutions)
        ]
        layers += [f"dense {units}" for units in self.dense]
        last = f"dense {self.outputs}" if self.dense else f"{self.head_side}x{self.head_side}x1"
        pooled = ", maxima over chains" if self.pools_chains else ""
        return f"convolutions {', '.join([*layers, last])}{pooled}"


def chain_places(layers: Layers, planes: Value, count: int) -> Value:
    """Return [B, 1, H, W] the largest index of each point's chain, of so many planes.

    That is the chain's label; an empty point is a chain of its own. In a round labels spread to
    neighbours of the same color; what a stone found out is told to the stone that its old label
    names, and every stone asks that one again. The reach doubles with each round, so that few do
    for the longest chains (after Shiloach and Vishkin, "An O(log n) parallel connectivity
    algorithm", 1982).
    """
    own, other, _ = layers.split(planes, *STONE_PLANES, count - sum(STONE_PLANES))
    own = layers.any_of(own)
    colors = layers.join(own, layers.any_of(other) * (1.0 - own))  # no point in both
    numbers = layers.numbers(own)
    labels = colors * numbers
    for _ in range(CHAIN_ROUNDS):
        places = layers.relu(labels - 1.0)
        told = layers.scatter(layers.neighbours(labels) * colors, places, "max")
        labels = layers.gather(told, places) * colors
    return layers.sum_of(labels) + numbers * (1.0 - layers.sum_of(colors)) - 1.0


def over_chains(layers: Layers, tensor: Value, places: Value, reduction: str) -> Value:
    """Return at each point the `max` (of numbers >= 0) or `add` over its chain."""
    return layers.gather(layers.scatter(tensor, places, reduction), places)
