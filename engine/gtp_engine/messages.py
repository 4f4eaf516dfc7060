"""What the program tells people besides its results: lines on stderr, through `logging`.

Modules log to `logging.getLogger(__name__)`. An entry point calls `set_up` once; who imports these
packages into a program of their own sets `logging` up as they like.
"""

import contextlib
import io
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator

from gtp_engine.platforms import (
    INTERRUPTED_BY,
    LEAVE_SIGNALS,
    PIPE_BYTES,
    end_by,
    nobody_reads,
    would_block,
)

PACKAGES = ("gtp_engine", "gtp_export")

INTERRUPTED_STATUS = INTERRUPTED_BY + signal.SIGINT
"""Exit status after Ctrl-C."""

_CHAT_WORDS = re.compile(r"(MALKOVICH|MAIN|DISCUSSION):")
"""What makes the bridge to the OGS server post a line of stderr in the game's chat."""

_PIECE = PIPE_BYTES // 4
"""Characters written at once; none has more than four bytes."""

_lock = threading.Lock()
_guard = threading.Lock()


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


def _occupy_closed_streams() -> None:
    """Point standard streams that are closed at nothing, lest a file take a number of theirs.

    What was closed stays None in `sys`, but for stderr: what is printed to None would go to stdout.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # the lowest number that is free is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def run_program(program: str, run: Callable[[list[str]], int]) -> int:
    """Run a program with the process's arguments and return its exit status.

    Ctrl-C, an output that cannot be written, a lack of memory and a library that cannot be loaded
    get a line on stderr.
    """
    _occupy_closed_streams()
    for number in LEAVE_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # and not to be ignored, as with nohup
            end_by(number)
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
        if nobody_reads(error):
            return 0  # whoever read this has seen enough
        show(f"{program}: {describe_os_error(error)}")
        return 1
    except MemoryError:
        show(f"{program}: memory is exhausted")
        return 1
    except ImportError as error:  # such as Numba's, that this NumPy is too new for it
        if (error.name or "").split(".")[0] in PACKAGES:
            raise
        reason = " ".join(str(error).split())
        again = "install gtp-engine again, in an environment of its own"
        show(f"{program}: a library cannot be loaded ({reason}): {again}")
        return 1


@contextlib.contextmanager
def collected(*, own_thread: bool = False) -> Iterator[list[str]]:
    """Return a context with the list to which messages go meanwhile instead of to stderr.

    Args:
        own_thread: Whether only those of the calling thread do.
    """
    lines: list[str] = []
    _collectors.begin(lines, threading.get_ident() if own_thread else None)
    try:
        yield lines
    finally:
        _collectors.end(lines)


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with what it counts: 1 game, 2,000 games."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def describe_lead(black_lead: float) -> str:
    """Return in a few words who is ahead by how many points; less than a tenth is nothing."""
    if abs(black_lead) < 0.05:
        return "Even"
    return f"{'Black' if black_lead > 0 else 'White'} leads by {abs(black_lead):.1f}"


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


class _Collectors(logging.Handler):
    """Takes the place of all handlers while messages are collected."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[tuple[list[str], int | None]] = []
        """Where messages go, and of which thread; the last that takes one keeps it. Several threads
        may collect at once, and end in any order."""
        self._before: dict[str, tuple[int, list[logging.Handler]]] = {}
        """By package, the level and the handlers that there were."""

    def begin(self, lines: list[str], thread: int | None) -> None:
        """Collect messages in a list; all, or those of a thread."""
        with _guard:
            if not self._open:
                for name in PACKAGES:
                    logger = logging.getLogger(name)
                    self._before[name] = logger.level, logger.handlers[:]
                    logger.setLevel(logging.INFO)
                    logger.handlers[:] = [self]
            self._open.append((lines, thread))

    def end(self, lines: list[str]) -> None:
        """Collect no more in a list."""
        with _guard:
            self._open = [one for one in self._open if one[0] is not lines]
            if not self._open:
                for name, (level, handlers) in self._before.items():
                    logger = logging.getLogger(name)
                    logger.setLevel(level)
                    logger.handlers[:] = handlers

    def emit(self, record: logging.LogRecord) -> None:
        for lines, thread in reversed(self._open):
            if thread in (None, record.thread):
                lines.append(self.format(record))
                return
        for handler in self._before[record.name.partition(".")[0]][1]:
            handler.handle(record)


_collectors = _Collectors()
