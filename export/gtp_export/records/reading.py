"""Read games into tables: SGF files, folders, archives, packs of one game a line, pack files.

Lines of the plain kind (a root and its moves) are most of what there is: a kernel decodes their
moves, and threads share the lines. All others are read as any SGF is.
"""

import errno
import logging
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from gtp_engine.files import PACKED_SUFFIXES, most_unpacked, open_packed, read_rest
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import Position
from gtp_engine.go.rules import NO_FIVE
from gtp_engine.go.sgf import decode_sgf, each_game, parse_game_line, read_games, read_plain_root
from gtp_engine.kernels import int64, kernel
from gtp_engine.messages import counted
from gtp_engine.platforms import usable_cores
from gtp_export.records.games import (
    OUT_OF_TURN,
    UNKNOWN_WINNER,
    GameCollector,
    Games,
    first_of,
    join_games,
)
from gtp_export.records.pack_file import PACK_SUFFIX, read_pack
from gtp_export.records.replay import count_playable

logger = logging.getLogger(__name__)


_DAMAGE = (OSError, EOFError, lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
"""What reading compressed files raises; zipfile a plain RuntimeError where a password is needed."""
_READ_AT_ONCE = 1 << 20
_TAR_ENDINGS = (".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz", ".tbz2", ".txz")
_ROOT = re.compile(rb"\(;((?:[A-Z]+(?:\[[^\[\]\\();:]*\])+)+)(?=;[BW]\[)")
_BROKEN_SHOWN = 5
_LONGEST = 2048
"""Moves of the longest game that the kernel decodes."""


Choose = Callable[[GameRecord], int | None]
"""Whose moves of a game count; see `GameCollector`."""


def read_table(
    paths: Sequence[Path], choose: Choose | None = None, kind: type[Position] = Position
) -> Games:
    """Read all games of files and folders.

    Games that cannot be read are left out; games of Go with a move that the board cannot hold end
    before it. Both are counted in what is logged.

    Args:
        paths: SGF files, folders of them, tar and zip archives of them, compressed packs of one
            game a line, pack files.
        choose: Says whose moves count; all when None. Packs hold no names of players.
        kind: What they are games of.

    Raises:
        FileNotFoundError: One of the paths does not exist; raised at once.
        SgfError: There is no game in any of them, or an archive or a pack is damaged.
    """
    for path in paths:
        if "\0" in str(path) or not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    parts = [_read_path(path, choose, kind) for path in paths]
    games = join_games([part for part in parts if len(part)] or parts[:1])
    if not len(games):
        raise SgfError(f"there is no game in {', '.join(str(path) for path in paths)}")
    return games


def _read_path(path: Path, choose: Choose | None, kind: type[Position]) -> Games:
    if path.is_dir():
        _tell_what_is_left_out(path)
    complaints: list[str] = []
    if path.suffix.lower() == PACK_SUFFIX:
        games = read_pack(path)
        if choose is not None and choose(GameRecord()) is None:
            games = games.take(np.zeros(0, np.int64))
    else:
        games = _collect_games(path, choose, kind, complaints)
    shortened = 0
    if all(rules.five == NO_FIVE for rules in games.rules):
        games, shortened = _playable(games)
    text = f"{path}: {counted(len(games), 'game')}, {counted(games.n_moves, 'move')}"
    if shortened:
        text += f"; {shortened:,} of them end before a move the board cannot hold"
    logger.info(text + (f"; {len(complaints):,} left out" if complaints else ""))
    for complaint in complaints[:_BROKEN_SHOWN]:
        logger.info(f"  {complaint}")
    return games


def _collect_games(
    path: Path, choose: Choose | None, kind: type[Position], complaints: list[str]
) -> Games:
    collector = GameCollector(choose)
    if path.suffix.lower() in PACKED_SUFFIXES and not _is_archive(path):
        _collect_lines(path, collector, complaints, kind)
    else:
        read = _archive_games if _is_archive(path) else read_games
        for record in read(path, complaints.append, kind):
            _collect(collector, record, None, complaints)
    return collector.games()


def _tell_what_is_left_out(folder: Path) -> None:
    """Say what there is in a folder besides SGF files and packs of one game a line."""
    endings = (PACK_SUFFIX, ".zip", *_TAR_ENDINGS)
    others = [file for file in sorted(folder.rglob("*")) if file.name.lower().endswith(endings)]
    if others:
        more = f" and {len(others) - 1:,} more" if others[1:] else ""
        logger.info(f"{others[0]}{more}: left out; name pack files and archives themselves")


def _is_archive(path: Path) -> bool:
    return path.is_file() and (_is_zip(path) or path.name.lower().endswith(_TAR_ENDINGS))


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip" or zipfile.is_zipfile(path)


def _archive_games(
    path: Path, on_error: Callable[[str], None], kind: type[Position]
) -> Iterator[GameRecord]:
    for name, content in _members(path):
        yield from each_game(f"{path}, {name}", content, on_error, kind)


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of an archive's SGF files.

    Raises:
        SgfError: It is damaged or needs a password.
    """
    members = _zip_members if _is_zip(path) else _tar_members
    most = left = most_unpacked(path.stat().st_size)
    try:
        for name, content in members(path):
            left -= len(content)
            if left < 0:
                raise OSError(f"unpacks to more than {most >> 20} MiB")
            yield name, content
    except (*_DAMAGE, RuntimeError) as error:
        raise SgfError(f"cannot read {path}: {_first_line(error)}") from None


def _zip_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        # By entry, not by name: two may have the same one.
        for member in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if _is_sgf(member.filename):
                with archive.open(member) as file:
                    yield member.filename, read_rest(cast(BinaryIO, file))


def _tar_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            is_wanted = member.isfile() and _is_sgf(member.name)
            file = archive.extractfile(member) if is_wanted else None
            if file is not None:
                yield member.name, read_rest(cast(BinaryIO, file))
        # Damage between two files looks like the end: what lies behind the real one tells.
        assert archive.fileobj is not None
        archive.fileobj.seek(archive.offset)
        if len(archive.fileobj.read(tarfile.BLOCKSIZE)) < tarfile.BLOCKSIZE:
            raise tarfile.ReadError("unexpected end of data")
        while archive.fileobj.read(_READ_AT_ONCE):
            pass


def _is_sgf(name: str) -> bool:
    return name.lower().endswith(".sgf")


def _first_line(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(reason).splitlines()[0]


def _collect(
    collector: GameCollector,
    record: GameRecord,
    codes: npt.NDArray[np.int16] | None,
    complaints: list[str],
) -> None:
    if codes is None and not record.moves:
        return  # a problem or a diagram
    try:
        if record.kind is not Position:
            record.rules = record.position().rules  # each move is looked at
        collector.add(record, codes)
    except SgfError as error:
        complaints.append(str(error))


def _collect_lines(
    path: Path, collector: GameCollector, complaints: list[str], kind: type[Position]
) -> None:
    try:
        with open_packed(path) as file:
            data = file.read()
    except _DAMAGE as error:
        raise SgfError(f"cannot read {path}: {_first_line(error)}") from None
    buffer = np.frombuffer(data, np.uint8)
    codes = np.empty(_LONGEST, np.int16)
    start = number = 0
    while start < len(data):
        number += 1
        stop = data.find(b"\n", start)
        stop = len(data) if stop < 0 else stop
        root = _ROOT.match(data, start, stop)
        if root is not None and kind is Position:
            record = _read_root(root[1].decode("ascii", "replace"))
            n = -1
            if record is not None:
                first = first_of(record)
                n = decode_line(buffer, root.end(), stop, record.width, record.height, first, codes)
            if record is not None and n > 0:
                _collect(collector, record, codes[:n].copy(), complaints)
                start = stop + 1
                continue
        if data[start:stop].strip():
            try:
                record = parse_game_line(decode_sgf(data[start:stop]), kind)
                _collect(collector, record, None, complaints)
            except SgfError as error:
                complaints.append(f"line {number}: {error}")
        start = stop + 1


def _read_root(text: str) -> GameRecord | None:
    """Return a game without moves; None where the root alone does not settle it."""
    try:
        record = read_plain_root(text)
    except SgfError:
        return None
    if record is None or record.black_territory or record.white_territory:
        return None  # who is dead in it depends on the moves
    if 0 in record.setups and record.setups[0].to_play is None:
        return None
    return record


@kernel
def decode_line(
    text: npt.NDArray[np.uint8],
    start: int,
    stop: int,
    width: int,
    height: int,
    first: int,
    codes: npt.NDArray[np.int16],
) -> int:
    """Write the codes of moves such as ;B[dd];W[];B[pq]) and return how many.

    Args:
        text: [n] ASCII.
        start: Where the first semicolon stands.
        stop: Where the line ends.

    Returns:
        -1 if there is anything else, the game does not end there, or there is no room.
    """
    at = start
    n = 0
    expected = first
    while at + 3 < stop and text[at] == 59:  # ;
        name = text[at + 1]
        if (name != 66 and name != 87) or text[at + 2] != 91 or n == len(codes):  # B W [
            return -1
        color = 1 if name == 66 else 2
        if text[at + 3] == 93:  # ]
            code = width * height
            at += 4
        elif at + 5 < stop and text[at + 5] == 93:
            col = int64(text[at + 3]) - 97
            row = int64(text[at + 4]) - 97
            if col == 19 and row == 19 and max(width, height) <= 19:
                code = width * height
            elif 0 <= col < width and 0 <= row < height:
                code = row * width + col
            else:
                return -1
            at += 6
        else:
            return -1
        codes[n] = code if color == expected else code | OUT_OF_TURN
        expected = 3 - color
        n += 1
    if at == stop or text[at] != 41:  # )
        return -1
    while at < stop and (text[at] == 41 or text[at] == 13 or text[at] == 32):  # ) CR blank
        at += 1
    return n if at == stop else -1


def _playable(games: Games) -> tuple[Games, int]:
    """Cut games before moves that the board cannot hold; return how many were cut."""
    lengths = np.diff(games.table.starts)
    slices = np.array_split(np.arange(len(games)), max(1, usable_cores() * 4))
    with ThreadPoolExecutor(usable_cores()) as pool:
        found = pool.map(lambda part: count_playable(games.table, part), slices)
        good = np.concatenate([np.zeros(0, np.int64), *found])
    cut = good < lengths
    if not cut.any():
        return games, 0
    keep = np.repeat(good, lengths) > games.plies()[:, 1]
    table = games.table
    starts = np.concatenate([[0], np.cumsum(good)]).astype(np.int64)
    # What came of a game that goes on otherwise is not what came of its beginning.
    settled = np.where(cut, 0, table.settled).astype(np.uint8)
    score = np.where(cut, np.nan, table.score).astype(table.score.dtype)
    winner = np.where(cut, UNKNOWN_WINNER, table.winner).astype(table.winner.dtype)
    table = table._replace(
        starts=starts, moves=table.moves[keep], settled=settled, score=score, winner=winner
    )
    shortened = replace(games, table=table)
    return shortened.take(np.flatnonzero(good > 0)), int(cut.sum())
