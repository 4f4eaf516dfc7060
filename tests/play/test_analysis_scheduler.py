"""Many positions at once: the same answers as one by one, in order of urgency, and endings."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from gtp_engine.arena.signature import random_position
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.rollouts.go import RolloutEvaluator
from gtp_engine.go.position import Position
from gtp_engine.play.analysis_scheduler import (
    AnalysisJob,
    AnalysisRequest,
    AnalysisScheduler,
    share_out,
)
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.params import ROLLOUT_PARAMS, SearchParams
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.run import Run
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

POSITIONS = [random_position(5, 5, "chinese-ogs", seed, seed=seed) for seed in range(20)]


def submit(
    scheduler: AnalysisScheduler,
    positions: list[Position],
    found: dict[int, object],
    visits: int = 30,
) -> None:
    for number, position in enumerate(positions):
        scheduler.submit(
            AnalysisRequest(
                position=lambda position=position: position,  # type: ignore[misc]
                on_end=lambda one, number=number: found.update({number: one}),  # type: ignore[misc]
                limits=Limits(visits=visits),
            )
        )


def analyse(scheduler: AnalysisScheduler, positions: list[Position]) -> list[object]:
    found: dict[int, object] = {}
    submit(scheduler, positions, found)
    scheduler.wait()
    return [found[number] for number in range(len(positions))]


@pytest.mark.parametrize("at_once", [2, 8, None])
def test_positions_do_not_disturb_each_other(at_once: int | None) -> None:
    scheduler = AnalysisScheduler(FakeEvaluator(), at_once=at_once, seed=3)
    together = analyse(scheduler, POSITIONS)
    scheduler.close()
    for position, found in zip(POSITIONS, together, strict=True):
        search = Search(FakeEvaluator(), seed=3)
        search.set_position(position)
        alone = search.run(Limits(visits=30))
        assert isinstance(found, Analysis)
        assert replace(found, elapsed=0.0) == replace(alone, elapsed=0.0)


def test_a_thread_evaluates_its_positions_together() -> None:
    sizes: list[int] = []

    class Counting(FakeEvaluator):
        def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
            sizes.append(n)
            super().evaluate(batch, n, use_cache=use_cache)

    hold = threading.Event()

    def held() -> Position:
        hold.wait(60)
        return POSITIONS[0]

    scheduler = AnalysisScheduler(Counting())
    scheduler.submit(AnalysisRequest(held, lambda found: None, Limits(visits=1)))
    found: dict[int, object] = {}
    submit(scheduler, POSITIONS[:16], found)
    hold.set()
    scheduler.wait()
    scheduler.close()
    assert sum(isinstance(one, Analysis) for one in found.values()) == 16
    assert max(sizes) == 8 == scheduler.at_once


def test_what_is_urgent_goes_before_what_has_begun() -> None:
    ended: list[str] = []
    scheduler = AnalysisScheduler(FakeEvaluator(), at_once=2)
    has_begun = threading.Event()

    def position() -> Position:
        has_begun.set()
        return POSITIONS[1]

    slow = AnalysisRequest(position, lambda found: ended.append("slow"), Limits())
    job = scheduler.submit(slow)
    assert has_begun.wait(60)
    urgent_ended = threading.Event()

    def end(found: object) -> None:
        assert isinstance(found, Analysis) and found.visits == 40
        ended.append("urgent")
        urgent_ended.set()

    scheduler.submit(AnalysisRequest(lambda: POSITIONS[2], end, Limits(visits=40), priority=1))
    assert urgent_ended.wait(60)
    job.stop()
    scheduler.wait()
    scheduler.close()
    assert ended == ["urgent", "slow"]


def test_one_that_is_stopped_ends_with_what_it_has_beside_others() -> None:
    found: list[object] = []
    heard = threading.Event()
    report = ReportRequest(interval=0.0, callback=lambda _: heard.set())
    scheduler = AnalysisScheduler(FakeEvaluator(), at_once=4)
    job = scheduler.submit(
        AnalysisRequest(lambda: POSITIONS[5], found.append, Limits(), report=report)
    )
    others = threading.Thread(target=lambda: (heard.wait(60), job.stop()))
    others.start()
    assert all(
        isinstance(one, Analysis) and one.visits == 30 for one in analyse(scheduler, POSITIONS[:6])
    )
    others.join()
    scheduler.close()
    assert len(found) == 1 and isinstance(found[0], Analysis) and found[0].visits > 1


def test_an_error_concerns_its_position_alone() -> None:
    def fail() -> Position:
        raise NetFileError("no such position")

    found: list[object] = []
    scheduler = AnalysisScheduler(FakeEvaluator(), at_once=2)
    scheduler.submit(AnalysisRequest(fail, found.append, Limits(visits=5)))
    scheduler.wait()
    assert isinstance(found[0], NetFileError)
    assert all(isinstance(one, Analysis) for one in analyse(scheduler, POSITIONS[:4]))
    scheduler.close()


def test_who_fails_to_hear_an_end_disturbs_no_other(said: list[str]) -> None:
    scheduler = AnalysisScheduler(FakeEvaluator(), threads=1, at_once=2)
    has_begun, hold, held = held_position()
    deaf = AnalysisRequest(held, {}.__getitem__, Limits(visits=5))  # type: ignore[arg-type]
    scheduler.submit(deaf)
    assert has_begun.wait(60)
    scheduler.submit(deaf).stop()
    found: dict[int, object] = {}
    submit(scheduler, POSITIONS[:4], found)
    hold.set()
    while len(found) < 4:
        time.sleep(0.005)
    scheduler.close()
    assert len(said) == 2 and "KeyError" in said[0]


def held_position() -> tuple[threading.Event, threading.Event, Callable[[], Position]]:
    """Return what says that a position was asked for, what lets it go, and the position."""
    has_begun, hold = threading.Event(), threading.Event()

    def held() -> Position:
        has_begun.set()
        hold.wait(60)
        return POSITIONS[0]

    return has_begun, hold, held


def test_what_was_stopped_takes_no_share_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[int] = []
    whole = AnalysisScheduler._new_search

    def noted(self: AnalysisScheduler, share: int) -> Search:
        shares.append(share)
        return whole(self, share)

    monkeypatch.setattr(AnalysisScheduler, "_new_search", noted)
    scheduler = AnalysisScheduler(FakeEvaluator(), threads=2, at_once=2)
    has_begun, hold, held = held_position()
    job = scheduler.submit(AnalysisRequest(held, lambda found: None, Limits(visits=5)))
    assert has_begun.wait(60)
    job.stop()
    other: list[object] = []
    scheduler.submit(AnalysisRequest(lambda: POSITIONS[1], other.append, Limits(visits=5)))
    while not other:
        time.sleep(0.005)
    hold.set()
    scheduler.close()
    assert shares == [1, 1]


def test_a_system_without_threads_is_an_error_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    scheduler = AnalysisScheduler(FakeEvaluator())
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        (found,) = analyse(scheduler, POSITIONS[:1])
    assert str(found) == "the system has no thread left"
    assert all(isinstance(one, Analysis) for one in analyse(scheduler, POSITIONS[:2]))
    scheduler.close()


def test_what_was_stopped_while_it_waited_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[AnalysisJob] = []
    begin = AnalysisJob.begin

    def noted(job: AnalysisJob, make_search: Callable[[], Search]) -> Run | None:
        begun.append(job)
        return begin(job, make_search)

    monkeypatch.setattr(AnalysisJob, "begin", noted)
    scheduler = AnalysisScheduler(FakeEvaluator(), threads=1, at_once=1)
    has_begun, hold, held = held_position()
    asked = [AnalysisRequest(held, lambda found: None, Limits(visits=5))] * 6
    jobs = [scheduler.submit(request) for request in asked]
    assert has_begun.wait(60)
    for job in jobs[1:5]:
        job.stop()
    hold.set()
    scheduler.wait()
    scheduler.close()
    assert begun == [jobs[0], jobs[5]]


def test_closing_stops_what_runs_and_drops_what_waits() -> None:
    before = threading.active_count()
    scheduler = AnalysisScheduler(FakeEvaluator(), at_once=1)
    began = threading.Event()
    found: list[object] = []

    def position() -> Position:
        began.set()
        return POSITIONS[3]

    for _ in range(3):
        scheduler.submit(AnalysisRequest(position, found.append, Limits(visits=10_000_000)))
    assert began.wait(60)
    scheduler.close()
    assert sorted(found, key=str, reverse=True)[:2] == [None, None]
    assert sum(isinstance(one, Analysis) for one in found) == 1
    assert threading.active_count() <= before


def test_the_lock_is_free_where_an_end_is_told_of_at_a_close() -> None:
    scheduler = AnalysisScheduler(FakeEvaluator(), threads=1, at_once=1)
    has_begun, hold, held = held_position()
    is_free: list[bool] = []

    def look() -> None:
        is_free.append(scheduler._changed.acquire(timeout=5))
        if is_free[0]:
            scheduler._changed.release()

    def hear(found: object) -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        hold.set()

    scheduler.submit(AnalysisRequest(held, lambda found: None, Limits(visits=5)))
    assert has_begun.wait(60)
    scheduler.submit(AnalysisRequest(held, hear, Limits(visits=5)))
    scheduler.close()
    assert is_free == [True]


@pytest.mark.parametrize(
    ("among", "share"), [(1, (3, 32)), (2, (1, 32)), (3, (1, 32)), (6, (1, 16)), (200, (1, 1))]
)
def test_the_machine_is_shared_out(among: int, share: tuple[int, int]) -> None:
    """Three threads of 32 leaves each suit the device: all searches together keep to that."""
    assert share_out(3, 32, among) == share


@pytest.mark.parametrize(
    ("threads", "batch", "at_once"), [(1, 1, 8), (2, 1, 16), (2, 3, 16), (4, 32, 16)]
)
def test_a_thread_fills_a_batch_from_as_many_positions_as_that_needs(
    threads: int, batch: int, at_once: int
) -> None:
    """Two threads of one leaf each take eight positions; four of 32 make sixteen of eight."""
    scheduler = AnalysisScheduler(FakeEvaluator(), threads=threads, batch=batch)
    assert scheduler.at_once == at_once
    scheduler.close()


def test_rollouts_are_searched_by_the_parameters_that_suit_them() -> None:
    scheduler = AnalysisScheduler(RolloutEvaluator(1), threads=1)
    for own, expected in (
        (SearchParams(), ROLLOUT_PARAMS),
        (SearchParams(fpu_reduction=0.5), replace(ROLLOUT_PARAMS, fpu_reduction=0.5)),
    ):
        job = AnalysisJob(
            AnalysisRequest(lambda: Position(5, 5), lambda found: None, Limits(visits=1), own)
        )
        run = job.begin(lambda: scheduler._new_search(1))
        assert run is not None and run.terms.params == expected
