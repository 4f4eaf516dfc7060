"""What a search found, as Leela Zero tells it on stderr when it has moved.

The bridge to the OGS server draws its graph of winrates from these lines, and Lizzie shows them.
Both want them to the letter: first the moves, best first, then a line of counts.
"""

from typing import TYPE_CHECKING

from gtp_engine.coords import PASS, format_vertex
from gtp_engine.frontends.gtp.info_lines import shown_moves

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis, MoveReport

_MOST_MOVES = 8


def summarize(analysis: "Analysis") -> str:
    """Return the lines about a search, in percent and for the player who was to move.

    A pass is left out, because Lizzie cannot read a line about one; if it is the best move, only
    the counts remain.
    """
    moves = [move for move in shown_moves(analysis, 0, _MOST_MOVES) if move.visits > 0]
    if moves and moves[0].point == PASS:
        moves = []
    lines = [_line(analysis, move) for move in moves if move.point != PASS]
    speed = analysis.playouts / max(analysis.elapsed, 0.001)
    lines.append(
        f"{analysis.visits} visits, {analysis.nodes} nodes,"
        f" {analysis.playouts} playouts, {speed:.0f} n/s"
    )
    return "\n".join(lines)


def _line(analysis: "Analysis", move: "MoveReport") -> str:
    width, height = analysis.width, analysis.height
    pv = " ".join(format_vertex(point, width, height) for point in move.pv or (move.point,))
    lcb = min(1.0, max(0.0, move.lcb))
    return (
        f"{format_vertex(move.point, width, height):>4} -> {move.visits:7d}"
        f" (V: {100 * move.winrate:5.2f}%) (LCB: {100 * lcb:5.2f}%)"
        f" (N: {100 * move.prior:5.2f}%) PV: {pv}"
    )
