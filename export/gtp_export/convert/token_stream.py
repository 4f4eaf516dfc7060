"""KataGo's stream of whitespace-separated tokens and tensors, in text or binary.

A tensor in text is plain numbers; in binary it is `@BIN@` and little-endian float32. How many
numbers it has follows from the tokens before it, so every size is compared with what is left
of the file before memory is taken.
"""

import math
import re
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import NetFileError

FloatArray = NDArray[np.float32]

_SPACE = b" \t\n\r\v\f"
_TOKEN = re.compile(rb"[ \t\n\r\v\f]*([^ \t\n\r\v\f]{1,200})(?=[ \t\n\r\v\f]|$)")
_NOT_SPACE = re.compile(rb"[^ \t\n\r\v\f]")
_BINARY_MARK = b"@BIN@"
_TEXT_WINDOW = 1 << 20
_LONGEST_NUMBER = 64


class TokenStream:
    """Read tokens and tensors one after another; every error names the file and the layer."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Start at the beginning of `data`, which was read from `path`."""
        self._path = path
        self._data = data
        self._position = 0

    @property
    def remaining(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self._position

    def fail(self, problem: str) -> NoReturn:
        """Raise NetFileError for this file."""
        raise NetFileError(f"{self._path}: {problem}")

    def word(self, what: str) -> str:
        """Read one token of printable ASCII."""
        match = _TOKEN.match(self._data, self._position)
        if match is None:
            if not self._data[self._position :].strip(_SPACE):
                self.fail(f"the file ends where {what} should be; it is truncated")
            self.fail(f"{what} is not a word")
        token = match.group(1)
        if not token.isascii() or not token.decode("ascii").isprintable():
            self.fail(f"{what} is not a word of printable characters")
        self._position = match.end()
        return token.decode("ascii")

    def integer(self, what: str, low: int, high: int) -> int:
        """Read a whole number from low to high."""
        token = self.word(what)
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", token):
            self.fail(f"{what} should be a whole number, not {token[:40]!r}")
        value = int(token)
        if not low <= value <= high:
            self.fail(f"{what} is {value}, which is not within {low} to {high}")
        return value

    def number(self, what: str) -> float:
        token = self.word(what)
        try:
            value = float(token)
        except ValueError:
            self.fail(f"{what} should be a number, not {token[:40]!r}")
        if not math.isfinite(value):
            self.fail(f"{what} is not finite")
        return value

    def positive(self, what: str) -> float:
        """Read a finite number above 0."""
        value = self.number(what)
        if value <= 0:
            self.fail(f"{what} is {value:g} and should be above 0")
        return value

    def tensor(self, what: str, *shape: int) -> FloatArray:
        """Read a tensor [*shape], text or binary; all of it must be finite."""
        count = math.prod(shape)
        start = _NOT_SPACE.search(self._data, self._position)
        if start is None:
            self.fail(f"the file ends where the weights of {what} should be; it is truncated")
        self._position = start.start()
        if self._data.startswith(_BINARY_MARK, self._position):
            values = self._binary(what, count)
        else:
            values = self._text(what, count)
        if not np.isfinite(values).all():
            self.fail(f"{what} has weights that are NaN or infinite")
        return values.reshape(shape)

    def finish(self) -> None:
        rest = self._data[self._position :].strip(_SPACE)
        if rest:
            self.fail(f"{len(rest)} bytes follow the end of the net")

    def _binary(self, what: str, count: int) -> FloatArray:
        self._position += len(_BINARY_MARK)
        if 4 * count > self.remaining:
            self.fail(
                f"{what} needs {4 * count} bytes and {self.remaining} are left; "
                "the file is truncated or its header is wrong"
            )
        values = np.frombuffer(self._data, np.dtype("<f4"), count, self._position)
        self._position += 4 * count
        return values.astype(np.float32, copy=False)

    def _text(self, what: str, count: int) -> FloatArray:
        if 2 * count - 1 > self.remaining:
            self.fail(
                f"{what} needs {count} numbers and only {self.remaining} bytes are left; "
                "the file is truncated or its header is wrong"
            )
        values = np.empty(count, np.float32)
        done = 0
        while done < count:
            tokens = self._text_tokens(what, count - done)
            try:
                values[done : done + len(tokens)] = parse_numbers(tokens)
            except ValueError:
                self.fail(f"{what} has weights that are not numbers")
            done += len(tokens)
        return values

    def _text_tokens(self, what: str, wanted: int) -> list[bytes]:
        """Take up to `wanted` whole tokens out of the next window of text."""
        window = self._data[self._position : self._position + _TEXT_WINDOW]
        at_end = len(window) == self.remaining
        if not at_end:
            # A token may be cut by the window's end: keep what stands before the last space.
            cut = max(window.rfind(space) for space in (b" ", b"\n", b"\t", b"\r"))
            if cut <= 0:
                self.fail(f"{what} is not a list of numbers")
            window = window[:cut]
        tokens = window.split(None, wanted)
        rest = len(tokens[wanted]) if len(tokens) > wanted else 0
        self._position += len(window) - rest
        if at_end and len(tokens) < wanted:
            self.fail(f"{what} is {wanted - len(tokens)} numbers short; the file is truncated")
        return tokens[:wanted]


def parse_numbers(tokens: list[bytes]) -> FloatArray:
    """Return [n] the numbers that n tokens spell; raise ValueError if one spells none."""
    if any(len(token) > _LONGEST_NUMBER for token in tokens):
        raise ValueError("a number is longer than any number needs to be")
    with np.errstate(over="ignore"):
        return np.array(tokens, f"S{_LONGEST_NUMBER}").astype(np.float64).astype(np.float32)
