"""What the net says of the root: under several symmetries, and anew where a tree is kept."""

from dataclasses import replace

import numpy as np
import pytest
from tests.search.trees import assert_sound

from gtp_engine.coords import BLACK, PASS
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.history import History
from gtp_engine.go.position import Position
from gtp_engine.go.rules import RuleFlags
from gtp_engine.search.params import SearchParams
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits
from gtp_engine.search.tree import children_of, moves_by_prior


class Lopsided(FakeEvaluator):
    """Gives the pass a prior, and the position a value, that tell symmetry and optimism."""

    has_optimism = True

    def __init__(self) -> None:
        self.shown: list[list[int]] = []
        """By run, the symmetries."""
        self.plies: list[int] = []
        """Of every position shown."""
        self.cached: list[bool] = []
        """By run, whether the cache might have answered."""

    def encode(
        self,
        batch: EvalBatch,
        slot: int,
        history: History,
        ply: int,
        rules: RuleFlags,
        symmetry: int,
        optimism: float,
    ) -> None:
        super().encode(batch, slot, history, ply, rules, symmetry, optimism)
        self.plies.append(ply)
        batch.slots["symmetry"][slot] = symmetry
        batch.slots["optimism"][slot] = optimism

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        self.shown.append(batch.slots["symmetry"][:n].tolist())
        self.cached.append(use_cache)
        for slot in range(n):
            count = int(batch.n_moves[slot])
            symmetry = int(batch.slots["symmetry"][slot])
            share = (1 + symmetry) / 16 * float(batch.slots["optimism"][slot])
            batch.priors[slot, : count - 1] = (1 - share) / (count - 1)
            batch.priors[slot, count - 1] = share
            batch.value[slot] = symmetry / 8
            batch.lead[slot] = symmetry
            batch.stdev[slot] = 8 - symmetry
            batch.no_result[slot] = 0
            batch.ownership[slot] = symmetry / 8


def root_priors(search: Search) -> dict[int, float]:
    return dict(moves_by_prior(search.tree, search.root))


@pytest.mark.parametrize(
    "size, asked, shown",
    [((5, 5), 1, 1), ((5, 5), 3, 3), ((5, 5), 8, 8), ((5, 4), 8, 4)],
)
@pytest.mark.parametrize("batch", [1, 16])
def test_the_root_is_judged_by_the_mean_over_symmetries(
    size: tuple[int, int], asked: int, shown: int, batch: int
) -> None:
    net = Lopsided()
    params = SearchParams(root_symmetries=asked, root_policy_optimism=1.0, random_symmetry=False)
    search = Search(net, params, batch=batch)
    search.set_position(Position(*size))
    found = search.run(Limits(playouts=1))
    assert net.shown == [list(range(shown))]
    assert net.cached == [shown == 1], "a cache has one answer for all symmetries"
    mean = (shown - 1) / 2
    assert root_priors(search)[PASS] == pytest.approx((1 + mean) / 16, rel=1e-2)
    assert found.raw_winrate == pytest.approx((1 + mean / 8) / 2)
    assert found.raw_score_lead == pytest.approx(mean)
    assert found.visits == found.playouts == 1
    ownership = search.ownership()
    assert ownership is not None and ownership == pytest.approx(
        np.full_like(ownership, mean / 8), abs=0.01
    )


def test_a_tree_that_is_kept_gets_the_priors_of_a_root() -> None:
    game = Position(5)
    plain = SearchParams(root_policy_temperature=2.0)
    search = Search(FakeEvaluator(), plain)
    search.set_position(game)
    search.run(Limits(playouts=300))
    favourite = search.favourites()[0]
    game.play(BLACK, favourite)
    search.set_position(game)
    kept = search.run(Limits(playouts=10))
    assert kept.visits > 50, "the tree has been kept"
    tried = children_of(search.tree, search.root)["move"].tolist()
    anew = Search(FakeEvaluator(), plain)
    anew.set_position(game)
    anew.run(Limits(playouts=1))
    assert root_priors(search) == pytest.approx(root_priors(anew), rel=1e-2)
    assert len(tried) > 1 and set(tried) <= set(root_priors(search))
    assert sum(root_priors(search).values()) == pytest.approx(1.0, abs=0.01)
    assert_sound(search.tree)


def test_what_must_not_be_played_stays_out_of_a_tree_that_is_kept() -> None:
    game = Position(5)
    search = Search(FakeEvaluator(), SearchParams(root_symmetries=8))
    search.set_position(game)
    search.run(Limits(playouts=200))
    game.play(BLACK, search.favourites()[0])
    search.set_position(game)
    search.run(Limits(playouts=20))
    forbidden = search.favourites()[:2]
    search.set_position(game, forbidden)
    search.run(Limits(playouts=20))
    assert not set(forbidden) & set(root_priors(search))
    assert sum(root_priors(search).values()) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    "params, again",
    [
        (SearchParams(), True),
        (SearchParams(root_policy_optimism=1.0), False),
        (SearchParams(root_policy_optimism=1.0, root_policy_temperature=1.1), True),
        (SearchParams(root_policy_optimism=1.0, root_symmetries=2), True),
    ],
)
def test_only_a_root_that_differs_is_judged_again(params: SearchParams, again: bool) -> None:
    net = Lopsided()
    game = Position(5)
    search = Search(net, replace(params, random_symmetry=False))
    search.set_position(game)
    search.run(Limits(playouts=40))
    game.play(BLACK, next(m for m in search.favourites() if m != PASS))
    search.set_position(game)
    assert search.run(Limits(playouts=0)).visits > 1, "the tree has been kept"
    net.plies.clear()
    search.run(Limits(playouts=0))
    assert not net.plies, "nothing is judged where no playout may begin"
    search.run(Limits(playouts=1))
    assert net.plies.count(game.ply) == (params.root_symmetries if again else 0)


def test_the_number_of_symmetries_is_a_whole_number() -> None:
    assert SearchParams().with_option("root_symmetries", "8").root_symmetries == 8
    for text in ("1.5", "0", "9", "many"):
        with pytest.raises(ValueError, match="root_symmetries"):
            SearchParams().with_option("root_symmetries", text)
