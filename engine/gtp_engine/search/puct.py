"""One playout: descend by PUCT, (evaluate the leaf,) back up.

A descent from the root follows, at each node with N visits, the child that maximises

    U(child) + c(N) P(child) sqrt(N) / (1 + N(child))

(AlphaGo Zero, Silver et al. 2017, Methods, "Select"), where U is the child's mean utility seen
from the node. Descents in flight count as lost visits, the *virtual loss* of Chaslot et al. 2008,
so that several of them spread out. A descent ends at a new node, whose evaluation `backup` then
adds to every node of the path.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.go.jit import inline_kernel, int64, kernel
from gtp_engine.search.params import PuctNumbers, ScoreUtility
from gtp_engine.search.tree import NEW, TERMINAL, Tree, add_child

MAX_DEPTH = 384
"""Longest path of a descent; deeper nodes are not added."""

LEAF, AGAIN, COLLISION = 0, 1, 2
"""How a descent ended: at a new node to evaluate, at a node whose value is known (the end of a
game), or at a node that another descent is just evaluating."""


@inline_kernel
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
def mean_utility(tree: Tree, node: int, score: ScoreUtility) -> float:
    """Return a visited node's mean utility, for its player to move."""
    n = np.float64(tree.visits[node])
    center = score.center_white if tree.to_play[node] == 2 else -score.center_white
    return tree.value_sum[node] / n + score_utility(tree.lead_sum[node] / n, center, score)


@inline_kernel
def child_utility(tree: Tree, child: int, numbers: PuctNumbers, score: ScoreUtility) -> float:
    """Return a child's mean utility for its parent, descents in flight counting as losses."""
    visits = np.float64(tree.visits[child])
    lost = tree.pending[child] * numbers.virtual_loss
    if visits == 0.0:
        return -1.0
    return (-mean_utility(tree, child, score) * visits - lost) / (visits + lost)


@kernel
def select_child(
    tree: Tree, node: int, is_root: bool, numbers: PuctNumbers, score: ScoreUtility
) -> int:
    """Return the index of the edge that PUCT follows; the number of children is a new one.

    A node without an untried edge returns one of its children.
    """
    n_children = int64(tree.n_children[node])
    first_edge = tree.edge_start[node]
    first_child = tree.child_start[node]
    total = np.float64(tree.visits[node] + tree.pending[node])
    scale = exploration(total, numbers) * np.sqrt(total)
    best = int64(-1)
    best_value = -np.inf
    visited_policy = 0.0
    for k in range(n_children):
        child = int64(tree.child_node[first_child + k])
        prior = np.float64(tree.edge_prior[first_edge + k])
        visited_policy += prior
        visits = tree.child_visits[first_child + k] + tree.pending[child]
        value = child_utility(tree, child, numbers, score) + scale * prior / (1.0 + visits)
        if value > best_value:
            best_value = value
            best = k
    if n_children < tree.n_edges[node]:
        reduction = numbers.root_fpu_reduction if is_root else numbers.fpu_reduction
        first_play = mean_utility(tree, node, score) - reduction * np.sqrt(visited_policy)
        prior = np.float64(tree.edge_prior[first_edge + n_children])
        if first_play + scale * prior > best_value:
            best = n_children
    return best


@kernel
def descend(
    tree: Tree,
    path: npt.NDArray[np.int32],
    slots: npt.NDArray[np.int64],
    moves: npt.NDArray[np.int16],
    numbers: PuctNumbers,
    score: ScoreUtility,
) -> tuple[int, int]:
    """Walk from the root to a leaf, adding it if it is new, and mark the path as in flight.

    Args:
        tree: Its root, node 0, is expanded.
        path: [MAX_DEPTH + 1] receives the nodes from the root on.
        slots: [MAX_DEPTH + 1] receives, for each node but the root, its slot among the children.
        moves: [MAX_DEPTH + 1] receives, for each node but the root, the move that leads to it.
        numbers: PUCT's constants.
        score: How points count.

    Returns:
        LEAF, AGAIN or COLLISION, and the length of the path. After COLLISION nothing is marked.
    """
    node = int64(0)
    path[0] = 0
    length = 1
    while True:
        state = tree.state[node]
        if state in (NEW, TERMINAL) or length > MAX_DEPTH:
            break
        k = select_child(tree, node, length == 1, numbers, score)
        is_new = k == tree.n_children[node]
        child = (
            add_child(tree, node, 3 - tree.to_play[node])
            if is_new
            else int64(tree.child_node[tree.child_start[node] + k])
        )
        # The block of children may have moved: slots of this playout are edge numbers.
        slots[length] = k
        moves[length] = tree.edge_move[tree.edge_start[node] + k]
        path[length] = child
        node = child
        length += 1
        if is_new:
            for i in range(length):
                tree.pending[path[i]] += 1
            return LEAF, length
    if state == NEW:
        return COLLISION, length
    for i in range(length):
        tree.pending[path[i]] += 1
    return AGAIN, length


@kernel
def backup(
    tree: Tree,
    path: npt.NDArray[np.int32],
    slots: npt.NDArray[np.int64],
    length: int,
    value: float,
    lead: float,
    stdev: float,
) -> None:
    """Add one evaluation to every node of a path and take the path out of flight.

    Args:
        tree: The tree.
        path: The nodes, root first.
        slots: The edges taken, as `descend` wrote them.
        length: How many nodes.
        value: Win-loss value, for the player to move at the last node of the path.
        lead: Points ahead, likewise.
        stdev: Standard deviation of the score, points.
    """
    for i in range(length - 1, -1, -1):
        node = path[i]
        tree.pending[node] -= 1
        tree.visits[node] += 1
        tree.value_sum[node] += value
        tree.value_sq_sum[node] += value * value
        tree.lead_sum[node] += lead
        tree.stdev_sum[node] += stdev
        if i > 0:
            tree.child_visits[tree.child_start[path[i - 1]] + slots[i]] += 1
        value = -value
        lead = -lead
