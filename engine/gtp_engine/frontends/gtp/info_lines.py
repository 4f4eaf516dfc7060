"""The lines in which an analysis is reported, in Leela Zero's and in KataGo's form.

All numbers speak for the side to move. Single spaces; every decimal has a point and no exponent,
because clients tell numbers from words by it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, PASS
from gtp_engine.search.request import ReportRequest

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis, MoveReport

FEW_VISITS = 0.1
"""Share of the most visited move's visits below which a move counts as hardly explored."""


@dataclass(frozen=True, slots=True)
class AnalyzeRequest(ReportRequest):
    """What a client wants analysed, and what it wants to see of it."""

    color: int = BLACK
    min_moves: int = 1
    """Stopped at once, a search has visited no move, but one has to be reported."""
    max_moves: int | None = None
    """Shown at most; what is found, and played, does not depend on it."""
    root_info: bool = False
    pv_visits: bool = False
    pv_edge_visits: bool = False
    wants_no_result: bool = False
    no_result_value: float | None = None
    """Probability of no result, 0 to 1, once it is known and if it was asked for."""


def shown_moves(analysis: "Analysis", minimum: int, maximum: int | None) -> list["MoveReport"]:
    """Return the moves worth showing, best first.

    Clients take the highest winrate shown for the position's own. A move without visits is
    therefore left out, and so is a hardly explored one that looks better than the best move.

    Args:
        minimum: Show at least so many, noisy ones too, if there are as many.
        maximum: Show at most so many; None: no limit.
    """
    if not analysis.moves:
        return []
    best = analysis.moves[0]
    few = FEW_VISITS * max(move.visits for move in analysis.moves)
    sound = [
        move
        for move in analysis.moves
        if move is best
        or (move.visits > 0 and (move.visits >= few or move.winrate <= best.winrate))
    ]
    if len(sound) < minimum:
        left_out = [move for move in analysis.moves if move not in sound]
        sound = sorted(sound + left_out[: minimum - len(sound)], key=lambda move: move.order)
    return sound[: max(1, maximum)] if maximum is not None else sound


def leela_line(analysis: "Analysis", request: AnalyzeRequest) -> str:
    """Return an `info` line in Leela Zero's form: winrate, prior and lcb in ten-thousandths."""
    return " ".join(
        f"info move {analysis.vertex(move.point)} visits {move.visits}"
        f" winrate {_ten_thousandths(move.winrate)} prior {_ten_thousandths(move.prior)}"
        f" lcb {_ten_thousandths(move.lcb)} order {move.order} pv {_pv(analysis, move)}"
        for move in shown_moves(analysis, request.min_moves, request.max_moves)
    )


def kata_line(analysis: "Analysis", request: AnalyzeRequest) -> str:
    """Return an `info` line in KataGo's form, with the ownership that the analysis holds."""
    moves = shown_moves(analysis, request.min_moves, request.max_moves)
    parts = [_kata_move(analysis, move, request) for move in moves]
    if request.root_info:
        parts.append(
            f"rootInfo visits {analysis.visits} utility {_decimal(analysis.utility)}"
            f" winrate {_decimal(analysis.winrate)} scoreMean {_decimal(analysis.score_lead)}"
            f" scoreStdev {_decimal(analysis.score_stdev)}"
            f" scoreLead {_decimal(analysis.score_lead)}"
            f" scoreSelfplay {_decimal(analysis.score_lead)} weight {_decimal(analysis.visits)}"
        )
    if analysis.ownership is not None:
        parts.append(f"ownership {_decimals(analysis.ownership.ravel())}")
    if analysis.ownership_stdev is not None:
        parts.append(f"ownershipStdev {_decimals(analysis.ownership_stdev.ravel())}")
    return " ".join(parts)


def _kata_move(analysis: "Analysis", move: "MoveReport", request: AnalyzeRequest) -> str:
    parts = [
        f"info move {analysis.vertex(move.point)} visits {move.visits} edgeVisits {move.visits}"
        f" utility {_decimal(move.utility)} winrate {_decimal(move.winrate)}"
        f" scoreMean {_decimal(move.score_lead)} scoreStdev {_decimal(move.score_stdev)}"
        f" scoreLead {_decimal(move.score_lead)} scoreSelfplay {_decimal(move.score_lead)}"
        f" prior {_decimal(move.prior)}"
        f" lcb {_decimal(move.lcb)} utilityLcb {_decimal(move.utility_lcb)}"
        f" weight {_decimal(move.visits)}"
    ]
    if request.no_result_value is not None:
        parts.append(f"noResultValue {_decimal(request.no_result_value)}")
    parts.append(f"order {move.order} pv {_pv(analysis, move)}")
    if request.pv_visits:
        parts.append(f"pvVisits {_counts(move.pv_visits or (move.visits,))}")
    if request.pv_edge_visits:
        parts.append(f"pvEdgeVisits {_counts(move.pv_edge_visits or (move.visits,))}")
    if move.ownership is not None:
        parts.append(f"movesOwnership {_decimals(move.ownership.ravel())}")
    if move.ownership_stdev is not None:
        parts.append(f"movesOwnershipStdev {_decimals(move.ownership_stdev.ravel())}")
    return " ".join(parts)


_MOST_SUMMARIZED = 8


def summarize(analysis: "Analysis") -> str:
    """Return what Leela Zero tells on stderr when it has moved, in percent.

    The bridge to the OGS server draws its graph of winrates from these lines, and Lizzie shows
    them. Both want them to the letter: first the moves, best first, then a line of counts.
    A pass is left out, because Lizzie cannot read a line about one; if it is the best move, only
    the counts remain.
    """
    moves = [move for move in shown_moves(analysis, 0, _MOST_SUMMARIZED) if move.visits > 0]
    if moves and moves[0].point == PASS:
        moves = []
    lines = [_summary_line(analysis, move) for move in moves if move.point != PASS]
    speed = analysis.playouts / max(analysis.elapsed, 0.001)
    lines.append(
        f"{analysis.visits} visits, {analysis.nodes} nodes,"
        f" {analysis.playouts} playouts, {speed:.0f} n/s"
    )
    return "\n".join(lines)


def ogs_lines(analysis: "Analysis") -> str:
    """Return the same as KataGo tells it to OGS, whose bridge knows scores in this form alone.

    The bridge looks for the form once it has read KataGo's name.
    """
    return (
        "in KataGo's form:\n"
        f"MALKOVICH:Visits {analysis.visits} Winrate {100 * analysis.winrate:.2f}%"
        f" ScoreLead {analysis.score_lead:z.1f} ScoreStdev {analysis.score_stdev:.1f}"
        f" PV {_pv(analysis, analysis.moves[0]) if analysis.moves else ''}"
    )


def _summary_line(analysis: "Analysis", move: "MoveReport") -> str:
    lcb = min(1.0, max(0.0, move.lcb))
    return (
        f"{analysis.vertex(move.point):>4} -> {move.visits:7d}"
        f" (V: {100 * move.winrate:5.2f}%) (LCB: {100 * lcb:5.2f}%)"
        f" (N: {100 * move.prior:5.2f}%) PV: {_pv(analysis, move)}"
    )


def _counts(counts: Iterable[int]) -> str:
    return " ".join(str(count) for count in counts)


def _pv(analysis: "Analysis", move: "MoveReport") -> str:
    return " ".join(analysis.vertex(point) for point in move.pv or (move.point,))


def _ten_thousandths(value: float) -> int:
    return round(10_000 * value) if math.isfinite(value) else 0


def _decimal(value: float) -> str:
    return f"{value:z.6f}" if math.isfinite(value) else "0.0"  # z: zero has no sign


def _decimals(values: Iterable[float]) -> str:
    return " ".join(f"{value:z.4f}" for value in values)
