"""Which stones hang together, and maxima and sums over them, as a net computes them.

Every point gets the label of its chain, the largest index of its points; an empty point is a chain
of its own. In a round labels spread to neighbours of the same color; what a stone found out is
told to the stone that its old label names, and every stone asks that one again. The reach doubles
with each round, so that few do for the longest chains (after Shiloach and Vishkin, "An O(log n)
parallel connectivity algorithm", 1982).
"""

from gtp_export.architectures.layers import Layers, Value

ROUNDS = 8
"""Of the 1.03 million chains on 24,496 boards of recorded games none needs more than seven."""
STONE_PLANES = (3, 3)
"""How many first planes of the encoders `gocnn8` and `gocnn21` hold own and others' stones."""


def chain_places(layers: Layers, planes: Value, count: int) -> Value:
    """Return [B, 1, H, W] the largest index of each point's chain, of so many planes."""
    own, other, _ = layers.split(planes, *STONE_PLANES, count - sum(STONE_PLANES))
    own = layers.any_of(own)
    colors = layers.join(own, layers.any_of(other) * (1.0 - own))  # no point in both
    numbers = layers.numbers(own)
    labels = colors * numbers
    for _ in range(ROUNDS):
        places = layers.relu(labels - 1.0)
        told = layers.scatter(layers.neighbours(labels) * colors, places, "max")
        labels = layers.gather(told, places) * colors
    return layers.sum_of(labels) + numbers * (1.0 - layers.sum_of(colors)) - 1.0


def over_chains(layers: Layers, tensor: Value, places: Value, reduction: str) -> Value:
    """Return at each point the `max` (of numbers >= 0) or `add` over its chain."""
    return layers.gather(layers.scatter(tensor, places, reduction), places)
