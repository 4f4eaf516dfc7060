"""What a person can type, and the signals of a terminal: Ctrl-C, a closed window, another size."""

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from gtp_engine.platforms import LEAVE_SIGNALS, RESIZE_SIGNALS, wait_for_input


class Key(NamedTuple):
    """A command of the terminal."""

    name: str
    short: str
    """A letter or two that stand for it; empty if it has to be spelled."""
    explanation: str


KEYS = (
    Key("pass", "p", "pass; two passes end the game"),
    Key("undo", "u", "take back your last move, and the engine's answer"),
    Key("hint", "h", "let the engine look at your move: candidates, chances, points"),
    Key("candidates", "c", "show the candidates before each of your moves, or no longer"),
    Key("territory", "t", "shade the points by whose they will be, or no longer"),
    Key("score", "s", "count as things stand, dead stones marked"),
    Key("go", "g", "let the engine make this move for you"),
    Key("resign", "", "give up this game"),
    Key("save", "w", "save [FILE]: write the game as SGF"),
    Key("load", "l", "load FILE: go on with a game"),
    Key("new", "n", "new [SIZE]: begin another game"),
    Key("help", "?", "explain all this"),
    Key("quit", "q", "leave; a game that is not on file is saved"),
)

MOVE_HINT = "D4"
"""An example of a move, first of the keys on the screen."""

_BY_WORD = {word: key for key in KEYS for word in (key.name, key.short) if word}


def find_key(word: str) -> Key | None:
    """Return the command that a word names, None if there is none."""
    return _BY_WORD.get(word.lower())


def key_words() -> list[str]:
    """Return the commands as the screen lists them: the short form in parentheses."""
    return [MOVE_HINT, *(f"{key.name} ({key.short})" if key.short else key.name for key in KEYS)]


def explain() -> list[str]:
    """Return a line for each command."""
    lines = [f"  {MOVE_HINT:14} play there: a letter and a number"]
    for key in KEYS:
        words = f"{key.name}, {key.short}" if key.short else key.name
        lines.append(f"  {words:14} {key.explanation}")
    lines.append("  Ctrl-C         while it thinks: move now; at your move: save and leave")
    lines.append("  Ctrl-D         save and leave")
    return lines


class Leaving(Exception):
    """The person leaves, or the terminal is gone.

    `is_terminal_gone` says whether nobody reads any more what is written.
    """

    def __init__(self, *, is_terminal_gone: bool = False) -> None:
        super().__init__()
        self.is_terminal_gone = is_terminal_gone


class Keyboard:
    """Reads lines; a context manager that looks after the signals."""

    def __init__(self, on_stop: Callable[[], bool], on_resize: Callable[[], None]) -> None:
        """Prepare.

        Args:
            on_stop: Ends what the engine is thinking about; whether it was thinking.
            on_resize: Draws everything anew, while a line is waited for.
        """
        self._on_stop = on_stop
        self._on_resize = on_resize
        self._is_reading = False
        self._was_resized = False
        self._woken: socket.socket | None = None
        """Readable once a signal has come."""
        self._leaving: Leaving | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Return a context in which signals are taken care of; afterwards all is as before."""
        wanted = {signal.SIGINT: self._interrupt}
        wanted |= dict.fromkeys(LEAVE_SIGNALS, self._hang_up)
        wanted |= dict.fromkeys(RESIZE_SIGNALS, self._resize)
        earlier = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        self._woken, waker = socket.socketpair()  # Windows takes no pipes
        with self._woken, waker:
            waker.setblocking(False)
            woken_before = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
            try:
                yield
            finally:
                signal.set_wakeup_fd(woken_before)
                self._woken = None
                for number, handler in earlier.items():
                    signal.signal(number, handler)

    @property
    def is_echoed(self) -> bool:
        """Whether the terminal shows what is typed."""
        return sys.stdin.isatty()

    def read(self) -> str:
        """Return the next line, without blanks around it.

        Raises:
            Leaving: There will be none.
        """
        self.check()
        self._is_reading = True
        try:
            if self._was_resized:
                self._was_resized = False
                self._on_resize()
            self._wait_for_line()
            line = sys.stdin.readline()
        except (OSError, ValueError):
            raise Leaving(is_terminal_gone=True) from None
        finally:
            self._is_reading = False
        if not line:
            raise Leaving
        return line.strip()

    def _wait_for_line(self) -> None:
        """Wait until a line was typed on a terminal; signals are heeded meanwhile.

        One that comes just before a read would wait for the next key: the read begins all the same.
        """
        if self._woken is None or not sys.stdin.isatty():
            return
        while not wait_for_input(sys.stdin, self._woken):
            self._woken.recv(4096)

    def check(self) -> None:
        """Raise Leaving if a signal has come meanwhile that asks for it."""
        if self._leaving is not None:
            raise self._leaving

    def lose_terminal(self) -> None:
        """End what the engine is thinking about, for nobody looks on; the next `check` raises."""
        self._leaving = Leaving(is_terminal_gone=True)
        self._on_stop()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._is_reading:
            self._is_reading = False
            raise Leaving
        if not self._on_stop():
            self._leaving = Leaving()

    def _hang_up(self, number: int, frame: FrameType | None) -> None:
        self.lose_terminal()
        if self._is_reading:
            self._is_reading = False
            self.check()

    def _resize(self, number: int, frame: FrameType | None) -> None:
        if self._is_reading:
            self._on_resize()
        else:  # between the prompt and the reading, too
            self._was_resized = True
