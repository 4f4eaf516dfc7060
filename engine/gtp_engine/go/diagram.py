"""A board as text."""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, COLUMN_LETTERS, WHITE, star_lines

_STONES = {BLACK: "X", WHITE: "O"}


def draw_grid(grid: npt.NDArray[np.uint8], last: tuple[int, int] | None) -> list[str]:
    """Return the lines of a board with coordinates.

    Args:
        grid: [H, W] the colors, top row first.
        last: Row and column of the stone to put in brackets.
    """
    height, width = grid.shape
    edge = "    " + "  ".join(COLUMN_LETTERS[:width])
    rows = []
    for row in range(height):
        cells = []
        for col in range(width):
            stone = _STONES.get(int(grid[row, col]))
            is_star = row in star_lines(height) and col in star_lines(width)
            if stone is None:
                cells.append(" + " if is_star else " . ")
            else:
                cells.append(f"({stone})" if (row, col) == last else f" {stone} ")
        rows.append(f"{height - row:2} {''.join(cells)} {height - row}")
    return [edge, *rows, edge]
