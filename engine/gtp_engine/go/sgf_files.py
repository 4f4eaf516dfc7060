"""Many games: packs of one game a line, ordinary SGF files, folders of both.

Thousands of games are read, so lines of the plain kind (root and moves, nothing else) take a short
way, some seven times as fast as the tokeniser; all others go through `sgf.parse_sgf`.
"""

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gtp_engine.go.coords import BLACK, PASS, WHITE, point_at
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import Move
from gtp_engine.go.sgf import decode_sgf, parse_games, parse_sgf, read_nodes

_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".bz2": bz2.open,
    ".gz": gzip.open,
    ".xz": lzma.open,
}
_PLAIN = re.compile(
    r"\(;((?:[A-Z]+(?:\[[^\[\]\\();:]*\])+)+)((?:;[BW]\[(?:[a-y]{2})?\])*)\)\s*", re.ASCII
)
_PROPERTY = re.compile(r"([A-Z]+)((?:\[[^\]]*\])+)")
_MOVE = re.compile(r";([BW])\[([a-y]*)\]")
_COLORS = {"B": BLACK, "W": WHITE}


def read_games(
    path: str | Path, on_error: Callable[[str], None] | None = None
) -> Iterator[GameRecord]:
    """Read all games of a pack, an SGF file or a folder of such files, in order of their names.

    Files whose name ends in .bz2, .gz or .xz are compressed packs with a game on each line.

    Args:
        path: The file or folder.
        on_error: Called with a sentence for every game that cannot be read, which is then left
            out; None raises instead.

    Raises:
        SgfError: A file or game cannot be read.
    """
    for file in list_game_files(path):
        try:
            yield from _read_file(file, on_error)
        except (OSError, EOFError, lzma.LZMAError) as error:
            reason = getattr(error, "strerror", None) or error
            _complain(f"cannot read {str(file)!r}: {reason}", on_error)


def list_game_files(path: str | Path) -> list[Path]:
    """Return a file itself, or the SGF files and packs below a folder in order of their names."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.name.lower().endswith((".sgf", ".sgf.bz2", ".sgf.gz", ".sgf.xz")) and file.is_file()
    )


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: whoever reads it sees the old one or the new one.

    Devices, pipes and links, such as /dev/stdout, are written to and not replaced.

    Raises:
        OSError: It cannot be written; a file that was there is as it was.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, encoding="utf-8")
        return
    # A name of its own for each process, should several write the same game.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except (OSError, UnicodeError):
        part.unlink(missing_ok=True)
        raise


def parse_game_line(line: str) -> GameRecord:
    """Read a line that holds one game.

    Raises:
        SgfError: There is no game of Go in it.
    """
    plain = _PLAIN.fullmatch(line)
    if plain is None:
        return parse_sgf(line)
    root = {name: values[1:-1].split("][") for name, values in _PROPERTY.findall(plain[1])}
    record = read_nodes([root])
    if record.moves or (record.handicap > 1 and not record.setups):
        return parse_sgf(line)
    points = _points_by_name(record.width, record.height)
    try:
        record.moves = [Move(_COLORS[name], points[at]) for name, at in _MOVE.findall(plain[2])]
    except KeyError:
        return parse_sgf(line)  # which says what is wrong with the move
    return record


_point_tables: dict[tuple[int, int], dict[str, int]] = {}


def _points_by_name(width: int, height: int) -> dict[str, int]:
    """Return the points of a board by their SGF names; the pass is there too."""
    table = _point_tables.get((width, height))
    if table is None:
        table = {
            chr(97 + col) + chr(97 + row): point_at(row, col, width)
            for row in range(height)
            for col in range(width)
        }
        table[""] = PASS
        if max(width, height) <= 19:
            table["tt"] = PASS
        _point_tables[width, height] = table
    return table


def _read_file(file: Path, on_error: Callable[[str], None] | None) -> Iterator[GameRecord]:
    opener = _OPENERS.get(file.suffix.lower())
    if opener is None:
        try:
            yield from parse_games(file.read_bytes())
        except SgfError as error:
            _complain(f"{file}: {error}", on_error)
        return
    with opener(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = parse_game_line(decode_sgf(line))
            except SgfError as error:
                _complain(f"{file}, line {number}: {error}", on_error)
            else:
                yield record


def _complain(sentence: str, on_error: Callable[[str], None] | None) -> None:
    if on_error is None:
        raise SgfError(sentence) from None
    on_error(sentence)
