"""Many searches in one tree: each does what a search by itself does."""

from typing import Any

import numpy as np
import pytest
from tests.search.scripted import RememberingEvaluator

from gtp_engine.coords import PASS, point_to_action
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.uniform import UniformEvaluator
from gtp_engine.go.atari_go import AtariGo
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.search.forest import Forest, RootPlan
from gtp_engine.search.learning import count_policy, forced_playouts
from gtp_engine.search.params import SearchParams
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits
from gtp_engine.search.tree import FREE, N_NODES, TERMINAL, children_of

SIZE = 5
RULES = Rules(friendly_pass_ok=False, komi=0.5)


class Recorder(FakeEvaluator):
    """Notes the size of each batch, and fails when it is told to."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.fails = False

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        if self.fails:
            raise NetFileError("the net's outputs are not numbers")
        self.batches.append(n)
        super().evaluate(batch, n, use_cache=use_cache)


def new_forest(seats: int, evaluator: FakeEvaluator | None = None, **params: Any) -> Forest:
    return Forest(evaluator or FakeEvaluator(), SIZE, SIZE, seats, SearchParams(**params), seed=3)


def started(moves: int, seed: int) -> Position:
    generator = np.random.default_rng(seed)
    position = Position(SIZE, rules=RULES)
    for _ in range(moves):
        position.play(position.to_play, int(generator.choice(position.legal_moves()[:-1])))
    return position


def finish(forest: Forest, seats: range) -> None:
    while not all(forest.is_over(seat) for seat in seats):
        forest.step()


def check_nodes(forest: Forest, seats: range) -> None:
    """Every node in use hangs below a root, once."""
    tree = forest._tree
    stack = [int(forest._seats[seat]["root"]) for seat in seats]
    seen = set(stack)
    assert len(seen) == len(stack)
    while stack:
        for child in children_of(tree, stack.pop())["node"].tolist():
            assert child not in seen
            seen.add(child)
            stack.append(child)
    assert len(seen) == tree.counts[N_NODES]
    assert all(tree.nodes[node]["state"] != FREE for node in seen)


def test_each_search_visits_what_it_would_alone() -> None:
    positions = [started(moves, moves) for moves in (0, 3, 8, 15)]
    forest = new_forest(len(positions))
    for seat, position in enumerate(positions):
        forest.sit(seat, position.branch(200))
        forest.begin(seat, RootPlan(60 + 10 * seat))
    finish(forest, range(4))
    for seat, position in enumerate(positions):
        search = Search(FakeEvaluator(), SearchParams())
        search.set_position(position)
        found = search.run(Limits(visits=60 + 10 * seat))
        counts = np.zeros(SIZE * SIZE + 1, np.int64)
        for move in found.moves:
            counts[point_to_action(move.point, SIZE, SIZE)] = move.visits
        result = forest.result(seat)
        assert result.counts.tolist() == counts.tolist()
        assert result.value == pytest.approx(2.0 * found.winrate - 1.0)
        for move in found.moves:
            utility = result.utilities[point_to_action(move.point, SIZE, SIZE)]
            assert utility == pytest.approx(move.utility)


def test_roots_are_evaluated_together() -> None:
    evaluator = Recorder()
    forest = new_forest(6, evaluator)
    for seat in range(6):
        forest.sit(seat, started(seat, seat).branch(200))
        forest.begin(seat, RootPlan(8))
    finish(forest, range(6))
    assert evaluator.batches[0] == 6
    assert len(evaluator.batches) <= 8  # later ones are smaller where games have ended
    assert sum(evaluator.batches) == forest.evaluations > 24


@pytest.mark.parametrize("gumbel", [0, 4])
def test_seats_whose_leaves_are_known_take_others(gumbel: int) -> None:
    """Roots too; the last searches, of which everything is known, need no batch."""
    evaluator = RememberingEvaluator()
    results = []
    for use_cache in (False, True, True):
        evaluator.batches.clear()
        forest = new_forest(6, evaluator, use_cache=use_cache)
        for seat in range(6):
            forest.sit(seat, started(8, seat // 2).branch(200))  # each twice
            forest.begin(seat, RootPlan(40, gumbel=gumbel))
        finish(forest, range(6))
        check_nodes(forest, range(6))
        found = [forest.result(seat) for seat in range(6)]
        results.append([(one.counts.tolist(), one.value) for one in found])
        assert forest.evaluations == sum(evaluator.batches)
    if not gumbel:  # otherwise candidates are drawn, in the order in which roots become known
        assert results[0] == results[1] == results[2]
    assert sum(evaluator.batches) < (1 if not gumbel else 100)


def test_every_search_that_is_not_over_has_a_leaf_in_the_batch() -> None:
    evaluator = RememberingEvaluator()
    forest = new_forest(8, evaluator)
    for seat in range(8):
        forest.sit(seat, started(18, seat).branch(200))
        forest.begin(seat, RootPlan(10_000))
    for _ in range(60):
        forest.step()
    assert evaluator.recalled + (forest._tree.nodes["state"] == TERMINAL).sum() > 40
    assert not any(forest.is_over(seat) for seat in range(8))
    assert sum(n == 8 for n in evaluator.batches) >= 58


def test_what_is_known_of_a_move_is_kept_and_the_rest_freed() -> None:
    forest = new_forest(3)
    for seat in range(3):
        forest.sit(seat, started(4, seat).branch(400))
    generator = np.random.default_rng(1)
    for turn in range(12):
        for seat in range(3):
            forest.begin(seat, RootPlan(40, noise=True))
        finish(forest, range(3))
        check_nodes(forest, range(3))
        for seat in range(3):
            result = forest.result(seat)
            action = int(generator.choice(np.flatnonzero(result.counts)))
            keep = (turn + seat) % 3 != 0
            if forest.move(seat, action, keep=keep) is not None:
                forest.sit(seat, started(2, turn).branch(400))
                continue
            root = forest._tree.nodes[forest._seats[seat]["root"]]
            assert root["visits"] == (result.counts[action] if keep else 0)
        check_nodes(forest, range(3))


def test_a_forest_grows_where_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.search.forest.FIRST_NODES", 8)
    forest = new_forest(20)
    for seat in range(20):
        forest.sit(seat, started(2, 1).branch(200))
        forest.begin(seat, RootPlan(30))
    finish(forest, range(20))
    counts = [forest.result(seat).counts.tolist() for seat in range(20)]
    assert all(one == counts[0] for one in counts)
    assert sum(counts[0]) == 29


def test_noise_changes_the_priors_followed_and_not_the_net_s() -> None:
    forest = new_forest(2, root_noise_weight=0.5)
    for seat in range(2):
        forest.sit(seat, started(3, 1).branch(200))
        forest.begin(seat, RootPlan(10, noise=seat == 1))
    finish(forest, range(2))
    plain, noisy = forest.result(0), forest.result(1)
    np.testing.assert_allclose(plain.priors, noisy.priors, atol=1e-3)
    np.testing.assert_allclose(plain.priors, plain.followed, atol=1e-3)
    assert np.abs(noisy.followed - noisy.priors).max() > 0.01
    assert noisy.followed.sum() == pytest.approx(1.0, abs=1e-2)
    # Noise does not stay behind: the priors below are the net's own.
    forest.move(1, int(noisy.counts.argmax()), keep=True)
    forest.begin(1, RootPlan(10))
    np.testing.assert_allclose(forest.result(1).priors, forest.result(1).followed, atol=1e-3)


def test_tried_moves_get_the_playouts_they_are_owed() -> None:
    forest = new_forest(2)
    for seat in range(2):
        forest.sit(seat, started(3, 1).branch(300))
        forest.begin(seat, RootPlan(120, forced=4.0 * seat))
    finish(forest, range(2))
    plain, forced = forest.result(0), forest.result(1)
    owed = forced_playouts(forced.followed, float(forced.counts.sum()), 4.0)
    tried = forced.counts > 0
    assert (forced.counts[tried] >= np.floor(owed[tried]) - 1).all()
    assert not (plain.counts[plain.counts > 0] >= np.floor(owed[plain.counts > 0]) - 1).all()


@pytest.mark.parametrize(("visits", "counts"), [(9, [1, 1, 3, 3]), (16, [1, 1, 6, 7])])
def test_a_gumbel_root_halves_its_candidates(visits: int, counts: list[int]) -> None:
    forest = new_forest(1)
    forest.sit(0, started(3, 1).branch(200))
    forest.begin(0, RootPlan(visits, gumbel=4))
    finish(forest, range(1))
    result = forest.result(0)
    assert sorted(result.counts[result.counts > 0].tolist()) == counts
    # The candidates are those with the highest logit and noise; the worse half is dropped.
    best = np.argsort(-result.candidates)[:4]
    assert set(best.tolist()) == set(np.flatnonzero(result.counts).tolist())


def test_gumbel_roots_of_one_forest_may_have_other_plans() -> None:
    found = []
    for other in (RootPlan(33, gumbel=8), RootPlan(9, gumbel=4)):
        forest = new_forest(2)
        for seat, plan in enumerate((RootPlan(33, gumbel=8), other)):
            forest.sit(seat, started(3, 1).branch(200))
            forest.begin(seat, plan)
        finish(forest, range(2))
        found.append(forest.result(0).counts.tolist())
    assert found[0] == found[1]


def test_more_candidates_than_moves_do_no_harm() -> None:
    position = AtariGo(2)
    forest = Forest(UniformEvaluator(), 2, 2, 1, SearchParams())
    forest.sit(0, position.branch(100))
    forest.begin(0, RootPlan(40, gumbel=16))
    finish(forest, range(1))
    assert forest.result(0).counts.sum() == 39


def test_games_are_played_to_their_ends() -> None:
    forest = Forest(UniformEvaluator(), 2, 2, 1, SearchParams())
    forest.sit(0, Position(2, rules=RULES).branch(100))
    leads = [forest.move(0, 4, keep=False), forest.move(0, 4, keep=False)]
    assert leads == [None, 0.5]
    game = AtariGo(2)
    forest.sit(0, game.branch(100))
    for _ in range(40):
        forest.begin(0, RootPlan(4))
        finish(forest, range(1))
        result = forest.result(0)
        assert (result.priors > 0).sum() == len(game.legal_moves())
        action = int(count_policy(result.counts, result.priors).argmax())
        game.play(game.to_play, forest_point(action))
        lead = forest.move(0, action, keep=True)
        assert (lead is not None) == game.is_over
        if lead is not None:
            assert lead == game.white_margin()
            return
    raise AssertionError("nobody captured")


def forest_point(action: int) -> int:
    return PASS if action == 4 else (action // 2 + 1) * 3 + action % 2 + 1


def test_who_knows_nothing_tries_moves_in_no_order() -> None:
    forest = Forest(UniformEvaluator(7), 9, 9, 40, SearchParams(root_fpu_reduction=0.0))
    for seat in range(40):
        forest.sit(seat, Position(9, rules=RULES).branch(40))
        forest.begin(seat, RootPlan(9))
    finish(forest, range(40))
    tried = sum((forest.result(seat).counts > 0).astype(int) for seat in range(40))
    assert tried.sum() == 40 * 8
    assert (tried > 0).sum() > 70  # of 82; those at the top are no likelier
    assert tried[:41].sum() == pytest.approx(160, abs=35)


def test_a_net_that_fails_loses_no_game() -> None:
    evaluator = Recorder()
    forest = new_forest(2, evaluator)
    for seat in range(2):
        forest.sit(seat, started(3, seat).branch(200))
        forest.begin(seat, RootPlan(20))
    forest.step()
    evaluator.fails = True
    with pytest.raises(NetFileError):
        forest.step()
    evaluator.fails = False
    forest.reset()
    finish(forest, range(2))
    check_nodes(forest, range(2))
    alone = new_forest(1)
    alone.sit(0, started(3, 0).branch(200))
    alone.begin(0, RootPlan(20))
    finish(alone, range(1))
    assert forest.result(0).counts.tolist() == alone.result(0).counts.tolist()
