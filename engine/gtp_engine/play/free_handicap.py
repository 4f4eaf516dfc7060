"""Handicap stones beyond the traditional places: where a net wants them."""

from gtp_engine.go.coords import BLACK, PASS
from gtp_engine.go.position import Position
from gtp_engine.search.limits import Limits
from gtp_engine.search.search import Search


def favourite_points(search: Search, position: Position, count: int) -> list[int]:
    """Return points the net likes for Black, one after the other.

    Args:
        search: Its tree is used.
        position: A game whose board is empty; it is not changed.
        count: How many, fewer than the board has.

    Raises:
        NetFileError: The net failed.
    """
    board = position.copy()
    points: list[int] = []
    while len(points) < count:
        board.set_up(points, (), BLACK)
        search.set_position(board)
        search.run(Limits(playouts=1))
        points.append(next(p for p in search.root_moves() if p != PASS))
    return points
