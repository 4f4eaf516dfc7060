"""Clocks: how every system counts time, and how clients spell the settings."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.play.clock.clock import Clock
from gtp_engine.play.clock.notation import (
    gtp_time_system,
    named_time_system,
    settings_command,
    time_left_numbers,
)
from gtp_engine.play.clock.planner import outlook
from gtp_engine.play.clock.systems import (
    Absolute,
    Budget,
    Byoyomi,
    Canadian,
    ClockError,
    Fischer,
    PlayerTime,
    Simple,
    TimeSystem,
    Unlimited,
)

# Counting ----------------------------------------------------------------------------------------


def test_absolute_time_only_goes_down() -> None:
    system = Absolute(60.0)
    assert system.start() == PlayerTime(60.0)
    assert system.spend(PlayerTime(60.0), 12.5) == PlayerTime(47.5)
    assert system.spend(PlayerTime(5.0), 6.0) == PlayerTime(0.0)
    assert system.budget(PlayerTime(47.5)) == Budget(bank=47.5, flag=47.5)


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
    assert Canadian(0.0, 30.0, 5).start() == PlayerTime(30.0, 5)


def test_canadian_budgets() -> None:
    system = Canadian(main=10.0, period=30.0, stones=3)
    # One more move in the main time, and each of overtime's has a third of a period.
    assert system.budget(PlayerTime(4.0)) == Budget(bank=4.0, flag=34.0, overtime=10.0)
    assert system.budget(PlayerTime(25.0, 2)) == Budget(bank=25.0, flag=25.0, moves=2)


def test_byoyomi_periods_are_lost_only_when_overstepped() -> None:
    system = Byoyomi(main=10.0, period=30.0, periods=3)
    assert system.start() == PlayerTime(10.0)
    assert system.spend(PlayerTime(10.0), 9.0) == PlayerTime(1.0)
    assert system.spend(PlayerTime(10.0), 40.0) == PlayerTime(30.0, 3), "to the last second"
    assert system.spend(PlayerTime(10.0), 41.0) == PlayerTime(30.0, 2), "one period overstepped"
    assert system.spend(PlayerTime(30.0, 3), 29.0) == PlayerTime(30.0, 3)
    assert system.spend(PlayerTime(30.0, 3), 89.0) == PlayerTime(30.0, 1), "two overstepped"
    assert system.spend(PlayerTime(30.0, 3), 91.0) == PlayerTime(0.0, 1), "lost"
    assert system.spend(PlayerTime(12.0, 2), 13.0) == PlayerTime(30.0, 1), "a period begun before"
    assert Byoyomi(0.0, 30.0, 3).start() == PlayerTime(30.0, 3)


def test_byoyomi_budgets() -> None:
    system = Byoyomi(main=10.0, period=30.0, periods=3)
    assert system.budget(PlayerTime(10.0)) == Budget(bank=10.0, flag=100.0, overtime=30.0)
    three = system.budget(PlayerTime(30.0, 3))
    assert three == Budget(bank=30.0, flag=90.0, moves=1, spare=30.0)
    two = system.budget(PlayerTime(25.0, 2))
    assert two == Budget(bank=25.0, flag=55.0, moves=1), "the last but one is kept"


def test_fischer_increments_come_after_the_move() -> None:
    system = Fischer(main=60.0, increment=10.0)
    assert system.start() == PlayerTime(60.0)
    assert system.spend(PlayerTime(60.0), 25.0) == PlayerTime(45.0)
    assert system.spend(PlayerTime(5.0), 5.5) == PlayerTime(0.0), "too late for the increment"
    assert system.budget(PlayerTime(45.0)) == Budget(bank=45.0, flag=45.0, income=10.0)


def test_fischer_time_has_a_cap() -> None:
    system = Fischer(main=60.0, increment=10.0, limit=65.0, longest_move=20.0)
    assert system.spend(PlayerTime(60.0), 2.0) == PlayerTime(65.0)
    assert system.spend(PlayerTime(60.0), 20.5) == PlayerTime(0.0), "a move that was too long"
    # Seven of the sixty-two seconds would be cut off after an instant move.
    expected = Budget(bank=62.0, flag=20.0, income=10.0, surplus=7.0)
    assert system.budget(PlayerTime(62.0)) == expected


def test_simple_time_cannot_be_saved() -> None:
    system = Simple(10.0)
    assert system.start() == system.spend(system.start(), 0.5) == PlayerTime(10.0, 1)
    assert system.spend(system.start(), 10.5) == PlayerTime(0.0, 1)
    assert system.budget(PlayerTime(8.0, 1)) == Budget(bank=8.0, flag=8.0, moves=1)


def test_unlimited_time_stays() -> None:
    system = Unlimited()
    assert system.spend(system.start(), 1e9).seconds == math.inf
    assert system.budget(system.start()).flag == math.inf


@pytest.mark.parametrize(
    "system, seconds, count, left",
    [
        (Absolute(60.0), 30.0, 0, PlayerTime(30.0)),
        (Absolute(60.0), 30.0, 5, PlayerTime(30.0)),
        (Canadian(60.0, 30.0, 5), 30.0, 0, PlayerTime(30.0)),
        (Canadian(60.0, 30.0, 5), 20.0, 4, PlayerTime(20.0, 4)),
        (Canadian(0.0, 30.0, 5), 20.0, 0, PlayerTime(20.0, 5)),
        (Canadian(0.0, 30.0, 5), 0.0, 0, PlayerTime(0.0)),
        (Byoyomi(60.0, 30.0, 5), 40.0, 0, PlayerTime(40.0)),
        (Byoyomi(60.0, 30.0, 5), 40.0, 2, PlayerTime(30.0, 2)),
        (Byoyomi(0.0, 10.0, 5), 2.0, 0, PlayerTime(2.0, 1)),
        (Byoyomi(0.0, 10.0, 5), 0.0, 0, PlayerTime(0.0)),
        (Fischer(60.0, 10.0, 65.0), 90.0, 0, PlayerTime(65.0)),
        (Fischer(60.0, 10.0), 90.0, 1, PlayerTime(90.0)),
        (Simple(10.0), 9.0, 0, PlayerTime(9.0, 1)),
        (Simple(10.0), 90.0, 7, PlayerTime(10.0, 1)),
        (Unlimited(), 0.0, 0, PlayerTime(math.inf)),
    ],
)
def test_what_a_referee_says_is_understood_as_the_less_time(
    system: TimeSystem, seconds: float, count: int, left: PlayerTime
) -> None:
    assert system.read(seconds, count) == left


MAINS = st.floats(0, 1e4)
SYSTEMS = st.one_of(
    st.builds(Absolute, MAINS),
    st.builds(Canadian, MAINS, st.floats(0.01, 1e3), st.integers(1, 100)),
    st.builds(Byoyomi, MAINS, st.floats(0.01, 1e3), st.integers(1, 100)),
    st.builds(Fischer, MAINS, MAINS, MAINS, st.floats(0.01, 1e3)),
    st.builds(Simple, st.floats(0.01, 1e3)),
)


@given(SYSTEMS, st.lists(st.floats(0, 1), max_size=60))
def test_nobody_loses_who_stays_before_the_flag(system: TimeSystem, shares: list[float]) -> None:
    left = system.start()
    for share in shares:
        budget = system.budget(left)
        assert budget.flag >= 0.0 and budget.bank >= 0.0
        left = system.spend(left, 0.999 * share * budget.flag)
        assert left.seconds > 0.0 or budget.flag == 0.0 or left == PlayerTime(0.0, 0)


@given(SYSTEMS, st.floats(0.01, 1e3))
def test_who_passes_the_flag_has_no_time_left(system: TimeSystem, more: float) -> None:
    clock = Clock(system)
    flag = system.budget(system.start()).flag
    assert clock.spend(WHITE, 0.999 * flag) or flag == 0.0
    assert not clock.spend(BLACK, flag + more)
    assert clock.left(BLACK).seconds == 0.0


@pytest.mark.parametrize(
    ("system", "seconds"),
    [
        (Simple(2.0), 2.0),
        (Byoyomi(0.0, 2.0, 3), 2.0),
        (Byoyomi(60.0, 2.0, 3), 2.0),
        (Canadian(0.0, 10.0, 5), 10.0),
        (Canadian(60.0, 10.0, 5), 10.0),
        (Fischer(5.0, 2.0), 2.0),
        (Fischer(5.0, 2.0, limit=1.5), 1.5),
        (Absolute(60.0), 0.0),
    ],
)
def test_a_game_that_goes_on_after_the_flag_has_what_overtime_brings(
    system: TimeSystem, seconds: float
) -> None:
    clock = Clock(system)
    for _ in range(2):
        assert not clock.spend(BLACK, 1000.0, goes_on=True)
        assert clock.left(BLACK).seconds == seconds
    assert clock.plan(BLACK, outlook(81, 0)).is_urgent == (seconds == 0.0)


# Spelling ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "main, period, stones, system",
    [
        (600, 0, 0, Absolute(600)),
        (0, 30, 5, Canadian(0, 30, 5)),
        (60.5, 30, 5, Canadian(60.5, 30, 5)),
        (60.5, 30, 1, Canadian(60.5, 30, 1)),
        (0, 30, 1, Simple(30)),
        (0, 1, 0, Unlimited()),  # GTP's way to say that there is no clock
        (600, 30, 0, Unlimited()),
        (600, 0, 5, Absolute(600)),
        (0, 0, 0, Absolute(0)),
        (2**31 - 1, 0, 0, Absolute(2**31 - 1)),
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
        (1e10, 0, 0),
        (math.inf, 0, 0),
        (0, math.inf, 1),
        (-0.001, 30, 5),
        (0, 30, 10**9),
    ],
)
def test_time_settings_without_sense(main: float, period: float, stones: int) -> None:
    with pytest.raises(ClockError):
        gtp_time_system(main, period, stones)


@pytest.mark.parametrize(
    "text, system",
    [
        ("none", Unlimited()),
        ("NONE 1 2 3", Unlimited()),
        ("absolute 600", Absolute(600)),
        ("simple 5.5", Simple(5.5)),
        ("byoyomi 300 30 5", Byoyomi(300, 30, 5)),
        ("byoyomi 0 30 1", Byoyomi(0, 30, 1)),
        ("canadian 300.5 30 5", Canadian(300.5, 30, 5)),
        ("canadian 0 30 1", Simple(30)),
        ("fischer 60 10", Fischer(60, 10)),
        ("fischer 60 0", Fischer(60, 0)),
        ("fischer-capped 60 10 120 30", Fischer(60, 10, 120, 30)),
        ("fischer-capped 60 10 -1 -1", Fischer(60, 10)),
        ("Fischer-Capped 60 10 60 -0.5", Fischer(60, 10, 60)),
    ],
)
def test_named_time_settings(text: str, system: TimeSystem) -> None:
    assert named_time_system(text.split()) == system


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("", "kind of clock must be one of none"),
        ("hourglass 5", "kind of clock must be one of none"),
        ("absolute", "the main time is missing"),
        ("absolute soon", "the main time must be a number, not 'soon'"),
        ("absolute 1_0", "the main time must be a number"),
        ("absolute -5", "must be from 0 to"),
        ("absolute nan", "must be a number"),
        ("absolute inf", "must be a number"),
        ("byoyomi 300 30", "the number of periods is missing"),
        ("byoyomi 300 0 5", "the period must be above 0"),
        ("byoyomi 300 30 0", "whole number from 1"),
        ("byoyomi 300 30 2.5", "whole number from 1"),
        ("byoyomi 300 30 nan", "must be a number"),
        ("byoyomi 300 30 inf", "must be a number"),
        ("canadian 300 -30 5", "the period must be from 0"),
        ("simple 0", "above 0"),
        ("fischer 60", "the increment is missing"),
        ("fischer-capped 60 10 30 -1", "limit of 30 s is below the main time of 60 s"),
        ("fischer-capped 60 10 nan -1", "must be a number"),
        ("fischer-capped 60 10 -1 0", "the longest move must be above 0"),
    ],
)
def test_named_time_settings_without_sense(text: str, complaint: str) -> None:
    with pytest.raises(ClockError, match=complaint):
        named_time_system(text.split())


@pytest.mark.parametrize(
    "text, known, command",
    [
        ("none", "", "time_settings 0 1 0"),
        ("absolute 60.5", "kata-time_settings", "time_settings 60.5 0 0"),
        ("absolute 60.5", "", "time_settings 60 0 0"),
        ("canadian 0 0.5 5", "", "time_settings 0 1 5"),
        ("canadian 60 30 5", "kata-time_settings", "time_settings 60 30 5"),
        ("simple 5", "", "time_settings 0 5 1"),
        ("byoyomi 60 2.5 5", "kata-time_settings", "kata-time_settings byoyomi 60 2.5 5"),
        ("byoyomi 60 30 5", "kgs-time_settings", "kgs-time_settings byoyomi 60 30 5"),
        ("byoyomi 60 30 5", "", "time_settings 180 30 1"),
        ("fischer 60 10", "kata-time_settings", "kata-time_settings fischer-capped 60 10 -1 -1"),
        ("fischer-capped 60 10 90 -1", "", "time_settings 50 10 1"),
        ("fischer 8 1.5", "", "time_settings 6 1 1"),
    ],
)
def test_clocks_are_told_to_engines_as_they_understand(text: str, known: str, command: str) -> None:
    assert settings_command(named_time_system(text.split()), known.split().__contains__) == command


@pytest.mark.parametrize(
    "text, left, known, told",
    [
        ("simple 0.9", (0.9, 1), "kata-time_settings", "0.900 1"),
        ("simple 2.5", (2.5, 1), "", "2 1"),
        ("fischer 60 10", (12.34567, 0), "kata-time_settings", "12.345 0"),
        ("absolute 3600", (3599.9999, 0), "kata-time_settings", "3599.999 0"),
        ("fischer 60 10", (60.0, 0), "", "50 0"),
        ("fischer 60 10", (10.9, 0), "", "10 1"),
        ("fischer 60 10", (7.9, 0), "", "7 1"),
        ("byoyomi 60 30 5", (30.0, 2), "kgs-time_settings", "30 2"),
        ("byoyomi 60 30 5", (60.0, 0), "", "180 0"),  # as in its settings: 60 + 4 * 30
        ("byoyomi 60 30 5", (30.0, 5), "", "120 0"),
        ("byoyomi 60 30 5", (30.0, 2), "", "30 0"),
        ("byoyomi 60 30 5", (30.0, 1), "", "30 1"),
        ("canadian 60 30 5", (20.5, 3), "", "20 3"),
        ("absolute 60", (20.5, 0), "", "20 0"),
        ("absolute 60", (0.5, 0), "", "0 0"),
    ],
)
def test_what_is_left_goes_with_the_clock_that_was_told(
    text: str, left: tuple[float, int], known: str, told: str
) -> None:
    system = named_time_system(text.split())
    found = time_left_numbers(system, PlayerTime(*left), known.split().__contains__)
    assert found == told


# The clock of a game -----------------------------------------------------------------------------


def test_a_clock_for_both_players() -> None:
    clock = Clock()
    assert not clock.is_limited and clock.plan(BLACK, outlook(81, 0)).hard == math.inf
    clock.set_system(gtp_time_system(10, 30, 5))
    assert clock.is_limited
    assert clock.spend(BLACK, 3.0)
    assert clock.left(BLACK) == PlayerTime(7.0) and clock.left(WHITE) == PlayerTime(10.0)
    clock.set_left(WHITE, 12.0, 3)
    assert clock.left(WHITE) == PlayerTime(12.0, 3)
    clock.set_left(WHITE, -2.0, 3)  # a referee may be that late
    assert clock.left(WHITE) == PlayerTime(0.0, 3)
    assert not clock.spend(WHITE, 1.0)
    clock.reset()
    assert clock.left(BLACK) == clock.left(WHITE) == PlayerTime(10.0)


def test_seconds_that_are_gone_already_are_missing_from_the_plan() -> None:
    clock = Clock(Simple(10.0))
    expected = outlook(81, 0)
    assert clock.plan(BLACK, expected).hard - clock.plan(BLACK, expected, 4.0).hard == (
        pytest.approx(4.0)
    )
    assert clock.plan(BLACK, expected, 11.0).is_urgent


@pytest.mark.parametrize(
    "seconds, stones", [(math.nan, 0), (math.inf, 0), (1e10, 0), (-1e10, 0), (5.0, -1)]
)
def test_a_clock_is_not_set_from_garbage(seconds: float, stones: int) -> None:
    clock = Clock(Absolute(60.0))
    with pytest.raises(ClockError):
        clock.set_left(BLACK, seconds, stones)
    assert clock.left(BLACK) == PlayerTime(60.0)


# The lag of the connection ------------------------------------------------------------------------


def played(system: TimeSystem, lag: float, moves: int, says: Callable[[float], float]) -> Clock:
    """Return a clock after moves of 0.1 s, of which the client's clock takes the lag besides."""
    clock, left = Clock(system), system.start()
    for _ in range(moves):
        clock.set_left(BLACK, says(left.seconds), left.count)
        clock.spend(BLACK, 0.1)
        left = system.spend(left, 0.1 + lag)
    return clock


@pytest.mark.parametrize("says", [float, math.floor, math.ceil])
@pytest.mark.parametrize("system", [Absolute(300.0), Fischer(60.0, 0.3), Canadian(60.0, 300.0, 25)])
def test_the_lag_is_learned_from_what_the_client_says(
    system: TimeSystem, says: Callable[[float], float]
) -> None:
    before = Clock(system).lag
    assert (before.usual, before.largest) == (pytest.approx(0.2), 0.3)
    for lag in (0.0, 0.1, 0.8):
        learned = played(system, lag, 60, says).lag
        # Four moves of what is assumed are counted in, and a second may have been rounded off.
        assert 1.2 * lag - 0.08 <= learned.usual - 0.05 <= 1.2 * lag + 0.03
        assert max(0.3, lag) <= learned.largest <= max(0.3, 1.2 * lag)


def test_settings_that_are_sent_before_each_move_hide_no_lag() -> None:
    system = Fischer(60.0, 5.0)
    clock, plain, left = Clock(system), Clock(system), PlayerTime(60.0)
    for _ in range(30):
        clock.set_system(Fischer(60.0, 5.0))
        for each in (clock, plain):
            each.set_left(BLACK, left.seconds, left.count)
            assert each.left(BLACK) == left
            each.spend(BLACK, 4.0)
        left = system.spend(left, 5.25)
    assert clock.lag.largest == plain.lag.largest > 1.2 and clock.lag.usual == plain.lag.usual
    clock.set_system(Fischer(60.0, 5.0))
    assert clock.left(BLACK) == system.start(), "unless the client says what is left"


def test_nothing_is_learned_where_lag_does_not_show() -> None:
    for system in (Byoyomi(0.0, 10.0, 3), Simple(10.0), Fischer(60.0, 1.0, limit=60.0)):
        assert played(system, 0.5, 30, float).lag.usual == pytest.approx(0.2)
    clock = Clock(Absolute(300.0))
    clock.set_left(BLACK, 200.5, 0)
    clock.set_left(WHITE, 100.5, 0)
    assert clock.lag.usual == pytest.approx(0.2), "no move was made"
    for seconds in (100.5, 250.5):  # somebody has set the clock
        clock.spend(BLACK, 0.1)
        clock.set_left(BLACK, seconds, 0)
        assert (clock.lag.usual, clock.lag.largest) == (pytest.approx(0.2), 0.3)
    clock.set_system(Byoyomi(10.0, 5.0, 3))
    clock.spend(BLACK, 9.0)
    clock.set_left(BLACK, 5.0, 3)
    assert clock.lag.usual == pytest.approx(0.2), "main time has become a period"


@pytest.mark.parametrize("says", [float, math.floor])
def test_a_short_main_time_is_used_where_nothing_lags(says: Callable[[float], float]) -> None:
    for lags, least, most in ((0.0, 2.5, 9.5), (0.2, 0.0, 2.0)):
        system = Absolute(10.0)
        clock, left, thought = Clock(system), system.start(), 0.0
        for ply in range(0, 58, 2):
            clock.set_left(BLACK, says(left.seconds), left.count)
            plan = clock.plan(BLACK, outlook(81, ply, clock.lag.largest, 0.001, clock.lag.usual))
            thought += plan.soft
            clock.spend(BLACK, plan.soft + 0.02, 0.02)
            assert plan.soft + 0.02 + lags < left.seconds
            left = system.spend(left, plan.soft + 0.02 + lags)
        assert least <= thought <= most


def test_what_moves_take_besides_the_search_is_learned() -> None:
    clock = Clock(Simple(10.0))
    for _ in range(60):
        clock.spend(BLACK, 8.0, 0.1)
    assert clock.lag.usual == pytest.approx(0.15 + (4 * 0.05 + 1.2 * 60 * 0.1) / 64)
    for _ in range(200):
        clock.spend(BLACK, 8.0, 0.0)
        clock.reset()
    assert clock.lag.usual == pytest.approx(0.15 + 0.02), "never quite nothing"


def test_a_connection_that_was_bad_once_is_not_so_for_good() -> None:
    clock = played(Absolute(300.0), 2.5, 30, float)
    assert clock.lag.largest > 2.4
    for _ in range(8):
        clock.reset()
        left = 300.0
        for _ in range(40):
            clock.set_left(BLACK, left, 0)
            clock.spend(BLACK, 0.1)
            left -= 0.1
        assert clock.lag.largest < 2.4
    assert clock.lag.largest < 0.35
    assert clock.lag.usual < 0.3


def test_one_game_that_begins_by_several_commands_is_one() -> None:
    clock = played(Absolute(300.0), 2.3, 30, float)
    clock.reset()
    assert clock.lag._largest == pytest.approx(0.5 * (2.3 + 0.3))
    clock.reset()
    clock.set_system(Absolute(200.0))
    assert clock.lag._largest == pytest.approx(0.5 * (2.3 + 0.3))


def test_a_short_period_has_room_for_a_machine_under_load() -> None:
    plan = Clock(Byoyomi(0.0, 1.0, 1)).plan(BLACK, outlook(81, 0, evaluation=0.005))
    assert 0.35 < plan.hard < 1.0 - 0.5
