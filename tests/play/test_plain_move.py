"""Moves that a clock asks for before kernels and net are loaded."""

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from tests.frontends.conversation import Conversation

from gtp_engine.coords import BLACK, PASS, WHITE, point_at
from gtp_engine.go.position import Position
from gtp_engine.play.clock.notation import gtp_time_system
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import Loader
from gtp_engine.play.plain_move import plain_move
from gtp_engine.play.settings import Settings


def stones_of(position: Position) -> dict[int, int]:
    return {p: color for color in (BLACK, WHITE) for p in position.stones(color)}


def test_moves_on_an_unknown_board_are_legal_and_end_with_a_pass() -> None:
    position = Position(5, 4)
    stones: dict[int, int] = {}
    color = BLACK
    while (point := plain_move(5, 4, stones, color)) != PASS:
        position.play(color, point)
        stones[point] = color
        color = WHITE if color == BLACK else BLACK
    assert stones_of(position) == stones and len(stones) >= 4


@pytest.mark.parametrize("size", [(5, 5), (2, 2), (3, 7)])
def test_moves_on_a_known_board_are_legal_and_fill_no_own_eye(size: tuple[int, int]) -> None:
    position = Position(*size)
    for _ in range(300):
        color = position.to_play
        point = plain_move(*size, stones_of(position), color, set(position.legal_moves()))
        if point != PASS:
            beside = [
                position.color_at(point + step) for step in (-1, 1, -size[0] - 1, size[0] + 1)
            ]
            assert set(beside) - {color, 3}, "an empty point or one of the opponent's beside it"
        position.play(color, point)  # raises where it is illegal
        if position.is_over:
            return
    raise AssertionError("the game does not end")


def test_an_eye_is_left_alone_and_a_stone_captured() -> None:
    corner, beside, below = (point_at(*place, 2) for place in ((0, 0), (0, 1), (1, 0)))
    stones = {beside: BLACK, below: BLACK}
    assert plain_move(2, 2, stones, BLACK, {corner, PASS}) == PASS
    assert plain_move(2, 2, stones, WHITE, {corner, PASS}) == corner


@pytest.fixture
def never_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Loading goes on until this is set."""
    goes_on = threading.Event()
    plain = Loader._load

    def load(self: Loader) -> None:
        goes_on.wait()
        plain(self)

    monkeypatch.setattr(Loader, "_load", load)
    yield goes_on
    goes_on.set()


def test_no_clock_waits_for_the_engine_to_load(never_loaded: threading.Event) -> None:
    engine = Engine(Settings(size=(5, 5)))
    engine.clock.set_system(gtp_time_system(0, 0.01, 1))
    made = [engine.genmove(color) for color in (BLACK, WHITE, BLACK)]
    assert all("no time to wait" in decision.reason for decision in made)
    assert engine.genmove(WHITE, commit=False).point not in (None, PASS)
    engine._loader._kernels_ready.set()
    assert [(move.color, move.point) for move in engine.position.moves] == [
        (decision.color, decision.point) for decision in made
    ]
    engine.play(WHITE, point_at(0, 0, 5))
    last = engine.genmove(BLACK)
    assert (engine.position.moves[-1].color, engine.position.ply) == (BLACK, 5)
    assert engine.position.moves[-1].point == last.point


def test_a_move_before_loading_imports_nothing_heavy() -> None:
    program = """
import sys
from gtp_engine.play.clock.notation import gtp_time_system
from gtp_engine.play.engine import Engine
from gtp_engine.play.loading import Loader
from gtp_engine.play.settings import Settings
Loader._load = lambda self: None
engine = Engine(Settings(size=(9, 9)))
engine.clock.set_system(gtp_time_system(0, 0.01, 1))
assert "no time to wait" in engine.genmove(1).reason
print(sorted({"numba", "numpy", "gtp_engine.search.search"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_a_client_gets_moves_before_anything_is_loaded(never_loaded: threading.Event) -> None:
    engine = Engine(Settings(size=(9, 9)))
    with Conversation(engine) as client:
        assert client.ask("time_settings 0 1 25") == "= "
        assert client.ask("genmove b").startswith("= ")
