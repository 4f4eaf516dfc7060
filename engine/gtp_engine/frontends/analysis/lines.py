"""Lines as they arrive on a descriptor, the overlong ones told apart."""

import os
from collections.abc import Iterator

LONGEST_LINE = 1 << 24
"""Bytes of a line; what is longer is no query, and is not kept in memory."""

_CHUNK = 1 << 16


def read_lines(descriptor: int, longest: int = LONGEST_LINE) -> Iterator[bytes | None]:
    """Yield the lines until the end of input, their ends cut off; None for one too long."""
    pending = bytearray()
    is_too_long = False
    while True:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            break
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            pending += part
            yield None if is_too_long or len(pending) > longest else bytes(pending)
            pending.clear()
            is_too_long = False
        pending += rest
        if len(pending) > longest:
            is_too_long = True
            pending.clear()
    if pending or is_too_long:
        yield None if is_too_long else bytes(pending)
