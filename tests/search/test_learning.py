"""What a search does otherwise while a net learns, worked out by hand."""

from math import exp

import numpy as np
import pytest

from gtp_engine.search.learning import (
    RootResult,
    considered_visits,
    count_policy,
    draw_move,
    forced_playouts,
    gumbel_move,
    improved_policy,
    pruned_counts,
)
from gtp_engine.search.params import SearchParams


def test_forced_playouts_are_the_root_of_prior_times_playouts() -> None:
    assert forced_playouts(0.5, 16.0, 2.0) == 4.0
    assert forced_playouts(0.02, 100.0, 2.0) == 2.0


def test_pruning_takes_forced_playouts_away_but_no_more() -> None:
    # 26 playouts and the root's own visit: cpuct sqrt(27) = 5.196. The best move's PUCT value is
    # 0.4 + 5.196 * 0.5 / 21 = 0.524. The second's stays below that down to
    # 5.196 * 0.3 / (0.524 + 0.2) - 1 = 1.15 visits, so two are left; of its five,
    # sqrt(2 * 0.3 * 26) = 3.9 may go. The third's only one goes: 5.196 * 0.2 / 0.524 - 1 = 0.98.
    found = pruned_counts(
        np.array([20, 5, 1]),
        np.array([0.5, 0.3, 0.2]),
        np.array([0.4, -0.2, 0.0]),
        SearchParams(cpuct=1.0, cpuct_growth=0.0),
        2.0,
    )
    assert found.tolist() == [20, 2, 0]


def test_pruning_leaves_what_puct_itself_wanted() -> None:
    # The other's utility is above the best one's PUCT value: it would have had still more.
    found = pruned_counts(
        np.array([10, 9]),
        np.array([0.5, 0.5]),
        np.array([0.0, 0.9]),
        SearchParams(cpuct=1.0, cpuct_growth=0.0),
        2.0,
    )
    assert found.tolist() == [10, 9]
    # Nor does more go than was forced: of 30 sqrt(2 * 0.1 * 70) = 3.7.
    found = pruned_counts(
        np.array([40, 30]),
        np.array([0.9, 0.1]),
        np.array([0.9, -0.9]),
        SearchParams(cpuct=1.0, cpuct_growth=0.0),
        2.0,
    )
    assert found.tolist() == [40, 27]


@pytest.mark.parametrize(
    ("candidates", "playouts", "expected"),
    [
        # Two rounds of four playouts: once each of four, twice each of the better two.
        (4, 8, [0, 0, 0, 0, 1, 1, 2, 2]),
        # 16 // (2 * 4) = 2 each of four, then 16 // (2 * 2) = 4 each of two.
        (4, 16, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        (3, 4, [0, 0, 0, 1]),
        (16, 4, [0, 0, 0, 0]),
        (1, 3, [0, 1, 2]),
    ],
)
def test_sequential_halving(candidates: int, playouts: int, expected: list[int]) -> None:
    assert considered_visits(candidates, playouts) == expected


def root_result(**changed: object) -> RootResult:
    found = RootResult(
        value=0.0,
        raw_utility=0.2,
        priors=np.array([0.5, 0.25, 0.25, 0.0]),
        followed=np.array([0.5, 0.25, 0.25, 0.0]),
        counts=np.array([2, 1, 0, 0]),
        utilities=np.array([0.6, 0.0, 0.0, 0.0]),
        candidates=np.array([0.0, 0.0, 0.0, -np.inf]),
    )
    return found._replace(**changed)


def test_the_improved_policy_completes_values() -> None:
    # The visited moves' mean, weighted by priors, is (0.5 * 0.6 + 0.25 * 0) / 0.75 = 0.4; with the
    # net's own 0.2 for one visit and three playouts: (0.2 + 3 * 0.4) / 4 = 0.35 for the third move.
    # Utilities become winrates 0.8, 0.5 and 0.675, times c_visit + 2 = 52.
    for scale in (1.0, 0.3):
        values = [exp(52 * scale * winrate) for winrate in (0.8, 0.5, 0.675)]
        weights = [0.5 * values[0], 0.25 * values[1], 0.25 * values[2], 0.0]
        expected = np.array(weights) / sum(weights)
        np.testing.assert_allclose(improved_policy(root_result(), scale), expected)


def test_without_a_visit_the_policy_stays_what_it_was() -> None:
    nothing = root_result(counts=np.zeros(4, np.int64))
    np.testing.assert_allclose(improved_policy(nothing), nothing.priors)


def test_the_gumbel_move_is_the_best_of_the_most_visited() -> None:
    counts, utilities = np.array([2, 2, 1, 0]), np.array([0.0, 0.02, 0.9, 0.0])
    # (50 + 2) * 0.01 = 0.52 more for the second move.
    for noise, expected in ((0.51, 1), (0.53, 0)):
        candidates = np.array([noise, 0.0, 0.0, -np.inf])
        found = root_result(counts=counts, utilities=utilities, candidates=candidates)
        assert gumbel_move(found) == expected


def test_moves_are_drawn_by_a_tempered_policy() -> None:
    generator = np.random.default_rng(1)
    policy = np.array([0.6, 0.3, 0.1, 0.0])
    drawn = [draw_move(policy, 1.0, generator) for _ in range(4000)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, policy, atol=0.03)
    # At temperature 1/2 shares are squared: 36, 9 and 1 of 46.
    drawn = [draw_move(policy, 0.5, generator) for _ in range(4000)]
    expected = np.array([36, 9, 1, 0]) / 46
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, expected, atol=0.03)
    ties = {draw_move(np.array([0.4, 0.2, 0.4]), 0.0, generator) for _ in range(50)}
    assert ties == {0, 2}


def test_visits_become_shares() -> None:
    priors = np.array([0.5, 0.5])
    assert count_policy(np.array([3, 1]), priors).tolist() == [0.75, 0.25]
    assert count_policy(np.array([0, 0]), priors).tolist() == [0.5, 0.5]
