"""The log file: a copy of the conversation and of all messages."""

import contextlib
import errno
import logging
import threading
import time
from pathlib import Path
from typing import TextIO

logger = logging.getLogger(__name__)


class Journal(logging.Handler):
    """Writes the log file if there is one. It never raises, but says once what it cannot write."""

    def __init__(self, path: Path | None = None) -> None:
        """Open the log; if it cannot be opened, say so and go on without."""
        super().__init__()
        self._path = path
        self._file: TextIO | None = None
        self._has_failed = False
        self._lock = threading.Lock()
        if path is None:
            return
        try:
            if path.is_fifo():
                raise OSError(errno.EINVAL, "is a pipe")  # opening it waits for a reader
            self._file = path.open("a", encoding="utf-8", errors="replace", buffering=1)
        except OSError as error:
            self._complain(error)
        else:
            logging.getLogger("gtp_engine").addHandler(self)

    def _complain(self, error: OSError) -> None:
        logger.warning(f"the log {self._path} cannot be written: {error.strerror}")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message down."""
        self.note("!", record.getMessage())

    def close(self) -> None:
        """Close the file; whatever comes later is written nowhere."""
        with self._lock:
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.close()
                self._file = None
        super().close()

    def note(self, mark: str, text: str) -> None:
        """Write to the log alone.

        Args:
            mark: `>` for a request, `<` for a reply, `?` for a failure, `!` for a message.
            text: What was said, in one line or several.
        """
        with self._lock:
            if self._file is None:
                return
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            try:
                for line in text.rstrip("\n").split("\n"):
                    self._file.write(f"{stamp} {mark} {line}\n")
                self._has_failed = False
                return
            except OSError as error:  # such as a full disk, which may have room again later
                failure, is_new = error, not self._has_failed
                self._has_failed = True
        if is_new:
            self._complain(failure)
