"""Which move to play after a search: many visits, unless fewer are surely better.

Moves are ranked by visits, but one with a fair share of the visits whose *lower confidence
bound* beats all others goes first (as in Leela Zero and KataGo; the bound is the mean minus a
multiple of its standard error). It guards against a move that looked good until the last visits.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.puct import score_utility
from gtp_engine.search.tree import Tree

DOUBT_VARIANCE = 0.25
"""Squared deviation of one imagined visit that is added to a child's own. A single visit has no
spread at all, and a few equal ones hardly any; that does not make them certain."""


@dataclass(frozen=True, slots=True)
class Child:
    """Statistics of a visited child, for the player to move at its parent."""

    move: int
    node: int
    visits: int
    prior: float
    value: float
    """Mean win-loss value."""
    lead: float
    stdev: float
    utility: float
    lcb: float
    """Lower confidence bound of the utility."""


def visited_children(
    tree: Tree, node: int, score: ScoreUtility, params: SearchParams
) -> list[Child]:
    """Return a node's visited children in the order of their priors."""
    edges = int(tree.edge_start[node])
    slots = int(tree.child_start[node])
    center = score.center_white if tree.to_play[node] == 2 else -score.center_white
    children = []
    for k in range(int(tree.n_children[node])):
        child = int(tree.child_node[slots + k])
        visits = int(tree.child_visits[slots + k])
        if visits == 0:
            continue
        n = float(tree.visits[child])
        value = -float(tree.value_sum[child]) / n
        lead = -float(tree.lead_sum[child]) / n
        utility = value + float(score_utility(lead, center, score))
        squares = max(0.0, float(tree.value_sq_sum[child]) - n * value * value)
        spread = ((squares + DOUBT_VARIANCE) / n) ** 0.5
        children.append(
            Child(
                move=int(tree.edge_move[edges + k]),
                node=child,
                visits=visits,
                prior=float(tree.edge_prior[edges + k]),
                value=value,
                lead=lead,
                stdev=float(tree.stdev_sum[child]) / n,
                utility=utility,
                lcb=utility - params.lcb_stdevs * spread / visits**0.5,
            )
        )
    return children


def ranked(children: list[Child], params: SearchParams) -> list[Child]:
    """Return children best first."""
    if not children:
        return []
    by_visits = sorted(children, key=lambda child: (-child.visits, -child.prior))
    enough = params.lcb_min_visit_share * by_visits[0].visits
    eligible = [child for child in by_visits if child.visits >= enough]
    best = max(eligible, key=lambda child: (child.lcb, child.visits))
    return [best, *(child for child in by_visits if child is not best)]


class Variation(NamedTuple):
    """Moves that follow each other, and how often they were visited."""

    moves: list[int]
    visits: list[int]
    """Visits of the position after each move."""
    edge_visits: list[int]
    """Playouts that made the move from the position before it."""


def principal_variation(tree: Tree, node: int, length: int) -> Variation:
    """Return the most visited moves from a node on."""
    found = Variation([], [], [])
    while len(found.moves) < length and tree.n_children[node] > 0:
        start = int(tree.child_start[node])
        end = start + int(tree.n_children[node])
        counts: npt.NDArray[np.int32] = tree.child_visits[start:end]
        k = int(np.argmax(counts))
        if counts[k] == 0:
            break
        found.moves.append(int(tree.edge_move[tree.edge_start[node] + k]))
        found.edge_visits.append(int(counts[k]))
        node = int(tree.child_node[start + k])
        found.visits.append(int(tree.visits[node]))
    return found
