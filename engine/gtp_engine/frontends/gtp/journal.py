"""What the engine tells people besides its replies: stderr, and the log file if there is one."""

import contextlib
import re
import select
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

_CHAT_WORDS = re.compile(r"(MALKOVICH|MAIN|DISCUSSION):")
"""What makes the bridge to the OGS server post a line of stderr in the game's chat."""


_PIECE = 1024
"""Characters written at once: a pipe that takes anything takes 4096 bytes."""


def _would_block() -> bool:
    """Whether stderr is a full pipe; no where the system cannot tell."""
    try:
        return not select.select([], [sys.stderr.fileno()], [], 0)[1]
    except (OSError, ValueError):
        return False


class Journal:
    """Says things on stderr and keeps a copy of the conversation. It never raises."""

    def __init__(self, path: Path | None = None) -> None:
        """Open the log; if it cannot be written, say so and go on without."""
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        if path is not None:
            try:
                self._file = path.open("a", encoding="utf-8", errors="replace", buffering=1)
            except OSError as error:
                self.say(f"the log {path} cannot be written: {error.strerror}")

    def say(self, text: str) -> None:
        """Tell people something."""
        text = _CHAT_WORDS.sub(r"\1 :", text)
        self.show(f"gtp-engine: {text}")
        self.note("!", text)

    def show(self, text: str) -> None:
        """Put lines on stderr as they are, for programs that look for them there."""
        # Perhaps nobody listens any more, or somebody keeps the pipe and never reads it.
        with self._lock, contextlib.suppress(OSError, ValueError):
            for begin in range(0, len(text) + 1, _PIECE):
                if _would_block():
                    return
                sys.stderr.write(f"{text}\n"[begin : begin + _PIECE])
                sys.stderr.flush()

    def note(self, mark: str, text: str) -> None:
        """Write to the log alone.

        Args:
            mark: `>` for a request, `<` for a reply, `!` for a message.
            text: What was said, in one line or several.
        """
        with self._lock:
            if self._file is None:
                return
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            try:
                for line in text.rstrip("\n").split("\n"):
                    self._file.write(f"{stamp} {mark} {line}\n")
            except (OSError, ValueError):
                self._file = None
