"""Levels: which moves they may play, and that each next one is told to play better."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from tests.play.test_decision import analysis

from gtp_engine.coords import PASS
from gtp_engine.play.levels import Level, find_level, highest_level, load_levels, policy_level
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.params import SearchParams
from gtp_engine.search.stopping import Limits

LEVEL = Level(playouts=24, temperature=2.0, largest_loss=4.0)


def found(*moves: tuple[float, float]) -> Analysis:
    """Return an analysis whose moves, points 20, 21 ..., have these leads and priors."""
    bare = analysis(*[(10, 0.5) for _ in moves])
    reports = [
        replace(move, score_lead=lead, prior=prior)
        for move, (lead, prior) in zip(bare.moves, moves, strict=True)
    ]
    return replace(bare, moves=tuple(reports))


def test_a_move_is_drawn_from_the_priors_of_those_that_lose_little() -> None:
    seen = found((5.0, 0.3), (1.5, 0.1), (0.9, 0.9), (7.0, 0.0))
    generator = random.Random(1)
    drawn = Counter(LEVEL.order(seen, generator)[0] for _ in range(4000))
    # The third loses 4.1 points and nobody plays the fourth; the others stand 3 to 1.
    assert set(drawn) == {20, 21}
    assert drawn[20] / 4000 == pytest.approx(0.75, abs=0.03)


def test_without_search_all_moves_but_the_pass_are_drawn_from() -> None:
    level = policy_level(0.5)
    assert not level.searches and level.limits(Limits(playouts=400)).playouts == 1
    assert level.params(SearchParams()).root_policy_temperature == 0.5
    seen = found((5.0, 0.5), (-90.0, 0.3), (5.0, 0.2))
    passing = replace(seen, moves=(*seen.moves[:2], replace(seen.moves[2], point=PASS)))
    drawn = {level.order(passing, random.Random(seed))[0] for seed in range(60)}
    assert drawn == {20, 21}
    best = replace(seen, moves=(replace(seen.moves[0], point=PASS), *seen.moves[1:]))
    assert PASS in {level.order(best, random.Random(seed))[0] for seed in range(60)}


def test_the_other_moves_keep_their_order() -> None:
    seen = found((5.0, 0.0), (5.0, 0.0), (5.0, 1.0))
    assert LEVEL.order(seen, random.Random(1)) == [22, 20, 21]
    assert LEVEL.order(found(), random.Random(1)) == []


def test_a_level_searches_no_longer_than_it_is_allowed() -> None:
    assert LEVEL.limits(Limits(seconds=5.0)) == Limits(playouts=24, seconds=5.0)
    assert LEVEL.limits(Limits(playouts=400)).playouts == 24
    assert LEVEL.limits(Limits(playouts=10)).playouts == 10
    assert LEVEL.params(SearchParams(cpuct=2.0)) == SearchParams(
        cpuct=2.0, root_policy_temperature=2.0
    )


def test_each_level_is_allowed_less_than_the_one_below() -> None:
    for weaker, stronger in itertools.pairwise(load_levels()):
        assert weaker.largest_loss > stronger.largest_loss > 0
        assert weaker.temperature >= stronger.temperature >= 1.0
        assert weaker.playouts <= stronger.playouts


def test_the_highest_level_restricts_nothing_and_there_is_none_beyond() -> None:
    assert find_level(highest_level()) is None
    assert find_level(1) == load_levels()[0]
    for number in (0, -1, highest_level() + 1):
        with pytest.raises(ValueError, match="from 1 to"):
            find_level(number)
