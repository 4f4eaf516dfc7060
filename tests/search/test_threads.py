"""Several threads on one tree: nothing lost, nothing left in flight; stops, errors, memory."""

import threading
import time

import pytest
from tests.search.scripted import FailingEvaluator, SlowEvaluator
from tests.search.trees import assert_sound

from gtp_engine.coords import BLACK, PASS
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.go.position import Position
from gtp_engine.search import shared_tree
from gtp_engine.search import tree as tree_module
from gtp_engine.search.playout import FEWEST_LEAVES, VISITS_A_LEAF
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits
from gtp_engine.search.tree import N_NODES, Tree


@pytest.mark.parametrize("threads, batch", [(2, 1), (2, 4), (4, 3)])
def test_threads_make_just_the_playouts_asked_for(threads: int, batch: int) -> None:
    search = Search(FakeEvaluator(), threads=threads, batch=batch)
    search.set_position(Position(5))
    found = search.run(Limits(playouts=600))
    assert (found.playouts, found.visits, found.nodes) == (
        600,
        600,
        int(search.tree.counts[N_NODES]),
    )
    assert sum(move.visits for move in found.moves) == 599
    assert_sound(search.tree)
    found = search.run(Limits(visits=900))
    assert (found.playouts, found.visits) == (300, 900)
    assert_sound(search.tree)


def test_nothing_is_lost_while_the_tree_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    # The smallest possible tree, so that it grows again and again under the workers' hands.
    monkeypatch.setattr(shared_tree, "FIRST_NODES", 12)
    search = Search(SlowEvaluator(0.0001), threads=4, batch=2)
    search.set_position(Position(5))
    growths: list[int] = []

    def opened(reserve: Tree, capacity: int) -> Tree:
        growths.append(capacity)
        return tree_module.opened(reserve, capacity)

    monkeypatch.setattr(shared_tree, "opened", opened)
    found = search.run(Limits(playouts=800))
    assert found.visits == 800 and len(growths) > 5
    assert_sound(search.tree)


def test_reports_see_a_sound_tree_while_others_work() -> None:
    search = Search(FakeEvaluator(), threads=3, batch=2)
    search.set_position(Position(5))
    totals = []

    def hear(found: object) -> None:
        with search.shared.lock:
            below = sum(child.visits for child in search.children())
            totals.append(int(search.tree.nodes[search.root]["visits"]) - below)

    search.run(Limits(playouts=300), ReportRequest(interval=0.0, callback=hear, ownership=True))
    assert totals and set(totals) == {1}


def test_collisions_are_counted_and_cost_no_playout() -> None:
    # Only one move at the root: the second descent of a batch finds the first one's leaf.
    search = Search(FakeEvaluator(), batch=4)
    only = AvoidRule(BLACK, frozenset([PASS]), depth=1, allow=True)
    search.set_position(Position(3), avoid=(only,))
    found = search.run(Limits(playouts=50))
    assert search.shared.collisions > 0 and (found.playouts, found.visits) == (50, 50)
    assert_sound(search.tree)


class InFlight(FakeEvaluator):
    """Notes, for every leaf encoded, the root's visits and how many leaves are in flight."""

    def __init__(self) -> None:
        self.search: Search | None = None
        self.seen: list[tuple[int, int]] = []

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        if self.search is not None:
            with self.search.shared.lock:
                record = self.search.tree.nodes[self.search.root]
                self.seen.append((int(record["visits"]), int(record["pending"])))
        super().evaluate(batch, n)


@pytest.mark.parametrize("threads, batch", [(1, 32), (4, 8), (3, 1)])
def test_leaves_in_flight_are_a_small_share_of_the_visits(threads: int, batch: int) -> None:
    evaluator = InFlight()
    search = evaluator.search = Search(evaluator, threads=threads, batch=batch)
    search.set_position(Position(7))
    assert search.run(Limits(visits=500)).visits == 500
    assert_sound(search.tree)
    for visits, pending in evaluator.seen:
        assert pending <= max(FEWEST_LEAVES, visits // VISITS_A_LEAF)
    if threads == 1:  # with visits enough, every slot is used
        assert max(pending for _, pending in evaluator.seen) == batch


def test_workers_share_the_leaves_that_may_be_in_flight() -> None:
    parts: list[tuple[int, int]] = []

    class Parts(FakeEvaluator):
        def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
            with search.shared.lock:
                parts.append((int(search.tree.nodes[search.root]["visits"]), n))
            super().evaluate(batch, n)

    search = Search(Parts(), threads=4, batch=8)
    search.set_position(Position(7))
    search.run(Limits(visits=400))
    assert all(n <= max(1, visits // VISITS_A_LEAF // 4) for visits, n in parts)
    assert max(n for _, n in parts) == 8


def test_a_kept_tree_lets_a_search_begin_with_many_leaves_in_flight() -> None:
    evaluator = InFlight()
    search = Search(evaluator, batch=16)
    search.set_position(Position(7))
    search.run(Limits(visits=400))
    evaluator.search = search
    search.set_position(Position(7))
    search.run(Limits(playouts=16))
    assert evaluator.seen == [(400, 16)]


def test_stop_ends_an_endless_search_from_another_thread() -> None:
    search = Search(SlowEvaluator(0.005), threads=2)
    search.set_position(Position(5))
    begun, stop = threading.Event(), threading.Event()
    stopper = threading.Thread(target=lambda: begun.wait(60.0) and stop.set())
    stopper.start()
    report = ReportRequest(callback=lambda analysis: begun.set(), interval=0.0)
    found = search.run(Limits(stop=stop), report)
    stopper.join()
    assert found.visits >= 1 and found.is_final
    assert_sound(search.tree)
    assert search.run(Limits(playouts=10)).playouts == 10, "a stop ends one search"


def test_a_stop_may_come_before_its_search_and_means_no_other() -> None:
    search = Search(FakeEvaluator())
    search.set_position(Position(5))
    stop = threading.Event()
    stop.set()
    assert search.run(Limits(stop=stop)).visits == 1
    assert search.run(Limits(playouts=10)).playouts == 10
    assert search.run(Limits(playouts=10, stop=stop)).playouts == 0


def test_a_system_without_another_thread_ends_those_that_have_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[threading.Thread] = []
    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if begun:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    search = Search(SlowEvaluator(0.001), threads=3)
    search.set_position(Position(5))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_one)
        with pytest.raises(RuntimeError, match="new thread"):
            search.run(Limits())
    assert not begun[0].is_alive()
    search.set_position(Position(5))
    assert search.run(Limits(playouts=50)).visits == 50


@pytest.mark.parametrize("in_helper", [False, True])
def test_an_error_in_any_worker_ends_all_and_surfaces_once(in_helper: bool) -> None:
    main = threading.current_thread()

    def fails(call: int) -> bool:
        # Whoever is to fail gets to evaluate, because the other one waits.
        is_main = threading.current_thread() is main
        if call > 1 and is_main == in_helper:
            time.sleep(0.001)
        return call > 5 and is_main != in_helper

    threads_before = threading.active_count()
    evaluator = FailingEvaluator(fails)
    search = Search(evaluator, threads=3)
    search.set_position(Position(5))
    with pytest.raises(NetFileError):
        search.run(Limits(seconds=60.0))
    assert threading.active_count() <= threads_before
    evaluator.fails = lambda call: False
    search.set_position(Position(5))
    assert search.run(Limits(playouts=50)).visits == 50
    assert_sound(search.tree)
