"""What a person can type, and the signals of a terminal: Ctrl-C, a closed window, another size."""

import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from gtp_engine.platforms import (
    LEAVE_SIGNALS,
    RESIZE_SIGNALS,
    keys_at_once,
    wait_for_input,
)

_ARROWS = {b"A": (-1, 0), b"B": (1, 0), b"C": (0, 1), b"D": (0, -1)}
_KEY = re.compile(
    rb"(?P<escape>\x1b(?:[\[O][0-9;]*(?:(?P<arrow>[ABCD])|[^0-9;ABCD])|[^\[O]))"
    rb"|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xff][\x80-\xbf]{3}"
    rb"|[\xc0-\xff][\x80-\xbf]*(?=[^\x80-\xbf])|[\x00-\x1a\x1c-\xbf]"
)
"""What one key sends: an escape sequence, or a letter in UTF-8."""


class Key(NamedTuple):
    """A command of the terminal."""

    name: str
    short: str
    """A letter or two that stand for it; empty if it has to be spelled."""
    explanation: str
    """Empty if another key's explanation names it."""
    is_everyday: bool = False
    """Whether it is always on the screen."""
    needs_count: bool = False
    """Whether it is only for games that end with a count of points."""


KEYS = (
    Key("pass", "p", "pass; two passes end the game", True, needs_count=True),
    Key("undo", "u", "take back your move and the answer; redo, r: make them again", True),
    Key("redo", "r", ""),
    Key("back", "b", "back [N]: see the game N moves ago; forward, f: and on again", True),
    Key("forward", "f", ""),
    Key("hint", "h", "let the engine look at your move: candidates, chances, points", True),
    Key("line", "i", "line [N]: what follows candidate N of a hint, move by move"),
    Key("both", "", "the candidates of both players"),
    Key("candidates", "c", "show the candidates before each of your moves, or no longer"),
    Key(
        "territory",
        "t",
        "shade the points by whose they will be, or no longer",
        True,
        needs_count=True,
    ),
    Key("score", "s", "count as things stand, dead stones marked", True, needs_count=True),
    Key("dead", "x", "dead D4: after a count, these stones are dead, or are not", needs_count=True),
    Key("go", "g", "let the engine make this move for you"),
    Key("resign", "", "give up this game", True),
    Key("level", "", "level [N]: how well the engine plays"),
    Key("komi", "", "komi POINTS: other points for White", needs_count=True),
    Key("rules", "", "rules NAME: other rules"),
    Key("save", "w", "save [FILE]: write the game as SGF", True),
    Key("load", "l", "load FILE: go on with a game"),
    Key("new", "n", "new [SIZE]: begin another game", True),
    Key("help", "?", "explain all this", True),
    Key("quit", "q", "leave; a game that is not on file is saved", True),
)

MOVE_HINT = "D4"
"""An example of a move, first of the keys on the screen."""

_BY_WORD = {word: key for key in KEYS for word in (key.name, key.short) if word}


def find_key(word: str) -> Key | None:
    """Return the command that a word names, None if there is none."""
    return _BY_WORD.get(word.lower())


def keys_of(*, has_count: bool) -> list[Key]:
    """Return the commands of games that end with a count of points, or of the others."""
    return [key for key in KEYS if has_count or not key.needs_count]


def key_words(*, has_count: bool = True) -> list[str]:
    """Return everyday commands as the screen lists them: the short form in parentheses."""
    everyday = (key for key in keys_of(has_count=has_count) if key.is_everyday)
    return [
        MOVE_HINT,
        *(f"{key.name} ({key.short})" if key.short else key.name for key in everyday),
    ]


def explain(*, has_count: bool = True) -> list[str]:
    """Return a line for each command; all of them fit on a small terminal."""
    lines = [f"  {MOVE_HINT:14} play there: a letter and a number, or the arrow keys and Enter"]
    for key in keys_of(has_count=has_count):
        if key.explanation:
            words = f"{key.name}, {key.short}" if key.short else key.name
            lines.append(f"  {words:14} {key.explanation}")
    lines.append("  Ctrl-C         while it thinks: move now; at your move: leave, as Ctrl-D does")
    return lines


class Leaving(Exception):
    """The person leaves, or the terminal is gone.

    `is_terminal_gone` says whether nobody reads any more what is written.
    """

    def __init__(self, *, is_terminal_gone: bool = False) -> None:
        super().__init__()
        self.is_terminal_gone = is_terminal_gone


class Keyboard:
    """Reads lines; a context manager that looks after the signals.

    Args:
        on_stop: Ends what the engine is thinking about; whether it was thinking.
        on_resize: Draws everything anew, while a line is waited for.
        on_arrow: Told of an arrow key, rows down and columns right; draws what it changes.
        on_enter: Returns what Enter alone stands for.
    """

    def __init__(
        self,
        on_stop: Callable[[], bool],
        on_resize: Callable[[], None],
        on_arrow: Callable[[int, int], None],
        on_enter: Callable[[], str],
    ) -> None:
        self._on_stop = on_stop
        self._on_resize = on_resize
        self._on_arrow = on_arrow
        self._on_enter = on_enter
        self._typed = ""
        """The line so far, where keys come one by one."""
        self._unread = b""
        """Keys behind it."""
        self._is_reading = False
        self._was_resized = False
        self._woken: socket.socket | None = None
        """Readable once a signal has come."""
        self._leaving: Leaving | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Return a context in which signals are taken care of; afterwards all is as before.

        Keys are handed over one by one from the beginning: of what is typed before a prompt a
        terminal that gives lines would keep Ctrl-D and the arrows for itself.
        """
        wanted = {signal.SIGINT: self._interrupt}
        wanted |= dict.fromkeys(LEAVE_SIGNALS, self._hang_up)
        wanted |= dict.fromkeys(RESIZE_SIGNALS, self._resize)
        earlier = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        self._woken, waker = socket.socketpair()  # Windows takes no pipes
        with self._woken, waker:
            waker.setblocking(False)
            woken_before = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
            try:
                with keys_at_once(sys.stdin):
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
            line = self._read_keys() if self.is_echoed else None
            if line is None:
                line = sys.stdin.readline()
        except (OSError, ValueError):
            raise Leaving(is_terminal_gone=True) from None
        finally:
            self._is_reading = False
        if not line:
            raise Leaving
        return line.strip()

    def _read_keys(self) -> str | None:
        """Return the next line of a terminal, empty at its end; None where it gives lines only."""
        with keys_at_once(sys.stdin) as is_possible:  # again, for who was sent to the background
            if not is_possible:
                return None
            self._show_typed(self._typed)
            while (line := self._next_line()) is None:
                self._wait_for_input()
                keys = os.read(sys.stdin.fileno(), 4096)
                if not keys:
                    return ""
                self._unread += keys
        return line

    def _next_line(self) -> str | None:
        """Take up the keys that have come; return the first whole line, None if there is none."""
        while self._unread:
            found = _KEY.match(self._unread)
            if found is None:
                return None  # the rest of a letter or of an arrow key is still to come
            self._unread = self._unread[found.end() :]
            key = found[0]
            if key in (b"\n", b"\r"):
                line = (self._typed or self._on_enter()) + "\n"
                self._typed = ""
                self._show_typed("\r\n")
                return line
            if key == b"\x04" and not self._typed:
                return ""
            if found["arrow"]:
                self._on_arrow(*_ARROWS[found["arrow"]])
                self._show_typed(self._typed)
            elif key in (b"\b", b"\x7f") and self._typed:
                self._typed = self._typed[:-1]
                self._show_typed("\b \b")
            elif key == b"\x15":
                self._show_typed("\b \b" * len(self._typed))
                self._typed = ""
            elif key >= b" " and key != b"\x7f" and not found["escape"]:
                self._typed += key.decode(errors="replace")
                self._show_typed(self._typed[-1])
        return None

    def _show_typed(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _wait_for_input(self) -> None:
        """Wait until a key was pressed; signals are heeded meanwhile.

        One that comes just before a read would wait for the next key: the read begins all the same.
        """
        assert self._woken is not None
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
            self._show_typed(self._typed)
        else:  # between the prompt and the reading, too
            self._was_resized = True
