"""Positions as this project's own nets see them."""

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.encoders.inputs import DEFAULT_OPTIONS
from gtp_engine.evaluators.encoders.katago import katago_v7
from gtp_engine.evaluators.net_info import ENCODERS
from gtp_engine.go.ladders import new_reader
from gtp_engine.go.position import Position
from gtp_engine.go.symmetry import point_table

_, PLANES, FEATURES = ENCODERS["katago_v7"]


class PositionEncoder:
    """Fills net inputs from positions; for one thread."""

    def __init__(self) -> None:
        """Set aside the memory for reading ladders."""
        self._reader = new_reader()

    def encode(
        self, position: Position, spatial: NDArray[np.uint8], features: NDArray[np.float32]
    ) -> None:
        """Write the planes [C, H, W] and globals [G] of the position for the side to move."""
        katago_v7(
            position.history,
            position.ply,
            position.rules.flags,
            DEFAULT_OPTIONS,
            self._reader,
            point_table(position.width, position.height)[0],
            spatial,
            features,
        )
