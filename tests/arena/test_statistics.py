"""Intervals and tests against numbers worked out by hand."""

import math

import pytest

from gtp_engine.arena.statistics import (
    Sprt,
    describe_strength,
    elo,
    elo_of_share,
    share_of_elo,
    t_95,
    wilson,
)


def test_wilson_by_hand() -> None:
    # 15 of 20, z^2 = 3.841459: scale 1 + z^2 / 20 = 1.192073, center (0.75 + z^2 / 40) / 1.192073,
    # spread 1.959964 / 1.192073 sqrt(0.009375 + z^2 / 1600)
    interval = wilson(15, 20)
    assert interval.estimate == 0.75
    assert interval.low == pytest.approx(0.709719 - 0.178419, abs=1e-5)
    assert interval.high == pytest.approx(0.709719 + 0.178419, abs=1e-5)


def test_wilson_at_the_ends() -> None:
    assert wilson(0, 0).low == 0.0 and wilson(0, 0).high == 1.0
    # No win in n games: from 0 to z^2 / (n + z^2).
    assert wilson(0, 10).low == 0.0
    assert wilson(0, 10).high == pytest.approx(3.841459 / 13.841459, abs=1e-6)
    assert wilson(10, 10).high == 1.0
    assert wilson(10, 10).low == pytest.approx(10 / 13.841459, abs=1e-6)


def test_elo() -> None:
    assert elo_of_share(0.5) == 0.0
    assert elo_of_share(10 / 11) == pytest.approx(400.0)
    assert elo_of_share(0.75) == pytest.approx(190.848, abs=1e-3)
    assert share_of_elo(-400) == pytest.approx(1 / 11)
    for points in (-300.0, 0.0, 12.5):
        assert elo_of_share(share_of_elo(points)) == pytest.approx(points)
    assert elo(20, 20).high == math.inf and elo(20, 20).low > 100
    assert elo(0, 20).low == -math.inf
    assert elo(12.5, 25).estimate == 0.0


def test_student() -> None:
    assert [t_95(n) for n in (2, 5, 10)] == pytest.approx([4.303, 2.571, 2.228], rel=0.04)


def test_sprt_by_hand() -> None:
    # A share of 2/3 against one of 1/2: a win adds ln(4/3), a loss adds ln(2/3).
    test = Sprt(0.0, elo_of_share(2 / 3))
    assert test.log_likelihood_ratio(3, 4) == pytest.approx(3 * math.log(4 / 3) + math.log(2 / 3))
    assert test.upper == pytest.approx(math.log(19))
    assert test.lower == pytest.approx(-math.log(19))
    # ln 19 / ln(4/3) = 10.24 wins, ln 19 / ln(3/2) = 7.26 losses.
    assert [test.verdict(10, 10), test.verdict(11, 11)] == [None, "elo1"]
    assert [test.verdict(0, 7), test.verdict(0, 8)] == [None, "elo0"]
    assert test.verdict(0, 0) is None


def test_strength_in_words() -> None:
    assert describe_strength(15, 20) == (
        "share 75.0% (95 %: 53.1% to 88.8%), Elo +191 (95 %: +22 to +360)"
    )
    assert describe_strength(2, 2).endswith("Elo +inf (95 %: -113 to +inf)")
    assert "Elo +0 (" in describe_strength(499.5, 1000)  # never -0
