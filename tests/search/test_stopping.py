"""When a search may end early, by hand."""

from dataclasses import replace

import pytest

from gtp_engine.search import stopping
from gtp_engine.search.choice import Child, ranked
from gtp_engine.search.params import SearchParams
from gtp_engine.search.stopping import Limits, StopCondition, is_clear, is_settled


def in_order(*children: Child) -> list[Child]:
    return ranked(list(children), SearchParams())


def child(move: int, visits: int, utility: float = 0.0, lcb: float | None = None) -> Child:
    """Return a child; its bound is a little below its utility unless it is given."""
    bound = utility - 0.1 if lcb is None else lcb
    return Child(move, move, visits, 0.1, utility, 0.0, 1.0, utility, bound)


def test_nobody_can_catch_up() -> None:
    children = in_order(child(1, 100), child(2, 40), child(3, 10))
    assert is_settled(children, 59)
    assert not is_settled(children, 60)


def test_moves_that_were_not_tried_yet_can_catch_up_too() -> None:
    assert not is_settled(in_order(child(1, 5)), 6)
    assert is_settled(in_order(child(1, 5)), 4)


def test_a_choice_by_lower_bound_is_not_settled() -> None:
    # The second move is chosen for its bound, and the first has more visits.
    children = in_order(child(1, 100, 0.0, -0.2), child(2, 60, 0.3, 0.1))
    assert not is_settled(children, 0)
    assert not is_clear(children)


def test_a_serious_rival_that_looks_better_is_a_doubt() -> None:
    assert is_clear(in_order(child(1, 100, 0.1), child(2, 60, 0.05)))
    assert not is_clear(in_order(child(1, 100, 0.1, 0.05), child(2, 60, 0.2, 0.0)))
    assert is_clear(in_order(child(1, 100, 0.1, 0.05), child(2, 40, 0.2, 0.0))), "hardly seen"


@pytest.mark.parametrize("soft_seconds, judge", [(1e-9, "is_clear"), (1e9, "is_settled")])
def test_an_end_from_another_thread_outlasts_a_look(
    soft_seconds: float, judge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition = StopCondition(Limits(soft_seconds=soft_seconds), 10, lambda: 0)
    condition.count(1)

    def doubt(*_: object) -> bool:
        condition.end()  # as the other thread would just now
        return False

    monkeypatch.setattr(stopping, judge, doubt)
    condition.look(in_order(child(1, 5), child(2, 5)), 2)
    assert condition.is_met()


@pytest.mark.parametrize("limits", [Limits(playouts=150), Limits(visits=200)])
def test_a_choice_that_the_visits_left_cannot_change_is_settled(limits: Limits) -> None:
    # 50 visits are left, and the second move is 60 behind; by the clock there is time for many.
    condition = StopCondition(replace(limits, soft_seconds=1e9), 1000, lambda: 150)
    condition.count(100)
    condition.look(in_order(child(1, 90), child(2, 30)), 2)
    assert condition.is_met()
