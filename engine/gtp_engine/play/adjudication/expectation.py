"""The ownership that a net expects of a position, whoever is to move and however it came about."""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.evaluators.evaluator import Evaluator, evaluate_symmetries
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.symmetry import symmetries

Ownership = npt.NDArray[np.float32]
"""[height, width], 1 is certainly Black's, -1 certainly White's."""

SETTLED = 0.8
"""Ownership, 0 to 1, beyond which a point counts as decided."""


def without_history(position: Position, to_play: int, rules: Rules | None = None) -> Position:
    """Return a game that begins with the stones of a position.

    Passes, bans of ko and prisoners are forgotten: none of them changes which stones are dead.

    Args:
        position: The stones.
        to_play: Who is to move.
        rules: The rules; the position's when None.
    """
    fresh = Position(position.width, position.height, rules or position.rules)
    fresh.set_up(position.stones(BLACK), position.stones(WHITE), to_play)
    return fresh


def expected_ownership(evaluator: Evaluator, position: Position) -> Ownership | None:
    """Return the mean over all symmetries and both players to move, without any search.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    if not evaluator.has_ownership:
        return None
    shown = list(symmetries(position.width, position.height))
    batch = evaluator.new_batch(len(shown), position.width, position.height)
    flags = position.rules.flags
    total = np.zeros((position.height, position.width), np.float32)
    for color, sign in ((BLACK, 1.0), (WHITE, -1.0)):
        bare = without_history(position, color)
        evaluate_symmetries(evaluator, batch, bare.history, bare.ply, flags, shown, 0.0)
        total += np.float32(sign) * batch.ownership[0].reshape(total.shape)
    return total / np.float32(2.0)
