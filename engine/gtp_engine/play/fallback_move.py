"""A move without any evaluation, for when the clock leaves no time for one.

If the tree knows the position, its favourite; else the point that matters most in random games:
the one whose possession at the end goes together with a good result (after Coulom 2009,
"Criticality: a Monte-Carlo Heuristic for Go Programs").
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.go.board import BOARD, MAX_POINTS
from gtp_engine.go.position import Position
from gtp_engine.go.random_games import tally_owners
from gtp_engine.play.adjudication.explanation import Ownership
from gtp_engine.play.decision import Decision
from gtp_engine.play.endgame import Endgame, counts_dead_stones, own_moves_cost
from gtp_engine.play.move_choice import left_alone, wanted_moves
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

RANDOM_GAMES = 200
"""About ten milliseconds on 19x19."""

UNDISPUTED = 0.05
"""Share of random games, 0..1, up to which a player has a stone on a point that is the other's."""

GAMES_FOR_LAND = 60
"""Further random games that tell whose land is whose, where filling it costs a point."""


def decide_quickly(
    search: Search,
    position: Position,
    report: ReportRequest | None = None,
    *,
    cleanup: bool = False,
) -> Decision:
    """Return a move that is found at once; the game itself is not changed.

    Own safe territory is left alone, and where a move in it costs a point, so is land that is
    somebody's in nearly all random games. In a clean-up, stones that hardly ever survive random
    games are captured first.

    Args:
        search: Its tree is used, and afterwards holds the position.
        position: The player that `to_play` names is to move.
        report: Who wants to hear what the tree knows, if anything, and which moves are to be
            avoided.
    """
    avoid = report.avoid if report is not None else ()
    search.set_position(position)
    point, reason = _choose(search, position, avoid, cleanup)
    if report is not None and report.callback is not None and search.favourites():
        search.run(Limits(playouts=0), report)  # it reports what the tree knows
    return Decision(position.to_play, point, None, f"no time to think{reason}")


def _choose(
    search: Search, position: Position, avoid: Iterable[AvoidRule], cleanup: bool
) -> tuple[int, str]:
    """Return a move and where it comes from."""
    wanted = wanted_moves(position, avoid)
    if cleanup:
        expected = Endgame(position, ownership_at_random(position))
        if captures := sorted(wanted & expected.liberties_of_dead):
            return _likeliest(position, captures), "; stones to capture"
    may_pass = PASS in wanted
    after_pass = position.ply and position.moves[-1].point == PASS
    lead = Endgame(position, None).lead_as_it_stands
    if may_pass and after_pass and lead > 0:
        return PASS, "; the count is won"
    friendly = counts_dead_stones(position)
    moves = sorted(wanted - {PASS} - left_alone(position, wanted, strict=not friendly))
    known = [p for p in search.favourites() if p in moves or (p == PASS and may_pass)]
    if known[:1] == [PASS] and not friendly and lead <= 0:
        known = [p for p in known if p != PASS]  # stones may have to be captured first
    if known:
        return known[0], "; what the tree likes"
    if not moves:
        return PASS, ", and nothing to play"
    if may_pass and own_moves_cost(position.rules):
        settled = undisputed_points(position)
        moves = [p for p in moves if p not in settled]
        if not moves:
            return PASS, ", and nothing open"
    return _likeliest(position, moves), "; what random games like"


def _likeliest(position: Position, moves: Sequence[int]) -> int:
    worth = criticality(position)
    return max(moves, key=lambda move: worth[move])


def criticality(position: Position) -> npt.NDArray[np.float64]:
    """Return, by point, how much owning it at the end goes together with a good result.

    Returns:
        [MAX_POINTS] the covariance of ownership, 0 or 1, and margin, in points, over random
        games, for the player to move.
    """
    n = RANDOM_GAMES
    owned, margin_when_owned, total = _play_at_random(position, position.to_play, n)
    return np.asarray(margin_when_owned / n - owned / n * (total / n))


def undisputed_points(position: Position) -> set[int]:
    """Return the points on which one of the players hardly ever ends with a stone."""
    rarest = np.minimum(*_shares_at_random(position))
    return {p for p in position.points() if rarest[p] <= UNDISPUTED}


def ownership_at_random(position: Position) -> Ownership:
    """Return [height, width] whose points and stones survive random games, 1 for Black."""
    black, white = _shares_at_random(position)
    owned = black - white
    # Where a stone dies, its point often ends as an eye, which nobody's stone holds.
    stones = position.stones(BLACK)
    owned[stones] = 2.0 * black[stones] - 1.0
    stones = position.stones(WHITE)
    owned[stones] = 1.0 - 2.0 * white[stones]
    return owned[position.points()].reshape(position.height, position.width).astype(np.float32)


def _shares_at_random(position: Position) -> tuple[npt.NDArray[np.float64], ...]:
    """Return [MAX_POINTS] the share of random games in which a point is Black's, and White's.

    Each player begins those in which its own points are counted.
    """
    n = GAMES_FOR_LAND
    return tuple(_play_at_random(position, color, n)[0] / n for color in (BLACK, WHITE))


def _play_at_random(
    position: Position, color: int, games: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Play games to the end, this player beginning.

    Returns:
        [MAX_POINTS] games in which a point ended as the player's stone, [MAX_POINTS] the player's
        margins in these, and the margins of all games; both in points.
    """
    boards = np.zeros(2, BOARD)
    boards[0] = position.board
    owned, margin_when_owned = np.zeros((2, MAX_POINTS), np.int64)
    seed = np.uint64(int(position.board["hash"]) | 1)
    total = tally_owners(boards, color, games, owned, margin_when_owned, seed)
    return owned, margin_when_owned, int(total)
