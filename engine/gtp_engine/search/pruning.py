"""Take nodes out of a tree: what lies outside of the part in use, what was visited least, and
moves that are not wanted."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import PASS, opponent
from gtp_engine.evaluators.eval_batch import EvalBatch, coded_prior, prior_code
from gtp_engine.kernels import hot_kernel, inline_kernel, int64, kernel
from gtp_engine.search.game import Game
from gtp_engine.search.request import AvoidRule
from gtp_engine.search.tree import (
    CHILD,
    FREE,
    FREE_BLOCKS,
    FREE_NODE,
    N_CHILDREN,
    N_NODES,
    REACHED,
    ChildRecord,
    NodeRecord,
    Tree,
    action_of,
    find_untried,
    move_of,
)


@inline_kernel
def _is_on(path: npt.NDArray[np.int32], node: int) -> bool:
    for one in path:  # noqa: SIM110  (kernels compile no generators)
        if one == node:
            return True
    return False


@kernel
def prune(tree: Tree, path: npt.NDArray[np.int32], fewest: int) -> None:
    """Drop nodes with too few visits, and those that the path to the root does not lead to.

    A move whose child is dropped is untried again. Visits and sums of the nodes that stay remain
    what they are, and their indices and the order of children too.

    Args:
        path: [n] nodes from an ancestor of the root down to the root; all of them stay.
        fewest: Visits without which nodes below the root are dropped. Where a descent is in
            flight, nothing is dropped.
    """
    # 1. Find out what stays, parents before their children, and copy the blocks of children
    # one behind the other; in the tree there may be gaps between them.
    kept = np.empty(tree.counts[N_NODES], np.int32)
    blocks = np.empty(tree.counts[N_CHILDREN], CHILD)
    kept[0] = path[0]
    root = path[path.shape[0] - 1]
    n_kept = 1
    n_children = 0
    at = 0
    while at < n_kept:
        record = tree.nodes[kept[at]]
        first = n_children
        dropped = False
        is_above = kept[at] != root and _is_on(path, int64(kept[at]))
        for k in range(record["n_children"]):
            edge = tree.children[int64(record["first_child"]) + k]
            stays = edge["pending"] != 0
            if is_above:
                stays |= _is_on(path, int64(edge["node"]))
            else:
                stays |= edge["visits"] >= fewest
            if not stays:
                code = prior_code(edge["prior"])
                tree.priors[kept[at], action_of(tree, int64(edge["move"]))] = code
                dropped = True
            else:
                blocks[n_children] = edge
                kept[n_kept] = edge["node"]
                n_children += 1
                n_kept += 1
        record["n_children"] = n_children - first
        if dropped:
            find_untried(tree, int64(kept[at]))
        at += 1

    # 2. Put the blocks back without gaps.
    _put_back(tree, kept[:n_kept], blocks)

    # 3. All other nodes are free.
    is_kept = np.zeros(tree.counts[REACHED], np.bool_)
    for i in range(n_kept):
        is_kept[kept[i]] = True
    tree.counts[FREE_NODE] = -1
    for node in range(tree.counts[REACHED] - 1, -1, -1):
        if not is_kept[node]:
            tree.nodes[node]["state"] = FREE
            tree.nodes[node]["pending"] = 0
            tree.nodes[node]["first_child"] = tree.counts[FREE_NODE]
            tree.counts[FREE_NODE] = node
    tree.counts[N_NODES] = n_kept


@kernel
def _put_back(tree: Tree, kept: npt.NDArray[np.int32], blocks: npt.NDArray[Any]) -> None:
    """Fill the tree's children anew from blocks in the order of the nodes they belong to."""
    tree.counts[FREE_BLOCKS:] = -1
    used = 0
    read = 0
    for node in kept:
        record = tree.nodes[node]
        n = int64(record["n_children"])
        record["block_class"] = -1
        if n > 0:
            block_class = 0
            while (1 << block_class) < n:
                block_class += 1
            record["block_class"] = block_class
            record["first_child"] = used
            for k in range(n):
                tree.children[used + k] = blocks[read + k]
            read += n
            used += 1 << block_class
    tree.counts[N_CHILDREN] = used


@kernel
def release(tree: Tree, top: int, kept: int) -> None:
    """Free a node and all below it, but for the part below one of its descendants.

    Args:
        tree: The tree; nothing is in flight below the node.
        top: No child of a node that stays.
        kept: The descendant, which stays with all below it; -1 for none.
    """
    if top == kept:
        return
    stack = np.empty(tree.counts[N_NODES], np.int32)
    stack[0] = top
    height = 1
    while height > 0:
        height -= 1
        node = int64(stack[height])
        record = tree.nodes[node]
        first = int64(record["first_child"])
        for k in range(record["n_children"]):
            child = tree.children[first + k]["node"]
            if child != kept:
                stack[height] = child
                height += 1
        if record["block_class"] >= 0:
            free_class = FREE_BLOCKS + int64(record["block_class"])
            tree.children[first]["node"] = tree.counts[free_class]
            tree.counts[free_class] = first
        record["state"] = FREE
        record["pending"] = 0
        record["first_child"] = tree.counts[FREE_NODE]
        tree.counts[FREE_NODE] = node
        tree.counts[N_NODES] -= 1


@kernel
def visits_to_stay(tree: Tree, share: float) -> int:
    """Return the visits below which at least this share of the nodes lies."""
    visits = np.empty(tree.counts[N_NODES], np.int32)
    n = 0
    for node in range(tree.counts[REACHED]):
        if tree.nodes[node]["state"] != FREE:
            visits[n] = tree.nodes[node]["visits"]
            n += 1
    last = min(n - 1, int64(share * n))
    return int64(np.partition(visits, last)[last]) + 1


@kernel
def _take_out(tree: Tree, record: NodeRecord, edge: ChildRecord) -> None:
    """Forget what a child has added to a node's visits and sums."""
    child = tree.nodes[edge["node"]]
    record["visits"] -= edge["visits"]
    record["value_sum"] += edge["value_sum"]
    record["lead_sum"] += edge["lead_sum"]
    record["value_sq_sum"] -= child["value_sq_sum"]
    record["stdev_sum"] -= child["stdev_sum"]


@kernel
def _leaves_a_move(tree: Tree, node: int, forbidden: npt.NDArray[np.uint8]) -> bool:
    """Whether some move of a node is not forbidden, or one of them is the pass."""
    for action in range(tree.priors.shape[1]):
        move = move_of(tree, int64(action))
        if tree.priors[node, action] > 0 and (move == PASS or not forbidden[move]):
            return True
    first = int64(tree.nodes[node]["first_child"])
    for k in range(tree.nodes[node]["n_children"]):
        move = int64(tree.children[first + k]["move"])
        if move == PASS or not forbidden[move]:
            return True
    return False


@kernel
def drop_moves_at(tree: Tree, node: int, forbidden: npt.NDArray[np.uint8]) -> None:
    """Remove forbidden moves from a node, and their visits; the others' priors add up to 1.

    A pass is what remains if nothing else does; in a game without one, everything.

    Args:
        tree: The tree; nothing is in flight.
        forbidden: [points] non-zero where a move is not wanted; index 0 is the pass.
    """
    record = tree.nodes[node]
    row = tree.priors[node]
    first = int64(record["first_child"])
    if not _leaves_a_move(tree, node, forbidden):
        return
    for action in range(row.shape[0]):
        if forbidden[move_of(tree, int64(action))]:
            row[action] = 0
    kept = 0
    total = 0.0
    for k in range(record["n_children"]):
        edge = tree.children[first + k]
        if forbidden[edge["move"]]:
            _take_out(tree, record, edge)
        else:
            total += edge["prior"]
            tree.children[first + kept] = edge
            kept += 1
    record["n_children"] = kept
    for action in range(row.shape[0]):
        if row[action] > 0:
            total += np.float64(coded_prior(int64(row[action])))
    if total == 0.0 and kept == 0:
        row[action_of(tree, int64(PASS))] = prior_code(1.0)
        total = 1.0
    for k in range(kept):
        edge = tree.children[first + k]
        edge["prior"] = edge["prior"] / total if total > 0.0 else 1.0 / kept
    for action in range(row.shape[0]):
        if row[action] > 0:
            row[action] = prior_code(coded_prior(int64(row[action])) / total)
    find_untried(tree, node)


@hot_kernel
def drop_moves(batch: EvalBatch, slot: int, forbidden: npt.NDArray[np.uint8]) -> None:
    """Remove forbidden moves from an evaluated slot; the pass stays if nothing else does.

    In a game without a pass, which is the last move where there is one, all stay then.

    Args:
        forbidden: [points] non-zero where a move is not wanted; index 0 is the pass.
    """
    n_moves = int64(batch.slots[slot]["n_moves"])
    kept = 0
    total = np.float32(0.0)
    for i in range(n_moves):
        move = int64(batch.moves[slot, i])
        if not forbidden[move]:
            batch.moves[slot, kept] = move
            batch.priors[slot, kept] = batch.priors[slot, i]
            total += batch.priors[slot, kept]
            kept += 1
    if kept == 0:
        if n_moves == 0 or batch.moves[slot, n_moves - 1] != PASS:
            return
        batch.moves[slot, 0] = PASS
        batch.priors[slot, 0] = 1.0
        total = np.float32(1.0)
        kept = 1
    batch.slots[slot]["n_moves"] = kept
    for i in range(kept):
        batch.priors[slot, i] = batch.priors[slot, i] / total if total > 0.0 else 1.0 / kept


class ForbiddenMoves:
    """Which moves may not be tried, near the root."""

    def __init__(
        self, game: Game, points: Iterable[int] = (), avoid: Iterable[AvoidRule] = ()
    ) -> None:
        """Forbid these points at the root, and near it what rules for either player say."""
        n_points = (game.height + 2) * (game.width + 1) + 1
        self._to_play = game.to_play
        self._at_root = _mask(points, n_points)
        self._rules = [
            (rule, _mask(filter(rule.forbids, range(n_points)), n_points)) for rule in avoid
        ]
        self._is_any = bool(self._rules) or bool(self._at_root.any())

    def __bool__(self) -> bool:
        return self._is_any

    def at(self, depth: int) -> npt.NDArray[np.uint8] | None:
        """Return [points] non-zero where a move so many plies below the root is forbidden.

        None where no move is.
        """
        color = self._to_play if depth % 2 == 0 else opponent(self._to_play)
        mask = self._at_root if depth == 0 and self._at_root.any() else None
        for rule, forbidden in self._rules:
            if rule.holds(color, depth):
                mask = forbidden if mask is None else mask | forbidden
        return mask


def _mask(points: Iterable[int], n_points: int) -> npt.NDArray[np.uint8]:
    mask = np.zeros(n_points, np.uint8)
    for point in points:
        mask[point] = 1
    return mask
