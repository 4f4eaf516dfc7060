"""A compact file of many games: its arrays, column by column, compressed with xz.

Moves are pairs of bytes, column and row, which xz brings down to about seven bits a move:

    bytes 0-7    the magic number
    rest         xz of: 4 bytes length of the header (little endian), the header in JSON, and the
                 columns in the header's order, each an array of numpy's little-endian type

A pass is (127, 255); a move out of turn has 128 added to its column.
"""

import dataclasses
import json
import lzma
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import BLACK, MAX_SIZE, MIN_SIZE, WHITE
from gtp_engine.files import bounded, most_unpacked, open_regular, whole_file
from gtp_engine.go.game_record import SgfError
from gtp_engine.go.rules import FIVE_RULES, Rules
from gtp_export.records.games import (
    ACTION_MASK,
    OUT_OF_TURN,
    PER_GAME,
    RANGES,
    UNKNOWN_WINNER,
    Games,
    GameTable,
)

PACK_SUFFIX = ".games"
MAGIC = b"gtpgame1"
PASS_BYTE = 255
OUT_OF_TURN_BIT = 128
_PRESET = 9 | lzma.PRESET_EXTREME
_FILTERS = [
    {"id": lzma.FILTER_LZMA2, "preset": _PRESET, "lc": 0, "lp": 1, "pb": 1, "dict_size": 1 << 26}
]

KINDS = {
    **dict.fromkeys(("width", "height", "first", "winner", "settled", "moves"), "|u1"),
    **dict.fromkeys(("komi", "score"), "<f4"),
    **dict.fromkeys(("rules", "source", "setups", "dead"), "<i2"),
    **dict.fromkeys(("moves_count", "setups_count", "dead_count"), "<i2"),
}
"""By column."""
DAMAGE = (
    *(ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError),
    *(EOFError, lzma.LZMAError),
)
"""What a header and columns of any kind may lead to."""


def write_pack(path: Path, games: Games) -> None:
    """Write games to a file, all of it or nothing.

    Raises:
        SgfError: They do not fit into a pack.
        OSError: The file cannot be written; nothing is left behind.
    """
    columns = columns_of(games)
    header = {
        "games": len(games),
        "rules": [rules.to_kata() for rules in games.rules],
        "sources": games.sources,
        "columns": listed(columns),
    }
    text = json.dumps(header).encode()
    with whole_file(path, check=_check) as file:
        file.write(MAGIC)
        coder = lzma.LZMACompressor(lzma.FORMAT_XZ, filters=_FILTERS)
        file.write(coder.compress(len(text).to_bytes(4, "little") + text))
        for array in columns.values():
            file.write(coder.compress(np.ascontiguousarray(array).tobytes()))
        file.write(coder.flush())


def _check(path: Path) -> None:
    """See that what was written can be read."""
    try:
        read_pack(path)
    except SgfError as error:
        raise SgfError(f"not written, for it could not be read again: {error}") from None


def read_pack(path: Path) -> Games:
    """Read what `write_pack` wrote.

    Raises:
        SgfError: The file cannot be read, is no pack or is damaged.
    """
    try:
        data = _unpacked(path)
        length = int.from_bytes(data[:4], "little")
        header = json.loads(data[4 : 4 + length])
        columns = columns_in(data, 4 + length, header, KINDS)
        return games_of(header, columns)
    except OSError as error:
        raise SgfError(f"{path}: {error.strerror}") from None
    except DAMAGE as error:
        raise SgfError(f"{path}: is damaged: {error}") from None


def columns_in(
    data: bytes, at: int, header: dict[str, Any], kinds: Mapping[str, str]
) -> dict[str, NDArray[Any]]:
    """Return the columns that a header names, which stand in data from a place on.

    Raises:
        ValueError, or another of DAMAGE: They are not what the header says.
    """
    columns: dict[str, NDArray[Any]] = {}
    for name, kind, shape in header["columns"]:
        if kind != kinds[name] or len(shape) != 1 + (name == "moves"):
            raise ValueError(f"the column {name} is of another kind")
        array = np.frombuffer(data, np.dtype(kind), math.prod(shape), at)
        columns[name] = array.reshape(shape)
        at += array.nbytes
    return columns


def listed(columns: Mapping[str, NDArray[Any]]) -> list[list[Any]]:
    """Return how a header names columns, which follow it in that order."""
    return [[name, array.dtype.str, list(array.shape)] for name, array in columns.items()]


def _unpacked(path: Path) -> bytes:
    """Return what stands behind the magic number.

    Raises:
        SgfError: There is another one.
        OSError, EOFError or lzma.LZMAError: It cannot be read, or is more than there is in games.
    """
    with open_regular(path) as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise SgfError(f"{path}: is no pack of games")
        most = most_unpacked(path.stat().st_size)
        with lzma.open(file) as unpacked:
            return bounded(cast(BinaryIO, unpacked), most).read()


def columns_of(games: Games) -> dict[str, NDArray[Any]]:
    """Return games as columns for a file.

    Raises:
        SgfError: They do not fit into one.
    """
    table = games.table
    columns = {name: getattr(table, name) for name in PER_GAME}
    for starts_name, flat_name in RANGES.items():
        counts = np.diff(getattr(table, starts_name))
        if len(counts) and counts.max() > np.iinfo(np.int16).max:
            raise SgfError(f"a game with {counts.max():,} {flat_name} does not fit into a pack")
        columns[f"{flat_name}_count"] = counts.astype(np.int16)
    columns["setups"], columns["dead"] = table.setups, table.dead
    columns["moves"] = _move_bytes(games)
    return {name: array.astype(array.dtype.newbyteorder("<")) for name, array in columns.items()}


def _move_bytes(games: Games) -> NDArray[np.uint8]:
    """Return [M, 2]."""
    table = games.table
    counts = np.diff(table.starts)
    width = np.repeat(table.width, counts).astype(np.int16)
    area = width * np.repeat(table.height, counts)
    action = table.moves & ACTION_MASK
    is_pass = action == area
    turned = np.where(table.moves & OUT_OF_TURN, OUT_OF_TURN_BIT, 0)
    col = np.where(is_pass, PASS_BYTE - OUT_OF_TURN_BIT, action % width) + turned
    row = np.where(is_pass, PASS_BYTE, action // width)
    return np.stack([col, row], axis=1).astype(np.uint8)


def _codes(pairs: NDArray[np.uint8], width: NDArray[Any], area: NDArray[Any]) -> NDArray[np.int16]:
    """Return the codes of [M, 2] bytes."""
    col = (pairs[:, 0] & (OUT_OF_TURN_BIT - 1)).astype(np.int16)
    row = pairs[:, 1].astype(np.int16)
    action = np.where(pairs[:, 1] == PASS_BYTE, area, row * width + col)
    if (action > area).any():
        raise ValueError("a move is off the board")
    turned = np.where(pairs[:, 0] & OUT_OF_TURN_BIT, OUT_OF_TURN, 0)
    codes: NDArray[np.int16] = (action + turned).astype(np.int16)
    return codes


def games_of(header: dict[str, Any], columns: dict[str, NDArray[Any]]) -> Games:
    """Return the games of a file's columns.

    Raises:
        ValueError, or another of DAMAGE: They do not fit together.
    """
    arrays = {name: columns[name] for name in PER_GAME}
    for starts_name, flat_name in RANGES.items():
        counts = columns[f"{flat_name}_count"].astype(np.int64)
        arrays[starts_name] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    counts = columns["moves_count"].astype(np.int64)
    width = np.repeat(columns["width"], counts).astype(np.int16)
    area = width * np.repeat(columns["height"], counts)
    arrays["moves"] = _codes(columns["moves"], width, area)
    arrays["setups"], arrays["dead"] = columns["setups"], columns["dead"]
    # Kernels are compiled for writable arrays of the machine's own byte order.
    arrays = {name: np.array(a, a.dtype.newbyteorder("=")) for name, a in arrays.items()}
    rules = tuple(
        FIVE_RULES[one["rules"]]
        if "rules" in one
        else dataclasses.replace(Rules.from_kata(one), komi=0.0)
        for one in header["rules"]
    )
    games = Games(GameTable(**arrays), rules, tuple(header["sources"]))
    if not all(isinstance(source, str) for source in games.sources) or not _is_sound(games):
        raise ValueError("its columns do not fit together")
    return games


def _is_sound(games: Games) -> bool:
    """Whether kernels, and losses, which check nothing, can follow every number of a table."""
    table = games.table
    width, height = table.width.astype(np.int64), table.height.astype(np.int64)
    checks = [
        all(len(getattr(table, name)) == len(games) for name in PER_GAME),
        ((width >= MIN_SIZE) & (width <= MAX_SIZE)).all(),
        ((height >= MIN_SIZE) & (height <= MAX_SIZE)).all(),
        ((table.rules >= 0) & (table.rules < len(games.rules))).all(),
        ((table.source >= 0) & (table.source < len(games.sources))).all(),
        ((table.first == BLACK) | (table.first == WHITE)).all(),
        (table.winner <= UNKNOWN_WINNER).all(),
        np.isfinite(table.komi).all(),
        not np.isinf(table.score).any(),
    ]
    for starts_name, flat_name in RANGES.items():
        starts, flat = getattr(table, starts_name), getattr(table, flat_name)
        counts = np.diff(starts)
        checks += [len(starts) == len(games) + 1, (counts >= 0).all(), starts[-1] == len(flat)]
        if not all(checks):
            return False
        actions = {"moves": flat & ACTION_MASK, "setups": flat >> 1, "dead": flat}[flat_name]
        last = width * height - (flat_name != "moves")  # a move may be the pass
        checks += [(actions >= 0).all(), (actions <= np.repeat(last, counts)).all()]
    return all(checks)
