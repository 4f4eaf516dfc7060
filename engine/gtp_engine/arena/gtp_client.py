"""The other side of GTP: start an engine and talk to it."""

import contextlib
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import partial

from gtp_engine.platforms import OWN_GROUP, kill_group, split_command_line

_CLOSING_SECONDS = 2.0
_LINES_KEPT = 20
_LONGEST_LINE = 1 << 20
"""In bytes; an analysis of a large board with ownership takes a fraction of it."""
_LONGEST_REPLY = 100_000
"""In lines; who writes more will not come to an end before memory does."""


class EngineRefusal(Exception):
    """The engine answered a command with an error; the message is its text."""


class EngineFailure(Exception):
    """The engine cannot be talked to any more."""

    kind = "failure"


class EngineDied(EngineFailure):
    """The engine ended, or never began."""

    kind = "crash"


class EngineHangs(EngineFailure):
    """The engine did not answer in time."""

    kind = "time-out"


class EngineBabbles(EngineFailure):
    """The engine's answer is no GTP."""

    kind = "bad reply"


def split_command(text: str) -> list[str]:
    """Return the words of a command line; `self` as the first stands for this engine.

    Raises:
        ValueError: There are none, or a quotation has no end.
    """
    words = split_command_line(text)
    if not words:
        raise ValueError("the command of an engine is empty")
    if words[0] == "self":
        return [sys.executable, "-m", "gtp_engine", *words[1:]]
    return words


class GtpClient:
    """An engine's process; a context manager that ends it."""

    def __init__(self, command: Sequence[str], timeout: float = 60.0) -> None:
        """Start an engine.

        Args:
            command: The program and its arguments.
            timeout: Seconds that an answer may take where `ask` is not told otherwise.

        Raises:
            EngineDied: The program cannot be started.
        """
        self.timeout = timeout
        self.has_failed = False
        """Whether it can no longer be talked to: an answer is missing, or no GTP."""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **OWN_GROUP,
            )
        except OSError as error:
            raise EngineDied(f"{command[0]} cannot be started: {error.strerror}") from None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._complaints: deque[str] = deque(maxlen=_LINES_KEPT)
        self._threads = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._commands: frozenset[str] | None = None

    def __enter__(self) -> "GtpClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        for line in iter(partial(self._process.stdout.readline, _LONGEST_LINE), b""):
            self._lines.put(line.decode("utf-8", "replace").rstrip())
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._complaints.append(line.decode("utf-8", "replace").rstrip())

    def ask(self, command: str, timeout: float | None = None) -> str:
        """Send a command and return the text of its reply.

        Args:
            command: A line without an id.
            timeout: Seconds that the answer may take; the client's own when None.

        Raises:
            EngineRefusal: The reply is an error.
            EngineFailure: There is no reply.
        """
        try:
            self._send(command)
            lines = self._read_reply(command, self.timeout if timeout is None else timeout)
        except EngineFailure:
            self.has_failed = True
            raise
        text = "\n".join([lines[0][1:].lstrip("0123456789").strip(), *lines[1:]]).strip()
        if lines[0].startswith("?"):
            raise EngineRefusal(text)
        return text

    def _send(self, command: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._death(command) from None

    def _read_reply(self, command: str, timeout: float) -> list[str]:
        deadline = time.monotonic() + timeout
        lines: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise EngineHangs(f"no answer to {command!r} within {timeout:g} s") from None
            if line is None:
                self._lines.put(None)  # whoever asks next is told too
                raise self._death(command)
            if not line and lines:
                return lines
            if line and not lines and line[0] not in "=?":
                raise EngineBabbles(f"the answer to {command!r} begins with {line[:40]!r}")
            if line:
                lines.append(line)
            if len(lines) > _LONGEST_REPLY:
                raise EngineBabbles(f"the answer to {command!r} has no end")

    def _death(self, command: str) -> EngineDied:
        self._threads[1].join(1.0)
        last = f": {self._complaints[-1]}" if self._complaints else ""
        return EngineDied(f"it ended during {command!r}{last}")

    def knows(self, command: str) -> bool:
        """Whether the engine lists a command.

        Raises:
            EngineFailure: There is no reply.
        """
        if self._commands is None:
            try:
                self._commands = frozenset(self.ask("list_commands").split())
            except EngineRefusal:
                self._commands = frozenset()
        return command in self._commands

    def close(self) -> None:
        """End the process, by `quit` if it listens."""
        try:
            if self._process.poll() is None:
                self.ask("quit", _CLOSING_SECONDS)
        except (EngineFailure, EngineRefusal):
            kill_group(self._process)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # nobody reads what was still to be written
            self._process.stdin.close()
        try:
            self._process.wait(_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            kill_group(self._process)
            self._process.wait()
        kill_group(self._process)
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
