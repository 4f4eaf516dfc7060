"""Reading a foreign net file into memory, unpacked, with its format told from its content."""

import gzip
import io
import zlib
from enum import Enum
from pathlib import Path
from typing import BinaryIO, cast

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import bounded, most_unpacked, read_file

UNPACKED_LIMIT = 2 << 30
"""No net this engine can run is larger: an ONNX file of one piece holds 2 GiB."""
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
    """Unpack gzip data, which may not be larger than honest nets are."""
    most = min(UNPACKED_LIMIT, most_unpacked(len(packed)))
    try:
        with gzip.open(io.BytesIO(packed)) as unpacked:
            return bounded(cast(BinaryIO, unpacked), most).read()
    except EOFError:
        raise NetFileError(f"{path}: the gzip data end early: the file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        problem = f"the gzip data are damaged, or stray bytes follow them: {error}"
        raise NetFileError(f"{path}: {problem}") from None
    except OSError as error:
        raise NetFileError(f"{path}: {error.strerror}") from None


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
