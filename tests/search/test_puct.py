"""Selection, virtual loss and back-up, against numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from tests.search.trees import (
    NO_SCORE,
    PLAIN,
    give_moves,
    path_to,
    root_with,
    small_tree,
    visited_child,
)

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.search.params import ROLLOUT_PARAMS, ScoreUtility, SearchParams
from gtp_engine.search.playout import AGAIN, COLLISION, FULL, LEAF, back_up, mark, select
from gtp_engine.search.puct import (
    child_utility,
    exploration,
    mean_utility,
    score_utility,
    select_child,
    widened,
)
from gtp_engine.search.tree import N_NODES, NEW, TERMINAL, Tree, add_node
from gtp_engine.search.tree import children_of as child_records


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
    root_with(tree, [21], [1.0])
    root = tree.nodes[0]
    root["visits"], root["value_sum"], root["lead_sum"] = 4, 1.0, 40.0
    score = ScoreUtility(static_weight=0.1, dynamic_weight=0.3, scale=10.0, center_white=-6.0)
    # Black is to move: 1/4, and a lead of 10 around Black's centre of 6.
    assert mean_utility(root, score) == pytest.approx(0.25 + 0.05 + 0.3 * 4 / 14)
    root["to_play"] = WHITE
    # White's centre is -6: 16 points beyond it.
    assert mean_utility(root, score) == pytest.approx(0.25 + 0.05 + 0.3 * 16 / 26)


@pytest.mark.parametrize(
    "sums, prior, best",
    [
        # Of 4 visits each; an untried move of prior 0.1 is worth 10 x 0.1 = 1.
        ((0.0, 0.0), 0.1, 0),  # 6 / 5 and 3 / 5
        ((0.0, 0.0), 0.13, 2),
        ((0.0, 1.5), 0.1, 1),  # the second's mean is above a quarter: 1 + 4.5 / 5
        ((2.0, 3.5), 0.1, 1),  # 1 + 8 / 5 against 2 + 6.5 / 5
        ((2.0, 3.4), 0.1, 0),  # no more than 0.85 of 4
    ],
)
def test_pierres_selection(sums: tuple[float, float], prior: float, best: int) -> None:
    tree = small_tree()
    root_with(tree, [31, 32, 33], [0.6, 0.3, prior])
    tree.nodes[0]["visits"] = 9
    for total in sums:
        visited_child(tree, 0, 4, -total, 0.0)
    numbers = PLAIN._replace(pierre=1.0)
    assert select_child(tree, 0, True, numbers, NO_SCORE) == best
    # Two descents in flight are two lost games: 4 / 7 at most for the first.
    child_records(tree, 0)[0]["pending"] = 2
    assert select_child(tree, 0, True, numbers, NO_SCORE) != 0


def nine_visits(prior_of_the_third: float = 0.1) -> Tree:
    """Return a root of 9 visits: a child of 5 and -0.2, one of 3 and 0.2, one untried.

    Sums of children are the opponent's: 5 x 0.2 = 1 and 3 x -0.2 = -0.6.
    """
    tree = small_tree()
    root_with(tree, [31, 32, 33], [0.6, 0.3, prior_of_the_third])
    tree.nodes[0]["visits"], tree.nodes[0]["value_sum"] = 9, 2.25  # a mean of 0.25
    visited_child(tree, 0, 5, 1.0, 0.0)
    visited_child(tree, 0, 3, -0.6, 0.0)
    return tree


def test_puct_by_hand() -> None:
    # c sqrt(9) = 3.   A: -0.2 + 3 x 0.6 / 6 = 0.1      B: 0.2 + 3 x 0.3 / 4 = 0.425
    tree = nine_visits()
    tree.nodes[0]["untried"] = -1  # no third move
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
    tree.nodes[0]["untried"] = -1
    child_records(tree, 0)[0]["lead_sum"] = -50.0  # A: 10 points ahead, B: even
    score = ScoreUtility(static_weight=1.0, dynamic_weight=0.0, scale=10.0, center_white=0.0)
    # A: -0.2 + 0.5 + 0.3 = 0.6   B: 0.425
    assert select_child(tree, 0, True, PLAIN, score) == 0


def test_virtual_loss_by_hand() -> None:
    tree = nine_visits()
    tree.nodes[0]["untried"] = -1
    tree.nodes[0]["pending"] = 1
    b = child_records(tree, 0)[1]
    b["pending"] = 1  # one descent is on its way through B
    # B counts (3 x 0.2 - 1) / 4 = -0.1; c sqrt(10) = 3.1623
    assert child_utility(b, 0.0, PLAIN, NO_SCORE) == pytest.approx(-0.1)
    # A: -0.2 + 3.1623 x 0.6 / 6 = 0.1162   B: -0.1 + 3.1623 x 0.3 / 5 = 0.0897
    assert select_child(tree, 0, True, PLAIN, NO_SCORE) == 0
    # At half a loss B counts (0.6 - 0.5) / 3.5 = 0.0286, and 0.0286 + 0.1897 is more than A's.
    half = PLAIN._replace(virtual_loss=0.5)
    assert child_utility(b, 0.0, half, NO_SCORE) == pytest.approx(0.1 / 3.5)
    assert select_child(tree, 0, True, half, NO_SCORE) == 1


def test_a_new_child_in_flight_counts_as_lost() -> None:
    tree = small_tree()
    root_with(tree, [31, 32], [0.5, 0.5])
    tree.nodes[0]["visits"] = 1
    visited_child(tree, 0, 0, 0.0, 0.0)
    edge = child_records(tree, 0)[0]
    edge["pending"] = 1
    assert child_utility(edge, 0.0, PLAIN, NO_SCORE) == -1.0


def test_back_up_by_hand() -> None:
    tree = small_tree()
    root_with(tree, [31], [1.0])
    first = visited_child(tree, 0, 2, -0.5, 1.0)
    give_moves(tree, first, [41], [1.0])
    second = visited_child(tree, first, 1, 0.25, -2.0)
    tree.nodes[0]["visits"], tree.nodes[0]["value_sum"] = 3, 0.75
    paths = path_to(0, first, second)
    mark(tree, paths[0])
    assert tree.nodes["pending"][:3].tolist() == [1, 1, 1]
    back_up(tree, paths[0], 0.5, 3.0, 8.0)  # for Black, who is to move at the last node
    nodes = tree.nodes[[0, first, second]]
    assert nodes["visits"].tolist() == [4, 3, 2]
    assert nodes["value_sum"].tolist() == [1.25, -1.0, 0.75]
    assert nodes["lead_sum"].tolist() == [3.0, -2.0, 1.0]
    assert nodes["value_sq_sum"].tolist() == [0.25, 0.25, 0.25]
    assert nodes["stdev_sum"].tolist() == [8.0, 8.0, 8.0]
    assert not nodes["pending"].any()
    # The parents' own records say the same.
    for parent, child in ((0, first), (first, second)):
        (edge,) = child_records(tree, parent)
        for name in ("node", "visits", "value_sum", "lead_sum", "pending"):
            assert edge[name] == (child if name == "node" else tree.nodes[child][name])


def test_back_up_finds_a_child_that_moved_up() -> None:
    # As after pruning: the third child of a path is the second by now.
    tree = small_tree()
    root_with(tree, [31, 32, 33], [0.5, 0.3, 0.2])
    children = [visited_child(tree, 0, 1, 0.0, 0.0) for _ in range(3)]
    paths = path_to(0, children[2], slots=[2])
    mark(tree, paths[0])
    records = child_records(tree, 0)
    records[1] = records[2]
    tree.nodes[0]["n_children"] = 2
    back_up(tree, paths[0], 0.5, 0.0, 0.0)
    assert child_records(tree, 0)["visits"].tolist() == [1, 2]
    assert child_records(tree, 0)["pending"].tolist() == [0, 0]


def selected(tree: Tree, paths: np.ndarray) -> int:
    return int(select(tree, paths[0], 0, PLAIN, NO_SCORE))


def test_select_adds_a_leaf_and_marks_its_path() -> None:
    tree = small_tree()
    root_with(tree, [31, 32], [0.7, 0.3])
    tree.nodes[0]["visits"] = 1
    paths = path_to(0)
    (path,) = paths
    assert (selected(tree, paths), path["length"]) == (LEAF, 2)
    assert path["nodes"][:2].tolist() == [0, 1]
    assert (path["slots"][1], path["moves"][1]) == (0, 31)
    assert tree.nodes[1]["state"] == NEW
    assert (tree.nodes[1]["to_play"], tree.nodes[0]["to_play"]) == (WHITE, BLACK)
    assert tree.nodes["pending"][:2].tolist() == [1, 1]
    # The second descent avoids the lost-looking child and takes the other move.
    assert (selected(tree, paths), path["length"]) == (LEAF, 2)
    assert path["nodes"][:2].tolist() == [0, 2]
    assert (path["slots"][1], path["moves"][1]) == (1, 32)
    # The third finds no new leaf; after a collision nothing more is marked.
    assert selected(tree, paths) == COLLISION
    assert tree.nodes["pending"][:3].tolist() == [2, 1, 1]
    assert child_records(tree, 0)["pending"].tolist() == [1, 1]
    assert tree.counts[N_NODES] == 3


def test_select_ends_again_at_the_end_of_a_game() -> None:
    tree = small_tree()
    root_with(tree, [31], [1.0])
    tree.nodes[0]["visits"] = 2
    over = visited_child(tree, 0, 1, 1.0, 5.0)
    tree.nodes[over]["state"] = TERMINAL
    paths = path_to(0)
    assert (selected(tree, paths), paths[0]["length"]) == (AGAIN, 2)
    assert tree.nodes["pending"][:2].tolist() == [1, 1]


def test_select_begins_below_the_ancestors_and_marks_them_too() -> None:
    tree = small_tree()
    root_with(tree, [31, 32], [0.7, 0.3])
    tree.nodes[0]["visits"] = 2
    root = visited_child(tree, 0, 1, 0.0, 0.0)
    give_moves(tree, root, [41], [1.0])
    paths = path_to(0, root)
    assert select(tree, paths[0], 1, PLAIN, NO_SCORE) == LEAF
    assert paths[0]["length"] == 3 and paths[0]["moves"][2] == 41
    assert tree.nodes["pending"][:3].tolist() == [1, 1, 1]
    assert child_records(tree, 0)["pending"].tolist() == [1]


def test_select_adds_nothing_to_a_full_tree() -> None:
    tree = small_tree()
    root_with(tree, [31, 32], [0.7, 0.3])
    tree.nodes[0]["visits"] = 1
    for _ in range(len(tree.nodes) - 1):
        add_node(tree, BLACK)
    paths = path_to(0)
    assert selected(tree, paths) == FULL
    assert not tree.nodes["pending"].any() and tree.nodes[0]["n_children"] == 0


def test_what_is_set_to_the_usual_value_is_set_all_the_same() -> None:
    assert ROLLOUT_PARAMS.changed_by(SearchParams()) == ROLLOUT_PARAMS != SearchParams()
    changed = ROLLOUT_PARAMS.changed_by(SearchParams().with_option("cpuct", "1.0"))
    assert changed == replace(ROLLOUT_PARAMS, cpuct=1.0)
    assert changed.changed_by(SearchParams(fpu_reduction=0.5)).fpu_reduction == 0.5


def test_params_are_set_by_name() -> None:
    params = SearchParams().with_option("cpuct", "2.5").with_option("use_cache", "FALSE")
    assert params.with_option("use_cache", "1").use_cache is True
    assert params.cpuct == 2.5 and params.use_cache is False and params.numbers.cpuct == 2.5
    for name, text in [("cpuct", "11"), ("cpuct", "nan"), ("cpuct", "x"), ("use_cache", "yes")]:
        with pytest.raises(ValueError):
            params.with_option(name, text)
    with pytest.raises(ValueError, match="unknown parameter"):
        params.with_option("__class__", "1")


def test_a_wide_root_raises_every_other_move_by_a_half_normal_number() -> None:
    drawn = [widened(0.5, k, float(total), 0.1) for total in range(200) for k in range(20)]
    assert [prior for prior, _ in drawn] == pytest.approx([0.5 ** (1 / 1.4)] * len(drawn))
    bonuses = np.array([bonus for _, bonus in drawn])
    raised = bonuses[bonuses > 0]
    assert bonuses.min() == 0.0 and 0.45 < len(raised) / len(bonuses) < 0.55
    # The absolute value of a normal number is sqrt(2 / pi) on average, its square 1.
    assert raised.mean() == pytest.approx(0.1 * np.sqrt(2 / np.pi), rel=0.05)
    assert (raised**2).mean() == pytest.approx(0.01, rel=0.1)


def test_only_the_root_is_wide() -> None:
    # A third move that is far behind: it comes up at the root by its draws, not below.
    tree = nine_visits(prior_of_the_third=1e-6)
    wide = PLAIN._replace(wide_root_noise=1.0)
    found = set()
    for total in range(9, 60):
        tree.nodes[0]["visits"] = total
        found.add(int(select_child(tree, 0, True, wide, NO_SCORE)))
        assert select_child(tree, 0, False, wide, NO_SCORE) == select_child(
            tree, 0, False, PLAIN, NO_SCORE
        )
    assert found == {0, 1, 2}
