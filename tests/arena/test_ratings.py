"""Ratings of many players."""

import math

import pytest

from gtp_engine.arena.ratings import rate_players
from gtp_engine.arena.statistics import elo


def test_of_two_players_it_is_what_their_match_says() -> None:
    found = rate_players([("new", "old", 7_500, 10_000)], "old")
    expected = elo(7_500, 10_000)
    assert found["new"].estimate == pytest.approx(expected.estimate, abs=0.1)
    assert found["new"].low == pytest.approx(expected.low, abs=0.5)
    assert found["old"].to_json() == [0.0, 0.0, 0.0]


def test_ratings_add_up_along_a_ladder_and_grow_less_certain() -> None:
    found = rate_players([("b", "a", 75, 100), ("c", "b", 75, 100)], "a")
    assert found["c"].estimate == pytest.approx(2 * found["b"].estimate, abs=1.0)
    assert found["c"].high - found["c"].low > found["b"].high - found["b"].low


def test_who_won_all_games_or_met_nobody_has_a_rating_too() -> None:
    found = rate_players([("b", "a", 20, 20)], "a")
    assert 300 < found["b"].estimate < 1000
    assert all(math.isfinite(number) for number in found["b"].to_json() if number is not None)
    assert rate_players([], "alone")["alone"].estimate == 0.0


def test_all_matches_count_for_a_player() -> None:
    won = [("b", "a", 10, 20), ("b", "c", 18, 20)]
    found = rate_players(won, "a")
    assert found["b"].estimate == pytest.approx(0.0, abs=1.0)
    assert found["c"].estimate < -200
