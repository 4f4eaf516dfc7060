"""What a search does otherwise while a net learns from it: at its root, and with its result.

Forced playouts and pruned targets are those of Wu, "Accelerating Self-Play Learning in Go" (2019),
section 3.2; the Gumbel root is that of Danihelka, Guez, Schrittwieser and Silver, "Policy
Improvement by Planning with Gumbel" (ICLR 2022). Equations are numbered as there.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.eval_batch import coded_prior
from gtp_engine.kernels import int64, kernel
from gtp_engine.search.params import PuctNumbers, ScoreUtility, SearchParams
from gtp_engine.search.puct import center_of, child_utility, exploration
from gtp_engine.search.tree import Tree, action_of

GUMBEL_VISITS = 50.0
"""c_visit of equation 8, as in the paper."""
GUMBEL_SCALE = 1.0
"""c_scale of equation 8, the paper's for Go; values lie between 0 and 1."""

Floats = npt.NDArray[np.float64]


class RootResult(NamedTuple):
    """What a finished search knows of its root, for the player to move there."""

    value: float
    """Mean win-loss value, -1 to 1."""
    raw_utility: float
    """What the net alone said of it."""
    priors: Floats
    """[A + 1] the net's policy by action, 0 where a move is illegal."""
    followed: Floats
    """[A + 1] the priors that the search followed: with noise and temperature, if any."""
    counts: npt.NDArray[np.int64]
    """[A + 1] visits of the moves."""
    utilities: Floats
    """[A + 1] their mean utilities; 0 without a visit."""
    candidates: Floats
    """[A + 1] Gumbel noise plus the logit, -inf where a move is illegal; of no meaning
    without Gumbel."""


def count_policy(counts: npt.NDArray[np.int64], priors: Floats) -> Floats:
    """Return visits as shares of their sum, and the priors where nothing was visited."""
    shares = counts.astype(np.float64) if counts.any() else priors.copy()
    shares /= shares.sum()
    return shares


def draw_move(policy: Floats, temperature: float, generator: np.random.Generator) -> int:
    """Draw an action from a policy raised to 1 / temperature; among the best ones at 0."""
    if temperature < 0.01:
        return int(generator.choice(np.flatnonzero(policy == policy.max())))
    chances = np.cumsum((policy / policy.max()) ** (1.0 / temperature))
    return int(np.searchsorted(chances, generator.random() * chances[-1], side="right"))


# Forced playouts --------------------------------------------------------------------------------


@kernel
def forced_playouts(prior: float, total: float, factor: float) -> float:
    """Return how many playouts a move is owed once it has one: sqrt(k P N), k being the factor."""
    owed: float = np.sqrt(factor * prior * total)
    return owed


@kernel
def forced_child(tree: Tree, root: int, factor: float) -> int:
    """Return the index of a visited child with fewer playouts than it is owed; -1 if none is."""
    record = tree.nodes[root]
    first = int64(record["first_child"])
    total = np.float64(record["visits"]) - 1.0
    for k in range(record["n_children"]):
        edge = tree.children[first + k]
        visits = int64(edge["visits"])
        if 0 < visits < forced_playouts(np.float64(edge["prior"]), total, factor):
            return int64(k)
    return int64(-1)


def pruned_counts(
    counts: npt.NDArray[np.int64],
    priors: Floats,
    utilities: Floats,
    params: SearchParams,
    factor: float,
) -> npt.NDArray[np.int64]:
    """Return visits without those that were only forced, for the policy target.

    Of each move but the most visited one, c*, up to the forced playouts are taken away, as long as
    its PUCT value with the fewer visits stays below that of c*. A single one left goes too.

    Args:
        priors: [A + 1] that the search followed, noise included.
        utilities: [A + 1] mean utilities.
    """
    total = float(counts.sum())
    scale = exploration(total + 1.0, params.numbers) * math.sqrt(total + 1.0)
    best = int(np.lexsort((priors, counts))[-1])
    highest = utilities[best] + scale * priors[best] / (1.0 + counts[best])
    pruned = counts.copy()
    for action in np.flatnonzero(counts):
        if action == best:
            continue
        gap = highest - utilities[action]
        if gap <= 0.0:
            continue
        owed = forced_playouts(float(priors[action]), total, factor)
        needed = scale * priors[action] / gap - 1.0
        left = min(math.ceil(max(counts[action] - owed, needed)), int(counts[action]))
        pruned[action] = left if left > 1 else 0
    return pruned


# The Gumbel root --------------------------------------------------------------------------------


def considered_visits(candidates: int, playouts: int) -> list[int]:
    """Return [playouts] how many visits the move has that each playout at the root goes to.

    Sequential halving (Karnin et al. 2013; the paper's algorithm 2): all candidates get as many
    playouts, then the better half of them, and so on down to two.
    """
    if candidates <= 1:
        return list(range(playouts))
    rounds = math.ceil(math.log2(candidates))
    sequence: list[int] = []
    visits = [0] * candidates
    left = candidates
    while len(sequence) < playouts:
        for _ in range(max(1, playouts // (rounds * left))):
            sequence += visits[:left]
            visits[:left] = [n + 1 for n in visits[:left]]
        left = max(2, left // 2)
    return sequence[:playouts]


def gumbel_candidates(priors: Floats, generator: np.random.Generator) -> Floats:
    """Return [A + 1] Gumbel noise plus logits (equation 4); -inf where the prior is 0."""
    with np.errstate(divide="ignore"):
        logits: Floats = np.log(priors)
    return logits + generator.gumbel(size=len(priors))


@kernel
def gumbel_bonus(utility: float, most_visits: float) -> float:
    """Return what a utility of -1 to 1 adds to a move's logit: sigma of equation 8."""
    return (GUMBEL_VISITS + most_visits) * GUMBEL_SCALE * 0.5 * (utility + 1.0)


@kernel
def gumbel_child(
    tree: Tree,
    root: int,
    candidates: Floats,
    visits: int,
    numbers: PuctNumbers,
    score: ScoreUtility,
) -> int:
    """Return the index of the child that a playout goes to, one with so many visits.

    It is the best by candidates plus `gumbel_bonus`; among moves without a visit, whose values are
    alike, by candidates alone. Their number stands for an untried move, which the root then names.

    Args:
        candidates: [A + 1] from `gumbel_candidates`.

    Returns:
        -1 if no move has so many visits.
    """
    record = tree.nodes[root]
    n_children = int64(record["n_children"])
    first = int64(record["first_child"])
    best = int64(-1)
    highest = -np.inf
    if visits == 0:
        row = tree.priors[root]
        chosen = int64(-1)
        for action in range(row.shape[0]):
            if row[action] > 0 and candidates[action] > highest:
                highest = candidates[action]
                chosen = int64(action)
        if chosen >= 0:
            record["untried"] = chosen
            record["untried_prior"] = coded_prior(int64(row[chosen]))
            best = n_children
        return best
    center = center_of(record["to_play"], score)
    most = 0.0
    for k in range(n_children):
        most = max(most, np.float64(tree.children[first + k]["visits"]))
    for k in range(n_children):
        edge = tree.children[first + k]
        if edge["visits"] == visits:
            bonus = gumbel_bonus(child_utility(edge, center, numbers, score), most)
            total = candidates[action_of(tree, int64(edge["move"]))] + bonus
            if total > highest:
                highest = total
                best = int64(k)
    return best


def completed_values(root: RootResult) -> Floats:
    """Return [A + 1] the utilities of moves, those without a visit by equations 10 and 33."""
    visited = root.counts > 0
    if not visited.any():
        return np.full(len(root.counts), root.raw_utility)
    total = root.counts.sum()
    weights = root.priors[visited]
    mean = (weights * root.utilities[visited]).sum() / max(weights.sum(), 1e-9)
    mixed = (root.raw_utility + total * mean) / (1.0 + total)
    return np.where(visited, root.utilities, mixed)


def improved_policy(root: RootResult, scale: float = 1.0) -> Floats:
    """Return [A + 1] the policy that the search has found: equation 11, the values times `scale`.

    Below 1 it stays nearer to the priors.
    """
    legal = root.priors > 0.0
    bonus = gumbel_bonus(completed_values(root)[legal], float(root.counts.max()))
    totals = np.log(root.priors[legal]) + scale * bonus
    policy = np.zeros(len(root.priors))
    policy[legal] = np.exp(totals - totals.max())
    policy /= policy.sum()
    return policy


def gumbel_move(root: RootResult) -> int:
    """Return the action to play: of the most visited ones, the best (algorithm 2, last line)."""
    most = root.counts.max()
    totals = root.candidates + gumbel_bonus(completed_values(root), float(most))
    return int(np.argmax(np.where(root.counts == most, totals, -np.inf)))
