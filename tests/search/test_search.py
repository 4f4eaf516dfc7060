"""Whole searches with one thread: limits, reuse, ends of games, bans, restrictions, symmetry."""

import gc
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.go.diagrams import position_of
from tests.search.scripted import (
    FailingEvaluator,
    FlatEvaluator,
    MirrorEvaluator,
    RememberingEvaluator,
)
from tests.search.trees import (
    assert_legal,
    assert_sound,
    children_of,
    moves_of,
    path_to,
    paths,
    small_tree,
)

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex, point_at, row_col
from gtp_engine.evaluators.eval_batch import EvalBatch, new_eval_batch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.go.board import MAX_AREA, MAX_POINTS
from gtp_engine.go.history import NO_RESULT
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Ko, Rules
from gtp_engine.go.symmetry import N_SYMMETRIES, transform
from gtp_engine.search import shared_tree
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.params import SearchParams
from gtp_engine.search.playout import MAX_REPEATS, back_up_end, mark
from gtp_engine.search.pruning import drop_moves
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.root import adjust_priors
from gtp_engine.search.search import Search
from gtp_engine.search.shared_tree import MOST_VISITS
from gtp_engine.search.stopping import Limits
from gtp_engine.search.tree import (
    CHILDREN_PER_NODE,
    EXPANDED,
    HELD,
    N_NODES,
    TERMINAL,
    Tree,
    add_node,
    largest_block,
    moves_by_prior,
)

TROMP_TAYLOR = Rules.parse("tromp-taylor", komi=0.5)
CHINESE = Rules.parse("chinese", komi=0.5)

WHITE_WALL = """
    . X . O .
    . X . O .
    . X . O .
    . X . O .
    . X . O .
"""
"""Ten points each, five of nobody; White wins by komi."""


def point(vertex: str, position: Position) -> int:
    return parse_vertex(vertex, position.width, position.height)


def searched(position: Position, playouts: int) -> Search:
    search = Search(FakeEvaluator())
    search.set_position(position)
    search.run(Limits(playouts=playouts))
    return search


def child_of(search: Search, move: int) -> int:
    return next(child for at, child, _ in children_of(search.tree, search.root) if at == move)


# What the evaluator remembers --------------------------------------------------------------------

SOME_MOVES = AvoidRule(BLACK, frozenset([PASS, 7, 8, 15]), depth=5)
"""Kept from Black for some plies."""


@pytest.mark.parametrize("avoid", [(), (SOME_MOVES,)])
def test_leaves_that_are_remembered_change_nothing_but_the_batches(
    avoid: tuple[AvoidRule, ...],
) -> None:
    position = Position(5, rules=TROMP_TAYLOR)
    trees = []
    evaluator = RememberingEvaluator()
    for params in (SearchParams(use_cache=False), SearchParams(), SearchParams()):
        evaluator.batches.clear()
        search = Search(evaluator, replace(params, policy_temperature=1.3))
        search.set_position(position, avoid=avoid)
        assert search.run(Limits(playouts=400)).visits == 400
        assert_sound(search.tree)
        trees.append(search.tree.nodes[["visits", "value_sum", "lead_sum"]].copy())
    without, while_learning, from_memory = trees
    np.testing.assert_array_equal(without, while_learning)
    np.testing.assert_array_equal(without, from_memory)
    assert evaluator.batches == [1]  # of the last search: its root


def test_batches_are_full_where_leaves_are_known() -> None:
    evaluator = RememberingEvaluator()
    position = Position(5, rules=TROMP_TAYLOR)
    for visits in (500, 3_000):
        search = Search(evaluator, batch=4)
        search.set_position(position)
        search.run(Limits(visits=50))
        evaluator.batches.clear()
        assert search.run(Limits(visits=visits)).visits == visits
    assert evaluator.recalled > 100 and (search.tree.nodes["state"] == TERMINAL).sum() > 100
    assert_sound(search.tree)
    assert sum(n == 4 for n in evaluator.batches) > 0.9 * len(evaluator.batches)


def test_a_search_whose_leaves_are_all_known_still_reports_and_stops() -> None:
    evaluator = RememberingEvaluator()
    heard: list[int] = []
    for _ in range(2):
        heard.clear()
        search = Search(evaluator, batch=4)
        search.set_position(Position(5))
        search.run(Limits(visits=3_000), ReportRequest(0.0, lambda one: heard.append(one.visits)))
    assert max(np.diff(heard)) <= 2 * (MAX_REPEATS + 4)


# Memory ------------------------------------------------------------------------------------------


@pytest.fixture
def no_cycle_collector() -> Iterator[None]:
    searched(Position(5), playouts=20)  # compiling leaves cycles behind
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_cycle_collector")
def test_a_search_that_nobody_uses_any_more_is_freed_at_once() -> None:
    search = searched(Position(5), playouts=20)
    remembered = weakref.ref(search)
    del search
    assert remembered() is None


# Limits ------------------------------------------------------------------------------------------


def test_one_playout_evaluates_the_root() -> None:
    search = Search(FakeEvaluator())
    search.set_position(Position(5))
    found = search.run(Limits(playouts=1))
    assert (found.visits, found.playouts, found.nodes, found.moves) == (1, 1, 1, ())
    assert found.winrate == found.raw_winrate and found.score_lead == found.raw_score_lead
    assert sorted(search.root_moves()) == sorted(Position(5).legal_moves())


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_playouts_are_new_ones_and_visits_are_all(batch: int) -> None:
    search = Search(FakeEvaluator(), batch=batch)
    search.set_position(Position(5))
    first = search.run(Limits(playouts=100))
    assert (first.playouts, first.visits) == (100, 100)
    assert first.nodes == search.tree.counts[N_NODES] <= 100
    more = search.run(Limits(playouts=50))
    assert (more.playouts, more.visits) == (50, 150)
    more = search.run(Limits(visits=170))
    assert (more.playouts, more.visits) == (20, 170)
    more = search.run(Limits(visits=60))
    assert (more.playouts, more.visits) == (0, 170)
    assert sum(move.visits for move in more.moves) == 169
    assert_sound(search.tree)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_search_ends_before_visits_no_longer_fit_their_field(threads: int) -> None:
    # On this board nearly every playout ends at a known end of the game.
    search = Search(FakeEvaluator(), threads=threads)
    position = Position(2)
    search.set_position(position)
    search.run(Limits(playouts=300))
    reply = search.root_moves()[0]
    for node in (search.root, child_of(search, reply)):
        search.tree.nodes[node]["visits"] = MOST_VISITS - 100
    assert search.run(Limits(playouts=1000)).playouts == 100
    # Ancestors count the visits of the root too; one that has no room for them is left out.
    position.play(BLACK, reply)
    search.set_position(position)
    search.tree.nodes[search.root]["visits"] = 100
    assert search.run(Limits(playouts=1000)).playouts == 1000
    assert (search.tree.nodes["visits"] >= 0).all()


def test_time_ends_a_search() -> None:
    search = Search(FakeEvaluator())
    search.set_position(Position(5))
    found = search.run(Limits(seconds=0.05))
    assert found.elapsed >= 0.05
    assert search.run(Limits(seconds=0.0)).playouts == 0


def test_soft_time_ends_a_search_whose_choice_is_clear() -> None:
    search = Search(FlatEvaluator(favourite=PASS))
    search.set_position(Position(5))
    found = search.run(Limits(seconds=60.0, soft_seconds=0.01))
    assert found.elapsed < 30.0


# Determinism and reports -------------------------------------------------------------------------


def analysis_of(seed: int) -> Analysis:
    search = Search(FakeEvaluator(), SearchParams(root_noise_weight=0.25), seed=seed)
    search.set_position(Position(5))
    return replace(search.run(Limits(playouts=200)), elapsed=0.0)


def test_a_seed_fixes_everything_with_one_thread() -> None:
    assert analysis_of(5) == analysis_of(5)
    assert analysis_of(5) != analysis_of(6), "noise at the root follows the seed"


def test_reports_come_on_the_way_and_the_last_is_final() -> None:
    heard: list[Analysis] = []
    search = Search(FakeEvaluator())
    search.set_position(Position(5))
    report = ReportRequest(interval=0.0, callback=heard.append, ownership=True)
    final = search.run(Limits(playouts=30), report)
    assert [one.is_final for one in heard] == [False] * (len(heard) - 1) + [True]
    assert heard[-1] is final
    visits = [one.visits for one in heard[:-1]]
    assert visits[0] == 2 and visits[-1] == 30 and visits == sorted(set(visits))
    assert final.ownership is not None and final.ownership.shape == (5, 5)
    assert [move.order for move in final.moves] == list(range(len(final.moves)))


def test_a_report_speaks_for_the_player_to_move() -> None:
    # Every position is good for its mover by 1/2, so every move is bad by as much.
    search = Search(FlatEvaluator(value=0.5))
    search.set_position(Position(5, 4))
    report = ReportRequest(ownership=True, moves_ownership=True, pv_length=3)
    found = search.run(Limits(playouts=5), report)
    assert found.raw_winrate == 0.75 and (found.width, found.height) == (5, 4)
    assert found.winrate == pytest.approx(0.5 + 0.5 * (0.5 - 4 * 0.5) / 5)
    for move in found.moves:
        assert move.winrate == 0.25 and move.pv[0] == move.point and move.pv_visits[0] == 1
        assert move.ownership is not None
        assert move.ownership.shape == (4, 5) and np.allclose(move.ownership, -0.5, atol=0.01)


def test_a_move_that_was_not_visited_is_worth_what_the_root_is_and_bounded_below() -> None:
    search = Search(FakeEvaluator())
    search.set_position(Position(5, 5))
    found = search.run(Limits(playouts=1), ReportRequest(min_moves=3))
    assert found.utility != pytest.approx(2.0 * found.winrate - 1.0)  # the score counts too
    assert [move.utility for move in found.moves] == [pytest.approx(found.utility)] * 3
    assert all(move.utility_lcb < move.utility - 1.0 for move in found.moves)


# Tree reuse --------------------------------------------------------------------------------------


def test_the_tree_is_kept_over_moves() -> None:
    position = Position(5)
    search = searched(position, 400)
    own = search.run(Limits(playouts=0)).moves[0]
    child = child_of(search, own.point)
    reply, grandchild, visits = max(children_of(search.tree, child), key=lambda each: each[2])
    values = float(search.tree.nodes[grandchild]["value_sum"])
    position.play(BLACK, own.point)
    position.play(WHITE, reply)
    search.set_position(position)
    assert (
        search.tree.nodes[search.root]["visits"] == visits
        and search.tree.nodes[search.root]["value_sum"] == values
    )
    assert_sound(search.tree)
    found = search.run(Limits(playouts=10))
    assert (found.playouts, found.visits) == (10, visits + 10)
    assert_sound(search.tree)
    assert_legal(search.tree, position, search.root)


def test_a_reply_that_is_not_in_the_tree_begins_anew() -> None:
    position = Position(5)
    search = searched(position, 5)
    position.play(BLACK, search.root_moves()[-1])  # not tried yet
    search.set_position(position)
    assert search.run(Limits(playouts=7)).visits == 7


def test_the_tree_is_not_kept_over_a_move_out_of_turn() -> None:
    """The game remembers whose turn it was; so under situational superko other moves may be banned
    than in the search."""
    position = Position(5)
    position.play(BLACK, point("C3", position))
    turned = position.copy()
    turned.to_play = BLACK
    search = searched(turned, 50)
    position.play(BLACK, search.run(Limits(playouts=0)).moves[0].point)
    search.set_position(position)
    assert search.tree.nodes[search.root]["visits"] == 0


def after(change: str) -> Position:
    """Return a position of two moves, changed in some way."""
    position = Position(5)
    position.play(BLACK, point("C3", position))
    position.play(WHITE, point("D4", position))
    if change == "undo":
        position.undo()
    elif change == "komi":
        position.komi = 0.5
    elif change == "rules":
        position.set_rules(replace(position.rules, ko=Ko.SIMPLE))
    elif change == "other player":
        position.to_play = WHITE
    elif change == "other game":
        position.undo(2)
        position.play(BLACK, point("C4", position))
        position.play(WHITE, point("D4", position))
    elif change == "set up":
        position.set_up([point("C3", position)], [point("D4", position)])
    return position


@pytest.mark.parametrize(
    "change", ["undo", "komi", "rules", "other player", "other game", "set up"]
)
def test_the_tree_is_not_kept_for_another_game(change: str) -> None:
    search = searched(after(""), 50)
    search.set_position(after(""))
    assert search.tree.nodes[search.root]["visits"] == 50
    changed = after(change)
    search.set_position(changed)
    assert search.tree.nodes[search.root]["visits"] == 0 and search.to_play == changed.to_play
    found = search.run(Limits(playouts=20))
    assert (found.visits, found.to_play) == (20, changed.to_play)
    assert_legal(search.tree, changed)


def test_moves_out_of_turn_are_followed_only_if_they_are_in_the_tree() -> None:
    position = Position(5)
    search = searched(position, 200)
    position.play(WHITE, search.root_moves()[0])
    search.set_position(position)
    assert search.tree.nodes[search.root]["visits"] == 0 and search.to_play == BLACK


def test_board_sizes_may_change() -> None:
    search = searched(Position(5), 20)
    for width, height in ((7, 3), (3, 7), (5, 5)):
        search.set_position(Position(width, height))
        report = ReportRequest(ownership=True)
        found = search.run(Limits(playouts=20), report)
        assert found.visits == 20 and found.ownership is not None
        assert found.ownership.shape == (height, width)


# Ends of games -----------------------------------------------------------------------------------


def both_pass(rules: Rules) -> tuple[Search, Position]:
    """Return a search of a finished board after one pass, with an evaluator that loves passes."""
    position = position_of(WHITE_WALL, rules, to_play=BLACK)
    position.play(BLACK, PASS)
    search = Search(FlatEvaluator(favourite=PASS))
    search.set_position(position)
    search.run(Limits(playouts=40))
    return search, position


def test_two_passes_are_counted_exactly() -> None:
    search, _ = both_pass(TROMP_TAYLOR)
    passed = child_of(search, PASS)
    tree = search.tree
    # White leads by half a point; after White's pass Black would be to move, and has lost.
    assert tree.nodes[passed]["state"] == TERMINAL and tree.nodes[passed]["to_play"] == BLACK
    assert tree.nodes[passed]["raw_value"] == -1.0 and tree.nodes[passed]["raw_lead"] == -0.5
    assert tree.nodes[passed]["visits"] > 1, (
        "known ends are backed up again without evaluating them"
    )
    assert tree.nodes[passed]["value_sum"] == -tree.nodes[passed]["visits"]
    assert moves_of(tree, passed) == []
    assert_sound(tree)


def test_where_dead_stones_may_stay_only_a_third_pass_is_final() -> None:
    search, _ = both_pass(CHINESE)
    tree = search.tree
    passed = child_of(search, PASS)
    assert tree.nodes[passed]["state"] == EXPANDED
    third = next(child for move, child, _ in children_of(tree, passed) if move == PASS)
    assert tree.nodes[third]["state"] == TERMINAL and tree.nodes[third]["to_play"] == WHITE
    assert tree.nodes[third]["raw_value"] == 1.0 and tree.nodes[third]["raw_lead"] == 0.5


def test_a_finished_game_is_searched_as_if_it_went_on() -> None:
    position = position_of(WHITE_WALL, TROMP_TAYLOR)
    position.play(BLACK, PASS)
    position.play(WHITE, PASS)
    search = searched(position, 30)
    assert (
        search.tree.nodes[search.root]["state"] == EXPANDED
        and search.tree.nodes[search.root]["visits"] == 30
    )
    assert_legal(search.tree, position)


def test_a_tie_and_a_game_without_result_are_worth_nothing() -> None:
    for rules, status in ((replace(TROMP_TAYLOR, komi=0.0), None), (CHINESE, NO_RESULT)):
        position = position_of(WHITE_WALL, rules)
        position.play(BLACK, PASS)
        position.play(WHITE, PASS)
        if status is not None:
            position.turn["status"] = status
        tree = small_tree(5, 5)
        node = int(add_node(tree, BLACK))
        paths = path_to(node)
        mark(tree, paths[0])
        back_up_end(tree, paths, 0, position.branch(1).white_lead(position.ply))
        assert tree.nodes[node]["state"] == TERMINAL and tree.nodes[node]["visits"] == 1
        assert tree.nodes[node]["value_sum"] == 0.0 and tree.nodes[node]["lead_sum"] == 0.0


# Bans --------------------------------------------------------------------------------------------


KO = """
    . X O . .
    X . X O .
    . X O . .
    . . . . .
    . . . . .
"""


@pytest.mark.parametrize("rules", ["tromp-taylor", "aga", "chinese", "japanese"])
@pytest.mark.parametrize("board", ["2x2", "ko"])
def test_moves_in_the_tree_are_legal_and_repeat_nothing(rules: str, board: str) -> None:
    # Searched broadly: on four points lines run into superko within a few moves of the tree.
    exact = replace(Rules.parse(rules), friendly_pass_ok=True)
    position = Position(2, 2, exact, encores=True)
    if board == "ko":
        position = position_of(KO, exact, to_play=WHITE, encores=True)
    search = Search(FlatEvaluator(), SearchParams(cpuct=5.0))
    search.set_position(position)
    search.run(Limits(playouts=800))
    assert_sound(search.tree)
    bans = assert_legal(search.tree, position)
    if board == "ko" or exact.ko != Ko.SIMPLE:
        assert bans > 10


@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE])
def test_a_ko_is_not_taken_back_at_once(rules: Rules) -> None:
    position = position_of(KO, rules, to_play=WHITE)
    position.play(WHITE, point("B4", position))  # takes C4
    search = searched(position, 100)
    assert point("C4", position) not in search.root_moves()
    assert point("C4", position) in position.copy().legal_moves(WHITE)


# Restrictions ------------------------------------------------------------------------------------


def moves_by_depth(search: Search, depth: int) -> set[int]:
    return {
        move
        for path, node in paths(search.tree)
        if len(path) == depth
        for move in moves_of(search.tree, node)
    }


def test_forbidden_moves_are_not_considered_at_the_root() -> None:
    position = Position(5)
    search = Search(FakeEvaluator())
    forbidden = [PASS, *position.points()[:20]]
    search.set_position(position, forbidden)
    search.run(Limits(playouts=300))
    assert sorted(search.root_moves()) == position.points()[20:]
    assert moves_by_depth(search, 1) == {PASS, *position.points()}
    assert_sound(search.tree)


def test_more_forbidden_moves_keep_the_tree_and_fewer_do_not() -> None:
    position = Position(5)
    search = Search(FakeEvaluator())
    search.set_position(position)
    search.run(Limits(playouts=100))
    best = search.run(Limits(playouts=0)).moves[0]
    search.set_position(position, [best.point])
    assert best.point not in search.root_moves()
    assert search.tree.nodes[search.root]["visits"] == 100 - best.visits
    assert search.run(Limits(playouts=10)).visits == 110 - best.visits
    search.set_position(position)
    assert search.tree.nodes[search.root]["visits"] == 0


def test_everything_forbidden_leaves_the_pass() -> None:
    position = Position(3)
    for playouts in (0, 30):
        search = Search(FakeEvaluator())
        search.set_position(position)
        if playouts:
            search.run(Limits(playouts=playouts))
        search.set_position(position, [PASS, *position.points()])
        found = search.run(Limits(playouts=20))
        assert search.root_moves() == [PASS]
        assert [move.point for move in found.moves] == [PASS]


def test_avoid_and_allow_hold_for_one_player_and_some_plies() -> None:
    position = Position(3)
    corner, center = point("A1", position), point("B2", position)
    avoid = (
        AvoidRule(BLACK, frozenset([corner]), depth=3),
        AvoidRule(WHITE, frozenset([center, PASS]), depth=2, allow=True),
    )
    search = Search(FakeEvaluator())
    search.set_position(position, avoid=avoid)
    search.run(Limits(playouts=2500))
    assert moves_by_depth(search, 0) == {PASS, *position.points()} - {corner}
    assert moves_by_depth(search, 1) <= {center, PASS}
    assert corner not in moves_by_depth(search, 2)  # Black's second move
    assert corner in moves_by_depth(search, 3)  # White is free again
    assert corner in moves_by_depth(search, 4)  # and so is Black
    assert_sound(search.tree)
    # Without the rules nothing of that tree is used.
    search.set_position(position)
    assert search.tree.nodes[search.root]["visits"] == 0
    search.run(Limits(playouts=5))
    assert corner in search.root_moves()


def test_drop_moves_by_hand() -> None:
    batch: EvalBatch = new_eval_batch(1, 5, 5, 0, 0, False)
    batch.moves[0, :4] = 20, 21, 22, PASS
    batch.priors[0, :4] = 0.5, 0.25, 0.125, 0.125
    batch.n_moves[0] = 4
    forbidden = np.zeros(MAX_POINTS, np.uint8)
    forbidden[[20, 22]] = 1
    drop_moves(batch, 0, forbidden)
    assert batch.n_moves[0] == 2 and batch.moves[0, :2].tolist() == [21, PASS]
    assert batch.priors[0, :2].tolist() == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    forbidden[:] = 1
    drop_moves(batch, 0, forbidden)
    assert batch.n_moves[0] == 1 and batch.moves[0, 0] == PASS and batch.priors[0, 0] == 1.0
    batch.moves[0, :2], batch.priors[0, :2] = (20, 21), (0.75, 0.25)
    for n_moves in (2, 0):
        batch.n_moves[0] = n_moves
        drop_moves(batch, 0, forbidden)
        assert batch.n_moves[0] == n_moves, "a game without a pass keeps its moves"
    assert batch.moves[0, :2].tolist() == [20, 21]
    assert batch.priors[0, :2].tolist() == [0.75, 0.25]


# Symmetry ----------------------------------------------------------------------------------------


def visit_map(position: Position, playouts: int = 300) -> np.ndarray:
    """Return the visits of the root's moves as [height, width]."""
    search = Search(MirrorEvaluator(position.width, position.height))
    search.set_position(position)
    search.run(Limits(playouts=playouts))
    visits = np.zeros((position.height, position.width), int)
    for move, _, count in children_of(search.tree, 0):
        if move != PASS:
            visits[row_col(move, position.width)] = count
    return visits


def mirrored(position: Position, symmetry: int) -> Position:
    grid = transform(position.grid(), symmetry)
    height, width = grid.shape
    stones = {
        color: [
            point_at(row, col, width)
            for row in range(height)
            for col in range(width)
            if grid[row, col] == color
        ]
        for color in (BLACK, WHITE)
    }
    other = Position(width, height, position.rules)
    other.set_up(stones[BLACK], stones[WHITE], position.to_play)
    return other


@pytest.mark.parametrize("symmetry", range(1, N_SYMMETRIES))
def test_a_mirrored_position_is_searched_alike(symmetry: int) -> None:
    position = position_of(
        """
        . . . . .
        . X . O .
        . . . . .
        . O . . .
        . . . X .
        """
    )
    position.play(BLACK, point("D3", position))
    position.play(WHITE, point("C4", position))
    plain = position_of("\n".join(" ".join(".XO"[c] for c in row) for row in position.grid()))
    expected = transform(visit_map(plain), symmetry)
    assert np.array_equal(visit_map(mirrored(plain, symmetry)), expected)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing_call", [1, 2, 20])
def test_an_error_surfaces_once_and_the_search_can_be_used_again(failing_call: int) -> None:
    evaluator = FailingEvaluator(lambda call: call == failing_call)
    search = Search(evaluator)
    search.set_position(Position(5))
    with pytest.raises(NetFileError, match="failed to run"):
        search.run(Limits(playouts=100))
    search.set_position(Position(5))
    assert search.run(Limits(playouts=100)).visits == 100
    assert_sound(search.tree)


def test_a_size_that_the_net_refuses_is_refused_again() -> None:
    class OnlyFive(FakeEvaluator):
        def new_batch(self, slots: int, width: int, height: int) -> EvalBatch:
            if (width, height) != (5, 5):
                raise NetFileError(f"the net does not play on {width}x{height}")
            return super().new_batch(slots, width, height)

    search = Search(OnlyFive())
    for size, fits in ((5, True), (7, False), (7, False), (5, True)):
        search.set_position(Position(size))
        if fits:
            assert search.run(Limits(playouts=5)).visits == 5
        else:
            with pytest.raises(NetFileError, match="7x7"):
                search.run(Limits(playouts=5))


def test_a_game_that_has_ended_shares_no_tree_with_the_encore() -> None:
    """Two passes lead a search into the encore, where a move onto a stone may be legal."""
    position = Position(5, rules=Rules.parse("japanese"))
    position.play(BLACK, PASS)
    search = Search(FakeEvaluator(), seed=1)
    search.set_position(position)
    passed = next(move for move in search.run(Limits(playouts=400)).moves if move.point == PASS)
    assert passed.visits > 1, "or there is no tree to share"
    position.play(WHITE, PASS)
    assert position.is_over
    search.set_position(position)
    assert search.tree.nodes[search.root]["visits"] == 0
    best = search.run(Limits(playouts=50)).moves[0].point
    position.play(BLACK, best, strict=False)
    search.set_position(position)
    assert search.tree.nodes[search.root]["visits"] > 0, "from there on the tree is kept as ever"


# Priors at the root ------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.01, 0.1, 0.5, 2.0, 10.0])
def test_a_temperature_sharpens_or_flattens_the_root(temperature: float) -> None:
    """No move has much of the policy, so that high powers of it are too small for a number."""
    weights = np.ones(82)
    weights[7], weights[8] = 3.0, 2.0
    priors = (weights / weights.sum()).astype(np.float32)
    params = SearchParams(root_policy_temperature=temperature)
    adjust_priors(priors, params, np.random.Generator(np.random.PCG64(0)))
    wanted = weights ** (1.0 / temperature)
    np.testing.assert_allclose(priors, wanted / wanted.sum(), rtol=1e-4, atol=1e-30)


def test_the_end_of_a_game_has_no_priors_to_adjust() -> None:
    params = SearchParams(root_policy_temperature=1.3, root_noise_weight=0.25)
    none = np.empty(0, np.float32)
    adjust_priors(none, params, np.random.Generator(np.random.PCG64(0)))
    assert len(none) == 0


@pytest.mark.parametrize("seed", [2**63, 2**80])
def test_seeds_of_more_than_63_bits(seed: int) -> None:
    search = Search(FakeEvaluator(), seed=seed)
    search.set_position(Position(5))
    assert search.run(Limits(playouts=8)).visits == 8


def test_nodes_get_moves_after_so_many_visits_and_ask_the_evaluator_until_then() -> None:
    search = Search(FakeEvaluator(), SearchParams(expansion_visits=5))
    search.set_position(Position(4))
    analysis = search.run(Limits(playouts=400))
    assert analysis.visits == 400
    nodes = search.tree.nodes[: search.tree.counts[N_NODES]]
    inner = [node for node in nodes[1:] if node["n_children"]]
    assert inner and all(node["visits"] >= 5 for node in inner)
    young = [node for node in nodes[1:] if node["visits"] < 5]
    assert {int(node["state"]) for node in young} <= {HELD, TERMINAL}
    assert any(node["state"] == HELD and node["visits"] > 1 for node in young)
    assert all(node["pending"] == 0 for node in nodes)
    ownership = search.ownership()
    assert ownership is not None and np.isfinite(ownership).all()


def test_priors_are_flattened_in_the_whole_tree() -> None:
    def priors(temperature: float) -> list[dict[int, float]]:
        search = Search(FakeEvaluator(), SearchParams(policy_temperature=temperature))
        search.set_position(Position(4))
        search.run(Limits(playouts=3))
        child = int(search.tree.children[search.tree.nodes[search.root]["first_child"]]["node"])
        return [dict(moves_by_prior(search.tree, node)) for node in (search.root, child)]

    for plain, flat in zip(priors(1.0), priors(2.0), strict=True):
        total = sum(prior**0.5 for prior in plain.values())
        assert flat == pytest.approx({m: p**0.5 / total for m, p in plain.items()}, rel=5e-3)


def test_want_of_memory_leaves_no_tree_of_another_size(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(FakeEvaluator())
    search.set_position(Position(5, 5))

    real = shared_tree.new_tree

    def refuse(capacity: int, *size: int) -> Tree:
        if capacity > 1:
            raise MemoryError
        return real(capacity, *size)

    with monkeypatch.context() as patch:
        patch.setattr(shared_tree, "new_tree", refuse)
        with pytest.raises(MemoryError):
            search.set_position(Position(9, 9))
    assert not search.shared.is_planted
    search.set_position(Position(9, 9))
    assert search.run(Limits(playouts=20)).width == 9


def test_a_tree_takes_less_where_there_is_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    real = shared_tree.new_tree
    asked: list[int] = []

    def refuse(capacity: int, *size: int) -> Tree:
        asked.append(capacity)
        if capacity > 5000:
            raise MemoryError
        return real(capacity, *size)

    monkeypatch.setattr(shared_tree, "new_tree", refuse)
    search = Search(FakeEvaluator(), memory_mb=1 << 40)
    search.set_position(Position(5))
    most = shared_tree.MOST_NODES
    assert max(asked) == most and 1250 < asked[-1] <= 5000
    # However much there is, `_enlarge_block` may begin a block at any of these.
    n_children = CHILDREN_PER_NODE * most + 2 * largest_block(MAX_AREA)
    assert max(most, n_children) <= np.iinfo(np.int32).max
    assert search.run(Limits(playouts=6000)).nodes <= asked[-1]


def test_the_time_of_a_search_has_the_roots_evaluation_in_it() -> None:
    class SlowEvaluator(FakeEvaluator):
        def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
            time.sleep(0.02)
            super().evaluate(batch, n, use_cache=use_cache)

    search = Search(SlowEvaluator())
    search.set_position(Position(5))
    began = time.perf_counter()
    search.run(Limits(visits=3))
    assert 3 * 0.02 <= search.seconds <= time.perf_counter() - began
