"""The plan for a move: by hand, in general, and in thousands of simulated games."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.play.clock_games import KINDS, SHORT_KINDS, play_games
from tests.play.test_clock import SYSTEMS

from gtp_engine.play.clock.planner import (
    DEFAULT_LAG,
    EVALUATIONS_AFTER,
    MOVE_SECONDS,
    NO_TIME,
    MoveTime,
    Outlook,
    outlook,
    plan_loading,
    plan_move,
)
from gtp_engine.play.clock.systems import Budget, PlayerTime, TimeSystem

QUICK = Outlook(share=0.05, most_moves=50, lag=0.0)
LEAST = MOVE_SECONDS
"""What a move takes besides thought, in that outlook."""


def test_a_bank_for_the_whole_game() -> None:
    # 50 moves of 0.05 s are kept back; the move deserves a twentieth of the 97.5 s.
    plan = plan_move(Budget(bank=100.0, flag=100.0), QUICK)
    assert plan.soft == pytest.approx(0.05 * 97.5)
    assert plan.hard == pytest.approx(3 * 0.05 * 97.5)
    # Late in the game a difficult move may not take more than a quarter of what is left.
    late = plan_move(Budget(bank=100.0, flag=100.0), Outlook(share=0.2, most_moves=50, lag=0.0))
    assert late == MoveTime(pytest.approx(0.2 * 97.5), pytest.approx(0.25 * 97.5))


def test_a_bank_that_is_too_small_is_given_out_in_small_parts() -> None:
    plan = plan_move(Budget(bank=2.0, flag=2.0), QUICK)
    assert plan.soft == plan.hard == pytest.approx(0.25 * 2.0 / 50)
    assert plan_move(Budget(bank=0.04, flag=0.04), QUICK) == NO_TIME
    # A part is 0.01 s: one evaluation of 0.004 s may be made, one of 0.006 s may not.
    for seconds, is_urgent in ((0.004, False), (0.006, True)):
        dear = Outlook(share=0.05, most_moves=50, lag=0.0, evaluation=seconds)
        plan = plan_move(Budget(bank=2.0, flag=2.0), dear)
        assert plan == MoveTime(0.0, 0.0, is_urgent)


def test_half_of_the_lag_is_kept_back_for_every_move_and_all_of_it_before_the_flag() -> None:
    lagging = Outlook(share=0.05, most_moves=50, lag=0.4)
    plan = plan_move(Budget(bank=100.0, flag=100.0), lagging)
    assert plan.soft == pytest.approx(0.05 * (100.0 - 50 * 0.25))
    near = plan_move(Budget(bank=100.0, flag=1.0), lagging)
    assert near.soft == near.hard == pytest.approx(1.0 - 0.2 - 0.4 - MOVE_SECONDS)
    # Where the mean is known, that is kept back; one move may lose more all the same.
    learned = Outlook(share=0.05, most_moves=50, lag=0.4, usual_loss=0.06)
    plan = plan_move(Budget(bank=100.0, flag=100.0), learned)
    assert plan.soft == pytest.approx(0.05 * (100.0 - 50 * 0.06 - 8 * 0.4))
    assert plan_move(Budget(bank=100.0, flag=1.0), learned) == near


def test_a_first_move_may_wait_for_the_net() -> None:
    many = Outlook(share=0.005, most_moves=200, lag=0.0)
    bank = Budget(bank=60.0, flag=60.0)
    assert plan_loading(bank, many, is_first=True) == pytest.approx(0.05 * 60.0)
    assert plan_loading(bank, many, is_first=False) == plan_move(bank, many).hard < 1.0
    # Not beyond the flag, nor where a move may take more, nor in a period.
    near = Budget(bank=60.0, flag=2.0)
    assert plan_loading(near, many, is_first=True) == pytest.approx(2.0 - 0.2 * 2.0 - MOVE_SECONDS)
    large = Budget(bank=100.0, flag=100.0)
    assert plan_loading(large, QUICK, is_first=True) == pytest.approx(3 * 0.05 * 97.5)
    period = Budget(bank=60.0, flag=60.0, moves=25)
    assert plan_loading(period, many, is_first=True) == plan_move(period, many).hard
    assert plan_loading(Budget(bank=0.04, flag=0.04), QUICK, is_first=True) == 0.0


def test_an_increment_is_used_up() -> None:
    plan = plan_move(Budget(bank=100.0, flag=100.0, income=10.0), QUICK)
    assert plan.soft == pytest.approx(0.05 * 100.0 + 10.0 - LEAST)
    short = plan_move(Budget(bank=6.0, flag=6.0, income=10.0), QUICK)
    assert short.soft == short.hard == pytest.approx(6.0 - 0.5 - LEAST), "the flag comes first"


def test_what_a_cap_would_cut_off_is_used() -> None:
    budget = Budget(bank=100.0, flag=100.0, income=1.0, surplus=40.0)
    assert plan_move(budget, QUICK).soft == pytest.approx(40.0 - LEAST)


def test_main_time_goes_at_least_as_fast_as_overtime() -> None:
    budget = Budget(bank=100.0, flag=250.0, overtime=30.0)
    assert plan_move(budget, QUICK).soft == pytest.approx(30.0 - LEAST)
    large = Budget(bank=1000.0, flag=1150.0, overtime=30.0)
    assert plan_move(large, QUICK).soft == pytest.approx(50.0 - LEAST)


def test_a_period_is_shared_by_its_moves() -> None:
    # Four moves in 20 s; a difficult one leaves the others half of their shares.
    plan = plan_move(Budget(bank=20.0, flag=20.0, moves=4), QUICK)
    assert plan.soft == pytest.approx(5.0 - LEAST)
    assert plan.hard == pytest.approx(20.0 - 3 * 2.5 - LEAST)
    last = plan_move(Budget(bank=20.0, flag=20.0, moves=1), QUICK)
    assert last.soft == last.hard == pytest.approx(20.0 - 0.5 - LEAST)


def test_a_difficult_move_may_use_up_a_byoyomi_period() -> None:
    plan = plan_move(Budget(bank=30.0, flag=90.0, moves=1, spare=30.0), QUICK)
    assert plan == MoveTime(pytest.approx(30.0 - LEAST), pytest.approx(60.0 - LEAST))


def test_slow_evaluations_must_fit() -> None:
    slow = Outlook(share=0.05, most_moves=50, lag=0.3, evaluation=1.0)
    plan = plan_move(Budget(bank=10.0, flag=10.0, moves=1), slow)
    # Both bounds hold: five evaluations before the flag, three before the period is used up.
    assert plan.hard == pytest.approx(10.0 - 0.5 - 0.3 - MOVE_SECONDS - EVALUATIONS_AFTER)
    assert plan_move(Budget(bank=2.0, flag=2.0, moves=1), slow) == NO_TIME


def test_no_clock_sets_no_bound() -> None:
    assert plan_move(Budget(bank=math.inf, flag=math.inf), QUICK) == MoveTime(math.inf, math.inf)


def test_expectations() -> None:
    first = outlook(361, 0)
    assert first.most_moves == 239 and first.lag == DEFAULT_LAG
    # The middle game deserves more of the whole than the opening, the endgame less.
    bank, spent = 1.0, []
    for ply in range(0, 260, 2):
        share = outlook(361, ply).share
        spent.append(bank * share)
        bank *= 1.0 - share
    opening, middle, end = spent[0], spent[50], spent[120]
    assert middle > 1.8 * opening and middle > 1.8 * end > 0.0
    assert bank < 0.1
    for area in (4, 25, 81, 361, 625):
        for ply in range(0, 1500, 50):
            found = outlook(area, ply)
            assert 0.0 < found.share <= 1.0 and found.most_moves >= 20


LEFT = st.builds(PlayerTime, st.floats(0, 1e4), st.integers(0, 100))


@given(SYSTEMS, LEFT, st.integers(4, 650), st.integers(0, 1000), st.floats(0, 10), st.floats(0, 5))
def test_plans_are_consistent_and_end_before_the_flag(
    system: TimeSystem, left: PlayerTime, area: int, ply: int, evaluation: float, lag: float
) -> None:
    budget = system.budget(system.read(left.seconds, left.count))
    plan = plan_move(budget, outlook(area, ply, lag, evaluation))
    assert 0.0 <= plan.soft <= plan.hard < math.inf
    if not plan.is_urgent:
        assert plan.hard + 2 * evaluation + lag < budget.flag


def test_no_flag_falls_in_simulated_games() -> None:
    used = []
    kinds = set()
    for game in play_games(600, seed=3):
        assert game.lost_at is None, game
        kinds.add(game.kind)
        if game.is_long and game.main_used is not None:
            used.append(game.main_used)
    assert kinds == set(KINDS)
    assert sum(used) / len(used) > 0.85


def test_no_flag_falls_where_a_move_has_less_than_the_usual_lag() -> None:
    games = list(play_games(600, seed=3, kinds=tuple(SHORT_KINDS)))
    assert min(game.system.start().seconds for game in games) < 5.0
    for game in games:
        assert game.lost_at is None, game
    assert sum(game.urgent_moves for game in games) > 0, "some moves have no time for the net"


@pytest.mark.slow
def test_no_flag_falls_in_a_hundred_thousand_games() -> None:
    used = []
    for game in play_games(100_000, seed=1):
        assert game.lost_at is None, game
        if game.is_long and game.main_used is not None:
            used.append(game.main_used)
    assert sum(used) / len(used) > 0.85
