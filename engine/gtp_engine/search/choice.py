"""Which move to play after a search: many visits, unless fewer are surely better.

Moves are ranked by visits, but one with a fair share of the visits whose *lower confidence
bound* beats all others goes first (as in Leela Zero and KataGo; the bound is the mean minus a
multiple of its standard error). It guards against a move that looked good until the last visits.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.puct import center_of, score_utility
from gtp_engine.search.tree import Tree, children_of

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


def utility_of(value: float, lead: float, to_play: int, score: ScoreUtility) -> float:
    """Return what a mean value and lead are worth to the player for whom they speak."""
    return value + float(score_utility(lead, center_of(to_play, score), score))


def visited_children(
    tree: Tree, node: int, score: ScoreUtility, params: SearchParams
) -> list[Child]:
    """Return a node's visited children in the order in which they were tried."""
    to_play = int(tree.nodes[node]["to_play"])
    children = []
    for edge in children_of(tree, node):
        visits = int(edge["visits"])
        if visits == 0:
            continue
        child = tree.nodes[edge["node"]]
        n = float(child["visits"])
        value = -float(child["value_sum"]) / n
        lead = -float(child["lead_sum"]) / n
        utility = utility_of(value, lead, to_play, score)
        squares = max(0.0, float(child["value_sq_sum"]) - n * value * value)
        spread = ((squares + DOUBT_VARIANCE) / n) ** 0.5
        children.append(
            Child(
                move=int(edge["move"]),
                node=int(edge["node"]),
                visits=visits,
                prior=float(edge["prior"]),
                value=value,
                lead=lead,
                stdev=float(child["stdev_sum"]) / n,
                utility=utility,
                lcb=utility - params.lcb_stdevs * spread / visits**0.5,
            )
        )
    return children


PIERRE_VISITS, PIERRE_VALUE = 50, 0.5
"""Pierre chose the best mean among the moves with more of both, if there were any."""


def ranked(children: list[Child], params: SearchParams) -> list[Child]:
    """Return children best first."""
    if not children:
        return []
    by_visits = sorted(children, key=lambda child: (-child.visits, -child.prior))
    if params.pierre:
        good = [c for c in by_visits if c.visits > PIERRE_VISITS and c.value > PIERRE_VALUE]
        best = max(good, key=lambda child: child.value, default=by_visits[0])
    else:
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
    while len(found.moves) < length and tree.nodes[node]["n_children"] > 0:
        children = children_of(tree, node)
        best = children[int(np.argmax(children["visits"]))]
        if best["visits"] == 0:
            break
        found.moves.append(int(best["move"]))
        found.edge_visits.append(int(best["visits"]))
        node = int(best["node"])
        found.visits.append(int(tree.nodes[node]["visits"]))
    return found
