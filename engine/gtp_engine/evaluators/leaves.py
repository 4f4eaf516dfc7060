"""A batch of positions on their way through a net: what goes in, what comes out."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.go.coords import PASS, WHITE
from gtp_engine.go.jit import kernel
from gtp_engine.go.line import Line, legal_points, white_komi
from gtp_engine.go.rules import RuleFlags


class LeafBatch(NamedTuple):
    """Parallel arrays over B slots, for boards of one size with A points.

    Results speak for the player to move in the slot's position.
    """

    spatial: npt.NDArray[np.uint8]
    """[B, C, H, W] planes, symmetry applied."""
    features: npt.NDArray[np.float32]
    """[B, G + M] globals, then the player profile of nets that take one."""
    symmetry: npt.NDArray[np.int8]
    """[B] the symmetry under which the net sees the position."""
    keys: npt.NDArray[np.uint64]
    """[B, 2] the key under which the evaluation is remembered; see `situation_keys`."""
    canonical: npt.NDArray[np.int8]
    """[B] the symmetry under which it is remembered."""
    optimism: npt.NDArray[np.float32]
    """[B] share of the optimistic policy."""
    no_result_counts: npt.NDArray[np.uint8]
    """[B] whether the rules know games without result."""
    komi: npt.NDArray[np.float32]
    """[B] points that the player to move has besides the board; negative for Black's komi."""
    moves: npt.NDArray[np.int16]
    """[B, A + 1] legal moves, the pass last."""
    n_moves: npt.NDArray[np.int16]
    """[B] how many."""
    priors: npt.NDArray[np.float32]
    """[B, A + 1] result: the policy over `moves`; sums to 1."""
    value: npt.NDArray[np.float32]
    """[B] result: win minus loss, -1..1."""
    no_result: npt.NDArray[np.float32]
    """[B] result: probability of no result."""
    lead: npt.NDArray[np.float32]
    """[B] result: expected points ahead."""
    stdev: npt.NDArray[np.float32]
    """[B] result: standard deviation of the final score, points."""
    ownership: npt.NDArray[np.float32]
    """[B, A] result: -1..1, row by row from the top; [B, 0] when the net has none."""


def new_leaf_batch(
    slots: int, width: int, height: int, planes: int, features: int, has_ownership: bool
) -> LeafBatch:
    """Return a batch with room for this many positions."""
    area = width * height
    return LeafBatch(
        spatial=np.zeros((slots, planes, height, width), np.uint8),
        features=np.zeros((slots, features), np.float32),
        symmetry=np.zeros(slots, np.int8),
        keys=np.zeros((slots, 2), np.uint64),
        canonical=np.zeros(slots, np.int8),
        optimism=np.zeros(slots, np.float32),
        no_result_counts=np.zeros(slots, np.uint8),
        komi=np.zeros(slots, np.float32),
        moves=np.zeros((slots, area + 1), np.int16),
        n_moves=np.zeros(slots, np.int16),
        priors=np.zeros((slots, area + 1), np.float32),
        value=np.zeros(slots, np.float32),
        no_result=np.zeros(slots, np.float32),
        lead=np.zeros(slots, np.float32),
        stdev=np.zeros(slots, np.float32),
        ownership=np.zeros((slots, area if has_ownership else 0), np.float32),
    )


@kernel
def list_moves(batch: LeafBatch, slot: int, line: Line, ply: int, rules: RuleFlags) -> None:
    """Write the legal moves of a position, the pass last, and the komi into a slot."""
    n = legal_points(line, ply, rules, batch.moves[slot])
    batch.moves[slot, n] = PASS
    batch.n_moves[slot] = n + 1
    komi = white_komi(line.turns[ply], rules)
    batch.komi[slot] = komi if line.turns[ply]["to_play"] == WHITE else -komi
