"""Positions as encoders show them, for tests."""

import numpy as np

from gtp_engine.evaluators.encoders.inputs import Seen, find_encoder
from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_engine.go.ladders import new_reader
from gtp_engine.go.position import Position
from gtp_engine.go.symmetry import point_table

READER = new_reader(256)


def encoded(name: str, position: Position, symmetry: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the planes [C, H, W] and globals [G], written over arrays full of rubbish."""
    _, n_planes, n_features = ENCODERS[name]
    width, height = position.width, position.height
    # Planes of a transposed board have its size: only squares are transposed.
    planes = np.full((n_planes, height, width), 9, np.uint8)
    features = np.full(n_features, 9.0, np.float32)
    game = position.history, position.ply, position.rules.flags
    seen = Seen(*game, READER, point_table(width, height)[symmetry], 0)
    find_encoder(name)(seen, planes, features)
    return planes, features


def drawn(plane: np.ndarray) -> str:
    """Return a plane as text, `#` for one."""
    return "\n".join("".join(".#"[int(value)] for value in row) for row in plane)
