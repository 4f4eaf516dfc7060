"""Ctrl-C during a long command, or readers who leave: no traceback, and no waiting."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.paths import TINY_NET

from gtp_engine.arena.self_play import parallel_map
from gtp_engine.commands import perft
from gtp_engine.commands.registry import run
from gtp_engine.messages import run_program

PATIENCE = 120.0

LONG_COMMAND = """
import sys, threading, time
from gtp_engine.__main__ import main
from gtp_engine.commands import perft

def run(args):
    threading.Thread(target=time.sleep, args=(3600,)).start()
    print("begun", flush=True)
    while True:
        time.sleep(0.1)  # Python 3.14 sleeps on if the signal comes just before

perft.run = run
sys.argv = ["gtp-engine", "perft"]
sys.exit(main())
"""
"""A process whose command takes an hour, and a thread of it too."""


def test_any_command_ends_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(perft, "run", interrupt)
    monkeypatch.setattr(sys, "argv", ["gtp-engine", "perft"])
    assert run_program("gtp-engine", run) == 130
    assert capsys.readouterr().err == "\ngtp-engine: interrupted\n"


@pytest.mark.parametrize(
    ("command", "player"),
    [
        ("net match tiny tiny", "commands.net_match.play_games"),
        ("manners --net tiny", "arena.self_play.play_self_games"),
        ("levels --net tiny", "arena.many_games.play_games"),
    ],
)
def test_without_a_finished_game_there_is_no_table(
    command: str,
    player: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: list[str],
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"gtp_engine.{player}", interrupt)
    assert run([TINY_NET if word == "tiny" else word for word in command.split()]) == 130
    assert said[-1] == "interrupted; no game was finished"
    lines = 1 if command.startswith("levels") else 0  # its first says what is to be played
    assert len(capsys.readouterr().out.splitlines()) == lines


@pytest.mark.parametrize("program", ["gtp_engine", "gtp_export"])
def test_a_program_that_is_still_loading_ends_without_a_traceback(program: str) -> None:
    interrupted = f"""
import sys
from importlib.abc import MetaPathFinder

class Interrupt(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from {program}.__main__ import main
sys.exit(main())
"""
    for module in (f"{program}.commands", "gtp_engine.arguments", "argparse"):
        command = [sys.executable, "-c", interrupted, module]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_a_process_ends_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LONG_COMMAND],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_ctrl_c,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
            assert process.stderr.read() == "\ngtp-engine: interrupted\n"
        finally:
            process.kill()


def _heed_ctrl_c() -> None:
    """Undo what a shell does to its background jobs: the tests may run in one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("words", [["--help"], ["match", "--help"], ["perft", "--size", "2"]])
def test_a_reader_who_has_seen_enough(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gtp_engine", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=PATIENCE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such shell")
@pytest.mark.parametrize(
    "words, status, out",
    [("score empty.json", 1, "empty.json: nothing is marked\n"), ("no", 2, "")],
)
def test_nobody_listens_to_stderr(words: str, status: int, out: str, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("[]")
    command = ["sh", "-c", f'exec "$0" -m gtp_engine {words} 2>&-', sys.executable]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (status, out)


def test_games_under_way_are_not_waited_for() -> None:
    goes_on = threading.Event()
    ended: list[bool] = []

    def last() -> None:
        goes_on.wait(PATIENCE)
        ended.append(True)

    def interrupt(result: None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_map([lambda: None, last], 2, interrupt)
    assert not ended
    goes_on.set()
