"""The other side of GTP, with engines that do as a script says and with hostile ones."""

import os
import shlex
import signal
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.paths import SCRIPTED_ENGINE

from gtp_engine.arena.gtp_client import (
    EngineBabbles,
    EngineDied,
    EngineHangs,
    EngineRefusal,
    Engines,
    GtpClient,
    split_command,
)
from gtp_engine.children import own_command

SCRIPT = [sys.executable, SCRIPTED_ENGINE]


def program(text: str) -> list[str]:
    """Return a command line that runs a few lines of Python."""
    return [sys.executable, "-c", "import os, subprocess, sys, time\n" + text]


def test_client() -> None:
    with GtpClient([*SCRIPT, "D4", "refuse"]) as client:
        assert client.ask("genmove b") == "D4"
        assert client.knows("boardsize") and not client.knows("final_score")
        with pytest.raises(EngineRefusal, match="illegal move"):
            client.ask("play w E5")
    for word, error in (("crash", EngineDied), ("hang", EngineHangs), ("babble", EngineBabbles)):
        with GtpClient([*SCRIPT, word]) as client, pytest.raises(error):
            client.ask("name")  # once that is answered, it has started
            client.ask("genmove b", 1 if word == "hang" else None)
    with GtpClient([*SCRIPT, "crash"]) as client:
        with pytest.raises(EngineDied, match="out of memory"):
            client.ask("genmove b")
        with pytest.raises(EngineDied):
            client.ask("name")


def within_a_minute(work: Callable[[], object]) -> None:
    """Do something that hung once."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes")
def test_an_engine_behind_a_script_is_ended_with_it() -> None:
    client = GtpClient(["sh", "-c", f"{shlex.join([*SCRIPT, 'hang'])}; true"], timeout=5)
    with pytest.raises(EngineHangs):
        client.ask("genmove b")
    within_a_minute(client.close)


LEAVES_A_CHILD = """
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
sys.stdin.readline()
print(f"= {child.pid}\\n", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
def test_a_child_that_holds_the_pipes_keeps_nobody() -> None:
    client = GtpClient(program(LEAVES_A_CHILD), timeout=600)
    child = int(client.ask("name"))
    died: list[EngineDied] = []

    def ask() -> None:
        try:
            client.ask("version")
        except EngineDied as error:
            died.append(error)

    try:
        within_a_minute(ask)
        within_a_minute(client.close)
        assert len(died) == 1
    finally:
        os.kill(child, signal.SIGKILL)


WRITES_UNASKED = """
import select
line, n = b"x" * 1023 + b"\\n", 0
while n < 64 << 20 and select.select([], [1], [], 1.0)[1]:
    n += os.write(1, line)
open(sys.argv[1], "w").write(str(n))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_what_an_engine_writes_unasked_fills_no_memory(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with GtpClient([*program(WRITES_UNASKED), str(pipe)]) as client:
        assert int(pipe.read_text()) < 4 << 20
        with pytest.raises(EngineBabbles):
            client.ask("name")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        # Complaints without a line's end; then a good answer.
        ("[os.write(2, b'x' * 65536) for _ in range(1024)]; print('= name\\n')", None),
        ("while True: os.write(1, b'\\n' * 65536)", EngineBabbles),
        ("while True: os.write(1, b'=' * 65536)", EngineBabbles),
        ("while True: os.write(1, b'= A1\\n' * 10000)", EngineBabbles),
    ],
)
def test_what_has_no_end_fills_no_memory(text: str, error: type[Exception] | None) -> None:
    tracemalloc.start()
    try:
        with GtpClient(program(text)) as client:
            if error is None:
                assert client.ask("name") == "name"
            else:
                with pytest.raises(error, match="has no end"):
                    client.ask("name")
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_an_engine_that_answers_without_reading_is_noticed() -> None:
    client = GtpClient(program("while True: os.write(1, b'=\\n\\n')"), timeout=3)

    def ask() -> None:
        with pytest.raises(EngineHangs, match="was not read within 3 s"):
            while True:
                client.ask("x" * 32768)
        client.close()

    within_a_minute(ask)
    assert client.is_closed


def test_an_engine_that_hears_nothing_any_more_is_ended() -> None:
    deaf = program("os.close(0); print('=\\n', flush=True); time.sleep(600)")
    with GtpClient(deaf, timeout=600) as client, pytest.raises(EngineDied):
        while True:
            client.ask("name")


def test_what_an_engine_complains_of_is_told() -> None:
    ends = program("sys.exit('x' * 5000 + 'out of order')")
    with GtpClient(ends) as client, pytest.raises(EngineDied, match="out of order") as caught:
        client.ask("name")
    assert len(str(caught.value)) < 1100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for one process")
def test_a_second_signal_interrupts_once_no_engine_is_left() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with Engines() as engines:
            client = engines.start(program("time.sleep(600)"), 600)
            for _ in range(2):
                signal.raise_signal(signal.SIGTERM)
            engines.end()
            assert client.is_closed and engines.signal == signal.SIGTERM
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_command_lines() -> None:
    assert split_command("self --playouts 5") == own_command("--playouts", "5")
    assert split_command("'a program' \"b c\"") == ["a program", "b c"]
