"""Remembered evaluations: a hit gives back what was stored, whatever the symmetry."""

import numpy as np
import pytest

from gtp_engine.coords import PASS
from gtp_engine.evaluators.cache import EvaluationCache, clear_cache, look_up, new_cache, store
from gtp_engine.evaluators.eval_batch import EvalBatch, new_eval_batch
from gtp_engine.go.symmetry import action_table, point_table

WIDTH, HEIGHT = 4, 3
AREA = WIDTH * HEIGHT
TABLES = point_table(WIDTH, HEIGHT), action_table(WIDTH, HEIGHT)
MOVES = [7, 12, PASS]


def evaluated(low: int = 5, high: int = 9, has_ownership: bool = True) -> EvalBatch:
    """Return a batch of two slots with the same key and moves, whose first has results."""
    batch = new_eval_batch(2, WIDTH, HEIGHT, 0, 0, has_ownership)
    batch.slots["position_hash"][:] = low, high
    batch.n_moves[:] = 3
    batch.moves[:, :3] = MOVES
    batch.priors[0, :3] = 0.5, 0.375, 0.125
    batch.value[0], batch.no_result[0], batch.lead[0], batch.stdev[0] = 0.25, 0.125, -3.5, 7.25
    batch.ownership[0] = np.linspace(-1, 1, batch.ownership.shape[1])
    return batch


def remember(cache: EvaluationCache, batch: EvalBatch, *slots: int) -> None:
    store(cache, batch, np.array(slots, np.int64), *TABLES)


def missing(cache: EvaluationCache, batch: EvalBatch) -> list[int]:
    """Look all slots up and return those that are not there."""
    slots = np.zeros(len(batch.slots["position_hash"]), np.int64)
    return slots[: look_up(cache, batch, 0, len(slots), *TABLES, slots)].tolist()


def test_a_hit_gives_back_what_was_stored_for_moves_in_any_order() -> None:
    batch = evaluated()
    cache = new_cache(AREA, True, 1 << 16)
    assert missing(cache, batch) == [0, 1]
    remember(cache, batch, 0)
    batch.moves[1, :3] = batch.moves[0, [1, 0, 2]]
    assert missing(cache, batch) == []
    assert batch.priors[1, :3].tolist() == [0.375, 0.5, 0.125]
    for array in (batch.value, batch.no_result, batch.lead, batch.stdev):
        assert array[0] == array[1]
    assert np.abs(batch.ownership[1] - batch.ownership[0]).max() <= 0.5 / 127 + 1e-6


@pytest.mark.parametrize("half", [0, 1])
def test_both_halves_of_the_key_count(half: int) -> None:
    batch = evaluated()
    cache = new_cache(AREA, True, 1 << 16)
    remember(cache, batch, 0)
    batch.slots["position_hash"][1, half] += np.uint64(1 << 40)
    assert missing(cache, batch) == [1]


@pytest.mark.parametrize("stored_under", range(4))
@pytest.mark.parametrize("asked_under", range(4))
def test_a_mirrored_position_gets_the_mirrored_results(stored_under: int, asked_under: int) -> None:
    # Both slots are one situation: slot 0 becomes it under one symmetry, slot 1 under another.
    symmetry_maps, actions = TABLES
    batch = evaluated()
    batch.slots["canonical"][:] = stored_under, asked_under
    cache = new_cache(AREA, True, 1 << 16)
    remember(cache, batch, 0)
    point_of = {
        int(symmetry_maps[asked_under, p]): p
        for p in range(len(symmetry_maps[0]))
        if symmetry_maps[0, p]
    }
    point_of[0] = next(p for p in range(6, 20) if symmetry_maps[asked_under, p] == 0 and p % 5)
    mirrored = [point_of[int(symmetry_maps[stored_under, move])] for move in MOVES[:2]]
    batch.moves[1, :3] = [*mirrored, PASS]
    assert missing(cache, batch) == []
    assert batch.priors[1, :3].tolist() == [0.5, 0.375, 0.125]
    for action in range(AREA):
        there = actions[asked_under].tolist().index(actions[stored_under, action])
        assert abs(batch.ownership[1, there] - batch.ownership[0, action]) <= 0.5 / 127 + 1e-6


def test_nets_without_ownership_are_remembered_too() -> None:
    batch = evaluated(has_ownership=False)
    cache = new_cache(AREA, False, 1 << 16)
    remember(cache, batch, 0)
    assert missing(cache, batch) == [] and batch.value[1] == 0.25


def test_a_full_cache_forgets_the_oldest() -> None:
    cache = new_cache(AREA, True, 0)
    assert len(cache.entries) == 16
    stored = [evaluated(low=3 * i + 1) for i in range(40)]
    for batch in stored:
        remember(cache, batch, 0)
    assert [not missing(cache, batch) for batch in stored] == [False] * 24 + [True] * 16


def test_what_falls_on_the_same_place_replaces_it() -> None:
    cache = new_cache(AREA, True, 0)
    first, second = evaluated(low=1), evaluated(low=1 + (1 << 30))
    for batch in (first, second):
        remember(cache, batch, 0)
    assert missing(cache, first) == [0, 1] and missing(cache, second) == []


def test_a_cleared_cache_knows_nothing() -> None:
    cache = new_cache(AREA, True, 0)
    remember(cache, evaluated(), 0)
    clear_cache(cache)
    assert missing(cache, evaluated()) == [0, 1]


@pytest.mark.parametrize("has_ownership", [False, True])
@pytest.mark.parametrize("budget", [1 << 20, 100_000_000])
def test_a_cache_keeps_to_its_budget(budget: int, has_ownership: bool) -> None:
    cache = new_cache(361, has_ownership, budget)
    size = sum(array.nbytes for array in cache)
    assert 0.95 * budget < size <= budget
    assert len(cache.places) & (len(cache.places) - 1) == 0
