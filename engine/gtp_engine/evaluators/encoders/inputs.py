"""What every encoder is called with, what it fills, and how it is found by its name.

A family of encoders is imported when one of it is first asked for: nobody waits for the others.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader, new_reader
from gtp_engine.go.rules import RuleFlags
from gtp_engine.go.symmetry import point_table

if TYPE_CHECKING:
    from gtp_engine.go.position import Position

Planes = npt.NDArray[np.uint8]
"""[C, H*W], or [C, H, W] as the net takes them."""
Features = npt.NDArray[np.float32]
"""[G]."""
SymmetryMap = npt.NDArray[np.int16]
"""[points] a row of `symmetry.point_table`: the column of each point under that symmetry."""


class Seen(NamedTuple):
    """A position, and how it is to be shown."""

    history: History
    """The game with the path to the position."""
    ply: int
    """Of the position."""
    rules: RuleFlags
    reader: Reader
    """The calling thread's memory for reading ladders."""
    symmetry_map: SymmetryMap
    """The symmetry to show."""
    suicide_alive: int
    """Whether areas are computed as if suicide were legal (`pass_alive_under_suicide`)."""


Encode = Callable[[Seen, Planes, Features], None]
"""A kernel that fills the inputs of one position, [C, H, W] planes and [G] globals.

Python hands it C-contiguous arrays of just these dimensions, for it does not look at them (see
`kernels.hot_kernel`).
"""


Begin = Callable[
    [EvalBatch, int, History, int, RuleFlags, int, float, npt.NDArray[np.int16], int, int], None
]
"""A kernel that writes all of a slot but the inputs of the net: moves, numbers, position hash.

Its arguments: what `Evaluator.encode` takes, from the batch to the optimism; the board's
`symmetry.distinct_points`; what the evaluation depends on besides, the salt of its hash; how many
positions may be looked at to find out how this one ends, which the hash depends on too.
"""


def find_encoder(name: str) -> Encode:
    """Return the kernel of an encoder.

    Args:
        name: A key of `net_info.ENCODERS`.
    """
    encode: Encode = getattr(_family_of(name), name)
    return encode


def encode_position(name: str, position: "Position") -> tuple[Planes, Features]:
    """Return the planes [C, H, W] and the globals [G] that an encoder makes of a position.

    For whoever looks at one; searches fill batches in place.
    """
    _, n_planes, n_features = ENCODERS[name]
    width, height = position.width, position.height
    planes = np.zeros((n_planes, height, width), np.uint8)
    features = np.zeros(n_features, np.float32)
    game = position.history, position.ply, position.rules.flags
    as_it_is = point_table(width, height)[0]
    find_encoder(name)(Seen(*game, new_reader(), as_it_is, 0), planes, features)
    return planes, features


def find_begin(name: str) -> Begin | None:
    """Return the kernel that begins a slot for nets of a game other than Go; None for Go.

    Args:
        name: The key of the nets' encoder.
    """
    return getattr(_family_of(name), "begin_slot", None)


def find_moves(name: str) -> ModuleType:
    """Return where the kernels `play` and `legal_points` are of the game that an encoder shows."""
    five = name.startswith("five")
    return import_module("gtp_engine.five.game" if five else "gtp_engine.go.history")


def _family_of(name: str) -> ModuleType:
    families = ("katago", "alphago", "five")
    family = next((each for each in families if name.startswith(each)), "stones")
    return import_module(f"{__package__}.{family}")
