"""What every architecture says about itself, without torch."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[np.float32]]
"""Arrays by the names that a shape's `arrays` lists; convolutions are [out, in, side, side]."""

NORM_EPSILON = 1e-5


class Shape(Protocol):
    """The numbers that define an architecture."""

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

    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight and running statistic by name."""

    def describe(self) -> str:
        """Return the architecture in a phrase."""


def count_parameters(shape: Shape) -> int:
    """Return the number of trained weights."""
    sizes = shape.arrays().items()
    return sum(int(np.prod(size)) for name, size in sizes if ".running_" not in name)


def numbers_of(shape: Any) -> dict[str, Any]:
    """Return the numbers that tell this shape from others of its kind."""
    return asdict(shape)


def norm_arrays(name: str, channels: int) -> dict[str, tuple[int, ...]]:
    """Return the arrays of one norm by name."""
    parts = ("weight", "bias", "running_mean", "running_var")
    return {f"{name}.{part}": (channels,) for part in parts}
