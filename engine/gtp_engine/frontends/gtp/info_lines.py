"""The lines in which an analysis is reported, in Leela Zero's and in KataGo's form.

All numbers speak for the side to move. Single spaces; every decimal has a point and no exponent,
because clients tell numbers from words by it.
"""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gtp_engine.go.coords import format_vertex

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis, MoveReport

FEW_VISITS = 0.1
"""Share of the most visited move's visits below which a move counts as hardly explored."""


def shown_moves(analysis: "Analysis", minimum: int, maximum: int | None) -> list["MoveReport"]:
    """Return the moves worth showing, best first.

    Clients take the highest winrate shown for the position's own. A move without visits is
    therefore left out, and so is a hardly explored one that looks better than the best move.

    Args:
        analysis: What the search found.
        minimum: Show at least so many, noisy ones too, if there are as many.
        maximum: Show at most so many; None: no limit.
    """
    ordered = sorted(analysis.moves, key=lambda move: move.order)
    if not ordered:
        return []
    best = ordered[0]
    few = FEW_VISITS * max(move.visits for move in ordered)
    sound = [
        move
        for move in ordered
        if move is best
        or (move.visits > 0 and (move.visits >= few or move.winrate <= best.winrate))
    ]
    if len(sound) < minimum:
        left_out = [move for move in ordered if move not in sound]
        sound = sorted(sound + left_out[: minimum - len(sound)], key=lambda move: move.order)
    return sound[: max(1, maximum)] if maximum is not None else sound


def leela_line(analysis: "Analysis", moves: Iterable["MoveReport"]) -> str:
    """Return an `info` line in Leela Zero's form: winrate, prior and lcb in ten-thousandths."""
    return " ".join(
        f"info move {_vertex(analysis, move.point)} visits {move.visits}"
        f" winrate {_ten_thousandths(move.winrate)} prior {_ten_thousandths(move.prior)}"
        f" lcb {_ten_thousandths(move.lcb)} order {move.order} pv {_pv(analysis, move)}"
        for move in moves
    )


def kata_line(
    analysis: "Analysis",
    moves: Iterable["MoveReport"],
    *,
    root_info: bool = False,
    pv_visits: bool = False,
) -> str:
    """Return an `info` line in KataGo's form, with the ownership that the analysis holds."""
    parts = [_kata_move(analysis, move, pv_visits) for move in moves]
    if root_info:
        parts.append(
            f"rootInfo visits {analysis.visits} utility {_decimal(analysis.utility)}"
            f" winrate {_decimal(analysis.winrate)} scoreMean {_decimal(analysis.score_lead)}"
            f" scoreStdev {_decimal(analysis.score_stdev)}"
            f" scoreLead {_decimal(analysis.score_lead)}"
        )
    if analysis.ownership is not None:
        parts.append(f"ownership {_decimals(analysis.ownership.ravel())}")
    return " ".join(parts)


def _kata_move(analysis: "Analysis", move: "MoveReport", pv_visits: bool) -> str:
    text = (
        f"info move {_vertex(analysis, move.point)} visits {move.visits}"
        f" utility {_decimal(move.utility)} winrate {_decimal(move.winrate)}"
        f" scoreMean {_decimal(move.score_lead)} scoreStdev {_decimal(move.score_stdev)}"
        f" scoreLead {_decimal(move.score_lead)} prior {_decimal(move.prior)}"
        f" lcb {_decimal(move.lcb)}"
    )
    if move.is_symmetry_of is not None:
        text += f" isSymmetryOf {_vertex(analysis, move.is_symmetry_of)}"
    text += f" order {move.order} pv {_pv(analysis, move)}"
    if pv_visits:
        visits = move.pv_visits or (move.visits,)
        text += " pvVisits " + " ".join(str(count) for count in visits)
    if move.ownership is not None:
        text += f" movesOwnership {_decimals(move.ownership.ravel())}"
    return text


def _pv(analysis: "Analysis", move: "MoveReport") -> str:
    return " ".join(_vertex(analysis, point) for point in move.pv or (move.point,))


def _vertex(analysis: "Analysis", move: int) -> str:
    return format_vertex(move, analysis.width, analysis.height)


def _ten_thousandths(value: float) -> int:
    return round(10_000 * value) if math.isfinite(value) else 0


def _decimal(value: float) -> str:
    return f"{value:.6f}" if math.isfinite(value) else "0.0"


def _decimals(values: Iterable[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)
