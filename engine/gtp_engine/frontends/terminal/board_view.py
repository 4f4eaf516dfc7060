"""The board as lines of characters.

A point takes two columns, or one where the terminal is narrow. In color the stones are discs on
wood, and the shade of a point says whose it will be; without color they are `X` and `O`, the last
move stands in parentheses, and `b` and `w` mark the points that will be somebody's.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from rich.style import Style
from rich.text import Text

from gtp_engine.coords import BLACK, COLUMN_LETTERS, EMPTY, WHITE, point_at, star_lines
from gtp_engine.go.position import Position

SURE = 0.6
"""Ownership from which on a point is marked as somebody's where there are no colors."""

_WOOD = (214, 170, 98)
_BLACKS_SHADE = (112, 82, 44)
_WHITES_SHADE = (240, 217, 166)
_LAST_MOVE = (196, 92, 60)
_EDGE_WIDTH = 3


@dataclass(frozen=True)
class Marks:
    """What is to be seen on the board besides the stones."""

    candidates: tuple[int, ...] = ()
    """Points, numbered from 1; those beyond the ninth are left out."""
    ownership: npt.NDArray[np.float32] | None = None
    """[height, width], 1 is certainly Black's, -1 certainly White's."""
    dead: frozenset[int] = field(default_factory=frozenset)
    """Stones to be shown as dead."""


@dataclass(frozen=True)
class Look:
    """How a terminal can show a board."""

    has_color: bool
    is_unicode: bool
    is_narrow: bool = False
    """One column a point in place of two."""


def view_width(width: int, look: Look) -> int:
    """Return how many columns a board takes, its edges included."""
    return 2 * _EDGE_WIDTH + (width if look.is_narrow else 2 * width + 1)


def draw(position: Position, marks: Marks, look: Look) -> list[Text]:
    """Return the board line by line, with its coordinates."""
    width, height = position.width, position.height
    gap = "" if look.is_narrow else " "
    letters = gap + gap.join(COLUMN_LETTERS[:width]) + gap
    edge = Text(" " * _EDGE_WIDTH + letters + " " * _EDGE_WIDTH)
    lines = [edge]
    for row in range(height):
        line = Text(f"{height - row:2} ")
        line.append_text(_row(position, row, marks, look))
        line.append(f" {height - row:<2}")
        lines.append(line)
    return [*lines, edge.copy()]


def _row(position: Position, row: int, marks: Marks, look: Look) -> Text:
    """Return the points of a row; in front of each, and after the last, there is a gap."""
    width = position.width
    last = position.moves[-1].point if position.ply else None
    line = Text()
    previous_is_last = False
    for col in range(width):
        point = point_at(row, col, width)
        symbol, style = _point(position, point, row, col, marks, look)
        background = Style(bgcolor=style.bgcolor) if style.bgcolor else Style()
        is_last = point == last
        if not look.is_narrow:
            line.append(_gap(previous_is_last, is_last, look), background)
        line.append(symbol, style)
        previous_is_last = is_last
    if not look.is_narrow:
        line.append(_gap(previous_is_last, False, look), background)
    return line


def _gap(after_last_move: bool, before_last_move: bool, look: Look) -> str:
    if look.has_color:
        return " "
    return ")" if after_last_move else "(" if before_last_move else " "


def _point(
    position: Position, point: int, row: int, col: int, marks: Marks, look: Look
) -> tuple[str, Style]:
    """Return the character of a point and how it is to be shown."""
    owner = 0.0 if marks.ownership is None else float(marks.ownership[row, col])
    background = _rgb(_shade(owner)) if look.has_color else None
    color = position.color_at(point)
    if color != EMPTY:
        is_last = bool(position.ply) and point == position.moves[-1].point
        if look.has_color and is_last:
            background = _rgb(_LAST_MOVE)
        return _stone(color, point in marks.dead, look), Style(
            color=("black" if color == BLACK else "bright_white") if look.has_color else None,
            bgcolor=background,
            bold=look.has_color and color == WHITE,
        )
    number = marks.candidates.index(point) + 1 if point in marks.candidates else 0
    if 1 <= number <= 9:
        blue = "#10309c" if look.has_color else None
        return str(number), Style(color=blue, bgcolor=background, bold=True)
    if marks.ownership is not None and not look.has_color and abs(owner) >= SURE:
        return ("b" if owner > 0 else "w"), Style()
    grain = "#6b4d20" if look.has_color else None
    return _crossing(position, row, col, look), Style(color=grain, bgcolor=background)


def _stone(color: int, is_dead: bool, look: Look) -> str:
    if is_dead:
        return "x" if color == BLACK else "o"
    if look.has_color and look.is_unicode:
        return "●"
    return "X" if color == BLACK else "O"


def _crossing(position: Position, row: int, col: int, look: Look) -> str:
    if row in star_lines(position.height) and col in star_lines(position.width):
        return "+"
    return "·" if look.is_unicode else "."


def _shade(owner: float) -> tuple[int, int, int]:
    """Return the color of a point by its ownership, -1..1 for Black."""
    target = _BLACKS_SHADE if owner > 0 else _WHITES_SHADE
    weight = min(1.0, abs(owner))
    red, green, blue = (
        round(wood + weight * (end - wood)) for wood, end in zip(_WOOD, target, strict=True)
    )
    return red, green, blue


def _rgb(color: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)
