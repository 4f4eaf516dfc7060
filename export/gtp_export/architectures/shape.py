"""What every architecture says about itself, without torch."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_export.architectures.layers import ArrayList, Layers, Outputs, Value, Width

Weights = Mapping[str, NDArray[np.float32]]
"""Arrays by the names that `arrays_of` lists; convolutions are [out, in, side, side]."""

NORM_EPSILON = 1e-5


class Shape(Protocol):
    """The numbers that define an architecture, and what they define."""

    @property
    def encoder(self) -> str:
        """Which of the engine's encoders fills the inputs."""

    @property
    def board_size(self) -> int | None:
        """The only size, of square boards, that the net takes; None when it takes all."""

    @property
    def heads(self) -> Mapping[str, str]:
        """Output by its name in `net_info` to a phrase saying what it holds."""

    @property
    def has_pass(self) -> bool:
        """Whether the policy ends with the pass."""

    @property
    def value_kind(self) -> str:
        """One of the kinds of `net_info`; without meaning where there is no value."""

    def compute(self, layers: Layers, planes: Value, features: Value) -> Outputs:
        """Return what the net makes of a map of planes and a vector of globals, by head."""

    def describe(self) -> str:
        """Return the architecture in a phrase."""


def list_arrays(shape: Shape) -> ArrayList:
    """Return the arrays of a net, and which layers its norms follow."""
    _, planes, features = ENCODERS[shape.encoder]
    arrays = ArrayList()
    shape.compute(arrays, Width(planes, (shape.board_size or 1) ** 2), Width(features))
    return arrays


def arrays_of(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight and running statistic by name."""
    return list_arrays(shape).shapes


def count_parameters(shape: Shape) -> int:
    """Return the number of trained weights."""
    sizes = arrays_of(shape).items()
    return sum(int(np.prod(size)) for name, size in sizes if ".running_" not in name)
