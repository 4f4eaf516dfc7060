"""Where handicap stones go. Only the standard library is imported here."""

from gtp_engine.coords import point_at, star_lines


class HandicapError(ValueError):
    """No such handicap on this board."""


def largest_fixed(width: int, height: int) -> int:
    """Return how many fixed handicap stones a board has places for (GTP 2, section 4.1.1)."""
    smallest = min(width, height)
    if smallest < 7:
        return 0
    middle = width % 2 == 1 and height % 2 == 1 and smallest > 7
    return 9 if middle else 4


def fixed_handicap_points(width: int, height: int, count: int) -> list[int]:
    """Return the places of fixed handicap stones, as GTP 2 prescribes them.

    Raises:
        HandicapError: No such number of stones on this board.
    """
    most = largest_fixed(width, height)
    if not 2 <= count <= most:
        raise HandicapError(f"{count} fixed handicap stones do not fit on a {width}x{height} board")
    near_col, *_, far_col = star_lines(width)
    near_row, *_, far_row = star_lines(height)
    mid_col, mid_row = width // 2, height // 2
    corners = [(far_row, near_col), (near_row, far_col), (near_row, near_col), (far_row, far_col)]
    sides = [(mid_row, near_col), (mid_row, far_col), (far_row, mid_col), (near_row, mid_col)]
    center = [(mid_row, mid_col)]
    if count <= 4:
        places = corners[:count]
    else:
        n_sides = (count - 4) // 2 * 2
        places = corners + sides[:n_sides] + (center if count % 2 else [])
    return [point_at(row, col, width) for row, col in places]
