"""Clocks: how time is counted, and that a plan never loses on time."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtp_engine.go.coords import BLACK, WHITE
from gtp_engine.play.clock import (
    Absolute,
    Canadian,
    Clock,
    ClockError,
    MoveTime,
    Outlook,
    PlayerTime,
    TimeSystem,
    Unlimited,
    gtp_time_system,
    outlook,
)

NO_LAG = Outlook(moves_left=20, most_moves_left=50, lag=0.0)


# Counting ----------------------------------------------------------------------------------------


def test_absolute_time_only_goes_down() -> None:
    system = Absolute(60.0)
    assert system.start() == PlayerTime(60.0)
    assert system.spend(PlayerTime(60.0), 12.5) == PlayerTime(47.5)
    assert system.spend(PlayerTime(5.0), 6.0) == PlayerTime(0.0)


def test_canadian_periods_begin_anew_after_their_stones() -> None:
    system = Canadian(main=10.0, period=30.0, stones=2)
    left = system.start()
    assert left == PlayerTime(10.0)
    left = system.spend(left, 4.0)
    assert left == PlayerTime(6.0)
    left = system.spend(left, 9.0)  # six seconds of main time, three of the first period
    assert left == PlayerTime(27.0, 1)
    left = system.spend(left, 27.0)  # the last stone at the last moment
    assert left == PlayerTime(30.0, 2)
    assert system.spend(left, 30.5) == PlayerTime(0.0, 2), "lost"


def test_canadian_without_main_time_begins_in_a_period() -> None:
    assert Canadian(0.0, 30.0, 5).start() == PlayerTime(30.0, 5)


def test_unlimited_time_stays() -> None:
    system = Unlimited()
    assert system.spend(system.start(), 1e9).seconds == math.inf
    assert system.plan(system.start(), NO_LAG) == MoveTime(math.inf, math.inf)


@pytest.mark.parametrize(
    "main, period, stones, system",
    [
        (600, 0, 0, Absolute(600)),
        (0, 30, 5, Canadian(0, 30, 5)),
        (60.5, 30, 5, Canadian(60.5, 30, 5)),
        (0, 1, 0, Unlimited()),  # GTP's way to say that there is no clock
        (600, 30, 0, Unlimited()),
        (600, 0, 5, Absolute(600)),
        (0, 0, 0, Absolute(0)),
    ],
)
def test_gtp_time_settings(main: float, period: float, stones: int, system: TimeSystem) -> None:
    assert gtp_time_system(main, period, stones) == system


@pytest.mark.parametrize(
    "main, period, stones",
    [
        (-1, 0, 0),
        (0, -1, 0),
        (0, 0, -1),
        (math.nan, 0, 0),
        (0, math.nan, 1),
        (1e9, 0, 0),
        (math.inf, 0, 0),
        (0, math.inf, 1),
        (-0.001, 30, 5),
    ],
)
def test_time_settings_without_sense(main: float, period: float, stones: int) -> None:
    with pytest.raises(ClockError):
        gtp_time_system(main, period, stones)


def test_a_clock_for_both_players() -> None:
    clock = Clock()
    assert not clock.is_limited and clock.plan(BLACK, NO_LAG).hard == math.inf
    clock.set_system(gtp_time_system(10, 30, 5))
    assert clock.is_limited
    clock.spend(BLACK, 3.0)
    assert clock.left(BLACK) == PlayerTime(7.0) and clock.left(WHITE) == PlayerTime(10.0)
    clock.set_left(WHITE, 12.0, 3)
    assert clock.left(WHITE) == PlayerTime(12.0, 3)
    clock.set_left(WHITE, -2.0, 3)  # a referee may be that late
    assert clock.left(WHITE) == PlayerTime(0.0, 3)
    clock.reset()
    assert clock.left(BLACK) == clock.left(WHITE) == PlayerTime(10.0)


@pytest.mark.parametrize(
    "seconds, stones", [(math.nan, 0), (math.inf, 0), (1e9, 0), (-1e9, 0), (5.0, -1)]
)
def test_a_clock_is_not_set_from_garbage(seconds: float, stones: int) -> None:
    clock = Clock()
    clock.set_system(Absolute(60.0))
    with pytest.raises(ClockError):
        clock.set_left(BLACK, seconds, stones)
    assert clock.left(BLACK) == PlayerTime(60.0)


# Planning ----------------------------------------------------------------------------------------


def test_absolute_plan_by_hand() -> None:
    # 100 s; 50 moves of 0.05 s are kept back, 97.5 s shared among three quarters of 20 moves.
    plan = Absolute(100.0).plan(PlayerTime(100.0), NO_LAG)
    assert plan.soft == pytest.approx(0.05 + 97.5 / 15)
    assert plan.hard == pytest.approx(0.05 + 0.25 * 97.5)


def test_canadian_plan_by_hand() -> None:
    # 30 s for five stones: nine tenths of 6 s; at most three shares, if half a share is left
    # for each of the others: 30 - 4 x 3 = 18.
    plan = Canadian(0.0, 30.0, 5).plan(PlayerTime(30.0, 5), NO_LAG)
    assert plan.soft == pytest.approx(5.4) and plan.hard == pytest.approx(18.0)
    last = Canadian(0.0, 30.0, 5).plan(PlayerTime(8.0, 1), NO_LAG)
    assert last.soft == pytest.approx(7.2) and last.hard == pytest.approx(8.0)


def test_main_time_before_a_period_is_used_at_least_as_freely_as_the_period() -> None:
    system = Canadian(600.0, 30.0, 5)
    for seconds in (600.0, 60.0, 1.0):
        plan = system.plan(PlayerTime(seconds), NO_LAG)
        assert plan.soft >= 5.4 and plan.hard >= 18.0
        assert plan.soft >= Absolute(600.0).plan(PlayerTime(seconds), NO_LAG).soft


def test_expectations() -> None:
    assert outlook(361, 0) == Outlook(moves_left=127, most_moves_left=239)
    assert outlook(361, 300).moves_left == 19 and outlook(81, 300).moves_left == 5
    for area in (4, 81, 361, 625):
        for ply in range(0, 800, 50):
            found = outlook(area, ply)
            assert 4 <= found.moves_left <= found.most_moves_left


SYSTEMS = st.one_of(
    st.builds(Absolute, st.floats(0, 1e4)),
    st.builds(Canadian, st.floats(0, 1e4), st.floats(0.01, 1e3), st.integers(1, 100)),
)
LEFT = st.builds(PlayerTime, st.floats(0, 1e4), st.integers(0, 100))


@given(SYSTEMS, LEFT, st.integers(4, 650), st.integers(0, 1000))
def test_plans_are_positive_and_consistent(
    system: TimeSystem, left: PlayerTime, area: int, ply: int
) -> None:
    plan = system.plan(left, outlook(area, ply))
    assert 0.01 <= plan.soft <= plan.hard < math.inf


def lasts(system: TimeSystem, area: int, plies: int, share: float) -> bool:
    """Whether a player survives who takes soft + share (hard - soft) a move, and loses the lag."""
    left = system.start()
    for ply in range(0, plies, 2):
        expected = outlook(area, ply)
        plan = system.plan(left, expected)
        left = system.spend(left, plan.soft + share * (plan.hard - plan.soft) + expected.lag)
        in_main = left.stones == 0 and isinstance(system, Canadian)
        if left.seconds <= 0.0 and not in_main:
            return False
    return True


@given(st.floats(62.0, 1e4), st.floats(0, 1))
def test_absolute_time_is_never_lost_in_400_moves(main: float, share: float) -> None:
    assert lasts(Absolute(main), 361, 400, share)


@given(st.floats(24.0, 1e4), st.floats(0, 1))
def test_absolute_time_is_never_lost_in_160_moves_on_a_small_board(
    main: float, share: float
) -> None:
    assert lasts(Absolute(main), 81, 160, share)


@given(
    st.sampled_from([0.0, 1.0, 60.0, 600.0]),
    st.integers(1, 50),
    st.floats(0.5, 60.0),
    st.floats(0, 1),
)
def test_canadian_time_is_never_lost_in_400_moves(
    main: float, stones: int, seconds_each: float, share: float
) -> None:
    assert lasts(Canadian(main, stones * seconds_each, stones), 361, 400, share)
