"""Put the numbers of a tree into an `Analysis`."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.kernels import int64, kernel
from gtp_engine.search.analysis import Analysis, MoveReport
from gtp_engine.search.choice import (
    Child,
    principal_variation,
    ranked,
    utility_of,
    visited_children,
)
from gtp_engine.search.game import Game
from gtp_engine.search.playout import RunTerms
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.shared_tree import SharedTree
from gtp_engine.search.tree import EXPANDED, HELD, N_NODES, Tree, moves_by_prior

OWNERSHIP_NODES = 16384
"""Nodes with fewer visits than a subtree's divided by this do not count towards ownership."""


def winrate_of(value: float) -> float:
    """Return a win-loss value in [-1, 1] as a winrate in [0, 1]."""
    return 0.5 + 0.5 * value


def analyze(
    shared: SharedTree, terms: RunTerms, report: ReportRequest, *, is_final: bool
) -> Analysis:
    """Return what a tree says about the position at its root, which is evaluated."""
    tree, root = shared.tree, shared.root
    game, score, params = terms.game, terms.score, terms.params
    children = ranked(visited_children(tree, root, score, params), params)
    record = tree.nodes[root]
    visits = int(record["visits"])
    value = float(record["value_sum"]) / visits
    lead = float(record["lead_sum"]) / visits
    moves = [_move_report(tree, game, child, order, report) for order, child in enumerate(children)]
    if len(moves) < report.min_moves:
        moves += _unvisited_moves(tree, terms, root, moves, report.min_moves)
    owned = ownership_below(tree, root, game, report.ownership, report.ownership_stdev)
    return Analysis(
        to_play=game.to_play,
        width=game.width,
        height=game.height,
        visits=visits,
        playouts=terms.stopping.playouts,
        nodes=int(tree.counts[N_NODES]),
        elapsed=terms.stopping.elapsed(),
        winrate=winrate_of(value),
        score_lead=lead,
        score_stdev=float(record["stdev_sum"]) / visits,
        utility=utility_of(value, lead, game.to_play, score),
        raw_winrate=winrate_of(float(record["raw_value"])),
        raw_score_lead=float(record["raw_lead"]),
        is_final=is_final,
        moves=tuple(moves),
        ownership=owned.mean,
        ownership_stdev=owned.stdev,
    )


def _move_report(
    tree: Tree, game: Game, child: Child, order: int, report: ReportRequest
) -> MoveReport:
    variation = principal_variation(tree, child.node, report.pv_length - 1)
    wanted = report.moves_ownership, report.moves_ownership_stdev
    owned = ownership_below(tree, child.node, game, *wanted)
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
        utility_lcb=child.lcb,
        order=order,
        pv=(child.move, *variation.moves),
        pv_visits=(int(tree.nodes[child.node]["visits"]), *variation.visits),
        pv_edge_visits=(child.visits, *variation.edge_visits),
        # The child's ownership speaks for the other player.
        ownership=None if owned.mean is None else -owned.mean,
        ownership_stdev=owned.stdev,
    )


def _unvisited_moves(
    tree: Tree, terms: RunTerms, root: int, visited: list[MoveReport], wanted: int
) -> list[MoveReport]:
    """Return further moves by their prior, so that there are as many as wanted if possible.

    Nothing is known about them but the prior; they are given the root's own evaluation, and the
    bounds of a visit with the largest spread that values can have.
    """
    record = tree.nodes[root]
    value, lead = float(record["raw_value"]), float(record["raw_lead"])
    utility = utility_of(value, lead, terms.game.to_play, terms.score)
    seen = {move.point for move in visited}
    unseen = [each for each in moves_by_prior(tree, root) if each[0] not in seen]
    return [
        MoveReport(
            point=point,
            visits=0,
            winrate=winrate_of(value),
            score_lead=lead,
            score_stdev=float(record["raw_stdev"]),
            utility=utility,
            prior=prior,
            lcb=0.0,
            utility_lcb=utility - terms.params.lcb_stdevs,
            order=order,
            pv=(point,),
            pv_visits=(0,),
            pv_edge_visits=(0,),
        )
        for order, (point, prior) in enumerate(unseen[: wanted - len(visited)], len(visited))
    ]


class _Owned(NamedTuple):
    """[height, width] ownership below a node, -1..1 for its player to move; None without."""

    mean: npt.NDArray[np.float32] | None
    stdev: npt.NDArray[np.float32] | None


def ownership_below(
    tree: Tree, node: int, game: Game, wants_mean: bool = True, wants_stdev: bool = False
) -> _Owned:
    """Return the ownership below a node, as far as it is wanted and the net has such a head."""
    area = tree.ownership.shape[1] if wants_mean or wants_stdev else 0
    means = np.zeros(area)
    squares = np.zeros(area if wants_stdev else 0)
    if area == 0 or mean_ownership(tree, node, means, squares) == 0:
        return _Owned(None, None)
    shape, stdev = (game.height, game.width), None
    if wants_stdev:
        variance = np.maximum(squares - means**2, 0.0)
        stdev = np.sqrt(variance).reshape(shape).astype(np.float32)
    return _Owned(means.reshape(shape).astype(np.float32) if wants_mean else None, stdev)


@kernel
def mean_ownership(
    tree: Tree,
    root: int,
    sums: npt.NDArray[np.float64],
    squares: npt.NDArray[np.float64],
) -> float:
    """Average the net's ownership over a subtree, each node's own evaluation once.

    In a large tree nodes with hardly any of its visits are left out, so that a report takes no
    longer the longer an analysis runs.

    Args:
        sums: [area] receives the mean, -1..1, for the player to move at the root.
        squares: [area] receives the mean of the squares, 0..1; [0] if nobody asks for it.

    Returns:
        The number of evaluations averaged.
    """
    stack = np.empty(tree.counts[N_NODES], np.int32)
    stack[0] = root
    height = 1
    total = 0.0
    fewest = max(int64(1), int64(tree.nodes[root]["visits"]) // OWNERSHIP_NODES)
    sums[:] = 0.0
    squares[:] = 0.0
    while height > 0:
        height -= 1
        node = stack[height]
        record = tree.nodes[node]
        if record["state"] in (EXPANDED, HELD):
            sign = 1.0 if record["to_play"] == tree.nodes[root]["to_play"] else -1.0
            total += 1.0
            for point in range(sums.shape[0]):
                sums[point] += sign * tree.ownership[node, point]
            for point in range(squares.shape[0]):
                squares[point] += np.float64(tree.ownership[node, point]) ** 2
        for k in range(record["n_children"]):
            edge = tree.children[int64(record["first_child"]) + k]
            if edge["visits"] >= fewest:
                stack[height] = edge["node"]
                height += 1
    if total > 0.0:
        sums /= 127.0 * total
        squares /= 127.0 * 127.0 * total
    return total
