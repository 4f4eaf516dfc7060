"""Kernels and net are loaded side by side, unless opening the net measures something."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtp_engine.evaluators import precision
from gtp_engine.go import jit
from gtp_engine.play import warmup
from gtp_engine.play.loading import EngineUnavailableError, Loader
from gtp_engine.play.settings import Settings

TINY = Path(__file__).parent.parent / "data" / "tiny.onnx"
PATIENCE = 60.0


def loader(net: Path = TINY) -> Loader:
    return Loader(Settings(net=str(net), device="cpu", size=(5, 5)))


def watch(monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]) -> None:
    """Call something each time that a net's files have been opened."""
    plain = precision.open_files

    def open_files(*args: Any) -> Any:
        files = plain(*args)
        look()
        return files

    monkeypatch.setattr(precision, "open_files", open_files)


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
    made.close()


def test_what_measures_waits_for_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    had_kernels: list[bool] = []
    made = loader()
    watch(monkeypatch, lambda: had_kernels.append(made.has_kernels))
    monkeypatch.setattr(precision, "has_to_measure", lambda net, device: True)
    made.wait_ready()
    assert had_kernels == [True]
    made.close()


def test_a_start_that_fails_leaves_no_compiler_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start_children(net: str | None) -> list[subprocess.Popen[bytes]]:
        started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        return started

    monkeypatch.setattr(jit, "cache_is_warm", lambda: False)
    monkeypatch.setattr(warmup, "start_children", start_children)
    made = Loader(Settings(net=str(tmp_path / "missing.onnx")))
    with pytest.raises(EngineUnavailableError):
        made.wait_ready()
    assert len(started) == 1 and started[0].returncode is not None


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
    made.close()
