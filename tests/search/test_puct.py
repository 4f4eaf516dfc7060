"""Selection, virtual loss and back-up, against numbers worked out by hand."""

import numpy as np
import pytest
from tests.search.trees import (
    NO_SCORE,
    PLAIN,
    children_of,
    give_edges,
    root_with,
    small_tree,
    visited_child,
)

from gtp_engine.go.coords import BLACK, WHITE
from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.puct import (
    AGAIN,
    COLLISION,
    LEAF,
    MAX_DEPTH,
    backup,
    child_utility,
    descend,
    exploration,
    mean_utility,
    score_utility,
    select_child,
)
from gtp_engine.search.tree import NEW, TERMINAL, Tree


@pytest.mark.parametrize(
    "visits, growth, constant",
    [
        (0, 1.0, 1.0),  # fourth root of 1
        (7500, 1.0, 2.0),  # 1 + 7500 / 500 = 16, whose fourth root is 2
        (40000, 1.0, 3.0),  # 1 + 80 = 81, whose fourth root is 3
        (40000, 0.5, 2.0),
        (40000, 0.0, 1.0),
    ],
)
def test_exploration_grows_by_a_fourth_root(visits: int, growth: float, constant: float) -> None:
    numbers = PLAIN._replace(cpuct_growth=growth)
    assert exploration(float(visits), numbers) == pytest.approx(constant)


def test_score_utility_by_hand() -> None:
    # Ten points at a scale of ten are half of each weight; the centre is six points, and four
    # points beyond it are 4 / (10 + 4) of the other weight.
    score = ScoreUtility(static_weight=0.1, dynamic_weight=0.3, scale=10.0, center_white=6.0)
    assert score_utility(10.0, 6.0, score) == pytest.approx(0.1 * 0.5 + 0.3 * 4 / 14)
    assert score_utility(-10.0, -6.0, score) == pytest.approx(-0.1 * 0.5 - 0.3 * 4 / 14)
    assert score_utility(6.0, 6.0, score) == pytest.approx(0.1 * 6 / 16)


def test_mean_utility_speaks_for_the_mover() -> None:
    tree = small_tree()
    root_with(tree, [20], [1.0])
    tree.visits[0], tree.value_sum[0], tree.lead_sum[0] = 4, 1.0, 40.0
    score = ScoreUtility(static_weight=0.1, dynamic_weight=0.3, scale=10.0, center_white=-6.0)
    # Black is to move: 1/4, and a lead of 10 around Black's centre of 6.
    assert mean_utility(tree, 0, score) == pytest.approx(0.25 + 0.05 + 0.3 * 4 / 14)
    tree.to_play[0] = WHITE
    # White's centre is -6: 16 points beyond it.
    assert mean_utility(tree, 0, score) == pytest.approx(0.25 + 0.05 + 0.3 * 16 / 26)


def nine_visits(prior_of_the_third: float = 0.1) -> Tree:
    """Return a root of 9 visits: a child of 5 and -0.2, one of 3 and 0.2, one untried.

    Sums of children are the opponent's: 5 x 0.2 = 1 and 3 x -0.2 = -0.6.
    """
    tree = small_tree()
    root_with(tree, [30, 31, 32], [0.6, 0.3, prior_of_the_third])
    tree.visits[0], tree.value_sum[0] = 9, 2.25  # a mean of 0.25
    visited_child(tree, 0, 5, 1.0, 0.0)
    visited_child(tree, 0, 3, -0.6, 0.0)
    return tree


def test_puct_by_hand() -> None:
    # c sqrt(9) = 3.   A: -0.2 + 3 x 0.6 / 6 = 0.1      B: 0.2 + 3 x 0.3 / 4 = 0.425
    tree = nine_visits()
    tree.n_edges[0] = 2  # no third move
    assert select_child(tree, 0, True, PLAIN, NO_SCORE) == 1
    # With c = 5:      A: -0.2 + 15 x 0.6 / 6 = 1.3     B: 0.2 + 15 x 0.3 / 4 = 1.325
    assert select_child(tree, 0, True, PLAIN._replace(cpuct=5.0), NO_SCORE) == 1
    # With c = 6:      A: -0.2 + 18 x 0.6 / 6 = 1.6     B: 0.2 + 18 x 0.3 / 4 = 1.55
    assert select_child(tree, 0, True, PLAIN._replace(cpuct=6.0), NO_SCORE) == 0


def test_first_play_urgency_at_the_root_and_below() -> None:
    # Untried, prior 0.1, tried policy 0.9, parent 0.25; c sqrt(9) = 3:
    #   root:  0.25 - 0.1 sqrt(0.9) + 0.3 = 0.4551, more than B's 0.425
    #   below: 0.25 - 0.2 sqrt(0.9) + 0.3 = 0.3603, less
    tree = nine_visits()
    assert select_child(tree, 0, True, PLAIN, NO_SCORE) == 2
    assert select_child(tree, 0, False, PLAIN, NO_SCORE) == 1


def test_score_counts_in_the_selection() -> None:
    # A child three times visited whose mover is 30 points behind: ten points each for the parent.
    tree = nine_visits()
    tree.n_edges[0] = 2
    tree.lead_sum[1] = -50.0  # A: 10 points ahead, B: even
    score = ScoreUtility(static_weight=1.0, dynamic_weight=0.0, scale=10.0, center_white=0.0)
    # A: -0.2 + 0.5 + 0.3 = 0.6   B: 0.425
    assert select_child(tree, 0, True, PLAIN, score) == 0


def test_virtual_loss_by_hand() -> None:
    tree = nine_visits()
    tree.n_edges[0] = 2
    tree.pending[0] = 1
    tree.pending[2] = 1  # one descent is on its way through B
    # B counts (3 x 0.2 - 1) / 4 = -0.1; c sqrt(10) = 3.1623
    assert child_utility(tree, 2, PLAIN, NO_SCORE) == pytest.approx(-0.1)
    # A: -0.2 + 3.1623 x 0.6 / 6 = 0.1162   B: -0.1 + 3.1623 x 0.3 / 5 = 0.0897
    assert select_child(tree, 0, True, PLAIN, NO_SCORE) == 0
    # At half a loss B counts (0.6 - 0.5) / 3.5 = 0.0286, and 0.0286 + 0.1897 is more than A's.
    half = PLAIN._replace(virtual_loss=0.5)
    assert child_utility(tree, 2, half, NO_SCORE) == pytest.approx(0.1 / 3.5)
    assert select_child(tree, 0, True, half, NO_SCORE) == 1


def test_a_new_child_in_flight_counts_as_lost() -> None:
    tree = small_tree()
    root_with(tree, [30, 31], [0.5, 0.5])
    tree.visits[0] = 1
    child = visited_child(tree, 0, 0, 0.0, 0.0)
    tree.pending[child] = 1
    assert child_utility(tree, child, PLAIN, NO_SCORE) == -1.0


def test_backup_by_hand() -> None:
    tree = small_tree()
    root_with(tree, [30], [1.0])
    first = visited_child(tree, 0, 2, -0.5, 1.0)
    give_edges(tree, first, [40], [1.0])
    second = visited_child(tree, first, 1, 0.25, -2.0)
    tree.visits[0], tree.value_sum[0] = 3, 0.75
    path = np.array([0, first, second], np.int32)
    slots = np.array([0, 0, 0], np.int64)
    tree.pending[path] = 1
    backup(tree, path, slots, 3, 0.5, 3.0, 8.0)  # for Black, who is to move at the last node
    assert [int(n) for n in tree.visits[path]] == [4, 3, 2]
    assert [float(v) for v in tree.value_sum[path]] == [1.25, -1.0, 0.75]
    assert [float(v) for v in tree.lead_sum[path]] == [3.0, -2.0, 1.0]
    assert [float(v) for v in tree.value_sq_sum[path]] == [0.25, 0.25, 0.25]
    assert [float(v) for v in tree.stdev_sum[path]] == [8.0, 8.0, 8.0]
    assert children_of(tree, 0) == [(30, first, 3)]
    assert children_of(tree, first) == [(40, second, 2)]
    assert not tree.pending[path].any()


def room_for_a_path() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    room = MAX_DEPTH + 1
    return np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(room, np.int16)


def test_descend_adds_a_leaf_and_marks_its_path() -> None:
    tree = small_tree()
    root_with(tree, [30, 31], [0.7, 0.3])
    tree.visits[0] = 1
    path, slots, moves = room_for_a_path()
    kind, length = descend(tree, path, slots, moves, PLAIN, NO_SCORE)
    assert (kind, length) == (LEAF, 2)
    assert path[:2].tolist() == [0, 1] and slots[1] == 0 and moves[1] == 30
    assert tree.state[1] == NEW and tree.to_play[1] == WHITE and tree.to_play[0] == BLACK
    assert tree.pending[:2].tolist() == [1, 1]
    # The second descent avoids the lost-looking child and takes the other move.
    kind, length = descend(tree, path, slots, moves, PLAIN, NO_SCORE)
    assert (kind, length) == (LEAF, 2)
    assert path[:2].tolist() == [0, 2] and slots[1] == 1 and moves[1] == 31
    # The third finds no new leaf; after a collision nothing more is marked.
    kind, _ = descend(tree, path, slots, moves, PLAIN, NO_SCORE)
    assert kind == COLLISION
    assert tree.pending[:3].tolist() == [2, 1, 1] and tree.used[0] == 3


def test_descend_ends_again_at_the_end_of_a_game() -> None:
    tree = small_tree()
    root_with(tree, [30], [1.0])
    tree.visits[0] = 2
    over = visited_child(tree, 0, 1, 1.0, 5.0)
    tree.state[over] = TERMINAL
    path, slots, moves = room_for_a_path()
    assert descend(tree, path, slots, moves, PLAIN, NO_SCORE) == (AGAIN, 2)
    assert tree.pending[:2].tolist() == [1, 1]


def test_params_are_set_by_name() -> None:
    params = SearchParams().with_option("cpuct", "2.5").with_option("use_cache", "FALSE")
    assert params.cpuct == 2.5 and params.use_cache is False and params.numbers.cpuct == 2.5
    for name, text in [("cpuct", "11"), ("cpuct", "nan"), ("cpuct", "x"), ("use_cache", "1")]:
        with pytest.raises(ValueError):
            params.with_option(name, text)
    with pytest.raises(ValueError, match="unknown parameter"):
        params.with_option("__class__", "1")
