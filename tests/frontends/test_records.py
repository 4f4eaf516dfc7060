"""loadsgf and printsgf."""

import errno
import logging
import os
import sys
from pathlib import Path

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.fake_engine import FakeEngine

from gtp_engine.frontends.journal import Journal

GAME = "(;GM[1]SZ[9]KM[5.5]RU[Japanese]AB[aa]PL[W];W[ee];B[cc];W[gg])"


def test_a_game_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "a game 7"
    with Conversation(FakeEngine()) as client:
        for command in ("boardsize 5 7", "komi 0.5", "play b e7", "play w pass"):
            client.ask(command)
        text = client.ask("printsgf")
        assert text.startswith("= (;") and "SZ[5:7]" in text and text.endswith("B[ea];W[])")
        assert client.ask(f"printsgf {file}") == "= "
        client.ask("boardsize 9")
        assert client.ask(f"loadsgf {file}") == "= black"
        assert client.ask("printsgf") == text
        assert client.ask("gg-undo 2") == "= "


def test_moves_before_a_number(tmp_path: Path) -> None:
    file = tmp_path / "game.sgf"
    file.write_text(GAME)
    with Conversation(FakeEngine()) as client:
        client.ask(f"loadsgf {file} 3")
        board = client.ask("showboard")
        assert "White (X black, O white) to play, 2 moves made" in board
        assert "Rules: japanese, komi 5.5" in board
        assert client.ask("play w g3") == "= "


def test_a_bad_file_leaves_the_game_alone(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sgf"
    broken.write_text("(;SZ[9];B[aa];W[zz])")
    with Conversation(FakeEngine()) as client:
        client.ask("boardsize 7")
        client.ask("play b d4")
        before = client.ask("showboard")
        for path in (broken, tmp_path / "missing.sgf", tmp_path, f"{'x' * 300} 5"):
            assert client.ask(f"loadsgf {path}").startswith("? cannot load file: ")
        assert client.ask("loadsgf") == "? syntax error: a file name is missing"
        assert client.ask(f"printsgf {tmp_path}").startswith("? cannot write file: ")
        assert client.ask("showboard") == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_or_a_device_keeps_nobody_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with Conversation(FakeEngine()) as client:
        for path in (pipe, "/dev/zero"):
            assert client.ask(f"loadsgf {path}").endswith(": not a regular file")
            assert client.ask(f"printsgf {path}") == "? cannot write file: not a regular file"


def test_a_full_disk_leaves_the_file_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "game.sgf"
    file.write_text(GAME)
    monkeypatch.setattr(os, "fsync", full)
    with Conversation(FakeEngine()) as client:
        assert client.ask(f"printsgf {file}") == "? cannot write file: No space left on device"
    assert file.read_text() == GAME


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_log_that_is_a_pipe_keeps_nobody_waiting(tmp_path: Path, said: list[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    Journal(pipe).note(">", "name")
    assert said == [f"the log {pipe} cannot be written: is a pipe"]


def test_messages_are_in_the_log_too(tmp_path: Path, said: list[str]) -> None:
    log = tmp_path / "log"
    journal = Journal(log)
    logging.getLogger("gtp_engine.play").warning("no net")
    journal.note("<", "= one\n= two")
    journal.close()
    lines = [line[20:] for line in log.read_text().splitlines()]
    assert lines == ["! no net", "< = one", "< = two"] and said == ["no net"]


def test_a_log_on_a_full_disk_goes_on_once_there_is_room(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk:
        def write(self, text: str) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    log = tmp_path / "log"
    journal = Journal(log)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_file", FullDisk())
        journal.note(">", "name")
        journal.note(">", "version")
    journal.note(">", "quit")
    journal.close()
    assert said == [f"the log {log} cannot be written: No space left on device"]
    assert log.read_text().endswith("> quit\n")
