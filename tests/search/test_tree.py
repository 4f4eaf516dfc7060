"""The records of the tree: moves and priors, blocks of children, growth, ownership."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.trees import (
    children_of,
    described,
    give_moves,
    moves_of,
    priors_of,
    root_with,
    small_tree,
    visited_child,
)

from gtp_engine.coords import PASS, WHITE, action_to_point, point_to_action
from gtp_engine.evaluators.eval_batch import coded_prior, prior_code
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.position import Position
from gtp_engine.search.reporting import mean_ownership
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits
from gtp_engine.search.tree import (
    CHILD,
    EXPANDED,
    N_CHILDREN,
    N_NODES,
    NODE,
    TERMINAL,
    Tree,
    action_of,
    add_child,
    add_node,
    capacity_within,
    clear_tree,
    find_child,
    grown,
    has_room,
    largest_block,
    move_of,
    new_tree,
    opened,
)

STATM = Path("/proc/self/statm")


def resident_pages() -> int:
    return int(STATM.read_text(encoding="utf-8").split()[1])


@given(st.floats(0.0, 1.0, width=32))
def test_codes_keep_priors_to_one_part_in_a_thousand(prior: float) -> None:
    code = int(prior_code(prior))
    assert 1 <= code < 1 << 16, "0 is no move"
    assert coded_prior(code) == pytest.approx(prior, rel=2.0**-10, abs=1e-37)
    assert prior_code(coded_prior(code)) == code


def test_codes_stand_in_the_order_of_their_priors() -> None:
    priors = [float(coded_prior(code)) for code in range(1, prior_code(1.0) + 1)]
    assert priors == sorted(set(priors)) and priors[-1] == 1.0


@pytest.mark.parametrize("width, height", [(2, 2), (9, 9), (7, 11), (19, 19), (25, 3)])
def test_actions_and_moves_are_those_of_the_board(width: int, height: int) -> None:
    tree = new_tree(1, width, height, False)
    for action in range(width * height + 1):
        move = action_to_point(action, width, height)
        assert move_of(tree, action) == move
        assert action_of(tree, move) == action == point_to_action(move, width, height)


def test_moves_are_tried_by_prior_and_equals_by_action() -> None:
    tree = small_tree()
    root_with(tree, [14, 11, 12, 13, PASS], [0.125, 0.25, 0.125, 0.375, 0.125])
    assert tree.nodes[0]["state"] == EXPANDED
    expected = [(13, 0.375), (11, 0.25), (12, 0.125), (14, 0.125), (PASS, 0.125)]
    assert list(zip(moves_of(tree, 0), priors_of(tree, 0), strict=True)) == expected
    for n, (move, prior) in enumerate(expected):
        untried = tree.nodes[0]["untried"], tree.nodes[0]["untried_prior"]
        assert untried == (point_to_action(move, 9, 9), prior)
        child = add_child(tree, 0)
        assert children_of(tree, 0)[n] == (move, child, 0)
    assert tree.nodes[0]["untried"] == -1
    assert moves_of(tree, 0) == [move for move, _ in expected]


def test_a_node_that_is_used_again_forgets_its_former_moves() -> None:
    tree = small_tree()
    root_with(tree, [11, 12], [0.5, 0.5])
    clear_tree(tree)
    root_with(tree, [13], [1.0])
    assert moves_of(tree, 0) == [13] and tree.counts[N_NODES] == 1


def test_blocks_of_children_keep_their_content_as_they_grow() -> None:
    # Two nodes whose blocks grow in turn: 1, 2, 4, 8 ... 64, and give each other theirs.
    tree = small_tree()
    moves = [action_to_point(action, 9, 9) for action in range(50)]
    root_with(tree, moves, [1 / 50] * 50)
    other = visited_child(tree, 0, 1, 0.0, 0.0)
    give_moves(tree, other, moves, [1 / 50] * 50)
    known = {0: [(moves[0], other, 1)], other: []}
    for i in range(49):
        for node in (0, other):
            k = len(known[node])
            child = visited_child(tree, node, i + 2, 0.0, 0.0)
            known[node].append((moves[k], child, i + 2))
            assert children_of(tree, 0) == known[0]
            assert children_of(tree, other) == known[other]
    # Both have blocks of 64; all smaller ones are free, and used before new ones are made.
    used = int(tree.counts[N_CHILDREN])
    third = known[0][5][1]
    give_moves(tree, third, moves, [1 / 50] * 50)
    for _ in range(32):
        add_child(tree, third)
    assert tree.counts[N_CHILDREN] == used
    assert children_of(tree, 0) == known[0]


def test_find_child() -> None:
    tree = small_tree()
    root_with(tree, [21, 22, 23], [0.5, 0.3, 0.2])
    visited_child(tree, 0, 1, 0.0, 0.0)
    visited_child(tree, 0, 1, 0.0, 0.0)
    assert [int(find_child(tree, 0, move)) for move in (21, 22, 23, 24)] == [0, 1, -1, -1]


def searched(playouts: int) -> Search:
    search = Search(FakeEvaluator())
    search.set_position(Position(5))
    search.run(Limits(playouts=playouts))
    return search


def test_a_grown_tree_says_the_same_and_has_room() -> None:
    tree = searched(200).tree
    larger = grown(tree, 2 * len(tree.nodes))
    assert described(larger) == described(tree)
    assert len(larger.nodes) == len(larger.priors) == len(larger.ownership) == 2 * len(tree.nodes)
    for _ in range(len(larger.nodes) - int(larger.counts[N_NODES])):
        assert has_room(larger)
        add_node(larger, WHITE)
    assert not has_room(larger)


def test_a_tree_grows_without_a_copy_while_more_of_its_reserve_is_opened() -> None:
    reserve = new_tree(1000, 9, 9, True)
    tree = opened(reserve, 10)
    for _ in range(10):
        assert has_room(tree)
        add_node(tree, WHITE)
    assert not has_room(tree)
    for capacity, nodes in ((20, 20), (5000, 1000)):
        tree = opened(reserve, capacity)
        rows = len(tree.nodes), len(tree.priors), len(tree.ownership)
        assert rows == (nodes,) * 3 and len(tree.children) == 2 * nodes + 2 * largest_block(81)
        assert has_room(tree) and tree.counts[N_NODES] == 10
        assert np.shares_memory(tree.nodes, reserve.nodes)


@pytest.mark.skipif(not STATM.exists(), reason="the system does not say what a process holds")
def test_a_reserve_takes_no_memory_before_it_is_written_to() -> None:
    before = resident_pages()
    reserve = new_tree(500_000, 19, 19, True)
    add_node(opened(reserve, 1000), WHITE)
    assert resident_pages() - before < 0.01 * total_bytes(reserve) / 4096


def test_a_tree_without_room_for_a_block_has_no_room() -> None:
    tree = small_tree()
    assert has_room(tree)
    tree.counts[N_CHILDREN] = len(tree.children) - largest_block(81) + 1
    assert not has_room(tree)


def test_mean_ownership_by_hand() -> None:
    # Black's root says 1 and -1, White's child 0 and 1 for itself, and the end of a game has no
    # ownership of its own: (1 + 0) / 2 and (-1 - 1) / 2 for Black.
    tree = new_tree(9, 2, 1, True)
    root_with(tree, [4, 5], [0.5, 0.5])
    child = visited_child(tree, 0, 1, 0.0, 0.0)
    give_moves(tree, child, [4], [1.0])
    over = visited_child(tree, 0, 1, 0.0, 0.0)
    tree.nodes[over]["state"] = TERMINAL
    tree.nodes[0]["visits"] = 3
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


def total_bytes(tree: Tree) -> int:
    return sum(array.nbytes for array in tree)


@pytest.mark.parametrize("width, has_ownership", [(9, True), (19, True), (19, False), (25, True)])
def test_capacity_keeps_within_the_memory(width: int, has_ownership: bool) -> None:
    memory = 16 << 20
    capacity = capacity_within(memory, width * width, has_ownership)
    assert 0.8 * memory < total_bytes(new_tree(capacity, width, width, has_ownership)) <= memory
    assert capacity_within(0, width * width, has_ownership) == 0


def test_a_node_takes_less_than_two_kilobytes_on_a_large_board_with_ownership() -> None:
    a_node = total_bytes(new_tree(1001, 19, 19, True)) - total_bytes(new_tree(1, 19, 19, True))
    assert a_node / 1000 < 1300
    assert (NODE.itemsize, CHILD.itemsize) == (72, 32)
