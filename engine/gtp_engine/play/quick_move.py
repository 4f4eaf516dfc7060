"""A move without any evaluation, for when the clock leaves no time for one.

If the tree knows the position, its favourite; else the point that matters most in random games:
the one whose possession at the end goes together with a good result (after Coulom 2009,
"Criticality: a Monte-Carlo Heuristic for Go Programs").
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.go.board import BOARD, MAX_POINTS
from gtp_engine.go.coords import PASS, WHITE
from gtp_engine.go.playouts import is_own_eye, tally_owners
from gtp_engine.go.position import Position
from gtp_engine.go.scoring import white_score
from gtp_engine.play.decision import Decision
from gtp_engine.search.search import Search

RANDOM_GAMES = 200
"""About ten milliseconds on 19x19."""


def decide_quickly(search: Search, position: Position) -> Decision:
    """Return a move that is found at once; the game itself is not changed.

    Args:
        search: Its tree is used, and afterwards holds the position.
        position: The player that `to_play` names is to move.
    """
    color = position.to_play
    if position.ply and position.moves[-1].point == PASS and _count_is_won(position):
        return Decision(color, PASS, None, "no time to think; the count is won")
    board = position.board
    moves = [p for p in position.legal_moves() if p != PASS and not is_own_eye(board, p, color)]
    search.set_position(position)
    known = [move for move in search.favourites() if move in moves]
    if known:
        return Decision(color, known[0], None, "no time to think; what the tree likes")
    if not moves:
        return Decision(color, PASS, None, "no time to think, and nothing to play")
    worth = criticality(position)
    best = max(moves, key=lambda move: worth[move])
    return Decision(color, best, None, "no time to think; what random games like")


def _count_is_won(position: Position) -> bool:
    """Whether the player to move wins if both pass and every stone counts as alive."""
    white = float(white_score(position.line, position.ply, position.rules.flags))
    return white > 0 if position.to_play == WHITE else white < 0


def criticality(position: Position) -> npt.NDArray[np.float64]:
    """Return, by point, how much owning it at the end goes together with a good result.

    Returns:
        [MAX_POINTS] the covariance of ownership, 0 or 1, and margin, in points, over random
        games, for the player to move.
    """
    boards = np.zeros(2, BOARD)
    boards[0] = position.board
    owned, margin_when_owned = np.zeros((2, MAX_POINTS), np.int64)
    seed = np.uint64(int(position.board["hash"]) | 1)
    n = RANDOM_GAMES
    total = tally_owners(boards, position.to_play, n, owned, margin_when_owned, seed)
    return np.asarray(margin_when_owned / n - owned / n * (int(total) / n))
