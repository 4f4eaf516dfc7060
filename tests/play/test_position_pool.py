"""Many positions at once: the same answers as one by one, in order of urgency, and endings."""

import threading

import pytest

from gtp_engine.evaluators.contract import NetFileError
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.position import Position
from gtp_engine.play.position_pool import PositionPool, PositionRequest, share_out
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.limits import Limits
from gtp_engine.search.search import Search
from gtp_engine.search.signature import random_position

POSITIONS = [random_position(5, 5, "chinese-ogs", seed, seed=seed) for seed in range(20)]


def analyse(pool: PositionPool, positions: list[Position], visits: int = 30) -> list[object]:
    found: dict[int, object] = {}
    for number, position in enumerate(positions):
        pool.submit(
            PositionRequest(
                position=lambda position=position: position,  # type: ignore[misc]
                on_end=lambda one, number=number: found.update({number: one}),  # type: ignore[misc]
                limits=Limits(visits=visits),
            )
        )
    pool.wait()
    return [found[number] for number in range(len(positions))]


def test_positions_do_not_disturb_each_other() -> None:
    pool = PositionPool(FakeEvaluator(), at_once=8, seed=3)
    together = analyse(pool, POSITIONS)
    pool.close()
    for position, found in zip(POSITIONS, together, strict=True):
        search = Search(FakeEvaluator(), seed=3)
        search.set_position(position)
        alone = search.run(Limits(visits=30))
        assert isinstance(found, Analysis)
        assert [(m.point, m.visits) for m in found.moves] == [
            (m.point, m.visits) for m in alone.moves
        ]


def test_an_error_concerns_its_position_alone() -> None:
    def fail() -> Position:
        raise NetFileError("no such position")

    found: list[object] = []
    pool = PositionPool(FakeEvaluator(), at_once=2)
    pool.submit(PositionRequest(fail, found.append, Limits(visits=5)))
    pool.wait()
    assert isinstance(found[0], NetFileError)
    assert all(isinstance(one, Analysis) for one in analyse(pool, POSITIONS[:4]))
    pool.close()


def test_closing_stops_what_runs_and_drops_what_waits() -> None:
    before = threading.active_count()
    pool = PositionPool(FakeEvaluator(), at_once=1)
    began = threading.Event()
    found: list[object] = []

    def position() -> Position:
        began.set()
        return POSITIONS[3]

    for _ in range(3):
        pool.submit(PositionRequest(position, found.append, Limits(visits=10_000_000)))
    assert began.wait(60)
    pool.close()
    assert sorted(found, key=str, reverse=True)[:2] == [None, None]
    assert sum(isinstance(one, Analysis) for one in found) == 1
    assert threading.active_count() <= before


@pytest.mark.parametrize(
    ("among", "share"), [(1, (3, 32)), (2, (1, 32)), (3, (1, 32)), (6, (1, 16)), (200, (1, 1))]
)
def test_the_machine_is_shared_out(among: int, share: tuple[int, int]) -> None:
    """Three threads of 32 leaves each suit the device: all searches together keep to that."""
    assert share_out(3, 32, among) == share
