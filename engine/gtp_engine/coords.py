"""Colors, moves, and four ways to name an intersection, on a 9x9 board (stride 10):

    vertex   row, col   point   action
    A9       0, 0         11        0      top left
    J1       8, 8         99       80      bottom right
    E5       4, 4         55       40      centre

Rows count from the top, columns from the left. A *point* indexes the padded grid of `go/board.py`,
where row r, column c lies at (r + 1) * stride + c + 1 with stride = width + 1: one wall column
serves as the right border of one row and the left border of the next. An *action* indexes a
policy: row * width + col, and width * height is the pass.

Only the standard library is imported here, so that a front-end can parse vertices before numpy
is loaded.
"""

EMPTY, BLACK, WHITE, WALL = 0, 1, 2, 3
MIN_SIZE, MAX_SIZE = 2, 25
MOST_MOVES = 10_000
"""Of a game that is read; a board of each is kept, and no game has a tenth."""

PASS = 0
"""The move that places no stone; as a point it lies on the wall, so it is never a stone."""
NULL_MOVE = -1
"""No move at all: what led to a position that was set up."""

OVER = -1
"""What a game says in place of a symmetry where it has ended; see `search/game.py`."""

COLUMN_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""GTP column names: no I."""

COLOR_NAMES = {BLACK: "black", WHITE: "white"}
COLOR_LETTERS = {BLACK: "B", WHITE: "W"}


def opponent(color: int) -> int:
    """Return the other player."""
    return 3 - color


def point_at(row: int, col: int, width: int) -> int:
    """Return the point of a row (0 at the top) and a column (0 at the left)."""
    return (row + 1) * (width + 1) + col + 1


def row_col(point: int, width: int) -> tuple[int, int]:
    """Return the row and column of a point."""
    row, col = divmod(point, width + 1)
    return row - 1, col - 1


def point_to_action(point: int, width: int, height: int) -> int:
    """Return the policy index of a move; PASS becomes width * height."""
    if point == PASS:
        return width * height
    row, col = row_col(point, width)
    return row * width + col


def action_to_point(action: int, width: int, height: int) -> int:
    """Return the move of a policy index; width * height becomes PASS."""
    if action == width * height:
        return PASS
    row, col = divmod(action, width)
    return point_at(row, col, width)


def star_lines(size: int) -> tuple[int, ...]:
    """Return the rows or columns, from 0, on which a board of this size has star points."""
    if size < 7:
        return ()
    edge = 3 if size > 12 else 2
    return (edge, size // 2, size - 1 - edge) if size % 2 else (edge, size - 1 - edge)


def parse_vertex(text: str, width: int, height: int) -> int:
    """Return the move a GTP vertex names, in any case.

    Raises:
        ValueError: The text is no vertex of a board of this size.
    """
    upper = text.upper()
    if upper == "PASS":
        return PASS
    col = COLUMN_LETTERS.find(upper[:1]) if upper else -1
    digits = upper[1:]
    if col < 0 or not (digits.isascii() and digits.isdigit()) or len(digits) > 3:
        raise ValueError(f"invalid vertex {text[:20]!r}")
    row = height - int(digits)
    if col >= width or not 0 <= row < height:
        raise ValueError(f"vertex {text[:20]!r} is off the {width}x{height} board")
    return point_at(row, col, width)


def format_vertex(move: int, width: int, height: int) -> str:
    """Return the GTP name of a move: "D4" or "pass"."""
    if move == PASS:
        return "pass"
    row, col = row_col(move, width)
    return f"{COLUMN_LETTERS[col]}{height - row}"


def parse_color(text: str) -> int:
    """Return BLACK or WHITE for b, black, w, white in any case.

    Raises:
        ValueError: The text names no color.
    """
    lower = text.lower()
    if lower in ("b", "black"):
        return BLACK
    if lower in ("w", "white"):
        return WHITE
    raise ValueError(f"invalid color {text[:20]!r}")
