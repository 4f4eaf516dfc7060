"""Searches stepped together: the same trees as alone, shared evaluations, failures kept apart."""

import threading
from dataclasses import replace

import pytest
from tests.search.trees import assert_sound

from gtp_engine.arena.signature import random_position
from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.batching import TreeBatcher
from gtp_engine.search.params import SearchParams
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.run import Run
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits
from gtp_engine.search.tree import N_NODES


class CountingEvaluator(FakeEvaluator):
    """Remembers the sizes of the batches, and fails where the komi is in question and told to."""

    def __init__(self, failing_komi: float | None = None) -> None:
        """Fail batches in which a slot has this komi, once `is_armed`."""
        self.batches: list[tuple[tuple[int, ...], int]] = []
        self.failing_komi = failing_komi
        self.is_armed = False

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Count, then evaluate or fail."""
        self.batches.append((batch.spatial.shape[2:], n))
        if self.is_armed and self.failing_komi in abs(batch.slots["komi"][:n]).tolist():
            raise NetFileError("this komi does not please the net")
        super().evaluate(batch, n, use_cache=use_cache)


def begin(
    evaluator: FakeEvaluator,
    position: Position,
    limits: Limits,
    report: ReportRequest | None = None,
    params: SearchParams | None = None,
    **kwargs: int,
) -> Run:
    search = Search(evaluator, params, memory_mb=16, seed=5, **kwargs)
    report = report or ReportRequest()
    search.set_position(position, avoid=report.avoid)
    return search.begin(limits, report)


def together(runs: list[Run]) -> list[Analysis]:
    batcher = TreeBatcher(runs[0].leader.evaluator)
    while moving := [run for run in runs if not run.is_over]:
        assert batcher.step(moving) == {}
    return [run.end() for run in runs]


def untimed(found: Analysis) -> Analysis:
    return replace(found, elapsed=0.0)


def test_every_search_finds_what_it_finds_alone() -> None:
    """Other lengths, sizes, slots, restrictions and a game about to end change nothing."""
    only_two = AvoidRule(BLACK, frozenset([PASS, 8]), depth=1, allow=True)
    deep = ReportRequest(avoid=(AvoidRule(WHITE, frozenset([PASS, 7, 8, 12]), depth=5),))
    usual, hot = SearchParams(), SearchParams(policy_temperature=2.0)
    over_soon = Position(3)
    over_soon.play(BLACK, PASS)
    plain, some = ReportRequest(), ReportRequest(avoid=(only_two,))
    ogs = random_position(5, 5, "chinese-ogs", 3, seed=1)
    japanese = random_position(5, 5, "japanese", 7, seed=2)
    oblong = random_position(4, 6, "tromp-taylor", 2, seed=3)
    cases: list[tuple[Position, Limits, ReportRequest, SearchParams, int]] = [
        (ogs, Limits(visits=80), plain, usual, 1),
        (japanese, Limits(visits=7), plain, usual, 3),
        (oblong, Limits(playouts=61), plain, usual, 1),
        (Position(5), Limits(visits=40), some, usual, 2),
        (Position(5), Limits(visits=60), deep, usual, 1),
        (ogs, Limits(visits=60), deep, hot, 2),
        (over_soon, Limits(visits=120), plain, usual, 4),
        (Position(5), Limits(visits=1), plain, usual, 1),
    ]
    evaluator = FakeEvaluator()
    runs = [
        begin(evaluator, position, limits, report, params, batch=slots)
        for position, limits, report, params, slots in cases
    ]
    for run, shared, (position, limits, report, params, slots) in zip(
        runs, together(runs), cases, strict=True
    ):
        assert shared.visits == (limits.visits or limits.playouts)
        assert_sound(run.shared.tree)
        lone = Search(evaluator, params, memory_mb=16, seed=5, batch=slots)
        lone.set_position(position, avoid=report.avoid)
        assert untimed(shared) == untimed(lone.run(limits, report))


def test_boards_of_one_size_share_a_batch() -> None:
    evaluator = CountingEvaluator()
    runs = [
        begin(evaluator, random_position(7, 7, "chinese", 4, seed=seed), Limits(visits=4))
        for seed in range(3)
    ]
    runs.append(begin(evaluator, Position(6, 4), Limits(visits=3)))
    evaluator.batches.clear()
    together(runs)
    # Each has evaluated its root: three leaves of 7x7 thrice, one of 6x4 twice.
    assert evaluator.batches == [((7, 7), 3), ((4, 6), 1)] * 2 + [((7, 7), 3)]


def test_another_wish_about_the_cache_is_another_batch() -> None:
    evaluator = CountingEvaluator()
    wishes = [SearchParams(), SearchParams(use_cache=False), SearchParams()]
    runs = [begin(evaluator, Position(7), Limits(visits=2), params=one) for one in wishes]
    evaluator.batches.clear()
    together(runs)
    assert sorted(n for _, n in evaluator.batches) == [1, 2]


def test_what_fails_fails_for_one_alone() -> None:
    evaluator = CountingEvaluator(failing_komi=13.5)
    good = random_position(5, 5, "chinese", 4, seed=4)
    bad = Position(5, rules=replace(Rules.parse("chinese"), komi=13.5))
    runs = [begin(evaluator, one, Limits(visits=30)) for one in (good, bad, good)]
    evaluator.is_armed = True
    batcher = TreeBatcher(evaluator)
    failures = batcher.step(runs)
    assert list(failures) == [runs[1]] and "komi" in str(failures[runs[1]])
    runs[1].abandon()
    first, last = together([runs[0], runs[2]])
    assert first.visits == 30 and untimed(first) == untimed(last)


def test_a_listener_that_fails_harms_its_search_alone() -> None:
    def hear(found: Analysis) -> None:
        raise ValueError(f"{found.visits} visits are too many")

    evaluator = FakeEvaluator()
    calm = begin(evaluator, Position(5), Limits(visits=20))
    loud = begin(evaluator, Position(5), Limits(visits=20), ReportRequest(0.0, hear))
    failures = TreeBatcher(evaluator).step([calm, loud])
    assert list(failures) == [loud] and str(failures[loud]) == "2 visits are too many"
    loud.abandon()
    assert together([calm])[0].visits == 20


def test_a_tree_that_cannot_grow_harms_its_search_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> bool:
        raise MemoryError

    evaluator = FakeEvaluator()
    runs = [begin(evaluator, Position(5), Limits(visits=20)) for _ in range(3)]
    shared = runs[1].shared
    shared.tree = shared.tree._replace(nodes=shared.tree.nodes[: shared.tree.counts[N_NODES]])
    monkeypatch.setattr(shared, "make_room", full)
    failures = TreeBatcher(evaluator).step(runs)
    assert list(failures) == [runs[1]] and isinstance(failures[runs[1]], MemoryError)
    runs[1].abandon()
    assert [found.visits for found in together([runs[0], runs[2]])] == [20, 20]


def test_a_batch_for_which_there_is_no_memory_harms_its_searches_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluator = FakeEvaluator()
    runs = [begin(evaluator, Position(size), Limits(visits=9)) for size in (7, 7, 5)]
    new_batch = FakeEvaluator.new_batch

    def within_memory(self: FakeEvaluator, slots: int, width: int, height: int) -> EvalBatch:
        if slots * width * height > 49:
            raise MemoryError
        return new_batch(self, slots, width, height)

    monkeypatch.setattr(FakeEvaluator, "new_batch", within_memory)
    failures = TreeBatcher(evaluator).step(runs)
    assert list(failures) == runs[:2]
    for run in failures:
        run.abandon()
    assert together(runs[2:])[0].visits == 9


def test_reports_come_after_every_step_that_is_due() -> None:
    heard: list[tuple[int, bool]] = []
    report = ReportRequest(0.0, lambda found: heard.append((found.visits, found.is_final)))
    evaluator = FakeEvaluator()
    other = begin(evaluator, Position(5), Limits(visits=9))
    together([other, begin(evaluator, Position(5), Limits(visits=4), report)])
    assert heard == [(2, False), (3, False), (4, False), (4, True)]


def test_a_stop_ends_one_search_at_the_next_step() -> None:
    evaluator = FakeEvaluator()
    stop = threading.Event()
    endless = begin(evaluator, Position(9), Limits(stop=stop))
    other = begin(evaluator, Position(9), Limits(visits=12))
    batcher = TreeBatcher(evaluator)
    for _ in range(4):
        batcher.step([endless, other])
    stop.set()
    assert endless.is_over and not other.is_over
    assert batcher.step([endless, other]) == {}
    assert endless.end().visits == 5  # the root's and four steps'
    assert together([other])[0].visits == 12


@pytest.mark.parametrize("slots", [1, 3])
def test_helpers_of_a_search_go_on_beside_the_steps(slots: int) -> None:
    evaluator = FakeEvaluator()
    position = random_position(5, 5, "chinese", 2, seed=6)
    wide = begin(evaluator, position, Limits(visits=400), threads=3, batch=slots)
    narrow = begin(evaluator, position, Limits(visits=90))
    found = together([wide, narrow])
    assert [one.visits for one in found] == [400, 90]
    assert_sound(wide.shared.tree)
