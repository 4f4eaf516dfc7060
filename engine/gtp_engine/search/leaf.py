"""From a path in the tree to a position on a line, and from an evaluation back into the tree."""

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.leaves import LeafBatch
from gtp_engine.go.coords import PASS
from gtp_engine.go.jit import int64, kernel
from gtp_engine.go.line import AREA, ENDED, NO_RESULT, Line, play
from gtp_engine.go.rules import RuleFlags
from gtp_engine.go.scoring import white_score
from gtp_engine.search.puct import backup
from gtp_engine.search.tree import TERMINAL, Tree, set_edges

OPEN, OVER = 0, 1
"""Whether a leaf's game goes on."""

OWNERSHIP_NODES = 16384
"""Nodes with fewer visits than a subtree's divided by this do not count towards ownership."""


@kernel
def is_over(line: Line, ply: int, rules: RuleFlags) -> bool:
    """Whether a search treats the position as the end of the game.

    Where dead stones may stay on the board when both pass, two passes prove nothing about them:
    the net goes on judging the position, and only a third pass is final.
    """
    turn = line.turns[ply]
    if turn["status"] == NO_RESULT:
        return True
    if turn["status"] != ENDED:
        return False
    is_friendly = rules.friendly_pass_ok and rules.scoring == AREA
    return not (is_friendly and turn["passes"] == 2)


@kernel
def replay(
    line: Line,
    root_ply: int,
    moves: npt.NDArray[np.int16],
    length: int,
    rules: RuleFlags,
) -> int:
    """Play a path's moves on a line from the root's ply on; return OPEN or OVER."""
    ply = root_ply
    for i in range(1, length):
        play(line, ply, int64(moves[i]), int64(line.turns[ply]["to_play"]), rules, int64(1))
        ply += 1
    return OVER if length > 1 and is_over(line, ply, rules) else OPEN


@kernel
def finish_game(
    tree: Tree,
    line: Line,
    ply: int,
    path: npt.NDArray[np.int32],
    slots: npt.NDArray[np.int64],
    length: int,
    rules: RuleFlags,
) -> None:
    """Make the last node of a path the end of a game, count it and back it up."""
    node = path[length - 1]
    lead = 0.0
    if line.turns[ply]["status"] != NO_RESULT:
        lead = white_score(line, ply, rules)
        if tree.to_play[node] == 1:
            lead = -lead
    value = 0.0
    if lead > 0.0:
        value = 1.0
    elif lead < 0.0:
        value = -1.0
    tree.state[node] = TERMINAL
    tree.raw_value[node] = value
    tree.raw_lead[node] = lead
    tree.raw_stdev[node] = 0.0
    backup(tree, path, slots, length, value, lead, 0.0)


@kernel
def finish_leaf(
    tree: Tree,
    batch: LeafBatch,
    slot: int,
    path: npt.NDArray[np.int32],
    slots: npt.NDArray[np.int64],
    length: int,
) -> None:
    """Give the last node of a path its edges and its evaluation, and back it up."""
    node = path[length - 1]
    set_edges(tree, node, batch.moves[slot], batch.priors[slot], int64(batch.n_moves[slot]))
    tree.raw_value[node] = batch.value[slot]
    tree.raw_lead[node] = batch.lead[slot]
    tree.raw_stdev[node] = batch.stdev[slot]
    for point in range(min(tree.ownership.shape[1], batch.ownership.shape[1])):
        tree.ownership[node, point] = np.int8(np.rint(batch.ownership[slot, point] * 127.0))
    value = np.float64(batch.value[slot])
    lead = np.float64(batch.lead[slot])
    backup(tree, path, slots, length, value, lead, np.float64(batch.stdev[slot]))


@kernel
def repeat_leaf(
    tree: Tree, path: npt.NDArray[np.int32], slots: npt.NDArray[np.int64], length: int
) -> None:
    """Back the known evaluation of the last node of a path up once more."""
    node = path[length - 1]
    value = np.float64(tree.raw_value[node])
    lead = np.float64(tree.raw_lead[node])
    backup(tree, path, slots, length, value, lead, np.float64(tree.raw_stdev[node]))


@kernel
def drop_moves(batch: LeafBatch, slot: int, forbidden: npt.NDArray[np.uint8]) -> None:
    """Remove forbidden moves from an evaluated slot; the pass stays if nothing else does.

    Args:
        batch: The batch.
        slot: Which of its slots.
        forbidden: [points] non-zero where a move is not wanted; index 0 is the pass.
    """
    kept = 0
    total = np.float32(0.0)
    for i in range(batch.n_moves[slot]):
        move = int64(batch.moves[slot, i])
        if not forbidden[move]:
            batch.moves[slot, kept] = move
            batch.priors[slot, kept] = batch.priors[slot, i]
            total += batch.priors[slot, kept]
            kept += 1
    if kept == 0:
        batch.moves[slot, 0] = PASS
        batch.priors[slot, 0] = 1.0
        total = np.float32(1.0)
        kept = 1
    batch.n_moves[slot] = kept
    for i in range(kept):
        batch.priors[slot, i] = batch.priors[slot, i] / total if total > 0.0 else 1.0 / kept


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
        tree: The tree.
        root: Where the subtree begins.
        sums: [area] receives the mean, -1..1, for the player to move at the root.
        squares: [area] receives the mean of the squares, 0..1; [0] if nobody asks for it.

    Returns:
        The number of evaluations averaged.
    """
    stack = np.empty(tree.used[0], np.int32)
    stack[0] = root
    height = 1
    total = 0.0
    fewest = max(int64(1), int64(tree.visits[root]) // OWNERSHIP_NODES)
    sums[:] = 0.0
    squares[:] = 0.0
    while height > 0:
        height -= 1
        node = stack[height]
        if tree.state[node] == 1:
            sign = 1.0 if tree.to_play[node] == tree.to_play[root] else -1.0
            total += 1.0
            for point in range(sums.shape[0]):
                sums[point] += sign * tree.ownership[node, point]
            for point in range(squares.shape[0]):
                squares[point] += np.float64(tree.ownership[node, point]) ** 2
        for k in range(tree.n_children[node]):
            slot = tree.child_start[node] + k
            if tree.child_visits[slot] >= fewest:
                stack[height] = tree.child_node[slot]
                height += 1
    if total > 0.0:
        sums /= 127.0 * total
        squares /= 127.0 * 127.0 * total
    return total
