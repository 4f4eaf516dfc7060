"""`gtp-engine play` on a pseudo-terminal: colors, sizes, Ctrl-C, Ctrl-D, a closed window."""

import os
import re
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.paths import TINY_NET

from gtp_engine.coords import parse_vertex
from gtp_engine.go.sgf import load_sgf

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals", allow_module_level=True)

import fcntl
import pty
import termios

TIMEOUT = 300.0
"""Seconds after which a test gives up."""

COMMAND = [sys.executable, "-m", "gtp_engine", "play", "--net", TINY_NET, "--device", "cpu"]


class Terminal:
    """A process on a pseudo-terminal, and everything that it wrote."""

    def __init__(self, folder: Path, *options: str, columns: int = 80, **environment: str) -> None:
        self._master, slave = pty.openpty()
        self.resize(columns)
        settings = {**os.environ, "TERM": "xterm-256color", **environment}
        settings = {key: settings[key] for key in settings.keys() - {"COLUMNS", "LINES"}}
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=settings,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._received = b""
        self._grown = threading.Condition()
        self._is_closed = False
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    def _receive(self) -> None:
        while not self._is_closed:
            # No read may be under way when the window closes: the terminal would live on.
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            try:
                chunk = os.read(self._master, 65536)
            except OSError:
                chunk = b""
            with self._grown:
                self._received += chunk
                self._grown.notify_all()
            if not chunk:
                return

    def resize(self, columns: int) -> None:
        """Make the terminal so many columns wide; the process is told."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def wait_for(self, pattern: str) -> str:
        """Return what was written up to and with the first match, and forget it."""

        def found() -> bool:
            return re.search(pattern, self._received.decode("utf-8", "replace")) is not None

        with self._grown:
            assert self._grown.wait_for(found, TIMEOUT), self._received.decode()
            text = self._received.decode("utf-8", "replace")
            match = re.search(pattern, text)
            assert match is not None
            self._received = text[match.end() :].encode()
        return text[: match.end()]

    def close_window(self) -> None:
        """Hang up, as a terminal does whose window is closed."""
        self._is_closed = True
        self._receiver.join()
        os.close(self._master)

    def leave(self) -> int:
        """Wait for the process; nothing may be left on stderr."""
        status = self.process.wait(TIMEOUT)
        assert self.process.stderr is not None
        assert self.process.stderr.read() == b""
        self.process.stderr.close()
        return status


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


def kept(folder: Path) -> list[str]:
    """Return the vertices, as SGF has them, of the one game that was saved."""
    (file,) = folder.glob("*.sgf")
    return [str(move.point) for move in load_sgf(file).moves]


def test_colors_and_ctrl_d(folder: Path) -> None:
    terminal = Terminal(folder, "--size", "5", "--playouts", "8", "--color", "both")
    assert "\x1b[" in terminal.wait_for("black> ")
    terminal.type("c3\n")
    screen = terminal.wait_for("white> ")
    assert "●" in screen and "48;" in screen, "stones on wood"
    terminal.type("\x04")
    terminal.wait_for("gtp-engine play --resume ")
    assert terminal.leave() == 0 and len(kept(folder)) == 1


def test_keys_pressed_before_the_first_prompt_are_not_lost(folder: Path) -> None:
    terminal = Terminal(folder, "--size", "5", "--playouts", "5")
    terminal.wait_for("please wait")
    terminal.type("c3\r\x04")
    terminal.wait_for("gtp-engine play --resume ")
    assert terminal.leave() == 0 and len(kept(folder)) == 2


def test_arrow_keys_lead_to_a_point(folder: Path) -> None:
    terminal = Terminal(folder, "--size", "5", "--playouts", "5")
    terminal.wait_for("black> ")
    terminal.type("\x1b[A\x1b[A\x1b[D")
    terminal.wait_for(r"B C D E(?s:.*)\]")
    terminal.type("\r")
    terminal.wait_for("White (plays|passes)(?s:.*)black> ")
    terminal.type("b3\x7f2\x04\x7f\x7f\x04")  # a line that was begun is not its end
    assert terminal.leave() == 0
    (file,) = folder.glob("*.sgf")
    assert load_sgf(file).moves[0].point == parse_vertex("B4", 5, 5)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colors(folder: Path, environment: dict[str, str]) -> None:
    terminal = Terminal(folder, "--size", "5", "--color", "both", **environment)
    terminal.wait_for("black> ")
    terminal.type("c3\n")
    screen = terminal.wait_for("white> ")
    assert "(X)" in screen and "48;" not in screen and "38;" not in screen
    assert ("\x1b" in screen) == ("TERM" not in environment)
    terminal.type("q\n")
    assert terminal.leave() == 0


def test_a_message_stays_until_the_next_command(folder: Path) -> None:
    terminal = Terminal(folder, "--size", "5", "--color", "both", NO_COLOR="1")
    terminal.wait_for("black> ")
    terminal.type("z9\n")
    terminal.wait_for("Z9 is off the board(?s:.*)black> ")
    terminal.resize(70)
    assert "Z9 is off the board" in terminal.wait_for("black> ")
    terminal.type("\x1b[A")
    assert "Z9 is off the board" in terminal.wait_for("black> ")
    terminal.type("c3\n")
    assert "Z9" not in terminal.wait_for("white> ")
    terminal.type("\x04")
    assert terminal.leave() == 0


def test_a_terminal_that_shrinks_and_grows(folder: Path) -> None:
    terminal = Terminal(folder, "--color", "both", NO_COLOR="1")
    terminal.wait_for("black> ")
    for columns, seen in ((30, "ABCDEFGHJKLMNOPQRST"), (24, "has 24"), (80, "A B C D E F G H")):
        terminal.resize(columns)
        assert seen in terminal.wait_for("black> ")
    terminal.type("d4\n")
    terminal.wait_for("white> ")
    terminal.type("q\n")
    assert terminal.leave() == 0 and len(kept(folder)) == 1


def test_ctrl_c_means_move_now_and_then_leave(folder: Path) -> None:
    terminal = Terminal(folder, "--size", "9", "--time", "100000")
    terminal.wait_for("black> ")
    terminal.type("e5\n")
    terminal.wait_for(r"thinking: .*visits")
    terminal.type("\x03")
    terminal.wait_for("White (plays|passes|resigns)")
    terminal.wait_for("black> ")
    terminal.type("\x03")
    terminal.wait_for("gtp-engine play --resume ")
    assert terminal.leave() == 0 and len(kept(folder)) == 2


@pytest.mark.parametrize("is_thinking", [False, True])
@pytest.mark.parametrize("how", ["window", "SIGHUP", "SIGTERM"])
def test_a_terminal_that_is_killed_leaves_the_game_saved(
    folder: Path, how: str, is_thinking: bool
) -> None:
    color = "black" if is_thinking else "both"
    terminal = Terminal(folder, "--size", "9", "--time", "100000", "--color", color)
    terminal.wait_for("black> ")
    terminal.type("e5\n")
    terminal.wait_for(r"thinking: .*visits" if is_thinking else "white> ")
    if how == "window":
        terminal.close_window()
    else:
        os.kill(terminal.process.pid, getattr(signal, how))
    assert terminal.leave() == 0
    assert len(kept(folder)) == 1 + is_thinking, "stopped, it makes its move first"


def test_through_pipes(folder: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--size", "5", "--playouts", "8"],
        input="c3\nhint\nsave game.sgf\nquit\n",
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=TIMEOUT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout and "black> c3\n" in done.stdout
    assert len(load_sgf(folder / "game.sgf").moves) == 2


def test_letters_of_another_encoding_end_no_game(folder: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--size", "5", "--color", "both"],
        input="\xe9t\xe9\nc3\n".encode("latin-1"),
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=TIMEOUT,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"is neither a move nor a command" in done.stdout
    assert len(kept(folder)) == 1


def test_a_reader_that_goes_away(folder: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--size", "5", "--color", "both"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        process.stdin.write(b"c3\n")
        process.stdin.flush()
        time.sleep(0.5)
        process.stdout.close()
        process.stdin.write(b"d3\nd4\n")
        process.stdin.close()
        assert process.wait(TIMEOUT) == 0
        assert process.stderr is not None and b"Traceback" not in process.stderr.read()
    assert len(kept(folder)) >= 1


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--resume", "none.sgf"], "cannot read"),
        (["--size", "2", "--handicap", "4"], "handicap"),
        (["--color", "red"], "is not one of"),
        (["--net", "none.onnx"], "no such net file"),
    ],
)
def test_bad_options(folder: Path, options: list[str], complaint: str) -> None:
    done = subprocess.run(
        [*COMMAND, *options], input="", capture_output=True, text=True, cwd=folder, timeout=TIMEOUT
    )
    assert done.returncode == 2 and done.stdout.strip() == ""
    assert complaint in done.stderr and done.stderr.count("\n") == 1
