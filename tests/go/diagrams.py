"""Boards as text: `X` Black, `O` White, `.` empty, rows from the top, blanks ignored."""

import numpy as np

from gtp_engine.coords import BLACK, EMPTY, WHITE, point_at
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules

_SYMBOLS = {".": EMPTY, "X": BLACK, "O": WHITE}
_LETTERS = {color: letter for letter, color in _SYMBOLS.items()}

TRIPLE_KO = """
    . X O .
    X . X O
    . X O .
    . . . .
    . X O .
    X O . O
    . X O .
    . . . .
    . X O .
    X . X O
    . X O .
"""
"""Black holds the kos above and below, White the one in the middle; White is to move."""

TRIPLE_KO_CYCLE = "B10 C6 B2 C10 B6 C2"


def rows_of(diagram: str) -> list[str]:
    """Return the rows of a diagram without blanks."""
    rows = ["".join(line.split()) for line in diagram.strip().splitlines()]
    assert len({len(row) for row in rows}) == 1, "rows of different lengths"
    return rows


DEAD_IN_AN_EYE = """
    . . X X O . O
    X X X X O O O
    . X X X O . .
    X X X O O O O
    . X X O . O .
    X X X O O O O
    O . X X O . .
"""
"""White's stone at A1 cannot get out of Black's eye; B1 captures it. Without komi White leads by 2
with it, Black by 1 without it."""


def position_of(
    diagram: str, rules: Rules | None = None, to_play: int = BLACK, encores: bool = False
) -> Position:
    """Return a game that starts from the stones of a diagram."""
    rows = rows_of(diagram)
    position = Position(len(rows[0]), len(rows), rules, encores=encores)
    points: dict[int, list[int]] = {EMPTY: [], BLACK: [], WHITE: []}
    for row, text in enumerate(rows):
        for col, symbol in enumerate(text):
            points[_SYMBOLS[symbol]].append(point_at(row, col, position.width))
    position.set_up(points[BLACK], points[WHITE], to_play)
    return position


def diagram_of(position: Position) -> str:
    """Return the stones of a game as a diagram without blanks."""
    return "\n".join("".join(_LETTERS[int(color)] for color in row) for row in position.grid())


def plain(diagram: str) -> str:
    """Return a diagram without blanks, to compare with `diagram_of`."""
    return "\n".join(rows_of(diagram))


def repetitions_of(position: Position) -> list[int]:
    """Return the earlier plies that hold exactly the same stones as the last one, newest first.

    Plies that follow a pass repeat the stones of the ply before it and are listed too.
    """
    boards = position.history.boards[: position.ply + 1]["color"]
    alike = (boards[:-1] == boards[-1]).all(axis=1)
    return [int(ply) for ply in np.flatnonzero(alike)[::-1]]
