"""Dropping nodes: what stays is as it was, what goes can be tried again."""

import numpy as np
import pytest
from tests.search.scripted import SlowEvaluator
from tests.search.trees import (
    NUMBERS,
    assert_sound,
    child_records,
    children_of,
    moves_of,
    paths,
    priors_of,
    root_with,
    small_tree,
    visited_child,
)

from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.position import Position
from gtp_engine.search import shared_tree
from gtp_engine.search.pruning import drop_moves_at, prune, visits_to_stay
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits
from gtp_engine.search.tree import (
    FREE,
    N_CHILDREN,
    N_NODES,
    Tree,
    add_child,
    moves_by_prior,
)

Numbers = dict[tuple[int, ...], tuple[list[float], list[tuple[int, float]]]]


def searched(playouts: int = 3000) -> Search:
    search = Search(FakeEvaluator())
    search.set_position(Position(5))
    search.run(Limits(playouts=playouts))
    return search


def numbers_of(tree: Tree, top: int) -> Numbers:
    """Return what every node says and its moves with their priors, by the moves that lead to it."""
    return {
        tuple(moves): ([tree.nodes[at][name].item() for name in NUMBERS], moves_by_prior(tree, at))
        for moves, at in paths(tree, top)
    }


def expected_after(before: Numbers, fewest: int) -> Numbers:
    """Return the nodes that stay: those whose every ancestor but the first has the visits."""
    at = NUMBERS.index("visits")
    return {
        moves: said
        for moves, said in before.items()
        if all(before[moves[:n]][0][at] >= fewest for n in range(1, len(moves) + 1))
    }


@pytest.mark.parametrize("fewest", [0, 1, 2, 3, 10, 100, 1 << 31])
def test_pruning_keeps_the_others_as_they_were(fewest: int) -> None:
    tree = searched().tree
    before = numbers_of(tree, 0)
    kept = expected_after(before, fewest)
    prune(tree, np.array([0], np.int32), fewest)
    # Moves are the same with the same priors, whether they are children or untried again.
    assert numbers_of(tree, 0) == kept
    assert_sound(tree, is_pruned=True)
    assert tree.counts[N_NODES] == len(kept)
    assert (tree.nodes["state"][: len(before)] == FREE).sum() == len(before) - len(kept)
    # No block is larger than it needs to be, and there is nothing between them.
    blocks = [1 << (n - 1).bit_length() for n in map(len, children_by_node(tree)) if n]
    assert tree.counts[N_CHILDREN] == sum(blocks)


def children_by_node(tree: Tree) -> list[list[tuple[int, int, int]]]:
    return [children_of(tree, node) for _, node in paths(tree)]


def test_a_subtree_is_kept_with_its_ancestors_and_nothing_aside() -> None:
    tree = searched().tree
    child = max(children_of(tree, 0), key=lambda each: each[2])
    grandchild = max(children_of(tree, child[1]), key=lambda each: each[2])
    before = numbers_of(tree, grandchild[1])
    above = [tree.nodes[node].copy() for node in (0, child[1])]
    prune(tree, np.array([0, child[1], grandchild[1]], np.int32), 0)
    assert numbers_of(tree, grandchild[1]) == before
    assert children_of(tree, 0) == [child] and children_of(tree, child[1]) == [grandchild]
    for node, record in zip((0, child[1]), above, strict=True):
        assert [tree.nodes[node][name] for name in NUMBERS] == [record[name] for name in NUMBERS]
    assert tree.counts[N_NODES] == len(before) + 2


def test_descents_in_flight_stay() -> None:
    tree = small_tree()
    root_with(tree, [21, 22, 23], [0.5, 0.3, 0.2])
    for _ in range(3):
        visited_child(tree, 0, 1, 0.0, 0.0)
    child_records(tree, 0)[1]["pending"] = tree.nodes[2]["pending"] = 1
    prune(tree, np.array([0], np.int32), 5)
    assert children_of(tree, 0) == [(22, 2, 1)]
    assert moves_of(tree, 0) == [21, 22, 23] and tree.counts[N_NODES] == 2
    # The free nodes are used again, the lowest first.
    assert [int(add_child(tree, 0)) for _ in range(2)] == [1, 3]
    assert children_of(tree, 0) == [(22, 2, 1), (21, 1, 0), (23, 3, 0)]


def test_visits_to_stay_by_hand() -> None:
    tree = small_tree()
    root_with(tree, [21, 22, 23, 24], [0.4, 0.3, 0.2, 0.1])
    tree.nodes[0]["visits"] = 100
    for visits in (50, 7, 1, 1):
        visited_child(tree, 0, visits, 0.0, 0.0)
    # Of 1, 1, 7, 50, 100: a fifth is gone with the ones, a half with the seven.
    assert [int(visits_to_stay(tree, share)) for share in (0.0, 0.25, 0.5, 0.99)] == [2, 2, 8, 101]


# Whole searches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads, batch", [(1, 1), (1, 8), (3, 2)])
def test_a_full_tree_goes_on_within_the_memory_given(threads: int, batch: int) -> None:
    search = Search(FakeEvaluator(), threads=threads, batch=batch, memory_mb=2)
    search.set_position(Position(9))
    found = search.run(Limits(playouts=20_000))
    assert (found.playouts, found.visits) == (20_000, 20_000)
    assert found.nodes <= len(search.tree.nodes) < 5000
    assert sum(array.nbytes for array in search.tree) <= 2 << 20
    assert_sound(search.tree, is_pruned=True)


def test_what_lies_aside_is_looked_for_once_after_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    pruned: list[int] = []

    def prune_aloud(tree: Tree, path: np.ndarray, fewest: int) -> None:
        pruned.append(fewest)
        prune(tree, path, fewest)

    monkeypatch.setattr(shared_tree, "prune", prune_aloud)
    monkeypatch.setattr(shared_tree, "FIRST_NODES", 64)
    search = Search(FakeEvaluator(), memory_mb=1)
    position = Position(5)
    search.set_position(position)
    search.run(Limits(playouts=400))
    assert pruned == [] and len(search.tree.nodes) == 512
    position.play(BLACK, search.favourites()[0])
    search.set_position(position)
    search.run(Limits(playouts=1500))
    assert pruned == [0] and len(search.tree.nodes) > 1024


def test_a_full_tree_is_not_pruned_where_there_is_no_time_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_tree, "PRUNING_SECONDS", 1.0)
    search = Search(FakeEvaluator(), memory_mb=1)
    position = Position(9)
    search.set_position(position)
    found = search.run(Limits(playouts=20_000, seconds=1000.0))
    assert found.playouts == found.nodes == len(search.tree.nodes)
    position.play(BLACK, search.favourites()[-1])
    search.set_position(position)  # little is known there
    assert search.run(Limits(playouts=500, seconds=1000.0)).playouts == 500


def test_even_a_tree_of_no_memory_is_searched() -> None:
    search = Search(SlowEvaluator(0.0), threads=3, batch=32, memory_mb=0)
    search.set_position(Position(19))
    assert search.run(Limits(playouts=500)).playouts == 500
    assert_sound(search.tree, is_pruned=True)


def test_the_tree_is_kept_over_moves_taken_back() -> None:
    position = Position(5)
    search = searched(500)
    before = numbers_of(search.tree, 0)
    replies = max(children_of(search.tree, 0), key=lambda each: each[2])
    answer = max(children_of(search.tree, replies[1]), key=lambda each: each[2])
    position.play(BLACK, replies[0])
    position.play(WHITE, answer[0])
    search.set_position(position)
    assert search.run(Limits(playouts=100)).visits == answer[2] + 100
    position.undo(2)
    search.set_position(position)
    # The playouts below counted here too, and nothing is lost.
    assert search.run(Limits(playouts=0)).visits == 600
    assert before.keys() <= numbers_of(search.tree, 0).keys()
    assert_sound(search.tree)


def test_the_tree_is_kept_over_another_move_in_place_of_one_taken_back() -> None:
    position = Position(5)
    search = searched(500)
    first, second = sorted(children_of(search.tree, 0), key=lambda each: -each[2])[:2]
    for move, _, visits in (first, second):
        position.play(BLACK, move)
        search.set_position(position)
        assert search.run(Limits(playouts=0)).visits == visits
        position.undo()
    assert_sound(search.tree)


def test_an_undo_behind_all_that_is_kept_begins_anew() -> None:
    position = Position(5)
    position.play(BLACK, 14)
    search = Search(FakeEvaluator())
    search.set_position(position)
    search.run(Limits(playouts=50))
    position.undo()
    search.set_position(position)
    assert search.run(Limits(playouts=20)).visits == 20


def test_a_root_that_lost_moves_is_not_gone_back_to() -> None:
    position = Position(5)
    search = searched(500)
    best = max(children_of(search.tree, 0), key=lambda each: each[2])
    search.set_position(position, [PASS])
    position.play(BLACK, best[0])
    search.set_position(position)
    assert search.run(Limits(playouts=0)).visits == best[2]
    position.undo()
    search.set_position(position)
    assert search.run(Limits(playouts=7)).visits == 7


# Moves that are not wanted -----------------------------------------------------------------------


def forbid(*moves: int) -> np.ndarray:
    mask = np.zeros(MAX_POINTS, np.uint8)
    mask[list(moves)] = 1
    return mask


def test_dropped_moves_take_their_visits_along() -> None:
    tree = small_tree()
    root_with(tree, [21, 22, 23, PASS], [0.5, 0.25, 0.125, 0.125])
    root = tree.nodes[0]
    root["visits"] = 9
    root["value_sum"], root["lead_sum"] = 1.5, 11.0
    root["value_sq_sum"], root["stdev_sum"] = 5.0, 90.0
    lost = visited_child(tree, 0, 5, -1.0, -8.0)
    kept = visited_child(tree, 0, 3, 0.5, 2.0)
    tree.nodes[lost]["value_sq_sum"], tree.nodes[lost]["stdev_sum"] = 2.0, 50.0
    drop_moves_at(tree, 0, forbid(21, 23))
    assert moves_of(tree, 0) == [22, PASS]
    assert priors_of(tree, 0) == [pytest.approx(2 / 3), pytest.approx(1 / 3, rel=2.0**-10)]
    assert children_of(tree, 0) == [(22, kept, 3)]
    # 9 - 5 visits; the child had given its mover -1 and -8, so the parent 1 and 8.
    assert root["visits"] == 4
    assert root["value_sum"] == 0.5 and root["lead_sum"] == 3.0
    assert root["value_sq_sum"] == 3.0 and root["stdev_sum"] == 40.0


def test_a_pass_remains_when_every_move_is_dropped() -> None:
    tree = small_tree()
    root_with(tree, [21, 22, PASS], [0.5, 0.25, 0.25])
    tree.nodes[0]["visits"] = 3
    visited_child(tree, 0, 2, 0.0, 0.0)
    drop_moves_at(tree, 0, forbid(21, 22, PASS))
    assert moves_of(tree, 0) == [PASS] and priors_of(tree, 0) == [1.0]
    assert children_of(tree, 0) == [] and tree.nodes[0]["visits"] == 1
    assert visited_child(tree, 0, 1, 0.0, 0.0) == 2


def test_a_game_without_a_pass_keeps_its_moves_when_every_one_is_dropped() -> None:
    tree = small_tree()
    root_with(tree, [21, 22], [0.75, 0.25])
    tree.nodes[0]["visits"] = 3
    visited_child(tree, 0, 2, 0.0, 0.0)
    drop_moves_at(tree, 0, forbid(21, 22, PASS))
    assert moves_of(tree, 0) == [21, 22] and priors_of(tree, 0) == [0.75, 0.25]
    assert tree.nodes[0]["visits"] == 3
    drop_moves_at(tree, 0, forbid(21, PASS))
    assert moves_of(tree, 0) == [22] and tree.nodes[0]["visits"] == 1


def test_moves_that_the_policy_gives_nothing_share_alike_when_they_alone_remain() -> None:
    tree = small_tree()
    root_with(tree, [21, 22, 23, PASS], [0.5, 0.25, 0.125, 0.125])
    tree.nodes[0]["visits"] = 5
    visited_child(tree, 0, 2, 0.0, 0.0)
    visited_child(tree, 0, 2, 0.0, 0.0)
    edges = tree.children[tree.nodes[0]["first_child"] :][:2]
    edges["prior"] = 0.0
    kept = sorted(edges["move"].tolist())
    drop_moves_at(tree, 0, forbid(*{21, 22, 23, PASS} - set(kept)))
    assert sorted(moves_of(tree, 0)) == kept and priors_of(tree, 0) == [0.5, 0.5]
