"""A board as text."""

from typing import TYPE_CHECKING

from gtp_engine.go.coords import (
    BLACK,
    COLOR_NAMES,
    COLUMN_LETTERS,
    WHITE,
    format_vertex,
    point_at,
    star_lines,
)
from gtp_engine.go.rules import Rules, Tax

if TYPE_CHECKING:
    from gtp_engine.go.position import Position

_STONES = {BLACK: "X", WHITE: "O"}


def draw_board(position: "Position") -> str:
    """Return the board with coordinates, the last move in brackets, and what else is the case."""
    width, height = position.width, position.height
    letters = "  ".join(COLUMN_LETTERS[:width])
    edge = f"    {letters}"
    lines = [edge]
    last = position.moves[-1].point if position.ply else None
    for row in range(height):
        cells = "".join(_cell(position, row, col, last) for col in range(width))
        lines.append(f"{height - row:2} {cells} {height - row}")
    lines.append(edge)
    return "\n".join([*lines, *_remarks(position)])


def _cell(position: "Position", row: int, col: int, last: int | None) -> str:
    point = point_at(row, col, position.width)
    color = position.color_at(point)
    if color not in _STONES:
        is_star = row in star_lines(position.height) and col in star_lines(position.width)
        return " + " if is_star else " . "
    return f"({_STONES[color]})" if point == last else f" {_STONES[color]} "


def _remarks(position: "Position") -> list[str]:
    rules = position.rules
    moves = "1 move" if position.ply == 1 else f"{position.ply} moves"
    color = COLOR_NAMES[position.to_play].capitalize()
    lines = [f"{color} (X black, O white) to play, {moves} made"]
    if position.ply:
        last = position.moves[-1]
        where = format_vertex(last.point, position.width, position.height)
        lines.append(f"Last move: {COLOR_NAMES[last.color]} {where}")
    lines.append(f"Captured: {position.captured(BLACK)} black, {position.captured(WHITE)} white")
    lines.append(f"Rules: {rules.title or _describe(rules)}, komi {position.komi:g}")
    return lines


def _describe(rules: Rules) -> str:
    """Return what a mixture of rules consists of."""
    parts = [f"{rules.ko.name.lower()} ko", f"{rules.scoring.name.lower()} scoring"]
    if rules.tax is not Tax.NONE:
        parts.append(f"tax on {rules.tax.name.lower()}")
    if rules.multi_stone_suicide:
        parts.append("suicide")
    if rules.button:
        parts.append("button")
    return ", ".join(parts)
