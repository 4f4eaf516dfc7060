"""Reading a foreign net file into memory, unpacked, with its format told from its content."""

import zlib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from gtp_engine.evaluators.net_info import NetFileError
from gtp_engine.files import most_unpacked, read_file

UNPACKED_LIMIT = 2 << 30
"""No net this engine can run is larger: an ONNX file of one piece holds 2 GiB."""
_CHUNK = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


class NetFormat(Enum):
    """The formats `gtp-export convert` reads."""

    KATAGO = "KataGo"
    LEELA_ZERO = "Leela Zero"
    KERAS = "Keras"


def read_net_file(path: Path) -> tuple[NetFormat, bytes]:
    """Return the format of a net file and its content, unpacked if it was gzipped.

    Raises:
        NetFileError: the file cannot be read or unpacked, or is of no known format.
    """
    try:
        packed = read_file(path, UNPACKED_LIMIT)
    except OSError as error:
        raise NetFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not packed:
        raise NetFileError(f"{path}: is empty")
    data = _gunzip(path, packed) if packed.startswith(_GZIP_MAGIC) else packed
    return _tell_format(path, data), data


def _gunzip(path: Path, packed: bytes) -> bytes:
    """Unpack one or more gzip members, refusing bombs, cut ends and foreign formats early."""
    chunks: list[bytes] = []
    total = 0
    most = min(UNPACKED_LIMIT, most_unpacked(len(packed)))
    for chunk in _gzip_chunks(path, memoryview(packed)):
        if not chunks:
            _tell_format(path, chunk)
        chunks.append(chunk)
        total += len(chunk)
        if total > most:
            raise NetFileError(f"{path}: unpacks to more than {most >> 20} MiB")
    return b"".join(chunks)


def _gzip_chunks(path: Path, packed: memoryview) -> Iterator[bytes]:
    """Yield the unpacked data in pieces of at most a chunk each, member after member."""
    position = 0
    while position < len(packed):
        if bytes(packed[position : position + 2]) != _GZIP_MAGIC:
            stray = len(bytes(packed[position:]).strip(b"\0"))
            if not stray:
                return
            raise NetFileError(f"{path}: {stray} stray bytes follow the gzip data")
        unpacker = zlib.decompressobj(wbits=31)
        pending: bytes | memoryview = b""
        while not unpacker.eof:
            if not pending:
                pending = packed[position : position + _CHUNK]
                position += len(pending)
                if not pending:
                    raise NetFileError(f"{path}: the gzip data end early; the file is truncated")
            try:
                chunk = unpacker.decompress(pending, _CHUNK)
            except zlib.error as error:
                raise NetFileError(f"{path}: the gzip data are damaged: {error}") from None
            pending = unpacker.unconsumed_tail
            if chunk:
                yield chunk
        position -= len(unpacker.unused_data)


def _tell_format(path: Path, data: bytes) -> NetFormat:
    """Tell the format from the first bytes."""
    if data.startswith(b"\x89HDF\r\n\x1a\n"):
        return NetFormat.KERAS
    head = data[:65536]
    first_line, _, rest = head.partition(b"\n")
    tokens = head[:4096].split(None, 3)
    if first_line.strip() in (b"1", b"2") and len(rest.partition(b"\n")[0].split(None, 4)) > 3:
        return NetFormat.LEELA_ZERO
    if len(tokens) > 2 and tokens[0].isascii() and tokens[1].isdigit() and tokens[2].isdigit():
        return NetFormat.KATAGO
    raise NetFileError(
        f"{path}: is neither a KataGo net, a Leela Zero net nor a Keras .h5 file"
        + (" (it looks like an ONNX file already)" if b"onnx" in head.lower() else "")
    )
