"""The arrays of the tree: blocks of children, edges, subtrees, ownership."""

import numpy as np
import pytest
from tests.search.trees import (
    assert_sound,
    children_of,
    described,
    give_edges,
    moves_of,
    priors_of,
    root_with,
    small_tree,
    visited_child,
)

from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.coords import BLACK, PASS, WHITE
from gtp_engine.go.position import Position
from gtp_engine.search.leaf import mean_ownership
from gtp_engine.search.limits import Limits
from gtp_engine.search.search import Search
from gtp_engine.search.tree import (
    EXPANDED,
    TERMINAL,
    add_child,
    copy_subtree,
    drop_edges,
    find_child,
    grown,
    largest_block,
    new_tree,
    node_bytes,
)


def forbid(*moves: int) -> np.ndarray:
    mask = np.zeros(MAX_POINTS, np.uint8)
    mask[list(moves)] = 1
    return mask


def test_edges_stand_by_prior_and_ties_as_given() -> None:
    tree = small_tree()
    root_with(tree, [10, 11, 12, 13, PASS], [0.125, 0.25, 0.125, 0.375, 0.125])
    assert moves_of(tree, 0) == [13, 11, 10, 12, PASS]
    assert priors_of(tree, 0) == [0.375, 0.25, 0.125, 0.125, 0.125]
    assert tree.state[0] == EXPANDED


def test_blocks_of_children_keep_their_content_as_they_grow() -> None:
    # Two nodes whose blocks grow in turn: 1, 2, 4, 8 ... 64, and give each other theirs.
    tree = small_tree()
    moves = list(range(20, 70))
    root_with(tree, moves, [1 / 50] * 50)
    other = visited_child(tree, 0, 1, 0.0, 0.0)
    give_edges(tree, other, moves, [1 / 50] * 50)
    known = {0: [(20, other, 1)], other: []}
    for i in range(49):
        for node in (0, other):
            k = len(known[node])
            child = visited_child(tree, node, i + 2, 0.0, 0.0)
            known[node].append((20 + k, child, i + 2))
            assert children_of(tree, 0) == known[0]
            assert children_of(tree, other) == known[other]
    # Both have blocks of 64; all smaller ones are free, and used before new ones are made.
    used = int(tree.used[2])
    third = known[0][5][1]
    give_edges(tree, third, moves, [1 / 50] * 50)
    for _ in range(32):
        add_child(tree, third, WHITE)
    assert tree.used[2] == used
    assert children_of(tree, 0) == known[0]


def test_find_child() -> None:
    tree = small_tree()
    root_with(tree, [20, 21, 22], [0.5, 0.3, 0.2])
    first = visited_child(tree, 0, 1, 0.0, 0.0)
    second = visited_child(tree, 0, 1, 0.0, 0.0)
    assert [int(find_child(tree, 0, move)) for move in (20, 21, 22, 23)] == [first, second, -1, -1]


def test_a_grown_tree_says_the_same_and_copies_only_what_was_full() -> None:
    search = searched(200)
    tree = search.tree
    sizes = (len(tree.state), len(tree.edge_move), len(tree.child_node))
    larger = grown(tree, sizes[0], 2 * sizes[1], sizes[2])
    assert described(larger) == described(tree)
    assert len(larger.edge_move) == len(larger.edge_prior) == 2 * sizes[1]
    assert larger.visits is tree.visits and larger.child_node is tree.child_node
    assert len(grown(tree, 2 * sizes[0], *sizes[1:]).ownership) == 2 * sizes[0]


def searched(playouts: int) -> Search:
    search = Search(FakeEvaluator())
    search.set_position(Position(5))
    search.run(Limits(playouts=playouts))
    return search


def test_a_copied_subtree_equals_the_original() -> None:
    tree = searched(800).tree
    for _, child, _ in children_of(tree, 0):
        if tree.state[child] != EXPANDED:
            continue
        kept = new_tree(1000, 40000, 40000, 25)
        copy_subtree(kept, tree, child)
        assert sorted(map(repr, described(kept))) == sorted(map(repr, described(tree, child)))
        assert_sound(kept)


def test_a_copied_subtree_goes_on_growing() -> None:
    tree = searched(300).tree
    child = children_of(tree, 0)[0][1]
    kept = new_tree(1000, 40000, 40000, 25)
    copy_subtree(kept, tree, child)
    before = children_of(kept, 0)
    for _ in range(int(kept.n_edges[0]) - len(before)):
        add_child(kept, 0, int(tree.to_play[0]))
    assert children_of(kept, 0)[: len(before)] == before
    nodes = [node for _, node, _ in children_of(kept, 0)]
    assert len(set(nodes)) == len(nodes) == int(kept.n_edges[0])


def test_dropped_edges_take_their_visits_along() -> None:
    tree = small_tree()
    root_with(tree, [20, 21, 22, PASS], [0.5, 0.25, 0.125, 0.125])
    tree.visits[0] = 9
    tree.value_sum[0], tree.lead_sum[0] = 1.5, 11.0
    tree.value_sq_sum[0], tree.stdev_sum[0] = 5.0, 90.0
    visited_child(tree, 0, 5, -1.0, -8.0)
    kept = visited_child(tree, 0, 3, 0.5, 2.0)
    tree.value_sq_sum[1], tree.stdev_sum[1] = 2.0, 50.0
    drop_edges(tree, 0, forbid(20, 22))
    assert moves_of(tree, 0) == [21, PASS]
    assert priors_of(tree, 0) == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert children_of(tree, 0) == [(21, kept, 3)]
    # 9 - 5 visits; the child had given its mover -1 and -8, so the parent 1 and 8.
    assert tree.visits[0] == 4
    assert tree.value_sum[0] == 0.5 and tree.lead_sum[0] == 3.0
    assert tree.value_sq_sum[0] == 3.0 and tree.stdev_sum[0] == 40.0


def test_a_pass_remains_when_every_edge_is_dropped() -> None:
    tree = small_tree()
    root_with(tree, [20, 21, PASS], [0.5, 0.25, 0.25])
    tree.visits[0] = 3
    visited_child(tree, 0, 2, 0.0, 0.0)
    drop_edges(tree, 0, forbid(20, 21, PASS))
    assert moves_of(tree, 0) == [PASS] and priors_of(tree, 0) == [1.0]
    assert children_of(tree, 0) == [] and tree.visits[0] == 1
    assert visited_child(tree, 0, 1, 0.0, 0.0) == 2


def test_mean_ownership_by_hand() -> None:
    # Black's root says 1 and -1, White's child 0 and 1 for itself, and the end of a game has no
    # ownership of its own: (1 + 0) / 2 and (-1 - 1) / 2 for Black.
    tree = small_tree(area=2)
    root_with(tree, [20, 21], [0.5, 0.5])
    child = visited_child(tree, 0, 1, 0.0, 0.0)
    give_edges(tree, child, [20], [1.0])
    over = visited_child(tree, 0, 1, 0.0, 0.0)
    tree.state[over] = TERMINAL
    tree.visits[0] = 3
    tree.ownership[0] = 127, -127
    tree.ownership[child] = 0, 127
    sums, squares, nothing = np.zeros(2), np.zeros(2), np.zeros(0)
    assert mean_ownership(tree, 0, sums, squares) == 2
    assert sums.tolist() == [0.5, -1.0]
    assert squares.tolist() == [0.5, 1.0]
    assert mean_ownership(tree, child, sums, nothing) == 1
    assert sums.tolist() == [0.0, 1.0]  # for White, who moves there


@pytest.mark.parametrize("area", [4, 25, 81, 127, 128, 255, 256, 361, 625])
def test_the_largest_block_holds_every_move(area: int) -> None:
    assert largest_block(area) // 2 < area + 1 <= largest_block(area)


def test_node_bytes_are_those_of_the_arrays() -> None:
    tree = new_tree(100, 0, 0, 81)
    arrays = (getattr(tree, name) for name in tree._fields[: tree._fields.index("edge_move")])
    assert 100 * node_bytes(81) == sum(array.nbytes for array in arrays)
    assert tree.to_play.dtype == np.uint8 and BLACK == 1
