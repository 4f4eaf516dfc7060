"""A batch of positions on their way through a net: what goes in, what comes out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import WHITE
from gtp_engine.go.history import History, legal_moves, white_komi
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import inline_kernel, int64, kernel

SLOT = np.dtype(
    [
        ("position_hash", np.uint64, (2,)),  # the evaluation is remembered under it
        ("optimism", np.float32),  # share of the optimistic policy
        ("komi", np.float32),  # points that the mover has besides the board
        ("value", np.float32),  # result: win minus loss, -1..1
        ("no_result", np.float32),  # result: probability of no result
        ("lead", np.float32),  # result: expected points ahead
        ("stdev", np.float32),  # result: standard deviation of the final score, points
        ("rollout_value", np.float32),  # mean result of rollouts, -1..1, where some were played
        ("rollout_lead", np.float32),  # by how many points they were won
        ("n_moves", np.int16),  # how many moves are legal
        ("depth", np.int16),  # moves since the root of a search, for rollouts that end there
        ("symmetry", np.int8),  # under which the net sees the position
        ("known_result", np.int8),  # in five in a row: 1 won, -1 lost for the mover, 0 not known
        ("canonical", np.int8),  # symmetry under which the evaluation is remembered
        ("no_result_counts", np.uint8),  # whether the rules know games without result
        ("five", np.uint8),  # in five in a row, Gomocup's number of the rules, ...
        ("to_play", np.uint8),  # ... and who is to move
    ],
    align=True,
)

Floats = npt.NDArray[np.float32]


class EvalBatch(NamedTuple):
    """Arrays over B slots, for boards of one size with A points.

    Results speak for the player to move in the slot's position. Kernels read the numbers of a
    slot from its record, for every array handed to a kernel costs time; results have names too.
    """

    spatial: npt.NDArray[np.uint8]
    """[B, C, H, W] planes, symmetry applied."""
    features: Floats
    """[B, G + M] globals, then the player profile of nets that take one."""
    slots: npt.NDArray[Any]
    """[B] of SLOT."""
    moves: npt.NDArray[np.int16]
    """[B, A + 1] legal moves, the pass last."""
    priors: Floats
    """[B, A + 1] result: the policy over `moves`; sums to 1."""
    ownership: Floats
    """[B, A] result: -1..1, row by row from the top; [B, 0] when the net has none."""

    @property
    def n_moves(self) -> npt.NDArray[np.int16]:
        """[B] how many moves are legal."""
        return self.slots["n_moves"]

    @property
    def value(self) -> Floats:
        """[B] result: win minus loss, -1..1."""
        return self.slots["value"]

    @property
    def no_result(self) -> Floats:
        """[B] result: probability of no result."""
        return self.slots["no_result"]

    @property
    def lead(self) -> Floats:
        """[B] result: expected points ahead."""
        return self.slots["lead"]

    @property
    def stdev(self) -> Floats:
        """[B] result: standard deviation of the final score, points."""
        return self.slots["stdev"]


def new_eval_batch(
    slots: int, width: int, height: int, planes: int, features: int, has_ownership: bool
) -> EvalBatch:
    """Return a batch with room for this many positions."""
    area = width * height
    return EvalBatch(
        spatial=np.zeros((slots, planes, height, width), np.uint8),
        features=np.zeros((slots, features), np.float32),
        slots=np.zeros(slots, SLOT),
        moves=np.zeros((slots, area + 1), np.int16),
        priors=np.zeros((slots, area + 1), np.float32),
        ownership=np.zeros((slots, area if has_ownership else 0), np.float32),
    )


def gather_slots(batch: EvalBatch, slots: Sequence[int], first: int) -> None:
    """Move all that some slots hold, in ascending order, up to `first` and those behind it."""
    for to, slot in enumerate(slots, start=first):
        if to != slot:
            for array in batch:
                array[to] = array[slot]


def average_slots(batch: EvalBatch, n: int) -> None:
    """Give the first slot the mean of the results of the first n, all of one position."""
    numbers = batch.value, batch.no_result, batch.lead, batch.stdev
    for results in (batch.priors, batch.ownership, *numbers):
        results[0] = results[:n].mean(axis=0)


@kernel
def list_moves(batch: EvalBatch, slot: int, history: History, ply: int, rules: RuleFlags) -> None:
    """Write the legal moves of a position, the pass last, and the komi into a slot."""
    batch.slots[slot]["n_moves"] = legal_moves(history, ply, rules, batch.moves[slot])
    komi = white_komi(history.turns[ply], rules)
    batch.slots[slot]["komi"] = komi if history.turns[ply]["to_play"] == WHITE else -komi


# Priors in two bytes -----------------------------------------------------------------------------
#
# A prior lies between 0 and 1, so the two highest bits of its single-precision form are zero; the
# code is the sixteen bits that follow, rounded. Nine bits of fraction keep a prior to one part in
# a thousand, down to the smallest, and codes stand in the same order as the priors. Zero codes no
# prior: an illegal move.


@inline_kernel
def prior_code(prior: float) -> int:
    """Return the code of a prior, 1 at least; the prior lies between 0 and 1."""
    bits = int64(np.float32(prior).view(np.uint32))
    return max(int64(1), (bits + 8192) >> 14)


@inline_kernel
def coded_prior(code: int) -> np.float32:
    """Return the prior that a code stands for, in single precision."""
    return np.uint32(int64(code) << 14).view(np.float32)
