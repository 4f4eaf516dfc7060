"""Put the numbers of a tree into an `Analysis`."""

import numpy as np
import numpy.typing as npt

from gtp_engine.go.position import Position
from gtp_engine.search.analysis import Analysis, MoveReport
from gtp_engine.search.choice import Child, principal_variation, ranked, visited_children
from gtp_engine.search.leaf import mean_ownership
from gtp_engine.search.limits import ReportRequest
from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.puct import score_utility
from gtp_engine.search.tree import Tree


def winrate_of(value: float) -> float:
    """Return a win-loss value in [-1, 1] as a winrate in [0, 1]."""
    return 0.5 + 0.5 * value


def analyze_tree(
    tree: Tree,
    position: Position,
    score: ScoreUtility,
    params: SearchParams,
    report: ReportRequest,
    *,
    playouts: int,
    elapsed: float,
    is_final: bool,
) -> Analysis:
    """Return what a tree with an evaluated root says about the position at its root."""
    children = ranked(visited_children(tree, 0, score, params), params)
    shown = children[: report.max_moves] if report.max_moves is not None else children
    visits = int(tree.visits[0])
    value = float(tree.value_sum[0]) / visits
    lead = float(tree.lead_sum[0]) / visits
    center = score.center_white if position.to_play == 2 else -score.center_white
    moves = [
        _move_report(tree, position, child, order, report) for order, child in enumerate(shown)
    ]
    if len(moves) < report.min_moves:
        moves += _unvisited_moves(tree, moves, report.min_moves)
    return Analysis(
        to_play=position.to_play,
        width=position.width,
        height=position.height,
        visits=visits,
        playouts=playouts,
        nodes=int(tree.used[0]),
        elapsed=elapsed,
        winrate=winrate_of(value),
        score_lead=lead,
        score_stdev=float(tree.stdev_sum[0]) / visits,
        utility=value + float(score_utility(lead, center, score)),
        raw_winrate=winrate_of(float(tree.raw_value[0])),
        raw_score_lead=float(tree.raw_lead[0]),
        is_final=is_final,
        moves=tuple(moves),
        ownership=ownership_below(tree, 0, position) if report.ownership else None,
    )


def _move_report(
    tree: Tree, position: Position, child: Child, order: int, report: ReportRequest
) -> MoveReport:
    moves, visits = principal_variation(tree, child.node, report.pv_length - 1)
    # The bound was computed for the utility; as a winrate it is the same distance below the mean.
    lcb = winrate_of(child.value - (child.utility - child.lcb))
    return MoveReport(
        point=child.move,
        visits=child.visits,
        winrate=winrate_of(child.value),
        score_lead=child.lead,
        score_stdev=child.stdev,
        utility=child.utility,
        prior=child.prior,
        lcb=min(1.0, max(0.0, lcb)),
        order=order,
        pv=(child.move, *moves),
        pv_visits=(child.visits, *visits),
        ownership=_child_ownership(tree, child, position) if report.moves_ownership else None,
    )


def _unvisited_moves(tree: Tree, visited: list[MoveReport], wanted: int) -> list[MoveReport]:
    """Return further moves by their prior, so that there are as many as wanted if possible.

    Nothing is known about them but the prior; they are given the root's own evaluation.
    """
    start = int(tree.edge_start[0])
    seen = {move.point for move in visited}
    found: list[MoveReport] = []
    for edge in range(start, start + int(tree.n_edges[0])):  # in the order of their priors
        point = int(tree.edge_move[edge])
        if len(seen) >= wanted:
            break
        if point in seen:
            continue
        seen.add(point)
        value = float(tree.raw_value[0])
        found.append(
            MoveReport(
                point=point,
                visits=0,
                winrate=winrate_of(value),
                score_lead=float(tree.raw_lead[0]),
                score_stdev=float(tree.raw_stdev[0]),
                utility=value,
                prior=float(tree.edge_prior[edge]),
                lcb=0.0,
                order=len(visited) + len(found),
                pv=(point,),
                pv_visits=(0,),
            )
        )
    return found


def ownership_below(tree: Tree, node: int, position: Position) -> npt.NDArray[np.float32] | None:
    """Return the mean ownership below a node, for its player to move.

    Returns:
        [height, width], -1..1, or None if the net has no such head.
    """
    area = tree.ownership.shape[1]
    if area == 0:
        return None
    sums = np.zeros(area)
    if mean_ownership(tree, node, sums) == 0:
        return None
    return sums.reshape(position.height, position.width).astype(np.float32)


def _child_ownership(
    tree: Tree, child: Child, position: Position
) -> npt.NDArray[np.float32] | None:
    """Return the mean ownership below a child, for the player to move at its parent."""
    ownership = ownership_below(tree, child.node, position)
    return None if ownership is None else -ownership
