"""Finished boards whose dead stones somebody has marked, to measure the adjudication on.

Two kinds of files: game records that name their dead stones or mark the territory of both
players, and boards in JSON as the automatic scoring of OGS is tested with.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtp_engine.coords import BLACK, EMPTY, WHITE, point_at
from gtp_engine.files import read_file
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import Position, SetupError
from gtp_engine.go.rules import InvalidRulesError, Rules
from gtp_engine.go.scoring import agreed_owners
from gtp_engine.go.sgf import read_games


@dataclass(frozen=True)
class MarkedBoard:
    """A finished board and what became of it."""

    name: str
    position: Position
    dead: frozenset[int]
    owners: dict[int, int]
    """BLACK or WHITE by point; points that are nobody's, or of which nothing is said, are left
    out."""
    undecided: frozenset[int] = frozenset()
    """Stones that may be judged either way."""


def read_marked(
    path: Path, on_error: Callable[[str], None], limit: int | None = None
) -> Iterator[MarkedBoard]:
    """Read the boards of a file or a folder; games without marks are left out.

    Args:
        path: JSON files, SGF files, packs of games, or a folder of them.
        on_error: Called with a sentence for whatever cannot be read.
    """
    for count, board in enumerate(_read_all(path, on_error)):
        if count == limit:
            return
        yield board


def _read_all(path: Path, on_error: Callable[[str], None]) -> Iterator[MarkedBoard]:
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        if file.suffix == ".json":
            try:
                yield read_json_board(file)
            except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
                on_error(f"{file}: not a marked board: {error}")
    if path.suffix == ".json":
        return
    for number, record in enumerate(read_games(path, on_error), 1):
        try:
            board = marked_board(f"game {number}", record)
        except SgfError as error:
            on_error(f"{path}, game {number}: {error}")
            continue
        if board is not None:
            yield board


def marked_board(name: str, record: GameRecord) -> MarkedBoard | None:
    """Return the last board of a record; None where nobody marked anything.

    Raises:
        SgfError: The game cannot be played over.
    """
    position = record.position()
    territory = dict.fromkeys(record.black_territory, BLACK)
    territory.update(dict.fromkeys(record.white_territory, WHITE))
    if territory:
        stones = {p: position.color_at(p) for p in position.points()}
        dead = {p for p, to in territory.items() if stones[p] not in (EMPTY, to)}
        owners = {p: territory.get(p, stones[p]) for p in position.points()}
    elif record.dead is not None:
        dead = set(record.dead)
        found = agreed_owners(position, dead)
        owners = {p: int(found[p]) for p in position.points()}
    else:
        return None
    owners = {p: owner for p, owner in owners.items() if owner != EMPTY}
    return MarkedBoard(name, position, frozenset(dead), owners)


def read_json_board(file: Path) -> MarkedBoard:
    """Read a board of OGS's tests: `board` of " bW" and `correct_ownership` of " BW", "s" and "*".

    With "s", a gap in an open border, and "*" those tests are content with any owner.

    Raises:
        ValueError, KeyError, TypeError or IndexError: It is something else.
    """
    document: dict[str, Any] = json.loads(read_file(file))
    rows, marks = document["board"], document["correct_ownership"]
    width = len(rows[0])
    if any([len(row) for row in each] != [width] * len(rows) for each in (rows, marks)):
        raise ValueError("the board or its ownership has a row of another length")
    colors = {"b": BLACK, "W": WHITE}
    stones = {
        point_at(row, col, width): colors[symbol]
        for row, line in enumerate(rows)
        for col, symbol in enumerate(line)
        if symbol != " "
    }
    said = {
        point_at(row, col, width): symbol
        for row, line in enumerate(marks)
        for col, symbol in enumerate(line)
    }
    try:
        rules = Rules.parse(str(document.get("rules", "chinese")))
        position = Position(width, len(rows), rules)
        black = [p for p, color in stones.items() if color == BLACK]
        position.set_up(black, [p for p in stones if p not in black])
    except (InvalidRulesError, SetupError) as error:
        raise ValueError(str(error)) from None
    names = {"B": BLACK, "W": WHITE, " ": EMPTY}
    undecided = frozenset(p for p in stones if said[p] not in names)
    dead = {p for p, color in stones.items() if p not in undecided and names[said[p]] != color}
    owners = {p: names[symbol] for p, symbol in said.items() if symbol in ("B", "W")}
    return MarkedBoard(file.stem, position, frozenset(dead), owners, undecided)
