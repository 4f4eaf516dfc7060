"""Kernels and net are loaded side by side, unless opening the net measures something."""

import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.paths import TINY

from gtp_engine.evaluators.nets import composition, precision
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.kernels import CACHE
from gtp_engine.play.loading import EngineUnavailableError, Loader
from gtp_engine.play.settings import Settings

PATIENCE = 120.0


def loader(net: Path = TINY) -> Loader:
    return Loader(Settings(net=str(net), device="cpu", size=(5, 5)))


def watch(monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]) -> None:
    """Call something each time that a net's files have been opened."""
    plain = composition.open_whole

    def open_whole(*args: Any) -> Any:
        files = plain(*args)
        look()
        return files

    monkeypatch.setattr(composition, "open_whole", open_whole)


def test_the_net_is_opened_while_kernels_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = threading.Event()
    watch(monkeypatch, opened.set)
    made = loader()
    plain = made._load_kernels

    def load_kernels() -> None:
        assert opened.wait(PATIENCE), "the net waits for the kernels"
        plain()

    monkeypatch.setattr(made, "_load_kernels", load_kernels)
    made.wait_ready()


@pytest.mark.parametrize("failing", [0, 1])
def test_a_thread_that_cannot_be_started_is_no_end(
    monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    begun: list[threading.Thread] = []
    start = threading.Thread.start

    def start_but_one(thread: threading.Thread) -> None:
        begun.append(thread)
        if len(begun) == 1 + failing:
            raise RuntimeError("can't start new thread")
        start(thread)

    made = loader()
    monkeypatch.setattr(threading.Thread, "start", start_but_one)
    if failing == 0:
        with pytest.raises(EngineUnavailableError, match="can't start new thread"):
            made.wait_ready(PATIENCE)
    assert made.wait_ready(PATIENCE)


def test_what_measures_waits_for_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    had_kernels: list[bool] = []
    made = loader()
    watch(monkeypatch, lambda: had_kernels.append(made.has_kernels))
    monkeypatch.setattr(precision, "has_to_measure", lambda *_: True)
    made.wait_ready()
    assert had_kernels == [True]


def test_a_runtime_that_cannot_be_imported_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gtp_engine.evaluators.nets.precision", None)
    with pytest.raises(EngineUnavailableError, match="the net cannot be used: ModuleNotFound"):
        loader().wait_ready(PATIENCE)


def test_people_who_wait_hear_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = loader()
    assert made.progress == "loading the engine"
    made.wait_ready()
    monkeypatch.setattr(CACHE, "folder", tmp_path)
    monkeypatch.setattr(CACHE, "compiled", 0)
    assert made.progress == "loading the engine"
    for number in range(76):  # of an earlier start that was killed, some of them
        (tmp_path / f"{number}.kernel").touch()
    monkeypatch.setattr(CACHE, "compiled", 36)
    assert made.progress == "compiling the kernels (once), 76 of about 200, 38%"
    monkeypatch.setattr(CACHE, "obstacle", "no space")
    before = "compiling the kernels (at each start: no space; set NUMBA_CACHE_DIR to a folder"
    assert made.progress.startswith(f"{before} that can be written), 76 of about")
    monkeypatch.setattr(CACHE, "folder", None)
    assert made.progress.startswith(f"{before} that can be written), 36 of about")
    monkeypatch.setattr(CACHE, "compiled", 240)
    assert made.progress.endswith("200 of about 200, 99%")


def test_a_wait_may_be_short(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    watch(monkeypatch, lambda: goes_on.wait(PATIENCE))  # type: ignore[arg-type,func-returns-value]
    made = loader()
    assert not made.wait_ready(0.01)
    goes_on.set()
    assert made.wait_ready(PATIENCE)


def test_a_net_is_got_ready_for_the_board_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    goes_on = threading.Event()

    def prepare(net: OnnxNet, *asks: int) -> list[threading.Thread]:
        asked.append(asks)
        thread = threading.Thread(target=goes_on.wait, args=(PATIENCE,))
        thread.start()
        return [thread]

    monkeypatch.setattr(OnnxNet, "prepare", prepare)
    made = loader()
    made.use_board(7, 6)
    assert made.wait_ready(PATIENCE)
    assert asked[-1] == (4, 7, 6)
    made.use_board(5, 5)
    assert asked[-1] == (4, 5, 5)
    made.wait_warm(0.01)
    goes_on.set()
    made.wait_warm(PATIENCE)
    assert not any(thread.is_alive() for thread in made._warming)


def test_a_seed_is_not_drawn_from_the_random_numbers_of_the_program_around_it() -> None:
    state = random.getstate()
    loader().wait_ready(PATIENCE)
    assert random.getstate() == state


def test_a_net_that_is_not_there_is_reported_once_and_the_kernels_are(
    tmp_path: Path, said: list[str]
) -> None:
    missing = tmp_path / "missing.onnx"
    made = Loader(Settings(net=str(missing), device="cpu"))
    for _ in range(2):
        with pytest.raises(EngineUnavailableError, match=r"missing\.onnx: no such net"):
            made.wait_ready()
    made.wait_kernels()
    assert len(said) == 1
