"""Game records in packs: one game tree a line, main line only, compressed or not.

A pack's lines are SGF as this project writes them: uncommented, moves in turn or not, `[]` for a
pass, AB/AW for stones set up, XD for the dead stones of a counted game's last board.
"""

import bz2
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gtp_engine.go.coords import BLACK, PASS, WHITE, point_at
from gtp_engine.go.position import Position
from gtp_engine.go.rules import InvalidRulesError, Rules, parse_komi

_PROPERTY = re.compile(r"([A-Z]+)((?:\[[^\]]*\])+)")
_VALUE = re.compile(r"\[([^\]]*)\]")
_SETUP = {"AB": BLACK, "AW": WHITE}
_MOVES = {"B": BLACK, "W": WHITE}


class RecordError(ValueError):
    """A line that is no game record; the message says why."""


@dataclass(frozen=True)
class Record:
    """One game."""

    width: int
    height: int
    rules: Rules
    """The recorded rules and komi; Chinese where the record names none that are known."""
    black: tuple[int, ...]
    """Points that hold a black stone before the first move."""
    white: tuple[int, ...]
    to_play: int
    moves: tuple[tuple[int, int], ...]
    """Colour and point of every move."""
    result: str
    """As in RE, such as "B+3.5" or "W+R"; empty when unknown."""
    source: str
    """The tag of SO."""
    dead: tuple[int, ...] | None
    """Points of the stones that are dead on the last board; None when nobody says."""

    def start(self, rules: Rules | None = None) -> Position:
        """Return the position before the first move, under other rules if some are given.

        Raises:
            SetupError: The stones cannot stand like that.
        """
        position = Position(self.width, self.height, rules or self.rules)
        position.set_up(self.black, self.white, self.to_play)
        return position


def read_pack(path: Path, skip: int = 0) -> Iterator[Record]:
    """Read a pack's games in order.

    Args:
        path: The pack; a name that ends in .bz2 is compressed.
        skip: Leave out that many lines at the start, unread.

    Raises:
        RecordError: A line is no record; the message names file and line.
        OSError: The file cannot be read.
    """
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if number > skip and line.strip():
                try:
                    yield parse_record(line.decode("ascii", "replace"))
                except RecordError as error:
                    raise RecordError(f"{path}, line {number}: {error}") from None


def parse_record(text: str) -> Record:
    """Read one game tree without variations.

    Raises:
        RecordError: It is none, or a property has an impossible value.
    """
    properties: dict[str, list[str]] = {}
    moves: list[tuple[int, str]] = []
    for name, values in _PROPERTY.findall(text):
        found = _VALUE.findall(values)
        if name in _MOVES:
            moves.append((_MOVES[name], found[0]))
        elif name not in properties:
            properties[name] = found
    width, height = _size(properties.get("SZ", ["19"])[0])
    stones = {
        color: tuple(_point(value, width, height) for value in properties.get(name, ()))
        for name, color in _SETUP.items()
    }
    dead = properties.get("XD")
    return Record(
        width=width,
        height=height,
        rules=_rules(properties),
        black=stones[BLACK],
        white=stones[WHITE],
        to_play=_to_play(properties, moves, bool(stones[BLACK])),
        moves=tuple((color, _point(value, width, height)) for color, value in moves),
        result=properties.get("RE", [""])[0],
        source=properties.get("SO", [""])[0],
        dead=None if dead is None else tuple(_point(v, width, height) for v in dead if v),
    )


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition(":")
    if not (width.isdigit() and (height or width).isdigit()):
        raise RecordError(f"impossible board size {text!r}")
    return int(width), int(height or width)


def _point(value: str, width: int, height: int) -> int:
    if not value or (value == "tt" and max(width, height) <= 19):
        return PASS
    if len(value) != 2:
        raise RecordError(f"impossible point {value!r}")
    col, row = ord(value[0]) - ord("a"), ord(value[1]) - ord("a")
    if not (0 <= col < width and 0 <= row < height):
        raise RecordError(f"point {value!r} is off the board")
    return point_at(row, col, width)


def _rules(properties: dict[str, list[str]]) -> Rules:
    name = properties.get("RU", ["chinese"])[0]
    try:
        komi = parse_komi(properties.get("KM", ["7.5"])[0])
    except ValueError as error:
        raise RecordError(str(error)) from None
    try:
        return Rules.parse(name, komi)
    except InvalidRulesError:
        return Rules.parse("chinese", komi)


def _to_play(properties: dict[str, list[str]], moves: list[tuple[int, str]], handicap: bool) -> int:
    if moves:
        return moves[0][0]
    named = properties.get("PL", ["W" if handicap else "B"])[0]
    return _MOVES.get(named[:1].upper(), BLACK)
