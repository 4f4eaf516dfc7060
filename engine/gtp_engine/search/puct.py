"""Which way a playout goes, and what points are worth.

At each node with N visits a playout follows the child that maximises

    U(child) + c(N) P(child) sqrt(N) / (1 + N(child))

(AlphaGo Zero, Silver et al. 2017, Methods, "Select"), where U is the child's mean utility seen
from the node.
"""

import numpy as np

from gtp_engine.coords import WHITE
from gtp_engine.kernels import inline_kernel, int64, kernel, uint64
from gtp_engine.random_numbers import mix
from gtp_engine.search.params import PuctNumbers, ScoreUtility
from gtp_engine.search.tree import ChildRecord, NodeRecord, Tree


@kernel
def exploration(visits: float, numbers: PuctNumbers) -> float:
    """Return the exploration constant at a node with this many visits.

    It grows with visits, as in AlphaZero's pseudo-code, but by a fourth root in place of the
    logarithm: square roots are exact on every machine, logarithms are not. Up to 50,000 visits it
    is within a seventh of KataGo's cpuct + 0.45 ln(1 + visits / 500).
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
        center: The lead, of the same player, around which the dynamic part is measured.
    """
    return score.static_weight * _squash(lead / score.scale) + score.dynamic_weight * _squash(
        (lead - center) / score.scale
    )


@inline_kernel
def center_of(to_play: int, score: ScoreUtility) -> float:
    """Return the lead, of the player to move, around which the dynamic part is measured."""
    return score.center_white if to_play == WHITE else -score.center_white


@kernel
def mean_utility(record: NodeRecord, score: ScoreUtility) -> float:
    """Return a visited node's mean utility, for its player to move."""
    n = np.float64(record["visits"])
    center = center_of(record["to_play"], score)
    return record["value_sum"] / n + score_utility(record["lead_sum"] / n, center, score)


@kernel
def child_utility(
    edge: ChildRecord, center: float, numbers: PuctNumbers, score: ScoreUtility
) -> float:
    """Return a child's mean utility for its parent, descents in flight counting as losses.

    Args:
        edge: What the parent has seen of the child.
        center: The lead, for the parent's player, around which the dynamic part is measured.
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
def widened(prior: float, k: int, total: float, width: float) -> tuple[float, float]:
    """Return a flatter prior of a move at the root, and what its utility is raised by.

    As KataGo's wideRootNoise: the prior to the power of 1 / (1 + 4 width); every other time the
    absolute value of a normal number times the width. The draws are hashes of the root's visits.

    Args:
        width: Above 0.
    """
    state = mix(uint64(int64(total)) * uint64(1024) + uint64(k))
    bonus = 0.0
    if state & uint64(1):
        first = (np.float64(state >> uint64(11)) + 1.0) * 2.0**-53
        second = np.float64(mix(state) >> uint64(11)) * 2.0**-53
        bonus = width * abs(np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second))
    return prior ** (1.0 / (1.0 + 4.0 * width)), bonus


@kernel
def pierre_child(tree: Tree, node: int, numbers: PuctNumbers) -> int:
    """Return what `select_child` does, by Pierre's rule: the child with the largest

        [R > 0.85 N] + [R > 0.25 N] + (R + 10 P) / (1 + N)

    where R is the sum of its results and N its visits, descents in flight lost among them.
    """
    record = tree.nodes[node]
    best, best_value = int64(-1), -np.inf
    for k in range(int64(record["n_children"])):
        edge = tree.children[int64(record["first_child"]) + k]
        n = np.float64(edge["visits"]) + edge["pending"]
        r = -edge["value_sum"] - edge["pending"] * numbers.virtual_loss
        value = (r + 10.0 * edge["prior"]) / (1.0 + n)
        value += (1.0 if r > 0.85 * n else 0.0) + (1.0 if r > 0.25 * n else 0.0)
        if value > best_value:
            best, best_value = int64(k), value
    if record["untried"] >= 0 and 10.0 * record["untried_prior"] > best_value:
        best = int64(record["n_children"])
    return best


@kernel
def select_child(
    tree: Tree, node: int, is_root: bool, numbers: PuctNumbers, score: ScoreUtility
) -> int:
    """Return the index of the child that PUCT follows; their number stands for an untried move.

    A node without an untried move returns one of its children.
    """
    if numbers.pierre != 0.0:
        return pierre_child(tree, node, numbers)
    record = tree.nodes[node]
    n_children = int64(record["n_children"])
    first = int64(record["first_child"])
    center = center_of(record["to_play"], score)
    total = np.float64(record["visits"] + record["pending"])
    scale = exploration(total, numbers) * np.sqrt(total)
    best = int64(-1)
    best_value = -np.inf
    tried_policy = 0.0
    width = numbers.wide_root_noise if is_root else 0.0
    for k in range(n_children):
        edge = tree.children[first + k]
        prior = np.float64(edge["prior"])
        tried_policy += prior
        visits = int64(edge["visits"]) + int64(edge["pending"])
        utility = child_utility(edge, center, numbers, score)
        weight: float = prior
        if width > 0.0:
            weight, bonus = widened(prior, int64(k), total, width)
            utility += bonus
        value = utility + scale * weight / (1.0 + visits)
        if value > best_value:
            best_value = value
            best = int64(k)
    if record["untried"] >= 0:
        reduction = numbers.root_fpu_reduction if is_root else numbers.fpu_reduction
        first_play = mean_utility(record, score) - reduction * np.sqrt(tried_policy)
        weight = float(record["untried_prior"])
        if width > 0.0:
            weight, bonus = widened(weight, n_children, total, width)
            first_play += bonus
        if first_play + scale * weight > best_value:
            best = n_children
    return best
