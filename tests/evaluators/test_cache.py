"""Remembered evaluations: the key sees every input, a hit gives back what was stored."""

import numpy as np
import pytest

from gtp_engine.evaluators.cache import EvaluationCache, look_up, new_cache, store, write_key
from gtp_engine.evaluators.leaves import LeafBatch, new_leaf_batch
from gtp_engine.go.coords import PASS
from gtp_engine.go.symmetry import point_table

WIDTH, HEIGHT, PLANES, FEATURES = 4, 3, 5, 6
AREA = WIDTH * HEIGHT
ACTIONS = point_table(WIDTH, HEIGHT)[0]


def batch_of(slots: int, seed: int = 1, has_ownership: bool = True) -> LeafBatch:
    """Return a batch whose slots all hold the same random inputs, with three moves each."""
    generator = np.random.Generator(np.random.PCG64(seed))
    batch = new_leaf_batch(slots, WIDTH, HEIGHT, PLANES, FEATURES, has_ownership)
    batch.spatial[:] = generator.integers(0, 2, (PLANES, HEIGHT, WIDTH), np.uint8)
    batch.features[:] = generator.normal(size=FEATURES).astype(np.float32)
    moves = [point for point in range(len(ACTIONS)) if ACTIONS[point] and ACTIONS[point] < AREA]
    batch.n_moves[:] = 3
    batch.moves[:, :3] = moves[4], moves[7], PASS
    return batch


def keys(batch: LeafBatch) -> list[tuple[int, int]]:
    for slot in range(len(batch.keys)):
        write_key(batch, slot)
    return [(int(low), int(high)) for low, high in batch.keys]


def test_equal_inputs_have_equal_keys() -> None:
    first, second, third = keys(batch_of(3))
    assert first == second == third
    assert first != keys(batch_of(1, seed=2))[0]


def test_any_difference_of_the_inputs_changes_both_halves_of_the_key() -> None:
    n_bits = PLANES * AREA
    batch = batch_of(1 + n_bits + FEATURES + 7 + 2)
    for i in range(n_bits):
        batch.spatial[1 + i].reshape(-1)[i] ^= 1
    slot = 1 + n_bits
    for i in range(FEATURES):
        batch.features[slot + i, i] += np.float32(1 / 1024)
    slot += FEATURES
    for symmetry in range(1, 8):
        batch.symmetry[slot] = symmetry
        slot += 1
    batch.optimism[slot] = 0.2
    batch.optimism[slot + 1] = 1.0
    found = keys(batch)
    for half in (0, 1):
        assert len({key[half] for key in found}) == len(found)


def test_features_differ_by_sign_too() -> None:
    batch = batch_of(2)
    batch.features[1] = -batch.features[1]
    assert keys(batch)[0] != keys(batch)[1]


def evaluated(seed: int = 1, has_ownership: bool = True) -> LeafBatch:
    """Return a batch of two slots with the same inputs, whose first has results."""
    batch = batch_of(2, seed, has_ownership)
    keys(batch)
    batch.priors[0, :3] = 0.5, 0.375, 0.125
    batch.value[0], batch.no_result[0], batch.lead[0], batch.stdev[0] = 0.25, 0.125, -3.5, 7.25
    batch.ownership[0] = np.linspace(-1, 1, batch.ownership.shape[1])
    return batch


def test_a_hit_gives_back_what_was_stored_for_moves_in_any_order() -> None:
    batch = evaluated()
    cache = new_cache(AREA, True, 1 << 16)
    assert not look_up(cache, batch, 1, ACTIONS)
    store(cache, batch, 0, ACTIONS)
    batch.moves[1, :3] = batch.moves[0, [1, 0, 2]]
    assert look_up(cache, batch, 1, ACTIONS)
    assert batch.priors[1, :3].tolist() == [0.375, 0.5, 0.125]
    for array in (batch.value, batch.no_result, batch.lead, batch.stdev):
        assert array[0] == array[1]
    assert np.abs(batch.ownership[1] - batch.ownership[0]).max() <= 0.5 / 127 + 1e-6


def test_nets_without_ownership_are_remembered_too() -> None:
    batch = evaluated(has_ownership=False)
    cache = new_cache(AREA, False, 1 << 16)
    store(cache, batch, 0, ACTIONS)
    assert look_up(cache, batch, 1, ACTIONS) and batch.value[1] == 0.25


def test_a_full_place_goes_to_the_newer_entry() -> None:
    cache = new_cache(AREA, True, 0)
    stored = [evaluated(seed) for seed in range(200)]
    for batch in stored:
        store(cache, batch, 0, ACTIONS)
    found = [bool(look_up(cache, batch, 1, ACTIONS)) for batch in stored]
    places = {int(batch.keys[0, 0]) % len(cache.keys) for batch in stored}
    assert sum(found) == len(places) and found[-1]


@pytest.mark.parametrize("has_ownership", [False, True])
@pytest.mark.parametrize("budget", [1 << 20, 100_000_000])
def test_a_cache_keeps_to_its_budget(budget: int, has_ownership: bool) -> None:
    cache: EvaluationCache = new_cache(361, has_ownership, budget)
    size = sum(array.nbytes for array in cache)
    assert budget / 2 < size <= budget
    assert len(cache.keys) & (len(cache.keys) - 1) == 0


def test_without_globals_the_key_sees_komi_and_legal_moves() -> None:
    with_globals = batch_of(3)
    without = with_globals._replace(features=np.zeros((3, 0), np.float32))
    for batch in (with_globals, without):
        batch.komi[1] = 0.5
        batch.moves[2, 0] += 1
    assert len(set(keys(with_globals))) == 1
    found = keys(without)
    for half in (0, 1):
        assert len({key[half] for key in found}) == 3
