"""One playout: descend by PUCT, (evaluate the leaf,) back up.

A descent from the root follows, at each node with N visits, the child that maximises

    U(child) + c(N) P(child) sqrt(N) / (1 + N(child))

(AlphaGo Zero, Silver et al. 2017, Methods, "Select"), where U is the child's mean utility seen
from the node. Descents in flight count as lost visits, the *virtual loss* of Chaslot et al. 2008,
so that several of them spread out. A descent ends at a new node, whose evaluation `backup` then
adds to every node of the path.
"""

from typing import Any

import numpy as np

from gtp_engine.go.coords import WHITE
from gtp_engine.kernels import inline_kernel, int64, kernel
from gtp_engine.search.params import PuctNumbers, ScoreUtility
from gtp_engine.search.tree import (
    NEW,
    TERMINAL,
    ChildRecord,
    NodeRecord,
    Tree,
    add_child,
    has_room,
)

MAX_DEPTH = 384
"""Longest path of a descent; deeper nodes are not added."""

PATH = np.dtype(
    [
        ("length", np.int32),  # nodes
        ("nodes", np.int32, (MAX_DEPTH + 1,)),
        ("slots", np.int16, (MAX_DEPTH + 1,)),  # which of its parent's children each node is
        ("moves", np.int16, (MAX_DEPTH + 1,)),  # the move that leads to each node
    ],
    align=True,
)
"""A way down the tree; slot and move of the first node mean nothing."""

PathRecord = Any
"""A numpy record of dtype PATH."""

LEAF, AGAIN, COLLISION, FULL = 0, 1, 2, 3
"""How a descent ended: at a new node to evaluate, at a node whose value is known (the end of a
game), at a node that another descent is just evaluating, or where a new node found no room."""


@kernel
def exploration(visits: float, numbers: PuctNumbers) -> float:
    """Return the exploration constant at a node with this many visits.

    It grows with visits, as in AlphaZero's pseudo-code, but by a fourth root in place of the
    logarithm: square roots are exact on every machine, logarithms are not. Between 1,000 and
    50,000 visits the two agree within a fifth.
    """
    return numbers.cpuct + numbers.cpuct_growth * (np.sqrt(np.sqrt(1.0 + visits / 500.0)) - 1.0)


@inline_kernel
def _squash(x: float) -> float:
    """Map the real line to (-1, 1); half is reached at 1. Exact on every machine."""
    return x / (1.0 + abs(x))


@inline_kernel
def score_utility(lead: float, center: float, score: ScoreUtility) -> float:
    """Return what an expected lead is worth besides winning, to the player whose lead it is.

    Args:
        lead: Points ahead.
        center: The lead, of the same player, around which the dynamic part is measured.
        score: Weights and scale.
    """
    return score.static_weight * _squash(lead / score.scale) + score.dynamic_weight * _squash(
        (lead - center) / score.scale
    )


@inline_kernel
def _center_of(record: NodeRecord, score: ScoreUtility) -> float:
    """Return the lead around which the dynamic part is measured, for a node's player to move."""
    return score.center_white if record["to_play"] == WHITE else -score.center_white


@kernel
def mean_utility(record: NodeRecord, score: ScoreUtility) -> float:
    """Return a visited node's mean utility, for its player to move."""
    n = np.float64(record["visits"])
    center = _center_of(record, score)
    return record["value_sum"] / n + score_utility(record["lead_sum"] / n, center, score)


@kernel
def child_utility(
    edge: ChildRecord, center: float, numbers: PuctNumbers, score: ScoreUtility
) -> float:
    """Return a child's mean utility for its parent, descents in flight counting as losses.

    Args:
        edge: What the parent has seen of the child.
        center: The lead, for the parent's player, around which the dynamic part is measured.
        numbers: PUCT's constants.
        score: How points count.
    """
    visits = np.float64(edge["visits"])
    if visits == 0.0:
        return -1.0
    utility = score_utility(-edge["lead_sum"] / visits, center, score) - edge["value_sum"] / visits
    if edge["pending"] == 0:
        return utility
    lost = edge["pending"] * numbers.virtual_loss
    return (utility * visits - lost) / (visits + lost)


@kernel
def select_child(
    tree: Tree, node: int, is_root: bool, numbers: PuctNumbers, score: ScoreUtility
) -> int:
    """Return the index of the child that PUCT follows; their number stands for an untried move.

    A node without an untried move returns one of its children.
    """
    record = tree.nodes[node]
    n_children = int64(record["n_children"])
    first = int64(record["first_child"])
    center = _center_of(record, score)
    total = np.float64(record["visits"] + record["pending"])
    scale = exploration(total, numbers) * np.sqrt(total)
    best = int64(-1)
    best_value = -np.inf
    tried_policy = 0.0
    for k in range(n_children):
        edge = tree.children[first + k]
        prior = np.float64(edge["prior"])
        tried_policy += prior
        visits = int64(edge["visits"]) + int64(edge["pending"])
        value = child_utility(edge, center, numbers, score) + scale * prior / (1.0 + visits)
        if value > best_value:
            best_value = value
            best = int64(k)
    if record["untried"] >= 0:
        reduction = numbers.root_fpu_reduction if is_root else numbers.fpu_reduction
        first_play = mean_utility(record, score) - reduction * np.sqrt(tried_policy)
        if first_play + scale * np.float64(record["untried_prior"]) > best_value:
            best = n_children
    return best


@kernel
def descend(
    tree: Tree, path: PathRecord, root_at: int, numbers: PuctNumbers, score: ScoreUtility
) -> int:
    """Walk from the root to a leaf, adding it if it is new, and mark the path as in flight.

    Args:
        tree: Its root is expanded.
        path: Holds the root and what lies above it; receives the nodes below.
        root_at: Where in the path the root stands.
        numbers: PUCT's constants.
        score: How points count.

    Returns:
        LEAF, AGAIN, COLLISION or FULL. After the last two nothing is marked.
    """
    at = root_at
    node = int64(path["nodes"][at])
    is_new = False
    while not is_new:
        state = tree.nodes[node]["state"]
        if state == NEW:
            return COLLISION
        if state == TERMINAL or at == MAX_DEPTH:
            break
        k = select_child(tree, node, at == root_at, numbers, score)
        is_new = k == tree.nodes[node]["n_children"]
        if is_new:
            if not has_room(tree):
                return FULL
            add_child(tree, node)
        edge = tree.children[int64(tree.nodes[node]["first_child"]) + k]
        at += 1
        node = int64(edge["node"])
        path["nodes"][at] = node
        path["slots"][at] = k
        path["moves"][at] = edge["move"]
    path["length"] = at + 1
    mark(tree, path)
    return LEAF if is_new else AGAIN


@inline_kernel
def mark(tree: Tree, path: PathRecord) -> None:
    """Mark a path as in flight."""
    for i in range(int64(path["length"])):
        tree.nodes[path["nodes"][i]]["pending"] += 1
        if i > 0:
            _edge_at(tree, path, i)["pending"] += 1


@inline_kernel
def _edge_at(tree: Tree, path: PathRecord, i: int) -> ChildRecord:
    """Return what the parent of a path's node has seen of it."""
    node = path["nodes"][i]
    parent = tree.nodes[path["nodes"][i - 1]]
    first = int64(parent["first_child"])
    # Where siblings were pruned meanwhile, those behind them have moved up.
    slot = min(int64(path["slots"][i]), int64(parent["n_children"]) - 1)
    while tree.children[first + slot]["node"] != node:
        slot -= 1
    path["slots"][i] = slot
    return tree.children[first + slot]


@kernel
def backup(tree: Tree, path: PathRecord, value: float, lead: float, stdev: float) -> None:
    """Add one evaluation to every node of a path and take the path out of flight.

    Args:
        tree: The tree.
        path: From the top down, as `descend` left it.
        value: Win-loss value, for the player to move at the last node of the path.
        lead: Points ahead, likewise.
        stdev: Standard deviation of the score, points.
    """
    for i in range(int64(path["length"]) - 1, -1, -1):
        record = tree.nodes[path["nodes"][i]]
        record["pending"] -= 1
        record["visits"] += 1
        record["value_sum"] += value
        record["value_sq_sum"] += value * value
        record["lead_sum"] += lead
        record["stdev_sum"] += stdev
        if i > 0:
            edge = _edge_at(tree, path, i)
            edge["pending"] -= 1
            edge["visits"] += 1
            edge["value_sum"] += value
            edge["lead_sum"] += lead
        value = -value
        lead = -lead
