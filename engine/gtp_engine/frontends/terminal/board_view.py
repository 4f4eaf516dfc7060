"""The board as lines of characters.

A point takes two columns, or one where the terminal is narrow. In color the stones are discs on
wood, and the shade of a point says whose it will be; without color they are `X` and `O`, the last
move stands in parentheses, and `b` and `w` mark the points that will be somebody's. White's disc
is another character than Black's, so that text copied from a terminal still tells them apart.
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

CANDIDATE_DIGITS = "123456789"
OTHERS_LETTERS = "abcdefghi"
"""Names of the candidates of the player to move, and of the opponent's."""
_EDGE_WIDTH = 3


@dataclass(frozen=True)
class Palette:
    """Colors for a kind of terminal, chosen for it by hand."""

    shades: tuple[str, ...]
    """Backgrounds of a point, from certainly White's to certainly Black's; the middle is wood."""
    last_move: str
    """Of the parentheses around it."""
    grain: str
    """Of the crossings."""
    black: str
    """Ink of all stones."""
    white: str
    """Background of White's."""
    candidate: str
    other: str
    """Of a candidate of the opponent."""


def _mixed(first: tuple[int, int, int], second: tuple[int, int, int], share: float) -> str:
    parts = (round(a + share * (b - a)) for a, b in zip(first, second, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*parts)


_WOOD, _BLACKS, _WHITES = (214, 170, 98), (140, 106, 62), (245, 226, 182)
TRUE_COLORS = Palette(
    shades=(
        *(_mixed(_WHITES, _WOOD, step / 16) for step in range(16)),
        *(_mixed(_WOOD, _BLACKS, step / 16) for step in range(17)),
    ),
    last_move="#b02010",
    grain="#6b4d20",
    black="#000000",
    white="#f6f4ee",
    candidate="#10309c",
    other="#8a1020",
)
PALETTES = {
    "256": Palette(
        # xterm's cube: 230 and 222 are pale, 179 is wood, 137 and 101 brown.
        shades=("color(230)", "color(222)", "color(179)", "color(137)", "color(101)"),
        last_move="color(124)",
        grain="color(94)",
        black="color(16)",
        white="color(255)",
        candidate="color(18)",
        other="color(88)",
    ),
    # Sixteen colors look different on each terminal. Black can be told from yellow on all of them,
    # white from both, since White's stones bring their own background (see `_point`), and nothing
    # else surely.
    "standard": Palette(
        shades=("cyan", "yellow", "green"),
        last_move="red",
        grain="black",
        black="black",
        white="bright_white",
        candidate="black",
        other="black",
    ),
}
PALETTES["windows"] = PALETTES["standard"]
"""By rich's name of the kind of terminal."""


@dataclass(frozen=True)
class Marks:
    """What is to be seen on the board besides the stones."""

    candidates: tuple[int, ...] = ()
    """Points, numbered from 1; those beyond the ninth are left out."""
    ownership: npt.NDArray[np.float32] | None = None
    """[height, width], 1 is certainly Black's, -1 certainly White's."""
    dead: frozenset[int] = field(default_factory=frozenset)
    """Stones to be shown as dead."""
    others: tuple[int, ...] = ()
    """Candidates of the opponent, lettered from a."""
    cursor: int | None = None
    """Where the arrow keys have led."""


@dataclass(frozen=True)
class Look:
    """How a terminal can show a board."""

    has_color: bool
    is_unicode: bool
    palette: Palette = TRUE_COLORS
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
    last = position.moves[-1].point if position.ply else -1
    line = Text()
    before, shade = -1, None
    for col in range(width):
        point = point_at(row, col, width)
        owner = 0.0 if marks.ownership is None else float(marks.ownership[row, col])
        shade = _shade(owner, look)
        symbol, style = _point(position, point, row, col, marks, look, shade)
        if not look.is_narrow:
            line.append(*_gap(before, point, last, marks.cursor, look, shade))
        elif point == marks.cursor:
            style += Style(reverse=True)
        elif point == last and look.has_color:
            style += Style(bgcolor=look.palette.last_move)
        line.append(symbol, style)
        before = point
    if not look.is_narrow:
        line.append(*_gap(before, -1, last, marks.cursor, look, shade))
    return line


def _shade(owner: float, look: Look) -> str | None:
    """Return the background of a point by its ownership, 1 for Black; None without color."""
    shades = look.palette.shades
    middle = len(shades) // 2
    return shades[middle + round(middle * owner)] if look.has_color else None


def _gap(
    before: int, after: int, last: int, cursor: int | None, look: Look, shade: str | None
) -> tuple[str, Style]:
    """Return what stands between two points, -1 for the edge, and its style."""
    symbol, ink = " ", look.palette.last_move
    if before >= 0 and before in (cursor, last):
        symbol = "]" if before == cursor else ")"
    if after >= 0 and after in (cursor, last) and symbol != "]":
        symbol = "[" if after == cursor else "("
    return symbol, Style(color=ink, bgcolor=shade, bold=True) if look.has_color else Style()


def _point(
    position: Position,
    point: int,
    row: int,
    col: int,
    marks: Marks,
    look: Look,
    shade: str | None,
) -> tuple[str, Style]:
    """Return the character of a point and how it is to be shown."""
    palette = look.palette
    color = position.color_at(point)
    symbol, ink, is_bold = _crossing(position, row, col, look), palette.grain, False
    if color != EMPTY:
        symbol, ink = _stone(color, point in marks.dead, look), palette.black
        shade = palette.white if color == WHITE else shade
    elif point in marks.candidates[: len(CANDIDATE_DIGITS)]:
        symbol = CANDIDATE_DIGITS[marks.candidates.index(point)]
        ink, is_bold = palette.candidate, True
    elif point in marks.others[: len(OTHERS_LETTERS)]:
        symbol = OTHERS_LETTERS[marks.others.index(point)]
        ink, is_bold = palette.other, True
    elif marks.ownership is not None and not look.has_color:
        owner = float(marks.ownership[row, col])
        if abs(owner) >= SURE:
            symbol = "b" if owner > 0 else "w"
    if not look.has_color:
        return symbol, Style(bold=is_bold)
    return symbol, Style(color=ink, bgcolor=shade, bold=is_bold)


def _stone(color: int, is_dead: bool, look: Look) -> str:
    if is_dead:
        return "x" if color == BLACK else "o"
    if look.has_color and look.is_unicode:
        return "●" if color == BLACK else "○"
    return "X" if color == BLACK else "O"


def _crossing(position: Position, row: int, col: int, look: Look) -> str:
    if row in star_lines(position.height) and col in star_lines(position.width):
        return "+"
    return "·" if look.is_unicode else "."
