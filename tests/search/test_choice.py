"""The choice of the move, and the line that is expected."""

import pytest
from tests.search.trees import NO_SCORE, give_moves, root_with, small_tree, visited_child

from gtp_engine.search.choice import Child, principal_variation, ranked, visited_children
from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.tree import Tree

PARAMS = SearchParams(lcb_stdevs=2.0, lcb_min_visit_share=0.15)


def two_children() -> Tree:
    """Return a root with a child of 100 visits around 0.1 and one of 25 around 0.5.

    Squared deviations: 100 x 0.09 + 0.25 and 25 x 0.09 + 0.25.
    """
    tree = small_tree()
    root_with(tree, [31, 32, 33], [0.6, 0.3, 0.1])
    tree.nodes[0]["visits"] = 126
    for visits, value in ((100, 0.1), (25, 0.5)):
        child = visited_child(tree, 0, visits, -visits * value, -3.0 * visits)
        tree.nodes[child]["value_sq_sum"] = visits * (0.09 + value * value)
        tree.nodes[child]["stdev_sum"] = 7.0 * visits
    return tree


def test_lower_confidence_bounds_by_hand() -> None:
    first, second = visited_children(two_children(), 0, NO_SCORE, PARAMS)
    assert (first.move, first.visits, first.lead, first.stdev) == (31, 100, 3.0, 7.0)
    assert (second.move, second.visits) == (32, 25)
    assert first.value == pytest.approx(0.1) and second.value == pytest.approx(0.5)
    # 2 sqrt(9.25 / 100) / 10 and 2 sqrt(2.5 / 25) / 5
    assert first.lcb == pytest.approx(0.1 - 2 * 0.304138 / 10, abs=1e-5)
    assert second.lcb == pytest.approx(0.5 - 2 * 0.316228 / 5, abs=1e-5)


def test_a_surely_better_move_goes_before_a_more_visited_one() -> None:
    children = visited_children(two_children(), 0, NO_SCORE, PARAMS)
    assert [child.move for child in ranked(children, PARAMS)] == [32, 31]
    # With a share of 0.3 the second has too few visits; with 20 deviations it is not sure.
    for params in (
        SearchParams(lcb_stdevs=2.0, lcb_min_visit_share=0.3),
        SearchParams(lcb_stdevs=20.0, lcb_min_visit_share=0.15),
    ):
        children = visited_children(two_children(), 0, NO_SCORE, params)
        assert [child.move for child in ranked(children, params)] == [31, 32]


@pytest.mark.parametrize(
    "visits, values, first",
    [
        ((100, 51), (0.55, 0.7), 32),  # both are good: the better mean
        ((100, 50), (0.55, 0.7), 31),  # the second was visited too rarely
        ((100, 60), (0.4, 0.5), 31),  # none is good: the most visited
        ((100, 60), (0.4, 0.51), 32),
    ],
)
def test_pierres_choice(visits: tuple[int, ...], values: tuple[float, ...], first: int) -> None:
    tree = small_tree()
    root_with(tree, [31, 32, 33], [0.6, 0.3, 0.1])
    for n, value in zip(visits, values, strict=True):
        visited_child(tree, 0, n, -n * value, 0.0)
    params = SearchParams(pierre=True)
    assert ranked(visited_children(tree, 0, NO_SCORE, params), params)[0].move == first


def test_a_single_visit_proves_nothing() -> None:
    tree = small_tree()
    root_with(tree, [31, 32], [0.6, 0.4])
    tree.nodes[0]["visits"] = 7
    for visits, value in ((5, 0.3), (1, 0.9)):
        child = visited_child(tree, 0, visits, -visits * value, 0.0)
        tree.nodes[child]["value_sq_sum"] = visits * (0.04 + value * value) if visits > 1 else 0.81
    children = visited_children(tree, 0, NO_SCORE, SearchParams())
    # 0.3 - 4 sqrt((5 x 0.04 + 0.25) / 5) / sqrt(5) = -0.24; 0.9 - 4 x 0.5 = -1.1
    assert [child.lcb for child in children] == [
        pytest.approx(0.3 - 4 * 0.3 / 5**0.5),
        pytest.approx(-1.1),
    ]
    assert [child.move for child in ranked(children, SearchParams())] == [31, 32]


def test_points_count_in_the_bound() -> None:
    score = ScoreUtility(static_weight=0.2, dynamic_weight=0.0, scale=3.0, center_white=0.0)
    plain = visited_children(two_children(), 0, NO_SCORE, PARAMS)
    scored = visited_children(two_children(), 0, score, PARAMS)
    # A lead of 3 is half of the weight.
    for a, b in zip(plain, scored, strict=True):
        assert b.utility - a.utility == pytest.approx(0.1)
        assert b.lcb - a.lcb == pytest.approx(0.1)


def test_unvisited_children_are_left_out_and_equals_keep_the_order_of_priors() -> None:
    tree = small_tree()
    root_with(tree, [31, 32, 33], [0.5, 0.3, 0.2])
    for _ in range(2):
        child = visited_child(tree, 0, 2, 0.0, 0.0)
        tree.nodes[child]["value_sq_sum"] = 0.0
    visited_child(tree, 0, 0, 0.0, 0.0)
    children = visited_children(tree, 0, NO_SCORE, PARAMS)
    assert [child.move for child in ranked(children, PARAMS)] == [31, 32]
    assert ranked([], PARAMS) == []


def test_children_are_plain_numbers() -> None:
    for child in visited_children(two_children(), 0, NO_SCORE, PARAMS):
        kinds = {name: type(getattr(child, name)) for name in Child.__slots__}
        assert set(kinds.values()) == {int, float}


def test_principal_variation_follows_visits() -> None:
    tree = small_tree()
    root_with(tree, [31, 32], [0.6, 0.4])
    visited_child(tree, 0, 3, 0.0, 0.0)
    best = visited_child(tree, 0, 9, 0.0, 0.0)
    give_moves(tree, best, [41, 42, 43], [0.5, 0.3, 0.2])
    visited_child(tree, best, 2, 0.0, 0.0)
    reply = visited_child(tree, best, 6, 0.0, 0.0)
    give_moves(tree, reply, [51], [1.0])
    visited_child(tree, reply, 0, 0.0, 0.0)  # in flight: not part of it
    tree.nodes[best]["visits"] = 12  # three of them by another way
    assert principal_variation(tree, 0, 10) == ([32, 42], [12, 6], [9, 6])
    assert principal_variation(tree, 0, 1) == ([32], [12], [9])
    assert principal_variation(tree, 0, 0) == ([], [], [])
