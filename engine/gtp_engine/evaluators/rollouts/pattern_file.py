"""A file of pattern weights: a zip of plain numpy arrays, and a header that says what it is.

| array | holds |
|---|---|
| `header` | bytes of JSON: format, version, name, boards, trained_on, licence, accuracy and more |
| `near`, `near_weights` | [n] canonical near codes, [2, n] logarithms of weights |
| `colors`, `colors_weights` | [m], [2, m] the same for codes without liberties, for what is rarer |
| `local` | [2, local features without responses to patterns] |
| `responses`, `response_weights` | [r] diamonds around last moves, [2, r, 12] |
| `distances` | [2, classes] of the tree policy alone |
| `diamonds`, `diamond_weights` | [d], [d] of the tree policy alone |

The first of two rows is the rollout policy's, the second the tree policy's.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.nets.net_files import PATTERN_SUFFIX, named_patterns
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import read_file
from gtp_engine.go.patterns import (
    DIAMOND_BITS,
    DIAMOND_ORIGINS,
    NEAR_BITS,
    diamond_symmetries,
    is_refused,
    near_colors,
    near_swapped,
    near_symmetries,
)
from gtp_engine.go.rollout_policy import (
    HIGHEST_WEIGHT,
    N_DISTANCES,
    PLAIN_ROWS,
    RESPONSES,
    Policy,
    fill_table,
)

FORMAT, VERSION = "gtp-engine patterns", 1
MOST_BYTES = 2 << 20
MOST_UNPACKED = 32 << 20
MOST_PATTERNS = 1 << 19

UNIT_WEIGHT = 4096
"""A weight of 1 as a whole number."""
REFUSED = -12.0
"""Logarithm of the weight of what rollouts never play, such as filling an own eye, in a tree."""

Arrays = dict[str, npt.NDArray[Any]]

_PLAIN = RESPONSES + 12 * PLAIN_ROWS
# Each array's kind and shape; a letter stands for the same number throughout.
_LAYOUT: Mapping[str, tuple[str, tuple[int | str, ...]]] = {
    "near": ("u4", ("n",)),
    "near_weights": ("f2", (2, "n")),
    "colors": ("u4", ("m",)),
    "colors_weights": ("f2", (2, "m")),
    "local": ("f4", (2, _PLAIN)),
    "responses": ("u4", ("r",)),
    "response_weights": ("f2", (2, "r", 12)),
    "distances": ("f4", (2, N_DISTANCES)),
    "diamonds": ("u4", ("d",)),
    "diamond_weights": ("f2", ("d",)),
}
_CODE_BITS = {
    "near": NEAR_BITS,
    "colors": NEAR_BITS,
    "responses": DIAMOND_BITS + 2,
    "diamonds": DIAMOND_BITS,
}


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the content of a file.

    Raises:
        NetFileError: It would be larger than a file may be.
    """
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}).encode()
    kept: Any = {name: arrays[name].astype(kind) for name, (kind, _) in _LAYOUT.items()}
    content = io.BytesIO()
    np.savez_compressed(content, header=np.frombuffer(text, np.uint8), **kept)
    if len(content.getvalue()) > MOST_BYTES:
        raise NetFileError(f"the patterns take more than {MOST_BYTES >> 20} MiB")
    return content.getvalue()


def unpack(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file.

    Raises:
        NetFileError: It cannot be read, is damaged, or was made for another version.
    """
    try:
        content = read_file(path, MOST_BYTES)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_UNPACKED:
                raise NetFileError(f"{path}: unpacks to more than a file of patterns may hold")
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise NetFileError(f"{path}: not a file of patterns")
            if header.get("version") != VERSION:
                raise NetFileError(
                    f"{path}: patterns of version {str(header.get('version'))[:20]}; this engine"
                    f" reads version {VERSION}"
                )
            arrays = {name: archive[name] for name in _LAYOUT}
    except OSError as error:
        raise NetFileError(f"{path}: {error.strerror or error}") from None
    except NetFileError:
        raise
    except Exception:  # zip, numpy and JSON have many ways to say so
        raise NetFileError(f"{path}: not a file of patterns, or damaged") from None
    _check(path, arrays)
    return header, arrays


def _check(path: Path, arrays: Arrays) -> None:
    sizes: dict[str, int] = {}
    for name, (kind, shape) in _LAYOUT.items():
        array = arrays[name]
        is_right = array.dtype == np.dtype(kind) and array.ndim == len(shape)
        for size, wanted in zip(array.shape, shape, strict=False):
            expected = sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            is_right = is_right and size == expected and size <= MOST_PATTERNS
        if is_right and name in _CODE_BITS:
            is_right = bool((array < (1 << _CODE_BITS[name])).all())
        elif is_right:
            is_right = bool(np.isfinite(array).all())
        if not is_right:
            raise NetFileError(f"{path}: the patterns are damaged: {name!r} is not what it must be")


@lru_cache(maxsize=2)
def load_policy(path: Path) -> Policy:
    """Return the policies of a file.

    Raises:
        NetFileError: It cannot be used.
    """
    return build_policy(unpack(path)[1])


def shipped_policy() -> Policy:
    """Return the shipped policies.

    Raises:
        NetFileError: They cannot be used.
    """
    path = named_patterns("rollout")
    if path is None:
        raise NetFileError(f"the file rollout{PATTERN_SUFFIX}, which rollouts need, is missing")
    return load_policy(path)


def build_policy(arrays: Arrays) -> Policy:
    """Lay the weights of a file out for lookups."""
    codes = np.arange(1 << NEAR_BITS, dtype=np.uint32)
    swapped, refused = near_swapped(codes), is_refused(codes)
    colors = near_colors(codes)
    tables = []
    for row in range(2):
        table = np.zeros(len(codes), np.float32)
        table[near_symmetries(arrays["colors"])] = arrays["colors_weights"][row]
        table = table[colors]
        table[near_symmetries(arrays["near"])] = arrays["near_weights"][row]
        tables.append(table)
    fast = np.clip(np.exp(tables[0]) * UNIT_WEIGHT, 1, HIGHEST_WEIGHT).astype(np.int32)
    fast[refused] = 0
    tables[1][refused] = REFUSED
    local = [_local_weights(arrays, row) for row in range(2)]
    response_keys, found = _table(diamond_symmetries(arrays["responses"]))
    n = max(1, len(arrays["responses"]))
    diamond_keys, which = _table(diamond_symmetries(arrays["diamonds"]))
    weights = np.concatenate([arrays["diamond_weights"], [0]]).astype(np.float32)
    return Policy(
        weights=np.stack([fast, fast[swapped]]),
        factors=np.exp(np.clip(local[0], -20, 20)),
        tree=np.stack([tables[1], tables[1][swapped]]),
        tree_local=local[1],
        distances=arrays["distances"].astype(np.float32),
        response_keys=response_keys,
        response_rows=(PLAIN_ROWS + found % n) * 8 + found // n,
        diamond_keys=diamond_keys,
        diamonds=weights[which % max(1, len(arrays["diamonds"]))],
    )


def _local_weights(arrays: Arrays, row: int) -> npt.NDArray[np.float32]:
    """Return the weights of all local features, alike where a pattern looks alike."""
    local, codes = arrays["local"][row].astype(np.float32), arrays["responses"]
    plain = local[RESPONSES:].reshape(PLAIN_ROWS, 12)
    weights = np.concatenate([plain, arrays["response_weights"][row].astype(np.float32)])
    is_alike = np.ones((8, len(weights)), np.bool_)
    is_alike[:, PLAIN_ROWS:] = diamond_symmetries(codes) == codes
    turned = np.stack([weights[:, origins] for origins in DIAMOND_ORIGINS])
    mean = (turned * is_alike[:, :, None]).sum(axis=0) / is_alike.sum(axis=0)[:, None]
    return np.concatenate([local[:RESPONSES], mean.ravel().astype(np.float32)])


def _table(codes: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Return a hash table of [8, n] codes: the keys, and which of all these are where."""
    size = 1 << max(4, (2 * codes.size).bit_length())
    keys, places = np.zeros(size, np.uint32), np.zeros(size, np.int32)
    fill_table(keys, places, codes.ravel())
    return keys, places
