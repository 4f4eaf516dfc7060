"""The other side of GTP: start engines, talk to them, and leave none behind.

An engine is believed nothing: it may answer without reading, write without end, close a pipe and
live on, or leave behind children that hold its pipes. So each pipe has a thread of its own that may
block, nobody waits for it without a deadline, and what an engine writes ahead of what is asked is
bounded.
"""

import contextlib
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import IO, Any

from gtp_engine.children import own_command
from gtp_engine.games import FIVE
from gtp_engine.go.rules import GO
from gtp_engine.platforms import LEAVE_SIGNALS, OWN_SESSION, kill_group, split_command_line

_CLOSING_SECONDS = 2.0
"""After `quit`; then the engine is killed."""
WAITING_SECONDS = 0.2
"""Longest wait for an engine without a look at whether it still lives. Windows tells the main
thread of a signal only between two waits."""
_CHUNK = 1 << 16
"""Bytes read at once."""
_COMMANDS_AHEAD = 3
"""For an engine that does not read: a command, `quit` and the end find room where it does."""
_CHUNKS_AHEAD = 16
"""Read before somebody asks for them; then the engine's pipe fills, and the engine waits."""
_LONGEST_REPLY = 4 << 20
"""In bytes; an analysis of a large board with ownership takes a fraction of it."""
_MOST_LINES = 100_000
"""Of a reply."""
_LONGEST_COMPLAINT = 1000
"""Bytes of stderr that are kept: the last ones."""
_LONGEST_REFUSAL = 200
"""Characters of an error that are kept."""


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


def split_command(text: str, game: str = GO) -> list[str]:
    """Return the words of a command line; `self` as the first stands for this engine.

    Args:
        text: As a shell would take it.
        game: What this engine is told to play.

    Raises:
        ValueError: There are none, or a quotation has no end.
    """
    words = split_command_line(text)
    if not words:
        raise ValueError("the command of an engine is empty")
    if words[0] == "self":
        told = {GO: (), FIVE: (FIVE,)}.get(game, ("--game", game))
        return own_command(*told, *words[1:])
    return words


class GtpClient:
    """An engine's process; a context manager that ends it."""

    farewell = b"quit\n"
    """What tells it to leave."""

    def __init__(self, command: Sequence[str], timeout: float = 60.0) -> None:
        """Start an engine.

        Args:
            timeout: Seconds that an answer may take where `ask` is not told otherwise.

        Raises:
            EngineDied: The program cannot be started.
        """
        self.timeout = timeout
        self.has_failed = False
        """Whether it can no longer be talked to: an answer is missing, or no GTP."""
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, **OWN_SESSION
            )
        except OSError as error:
            raise EngineDied(f"{command[0]} cannot be started: {error.strerror}") from None
        self._outgoing: queue.Queue[bytes] = queue.Queue(_COMMANDS_AHEAD)
        """What is still to be written; an empty one is the end."""
        self._chunks: queue.Queue[bytes] = queue.Queue(_CHUNKS_AHEAD)
        """What it has written; an empty one is the end."""
        self._lines: deque[bytes] = deque()
        """Taken out of chunks, and not yet part of a reply."""
        self._begun_line = bytearray()
        """The last of them, whose end has not come."""
        self._complaints = b""
        self._commands: frozenset[str] | None = None
        self._leaves_until: float | None = None
        """When it is killed after it was dismissed, by `time.perf_counter`."""
        self.is_closed = False
        """Whether the process has ended and its number may be another's."""
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._write_commands, self._read_output, self._read_errors)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "GtpClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The pipes, each in its thread, which closes it ----------------------------------------------

    def _write_commands(self) -> None:
        with _closing(self._process.stdin) as stream:
            while line := self._outgoing.get():
                try:
                    stream.write(line)
                    stream.flush()
                except OSError:
                    kill_group(self._process)  # who hears nothing any more cannot be asked
                    return

    def _read_output(self) -> None:
        with _closing(self._process.stdout) as stream:
            while chunk := stream.read1(_CHUNK):
                if self._leaves_until is None:
                    self._chunks.put(chunk)
            self._chunks.put(b"")

    def _read_errors(self) -> None:
        with _closing(self._process.stderr) as stream:
            while chunk := stream.read1(_CHUNK):
                self._complaints = (self._complaints + chunk)[-_LONGEST_COMPLAINT:]

    # Asking --------------------------------------------------------------------------------------

    def ask(self, command: str, timeout: float | None = None) -> str:
        """Send a command and return the text of its reply.

        Args:
            command: A line without an id.
            timeout: Seconds that the answer may take; the client's own when None.

        Raises:
            EngineRefusal: The reply is an error.
            EngineFailure: There is no reply.
        """
        timeout = self.timeout if timeout is None else timeout
        try:
            lines = self._exchange(command, timeout)
        except EngineFailure:
            self.has_failed = True
            raise
        text = "\n".join([lines[0][1:].lstrip("0123456789").strip(), *lines[1:]]).strip()
        if lines[0].startswith("?"):
            raise EngineRefusal(text[:_LONGEST_REFUSAL])
        return text

    def _exchange(self, command: str, timeout: float) -> list[str]:
        """Return the lines of the reply to a command."""
        lines: list[str] = []
        for raw in self._lines_after(f"{command}\n", command, timeout):
            line = raw.decode("utf-8", "replace").rstrip()
            if not line and lines:
                return lines
            if line and not lines and line[0] not in "=?":
                raise EngineBabbles(f"the answer to {command!r} begins with {line[:40]!r}")
            if line:
                lines.append(line)
            if len(lines) > _MOST_LINES:
                break
        raise EngineBabbles(f"the answer to {command!r} has no end")

    def _lines_after(self, text: str, command: str, timeout: float) -> Iterator[bytes]:
        """Send a text with a command; yield lines as they come, up to too much for one reply."""
        deadline = time.perf_counter() + timeout
        try:
            self._outgoing.put(text.encode(), timeout=timeout)
        except queue.Full:
            raise EngineHangs(f"{command!r} was not read within {timeout:g} s") from None
        n_bytes = 0
        while n_bytes <= _LONGEST_REPLY:
            while self._lines:
                yield self._lines.popleft()
            chunk = self._next_chunk(deadline)
            if chunk is None:
                raise EngineHangs(f"no answer to {command!r} within {timeout:g} s")
            if not chunk:
                raise self._death(command)
            n_bytes += len(chunk)
            first, *others = chunk.split(b"\n")
            self._begun_line += first
            if others:
                self._lines += [bytes(self._begun_line), *others[:-1]]
                self._begun_line = bytearray(others[-1])

    def _next_chunk(self, deadline: float) -> bytes | None:
        """Return what it writes, empty if it has ended; None if nothing came in time."""
        has_ended = False
        while True:
            left = deadline - time.perf_counter()
            try:
                chunk = self._chunks.get(timeout=max(0.0, min(WAITING_SECONDS, left)))
            except queue.Empty:
                if has_ended:
                    return b""  # somebody else holds the pipe
                if left <= 0.0:
                    return None
                has_ended = self._process.poll() is not None
                continue
            if not chunk:
                self._chunks.put(b"")  # whoever asks next is told too
            return chunk

    def _death(self, command: str) -> EngineDied:
        self._threads[-1].join(1.0)
        said = self._complaints.decode("utf-8", "replace").strip().splitlines()
        last = f": {said[-1]}" if said else ""
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

    # The end -------------------------------------------------------------------------------------

    def dismiss(self) -> None:
        """Tell it to leave, and do not wait; nothing can be asked any more."""
        if self._leaves_until is not None:
            return
        self._leaves_until = time.perf_counter() + _CLOSING_SECONDS
        with contextlib.suppress(queue.Full):  # it reads nothing
            for line in (self.farewell, b""):
                self._outgoing.put_nowait(line)
        with contextlib.suppress(queue.Empty):  # whoever waits for room goes on
            while True:
                self._chunks.get_nowait()

    def close(self) -> None:
        """End the process, by `quit` if it listens; two threads may wish that at once."""
        if self.is_closed:
            return
        self.dismiss()
        assert self._leaves_until is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, self._leaves_until - time.perf_counter()))
        kill_group(self._process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING_SECONDS)
        self.is_closed = True
        for thread in self._threads:
            # One that waits on a pipe that somebody else holds is left to wait.
            thread.join(WAITING_SECONDS)


@contextlib.contextmanager
def _closing(stream: "IO[bytes] | None") -> Iterator[Any]:
    """Return a context with a pipe, closed at its end though it may be broken."""
    assert stream is not None
    try:
        yield stream
    finally:
        with contextlib.suppress(OSError):  # nobody reads what was still to be written
            stream.close()


class Engines:
    """The engines under way: a context that leaves none behind, whatever signal ends it.

    A signal that asks us to end raises nothing: it ends the engines, so that whoever talks to one
    is told that it died, and is noted in `signal`.
    """

    def __init__(self, client: type[GtpClient] = GtpClient) -> None:
        self._client = client
        self.signal: int | None = None
        """The first that asked us to end."""
        self._clients: list[GtpClient] = []
        self._is_over = False
        self._has_ended = False
        self._lock = threading.Lock()
        self._handlers: dict[int, Any] = {}
        """Those before."""

    def __enter__(self) -> "Engines":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, *LEAVE_SIGNALS):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as with nohup
                    self._handlers[number] = signal.signal(number, self._heed)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _heed(self, number: int, frame: FrameType | None) -> None:
        """Note a signal; the engines are ended elsewhere, for who is here may hold the lock.

        Raises:
            KeyboardInterrupt: Another came when all had ended; perhaps nobody reads what is said.
        """
        if self.signal is None:
            self.signal = number
            threading.Thread(target=self.end).start()
        elif self._has_ended:
            raise KeyboardInterrupt

    def start(self, command: Sequence[str], timeout: float) -> GtpClient:
        """Return a new engine; see `GtpClient`.

        Raises:
            EngineDied: It cannot be started, or the end has come.
        """
        with self._lock:
            if self._is_over:
                raise EngineDied("no engine is started any more")
            client = self._client(command, timeout)
            self._clients = [*(one for one in self._clients if not one.is_closed), client]
            return client

    def end(self) -> None:
        """End all engines, at once, and start none any more."""
        with self._lock:
            self._is_over = True
            clients = list(self._clients)
        for client in clients:
            client.dismiss()
        for client in clients:
            client.close()
        self._has_ended = True
