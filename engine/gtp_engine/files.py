"""Files that people name: regular ones alone, read within bounds, written whole or not at all.

A pipe would keep a reader waiting, a device never ends, and a small archive unpacks to gigabytes.
Whatever cannot be read or written is an OSError whose `strerror` is a phrase for people.
"""

import bz2
import contextlib
import errno
import gzip
import io
import json
import lzma
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from gtp_engine.platforms import READ_FLAGS, replace_file, sync_folder

MOST_BYTES = 64 << 20
"""Of a text that is read at once: a configuration, a game, a collection of games in one file."""

PACKED_SUFFIXES = (".bz2", ".gz", ".xz")

MOST_RATIO = 200
"""An archive may unpack to so many times its size; games come to a tenth of it, bombs to 6000."""
MOST_FOR_NOTHING = 64 << 20
"""Bytes that any archive may unpack to."""

_OPENERS: dict[str, Callable[[BinaryIO], object]] = {
    ".bz2": bz2.open,
    ".gz": gzip.open,
    ".xz": lzma.open,
}


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; anything else is refused at once.

    Raises:
        OSError: It cannot be opened, or is a pipe, a device or a folder.
    """
    try:
        descriptor = os.open(path, READ_FLAGS)
    except ValueError as error:  # a null byte, or what no encoding of file names has
        raise OSError(errno.EINVAL, f"no name for a file: {error}", str(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_file(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: It cannot be read, is no regular file, or has more bytes than `most`.
    """
    with open_regular(path) as file:
        _check_size(os.fstat(file.fileno()).st_size, most)
        content = file.read()  # with a number it would make room for as many bytes
    _check_size(len(content), most)
    return content


def read_rest(file: BinaryIO, most: int = MOST_BYTES) -> bytes:
    """Return what is left of a file.

    Raises:
        OSError: It has more bytes than `most`, or cannot be read.
    """
    content = file.read(most + 1)
    _check_size(len(content), most)
    return content


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB")


def most_unpacked(packed_bytes: int) -> int:
    """Return how many bytes an archive of a size may unpack to."""
    return max(MOST_FOR_NOTHING, MOST_RATIO * packed_bytes)


@contextlib.contextmanager
def open_packed(path: Path) -> Iterator[BinaryIO]:
    """Open a compressed file, by the ending of its name; reading on and on ends at a bound.

    Raises:
        OSError, EOFError, lzma.LZMAError or zlib.error: It cannot be read, is damaged, or unpacks
            to more than honest files do; also from reading.
    """
    with open_regular(path) as packed:
        most = most_unpacked(os.fstat(packed.fileno()).st_size)
        with cast(BinaryIO, _OPENERS[path.suffix.lower()](packed)) as unpacked:
            yield bounded(unpacked, most)


def bounded(file: BinaryIO, most: int) -> BinaryIO:
    """Return a file that gives the same, and raises OSError where it would give more bytes."""
    return io.BufferedReader(_Bounded(file, most))


class _Bounded(io.RawIOBase):
    """Gives what another file gives, up to so many bytes."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file = file
        self._most = self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self._file.read(len(buffer))
        self._left -= len(chunk)
        if self._left < 0:
            raise OSError(errno.EFBIG, f"unpacks to more than {self._most >> 20} MiB")
        buffer[: len(chunk)] = chunk
        return len(chunk)


@contextlib.contextmanager
def whole_file(
    path: Path, check: Callable[[Path], object] = lambda path: None
) -> Iterator[BinaryIO]:
    """Return a context with a file to write to; `path` is replaced at its end, or stays as it was.

    Args:
        path: What to write. A link stays one: the file that it names is replaced.
        check: Called with what was written before it takes the place; what it raises keeps it out.

    Raises:
        OSError: It cannot be written, or there is something else than a regular file; it names
            the file.
    """
    try:
        path = path.resolve()  # a link stays a link
        mode = path.stat().st_mode if path.exists() else None
    except (ValueError, RuntimeError) as error:  # a null byte in the name, links in a circle
        raise OSError(errno.EINVAL, f"no name for a file: {error}", str(path)) from None
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    # A name that nobody else uses, nor has left behind: in a container all processes are number 1.
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
        check(part)
        replace_file(part, path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(part)):
            error.filename = str(path)  # nobody else knows the other name
        raise


def write_whole(path: Path, content: str | bytes, *, pipes: bool = False) -> None:
    """Write a file whole or not at all: whoever reads it sees the old one or the new one.

    Args:
        content: Its bytes, or text that becomes UTF-8.
        pipes: Whether something else than a regular file, and /dev/stdout wherever it leads, is
            written to as it is, which may take as long as its reader wants; refused otherwise.

    Raises:
        OSError: It cannot be written; a file that was there is as it was.
        UnicodeEncodeError: The text has surrogates.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    output = find_output(path) if pipes else None
    if output is not None:
        with open(output, "wb", closefd=False) as file:
            file.write(data)
        return
    if pipes and path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with whole_file(path) as file:
        file.write(data)


def write_json(path: Path, document: object) -> None:
    """Write a document in JSON for people and programs, whole or not at all.

    Raises:
        OSError: It cannot be written; a file that was there is as it was.
    """
    write_whole(path, json.dumps(document, indent=1) + "\n")


def find_output(path: Path) -> int | None:
    """Return 1 or 2 if a file is this process's output or where it complains, None otherwise."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError, ValueError):  # closed, or there is no such file
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
    return None
