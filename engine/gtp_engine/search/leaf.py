"""From a path in the tree to a position in a history, and from an evaluation back into the tree."""

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.go.coords import BLACK, NULL_MOVE, PASS
from gtp_engine.go.history import AREA, ENDED, NO_RESULT, History, play
from gtp_engine.go.rules import RuleFlags
from gtp_engine.go.scoring import white_score
from gtp_engine.kernels import hot_kernel, int64, kernel, uint64
from gtp_engine.search.params import PuctNumbers, ScoreUtility
from gtp_engine.search.puct import AGAIN, COLLISION, FULL, backup, descend
from gtp_engine.search.tree import EXPANDED, N_NODES, TERMINAL, Tree, expand

OVER = -1
"""What `prepare` returns in place of a symmetry for a leaf at which the game has ended."""

CROWDED = 4
"""What `gather` says, besides what a descent may say, where enough leaves are in flight."""

MAX_REPEATS = 32
"""Known leaves backed up in one hold of the lock."""

VISITS_A_LEAF = 8
"""Visits of the root for each leaf that may be in flight. A leaf is chosen without knowing those in
flight, so that the first visits of a large batch go astray: a small share of what is known already
does no harm. Of 8 leaves against 1 at 64 visits on 7x7, `gtp-engine net match` says -37 Elo (95 %:
-85 to +12, 200 games) without this rule, and 0 (-34 to +34, 400 games) with it."""
FEWEST_LEAVES = 2
"""Leaves that may always be in flight; two lose nothing to one at 16 visits."""

OWNERSHIP_NODES = 16384
"""Nodes with fewer visits than a subtree's divided by this do not count towards ownership."""

_GOLDEN_RATIO = 0x9E3779B97F4A7C15

Paths = npt.NDArray[np.void]
"""[slots] of PATH."""


@hot_kernel
def gather(
    tree: Tree,
    paths: Paths,
    root_at: int,
    allowed: int,
    numbers: PuctNumbers,
    score: ScoreUtility,
) -> tuple[int, int, int]:
    """Descend to new leaves until the slots are full or no more can be had at the moment.

    Args:
        tree: The tree.
        paths: Receive the ways to the leaves, one a slot.
        root_at: Where in each path the root stands.
        allowed: Playouts that may be made.
        numbers: PUCT's constants.
        score: How points count.

    Returns:
        The number of leaves; that of playouts that ended at known ends of games, which are backed
        up already; and what kept it from going on: LEAF for nothing, or COLLISION, FULL or CROWDED.
    """
    leaves = 0
    repeats = 0
    root = tree.nodes[paths[0]["nodes"][root_at]]
    most = max(int64(FEWEST_LEAVES), int64(root["visits"]) // VISITS_A_LEAF)
    slots = min(paths.shape[0], most - int64(root["pending"]))
    if slots <= 0:
        return leaves, repeats, int64(CROWDED)
    while leaves < slots and leaves + repeats < allowed and repeats < MAX_REPEATS:
        path = paths[leaves]
        kind = descend(tree, path, root_at, numbers, score)
        if kind in (COLLISION, FULL):
            return leaves, repeats, kind
        if kind == AGAIN:
            record = tree.nodes[path["nodes"][path["length"] - 1]]
            value = np.float64(record["raw_value"])
            lead = np.float64(record["raw_lead"])
            backup(tree, path, value, lead, np.float64(record["raw_stdev"]))
            repeats += 1
        else:
            leaves += 1
    return leaves, repeats, int64(0)


@kernel
def is_over(history: History, ply: int, rules: RuleFlags) -> bool:
    """Whether a search treats the position as the end of the game.

    Where dead stones may stay on the board when both pass, two passes prove nothing about them:
    the net goes on judging the position, and only a third pass is final.
    """
    turn = history.turns[ply]
    if turn["status"] == NO_RESULT:
        return True
    if turn["status"] != ENDED:
        return False
    is_friendly = rules.friendly_pass_ok and rules.scoring == AREA
    return not (is_friendly and turn["passes"] == 2)


@hot_kernel
def prepare(
    history: History,
    root_ply: int,
    paths: Paths,
    slot: int,
    root_at: int,
    rules: RuleFlags,
    symmetries: int,
    seed: int,
) -> tuple[int, int]:
    """Play a path's moves on a history from the root's ply on; draw a symmetry for the leaf.

    Moves that the path before has played already are not played again: plies behind the root are
    valid up to the first whose move is NULL_MOVE.

    Args:
        history: The worker's history, with the mark behind the root's ply at the least.
        root_ply: Ply of the root.
        paths: Ways from the root to leaves.
        slot: Which of them.
        root_at: Where in the path the root stands.
        rules: The rules.
        symmetries: How many there are to draw from.
        seed: Goes into the draw, besides the stones.

    Returns:
        The leaf's ply, and its symmetry or OVER.
    """
    path = paths[slot]
    ply = root_ply
    for i in range(root_at + 1, path["length"]):
        move = int64(path["moves"][i])
        if history.turns[ply + 1]["move"] != move:
            play(history, ply, move, int64(history.turns[ply]["to_play"]), rules, int64(1))
            history.turns[ply + 2]["move"] = NULL_MOVE
        ply += 1
    if ply > root_ply and is_over(history, ply, rules):
        return ply, int64(OVER)
    drawn = (uint64(history.boards[ply]["hash"]) ^ uint64(seed)) * uint64(_GOLDEN_RATIO)
    return ply, int64((drawn >> uint64(40)) % uint64(symmetries))


def final_score(history: History, ply: int, rules: RuleFlags) -> float:
    """Return White's points minus Black's where a game has ended; 0 if it has no result."""
    if history.turns[ply]["status"] == NO_RESULT:
        return 0.0
    return float(white_score(history, ply, rules))


@hot_kernel
def finish_game(tree: Tree, paths: Paths, slot: int, score: float) -> None:
    """Make the last node of a path the end of a game and back it up.

    Args:
        tree: The tree.
        paths: Ways from the root to leaves.
        slot: Which of them.
        score: `final_score` there, which compiles by itself: no kernel that counts is part of one
            that touches the tree.
    """
    path = paths[slot]
    record = tree.nodes[path["nodes"][path["length"] - 1]]
    lead = -score if record["to_play"] == BLACK else score
    value = 0.0
    if lead > 0.0:
        value = 1.0
    elif lead < 0.0:
        value = -1.0
    record["state"] = TERMINAL
    record["raw_value"] = value
    record["raw_lead"] = lead
    record["raw_stdev"] = 0.0
    backup(tree, path, value, lead, 0.0)


@hot_kernel
def finish_leaves(tree: Tree, batch: EvalBatch, first: int, paths: Paths, n: int) -> None:
    """Give the last nodes of the first n paths their moves and evaluations; back these up.

    Args:
        tree: The tree.
        batch: The evaluations.
        first: The slot of the first path; those of the others follow.
        paths: Ways from the root to leaves.
        n: How many of them.
    """
    for i in range(n):
        path = paths[i]
        slot = first + i
        node = int64(path["nodes"][path["length"] - 1])
        numbers = batch.slots[slot]
        expand(tree, node, batch.moves[slot], batch.priors[slot], int64(numbers["n_moves"]))
        record = tree.nodes[node]
        record["raw_value"] = numbers["value"]
        record["raw_lead"] = numbers["lead"]
        record["raw_stdev"] = numbers["stdev"]
        _keep_ownership(tree, node, batch.ownership[slot])
        value, lead = np.float64(numbers["value"]), np.float64(numbers["lead"])
        backup(tree, path, value, lead, np.float64(numbers["stdev"]))


@kernel
def _keep_ownership(tree: Tree, node: int, ownership: npt.NDArray[np.float32]) -> None:
    """Write a node's ownership in whole numbers, halves going to the even one."""
    row = tree.ownership[node]
    for point in range(min(row.shape[0], ownership.shape[0])):
        row[point] = np.int8(np.rint(ownership[point] * np.float32(127.0)))


@hot_kernel
def drop_moves(batch: EvalBatch, slot: int, forbidden: npt.NDArray[np.uint8]) -> None:
    """Remove forbidden moves from an evaluated slot; the pass stays if nothing else does.

    Args:
        batch: The batch.
        slot: Which of its slots.
        forbidden: [points] non-zero where a move is not wanted; index 0 is the pass.
    """
    kept = 0
    total = np.float32(0.0)
    for i in range(batch.slots[slot]["n_moves"]):
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
    batch.slots[slot]["n_moves"] = kept
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
        if record["state"] == EXPANDED:
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
