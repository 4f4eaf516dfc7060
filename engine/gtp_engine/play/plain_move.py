"""A simple move for a clock that would run out before kernels and net are loaded.

Only the standard library is imported. Before there is a board, nothing was played but such moves,
and a point without a neighbour is legal whatever the rules; later the board says what is legal.
"""

from collections.abc import Container, Mapping

from gtp_engine.coords import PASS, point_at


def plain_move(
    width: int,
    height: int,
    stones: Mapping[int, int],
    color: int,
    legal: Container[int] | None = None,
) -> int:
    """Return a legal move that fills no own eye; PASS where there is none.

    Args:
        stones: Color by point.
        legal: The legal moves; None where nobody knows, and those without a neighbour are taken.
    """
    best, most = PASS, (0, 0)
    for row in range(height):
        for column in range(width):
            point = point_at(row, column, width)
            beside = [
                stones.get(point_at(r, c, width))
                for r, c in (
                    (row - 1, column),
                    (row, column - 1),
                    (row, column + 1),
                    (row + 1, column),
                )
                if 0 <= r < height and 0 <= c < width
            ]
            if legal is None:
                is_allowed = point not in stones and not any(beside)
            else:
                is_allowed = point in legal and any(other != color for other in beside)
            # The third line before the others, and room before contact.
            line = 1 + min(row, height - 1 - row, column, width - 1 - column)
            worth = 1 + beside.count(None), 9 - abs(line - 3)
            if is_allowed and worth > most:
                best, most = point, worth
    return best
