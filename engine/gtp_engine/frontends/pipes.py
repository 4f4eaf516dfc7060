"""The pipes to a client: a stdout that carries nothing but its protocol, and lines as they come."""

import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from gtp_engine.platforms import PIPE_BYTES, fail_when_full, make_blocking, would_block

PATIENCE = 0.25
"""Seconds of silence after which `quit` or the end of input means: stop what you are doing.

Without a pause they are the end of a script that was piped in, whose commands are all carried out.
"""

LONGEST_LINE = 1 << 20
"""Bytes of a line that are read; the rest of a longer one is dropped."""

LAST_SECONDS = 5
"""How long a client that is leaving may take nothing of what is said to it."""

_LONGEST_QUEUE = 10_000
_LARGEST_QUEUE = 1 << 24
"""Characters of lines that wait; while there are more, none is read."""


_CONTROL = {code: None for code in (*range(0x20), *range(0x7F, 0xA0))}
_CONTROL[ord("\t")] = " "  # type: ignore[assignment]
_CONTROL[0xFEFF] = None  # some systems begin a text with this mark of the order of bytes


def clean_line(line: bytes) -> str:
    """Return a line as text without control characters, its tabs turned into spaces."""
    return line.decode("utf-8", "replace").translate(_CONTROL)


def claim_stdout() -> int:
    """Return a file descriptor for the client, and point stdout at stderr from now on.

    Libraries that print, in Python or in C, can then not disturb the conversation. Nor does stderr
    stop it where the client never reads that.
    """
    conversation = os.dup(1)
    make_blocking(conversation)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    fail_when_full(2)
    return conversation


class Output:
    """Writes to the client; several threads may."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self.is_closed = False
        """Whether the client has stopped listening."""
        self.inbox: Inbox | None = None
        """What the same client says; abandoned once it has stopped listening."""

    def write(self, text: str) -> None:
        """Send text at once. Once the client is gone, do nothing."""
        data = memoryview(text.encode("utf-8", "replace"))
        with self._lock:
            try:
                while data and not self.is_closed:
                    self._wait_for_room()
                    data = data[os.write(self._descriptor, data[:PIPE_BYTES]) :]
                return
            except OSError:
                self.is_closed = True
        if self.inbox is not None:
            self.inbox.abandon()

    def _wait_for_room(self) -> None:
        """Wait until the client takes more.

        Raises:
            TimeoutError: It does not, and is leaving. Many a program waits for the end of another
                without reading what that one still says.
        """
        left = LAST_SECONDS
        while would_block(self._descriptor, 1.0):
            if self.inbox is not None and self.inbox.is_client_leaving:
                left -= 1
                if left == 0:
                    raise TimeoutError


@dataclass(frozen=True, slots=True)
class Request:
    """One command as the client sent it."""

    id: str
    """Digits, to be repeated in the reply; empty if there are none."""
    name: str
    """May be empty: an id alone is answered too."""
    rest: str
    """What follows the name, inner spaces as they came."""


class Line(NamedTuple):
    """A request and when it came."""

    number: int
    """Counts all lines, empty ones too."""
    request: Request


@dataclass(frozen=True, slots=True)
class _Watch:
    number: int
    any_line: bool
    stop: threading.Event


class Inbox:
    """Reads lines in a thread of its own, so that they are noticed while a command runs.

    Searches are stopped from here: an analysis by any later line, even an empty one; every
    search by a line that interrupts or by a client that is leaving.

    Args:
        descriptor: Of the file to read.
        parse: Makes a request of a cleaned line, or None of one that asks nothing.
        leaves: The request of a client that is leaving.
        is_interrupt: Whether a line ends the search under way.
    """

    def __init__(
        self,
        descriptor: int,
        parse: Callable[[str], Request | None],
        leaves: str,
        is_interrupt: Callable[[str], bool],
    ) -> None:
        self._descriptor = descriptor
        self.is_typed = os.isatty(descriptor)
        """Whether a person at a terminal types the lines."""
        self._parse, self._leaves, self._is_interrupt = parse, leaves, is_interrupt
        self._changed = threading.Condition()
        self._lines: deque[Line] = deque()
        self._queued = 0
        self._arrived = 0
        self._cut = 0  # searches begun by lines before this one are to end
        self._paused_before = 0  # the newest line that came after a pause
        self._watch: _Watch | None = None
        self._is_ended = False
        self.is_client_leaving = False
        """Whether the client wants to be gone at once, whatever is still to do."""

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="gtp-reader", daemon=True).start()

    def next(self, timeout: float | None = None) -> Line:
        """Return the next request, waiting for it.

        Args:
            timeout: Seconds to wait at most.

        Raises:
            TimeoutError: None came in time.
            EOFError: None will come.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._lines or self._is_ended, timeout):
                raise TimeoutError
            if not self._lines:
                raise EOFError
            line = self._lines.popleft()
            self._queued -= len(line.request.rest)
            self._changed.notify_all()
            return line

    @contextmanager
    def watching(self, number: int, *, any_line: bool) -> Iterator[threading.Event]:
        """Yield what is set while this context lasts, once the search is to end.

        Args:
            number: Number of the line that began the search.
            any_line: Whether any later line ends the search.
        """
        stop = threading.Event()
        with self._changed:
            self._watch = _Watch(number, any_line, stop)
            self._stop_if_due()
        try:
            yield stop
        finally:
            with self._changed:
                self._watch = None

    def wait_for_line_after(self, number: int) -> None:
        """Wait until a later line than that one, be it empty, or the end of input has come."""
        with self._changed:
            self._changed.wait_for(lambda: self._arrived > number)

    def has_line_after(self, number: int) -> bool:
        """Whether a later line than that one, be it empty, or the end of input has come."""
        with self._changed:
            return self._arrived > number

    def abandon(self) -> None:
        """Take it that nothing more will come, and stop what is being done."""
        self._end(math.inf)

    # The reading thread -------------------------------------------------------------------------

    def _read(self) -> None:
        pending = bytearray()
        while True:
            began = time.perf_counter()
            try:
                chunk = os.read(self._descriptor, 1 << 16)
            except OSError:
                chunk = b""
            # How long this thread takes over a line is no silence of the client's.
            silence = time.perf_counter() - began
            if not chunk:
                break
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                self._accept(bytes(pending + part)[:LONGEST_LINE], silence)
                pending.clear()
                silence = 0.0
            pending += rest[: LONGEST_LINE - len(pending)]
        if pending:
            self._accept(bytes(pending), silence)
            silence = 0.0
        self._end(silence)

    def _accept(self, raw: bytes, silence: float) -> None:
        text = clean_line(raw)
        request = self._parse(text)
        with self._changed:
            self._count(silence)
            if self._is_interrupt(text):
                self._cut = self._arrived
            if request is not None:
                if request.name == self._leaves:
                    self._leave()
                self._lines.append(Line(self._arrived, request))
                self._queued += len(request.rest)
            self._stop_if_due()
            self._changed.notify_all()
            self._changed.wait_for(self._has_room)

    def _has_room(self) -> bool:
        return len(self._lines) < _LONGEST_QUEUE and self._queued < _LARGEST_QUEUE

    def _end(self, silence: float) -> None:
        with self._changed:
            self._count(silence)
            self._is_ended = True
            self._leave()
            self._stop_if_due()
            self._changed.notify_all()

    def _count(self, silence: float) -> None:
        """Count a line, or the end of input, that came after so many seconds of silence."""
        self._arrived += 1
        if silence > PATIENCE:
            self._paused_before = self._arrived

    def _leave(self) -> None:
        """Take it that the client is leaving, if it said nothing for PATIENCE before.

        Or before a line that came since the search under way began: then it is no script, all of
        which is to be carried out.
        """
        before = self._arrived - 1 if self._watch is None else self._watch.number
        if self._paused_before > before:
            self._cut = self._arrived
            self.is_client_leaving = True

    def _stop_if_due(self) -> None:
        """Stop the search that is being watched if it is to end. The lock is held."""
        watch = self._watch
        if watch is not None and (
            self._cut > watch.number or (watch.any_line and self._arrived > watch.number)
        ):
            watch.stop.set()
