"""What the program tells people besides its results: lines on stderr, through `logging`.

Modules log to `logging.getLogger(__name__)`. An entry point calls `set_up` once; who imports these
packages into a program of their own sets `logging` up as they like.
"""

import contextlib
import io
import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import ClassVar

from gtp_engine.platforms import would_block

PACKAGES = ("gtp_engine", "gtp_export")

INTERRUPTED_BY = 128
"""Exit status after a signal, less the signal's number, as shells have it."""

INTERRUPTED_STATUS = INTERRUPTED_BY + 2
"""After Ctrl-C."""

_CHAT_WORDS = re.compile(r"(MALKOVICH|MAIN|DISCUSSION):")
"""What makes the bridge to the OGS server post a line of stderr in the game's chat."""

_PIECE = 1024
"""Characters written at once: a pipe that takes anything takes 4096 bytes."""

_lock = threading.Lock()


def set_up(program: str) -> None:
    """Write all messages to stderr from now on, each behind the program's name.

    What a console cannot show or understand, such as a name in another alphabet, becomes `?`.
    """
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # In such words that a message ends up in no chat.
    handler = _Handler(lambda text: show(_CHAT_WORDS.sub(r"\1 :", text)))
    handler.setFormatter(logging.Formatter(f"{program}: %(message)s"))
    for name in PACKAGES:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.handlers[:] = [handler]


def run_program(program: str, run: Callable[[list[str]], int]) -> int:
    """Run a program with the process's arguments and return its exit status.

    Ctrl-C and an output that cannot be written get a line on stderr.
    """
    if sys.stderr is None:  # closed; what is printed to None would go to stdout
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    set_up(program)
    try:
        try:
            return run(sys.argv[1:])
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        show(f"\n{program}: interrupted")
        return INTERRUPTED_STATUS
    except OSError as error:
        # Python must not try to flush stdout at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return 0  # whoever read this has seen enough
        show(f"{program}: {describe_os_error(error)}")
        return 1


@contextlib.contextmanager
def collected(*, own_thread: bool = False) -> Iterator[list[str]]:
    """Return a context with the list to which messages go meanwhile instead of to stderr.

    Args:
        own_thread: Whether only those of the calling thread do.
    """
    lines: list[str] = []
    thread = threading.get_ident() if own_thread else None
    collectors = [_Collector(lines.append, logging.getLogger(name), thread) for name in PACKAGES]
    try:
        yield lines
    finally:
        for collector in collectors:
            collector.remove()


def describe_os_error(error: OSError) -> str:
    """Return in a line what is wrong, behind the name of the file where there is one."""
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def describe_failure(error: Exception, *expected: type[Exception]) -> str:
    """Return one line about a failure; unless its kind is expected, stderr gets the details."""
    summary = " ".join(str(error).split())
    if isinstance(error, expected):
        return summary
    logging.getLogger(__name__).error("".join(traceback.format_exception(error)))
    return f"internal error: {type(error).__name__}: {summary}"


def show(text: str) -> None:
    """Put lines on stderr as they are, for programs that look for them there. Never raises."""
    # Perhaps nobody listens any more, or somebody keeps the pipe and never reads it.
    with _lock, contextlib.suppress(OSError, ValueError):
        for begin in range(0, len(text) + 1, _PIECE):
            if would_block(sys.stderr):
                return
            sys.stderr.write(f"{text}\n"[begin : begin + _PIECE])
            sys.stderr.flush()


class _Handler(logging.Handler):
    """Hands messages on as text."""

    def __init__(self, take: Callable[[str], None]) -> None:
        super().__init__()
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        self._take(self.format(record))


class _Collector(_Handler):
    """Hands a logger's messages on in place of the handlers there were, until it is removed."""

    _open: ClassVar[list["_Collector"]] = []
    """Those that are at work; several threads may collect at once, and end in any order."""
    _guard = threading.RLock()

    def __init__(
        self, take: Callable[[str], None], logger: logging.Logger, thread: int | None
    ) -> None:
        """Begin; messages of other threads than this one, if it is given, go where they went."""
        super().__init__(take)
        self._logger = logger
        self._thread = thread
        with self._guard:
            self._level, self._before = logger.level, logger.handlers[:]
            self._open.append(self)
            logger.setLevel(logging.INFO)
            logger.handlers[:] = [self]

    def emit(self, record: logging.LogRecord) -> None:
        if self._thread in (None, record.thread):
            super().emit(record)
            return
        for handler in self._before:
            handler.handle(record)

    def remove(self) -> None:
        """End; all is as before, or will be once those that began later have ended."""
        with self._guard:
            self._open.remove(self)
            later = next((one for one in self._open if self in one._before), None)
            if later is not None:
                later._level, later._before = self._level, self._before
            else:
                self._logger.setLevel(self._level)
                self._logger.handlers[:] = self._before
