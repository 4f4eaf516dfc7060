"""Evaluations remembered, keyed by everything that the net was shown.

The key is a hash of the encoded inputs themselves, so that it cannot forget anything the encoder
sees: stones, liberties, moves, bans, ladders, phase, rules, komi, the symmetry. An encoder without
globals is not told all that results depend on; for those the legal moves and the komi are hashed
besides. The key has 128 bits; among 10^9 entries the odds of one false match are below 10^-20.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.leaves import LeafBatch
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.jit import inline_kernel, int64, kernel, uint64

MAX_PLANES = 96
"""Of all encoders of a net together."""
_MAX_INPUTS = MAX_PLANES * 625
_MAX_FEATURES = 256


def _coefficients() -> npt.NDArray[np.uint64]:
    generator = np.random.Generator(np.random.PCG64(31337))
    count = 1 + _MAX_FEATURES + _MAX_INPUTS + MAX_POINTS
    return generator.integers(1, 2**64 - 1, (2, count), np.uint64)


_COEFFICIENTS = _coefficients()


class EvaluationCache(NamedTuple):
    """Parallel arrays of entries for boards with A points; a new entry replaces the old one."""

    keys: npt.NDArray[np.uint64]
    """[entries, 2]; zeros are an empty entry."""
    policy: npt.NDArray[np.float32]
    """[entries, A + 1] over all actions, 0 where illegal."""
    numbers: npt.NDArray[np.float32]
    """[entries, 4] value, no result, lead, stdev."""
    ownership: npt.NDArray[np.int8]
    """[entries, A] in 1/127, or [entries, 0]."""


def new_cache(area: int, has_ownership: bool, budget_bytes: int) -> EvaluationCache:
    """Return an empty cache of at most this size; its number of entries is a power of two."""
    owned = area if has_ownership else 0
    entry_bytes = 16 + 4 * (area + 1) + 16 + owned
    entries = 1 << max(4, (budget_bytes // entry_bytes).bit_length() - 1)
    return EvaluationCache(
        np.zeros((entries, 2), np.uint64),
        np.zeros((entries, area + 1), np.float32),
        np.zeros((entries, 4), np.float32),
        np.zeros((entries, owned), np.int8),
    )


@kernel
def write_key(batch: LeafBatch, slot: int) -> None:
    """Hash a slot's inputs: the sum of a random coefficient for each set bit and feature.

    (Multilinear hashing, Carter & Wegman 1979.)
    """
    planes = batch.spatial[slot].reshape(-1)
    low = uint64(batch.symmetry[slot]) * _COEFFICIENTS[0, 0]
    high = uint64(batch.symmetry[slot]) * _COEFFICIENTS[1, 0]
    base = 1 + _MAX_FEATURES
    for i in range(planes.shape[0]):
        low += uint64(planes[i]) * _COEFFICIENTS[0, base + i]
        high += uint64(planes[i]) * _COEFFICIENTS[1, base + i]
    for i in range(batch.features.shape[1]):
        bits = _feature_bits(batch.features[slot, i])
        low += bits * _COEFFICIENTS[0, 1 + i]
        high += bits * _COEFFICIENTS[1, 1 + i]
    if batch.features.shape[1] == 0:
        base += _MAX_INPUTS
        for i in range(batch.n_moves[slot]):
            low += _COEFFICIENTS[0, base + batch.moves[slot, i]]
            high += _COEFFICIENTS[1, base + batch.moves[slot, i]]
        komi = _feature_bits(batch.komi[slot])
        low += komi * _COEFFICIENTS[0, _MAX_FEATURES]
        high += komi * _COEFFICIENTS[1, _MAX_FEATURES]
    optimism = _feature_bits(batch.optimism[slot])
    # Features that are whole numbers leave the low bits alone, by which entries are found.
    low ^= low >> uint64(32)
    batch.keys[slot, 0] = low ^ (optimism * _COEFFICIENTS[1, 1])
    batch.keys[slot, 1] = high ^ (optimism * _COEFFICIENTS[0, 1])


@inline_kernel
def _feature_bits(feature: float) -> int:
    """Return a feature as an integer; features are multiples of far more than 2^-24."""
    return uint64(int64(np.rint(np.float64(feature) * 16777216.0)))


@kernel
def look_up(
    cache: EvaluationCache, batch: LeafBatch, slot: int, actions: npt.NDArray[np.int16]
) -> bool:
    """Fill a slot's results from the cache; return whether they were there.

    Args:
        cache: The entries.
        batch: The batch; the slot's key and moves are written.
        slot: Which of its slots.
        actions: [points] the action of each point, A for PASS.
    """
    entry = int64(batch.keys[slot, 0] & uint64(cache.keys.shape[0] - 1))
    if cache.keys[entry, 0] != batch.keys[slot, 0] or cache.keys[entry, 1] != batch.keys[slot, 1]:
        return False
    for i in range(batch.n_moves[slot]):
        batch.priors[slot, i] = cache.policy[entry, actions[batch.moves[slot, i]]]
    batch.value[slot] = cache.numbers[entry, 0]
    batch.no_result[slot] = cache.numbers[entry, 1]
    batch.lead[slot] = cache.numbers[entry, 2]
    batch.stdev[slot] = cache.numbers[entry, 3]
    for i in range(cache.ownership.shape[1]):
        batch.ownership[slot, i] = np.float32(cache.ownership[entry, i]) / np.float32(127.0)
    return True


@kernel
def store(
    cache: EvaluationCache, batch: LeafBatch, slot: int, actions: npt.NDArray[np.int16]
) -> None:
    """Remember a slot's results, replacing what stood in the same place.

    Args:
        cache: The entries.
        batch: The batch, evaluated.
        slot: Which of its slots.
        actions: [points] the action of each point, A for PASS.
    """
    entry = int64(batch.keys[slot, 0] & uint64(cache.keys.shape[0] - 1))
    cache.keys[entry, 0] = batch.keys[slot, 0]
    cache.keys[entry, 1] = batch.keys[slot, 1]
    cache.policy[entry] = 0.0
    for i in range(batch.n_moves[slot]):
        cache.policy[entry, actions[batch.moves[slot, i]]] = batch.priors[slot, i]
    cache.numbers[entry, 0] = batch.value[slot]
    cache.numbers[entry, 1] = batch.no_result[slot]
    cache.numbers[entry, 2] = batch.lead[slot]
    cache.numbers[entry, 3] = batch.stdev[slot]
    for i in range(cache.ownership.shape[1]):
        cache.ownership[entry, i] = np.int8(np.rint(batch.ownership[slot, i] * 127.0))
