"""Evaluations remembered, found by the position hash.

    places[hash's low bits] --> entries[i]   hash, value, lead, ...
                              policy[i]    codes of the priors by action
                              ownership[i]

Entries are filled one after the other, so that the memory in use grows with what is remembered,
and when all are full the oldest are written over. Their places stay; an entry with another hash
than the one looked for counts as missing. Policy and ownership are kept under the symmetry that
leads to the position hash (see `position_hash`).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.eval_batch import EvalBatch, coded_prior, prior_code
from gtp_engine.kernels import hot_kernel, int64, uint64

ENTRY = np.dtype(
    [
        ("low", np.uint64),  # the position hash
        ("high", np.uint64),
        ("value", np.float32),
        ("no_result", np.float32),
        ("lead", np.float32),
        ("stdev", np.float32),
    ],
    align=True,
)


class EvaluationCache(NamedTuple):
    """Entries for boards with A points."""

    places: npt.NDArray[np.int32]
    """[a power of two] one more than the entry of a hash with these low bits; 0 is none."""
    entries: npt.NDArray[Any]
    """[capacity] of ENTRY."""
    policy: npt.NDArray[np.uint16]
    """[capacity, A + 1] codes of priors, 0 where illegal; see `prior_code`."""
    ownership: npt.NDArray[np.int8]
    """[capacity, A] in 1/127, or [capacity, 0]."""
    stored: npt.NDArray[np.int64]
    """[1] how many evaluations were ever stored."""


def new_cache(area: int, has_ownership: bool, budget_bytes: int) -> EvaluationCache:
    """Return an empty cache of at most this size, or of sixteen entries."""
    owned = area if has_ownership else 0
    entry_bytes = ENTRY.itemsize + 2 * (area + 1) + owned
    capacity = max(16, budget_bytes // (entry_bytes + 4 * 4))  # up to four places each
    return EvaluationCache(
        np.zeros(1 << (2 * capacity - 1).bit_length(), np.int32),
        np.zeros(capacity, ENTRY),
        np.zeros((capacity, area + 1), np.uint16),
        np.zeros((capacity, owned), np.int8),
        np.zeros(1, np.int64),
    )


def clear_cache(cache: EvaluationCache) -> None:
    """Forget every evaluation."""
    cache.places[:] = 0
    cache.stored[0] = 0


@hot_kernel
def look_up(
    cache: EvaluationCache,
    batch: EvalBatch,
    first: int,
    n: int,
    symmetry_maps: npt.NDArray[np.int16],
    actions: npt.NDArray[np.int16],
    missing: npt.NDArray[np.int64],
) -> int:
    """Fill the results of n slots from the cache where it has them.

    Args:
        batch: The batch; hashes, moves and canonical symmetries of the slots are written.
        symmetry_maps: [8, points] `symmetry.point_table`.
        actions: [8, A + 1] `symmetry.action_table`.
        missing: [n] receives the slots that it does not have.

    Returns:
        How many it does not have.
    """
    n_missing = 0
    for slot in range(first, first + n):
        key = uint64(batch.slots[slot]["position_hash"][0])
        at = int64(cache.places[int64(key & uint64(cache.places.shape[0] - 1))]) - 1
        if (
            at < 0
            or cache.entries[at]["low"] != key
            or cache.entries[at]["high"] != batch.slots[slot]["position_hash"][1]
        ):
            missing[n_missing] = slot
            n_missing += 1
            continue
        symmetry = batch.slots[slot]["canonical"]
        for i in range(batch.slots[slot]["n_moves"]):
            code = int64(cache.policy[at, symmetry_maps[symmetry, batch.moves[slot, i]]])
            batch.priors[slot, i] = coded_prior(code)
        batch.slots[slot]["value"] = cache.entries[at]["value"]
        batch.slots[slot]["no_result"] = cache.entries[at]["no_result"]
        batch.slots[slot]["lead"] = cache.entries[at]["lead"]
        batch.slots[slot]["stdev"] = cache.entries[at]["stdev"]
        for i in range(cache.ownership.shape[1]):
            owned = np.float32(cache.ownership[at, actions[symmetry, i]])
            batch.ownership[slot, i] = owned / np.float32(127.0)
    return n_missing


@hot_kernel
def store(
    cache: EvaluationCache,
    batch: EvalBatch,
    slots: npt.NDArray[np.int64],
    symmetry_maps: npt.NDArray[np.int16],
    actions: npt.NDArray[np.int16],
) -> None:
    """Remember the results of some slots, in place of the oldest if the cache is full.

    Args:
        symmetry_maps: [8, points] `symmetry.point_table`.
        actions: [8, A + 1] `symmetry.action_table`.
    """
    for slot in slots:
        at = cache.stored[0] % cache.entries.shape[0]
        cache.stored[0] += 1
        key = uint64(batch.slots[slot]["position_hash"][0])
        cache.places[int64(key & uint64(cache.places.shape[0] - 1))] = at + 1
        entry = cache.entries[at]
        entry["low"] = key
        entry["high"] = batch.slots[slot]["position_hash"][1]
        entry["value"] = batch.slots[slot]["value"]
        entry["no_result"] = batch.slots[slot]["no_result"]
        entry["lead"] = batch.slots[slot]["lead"]
        entry["stdev"] = batch.slots[slot]["stdev"]
        symmetry = batch.slots[slot]["canonical"]
        cache.policy[at, :] = 0
        for i in range(batch.slots[slot]["n_moves"]):
            action = symmetry_maps[symmetry, batch.moves[slot, i]]
            cache.policy[at, action] = prior_code(batch.priors[slot, i])
        for i in range(cache.ownership.shape[1]):
            owned = np.rint(batch.ownership[slot, i] * np.float32(127.0))
            cache.ownership[at, actions[symmetry, i]] = np.int8(owned)
