"""The search tree as arrays of records, and the kernels that grow it.

    nodes[i]                   children of node i (a block that grows by doubling)
    +----------------+         +------------------+------------------+----
    | visits, sums   |         | node, move       | node, move       | ...
    | first_child  --+-------->| prior, visits    | prior, visits    |
    | untried, ...   |         | sums             | sums             |
    +----------------+         +------------------+------------------+----
    priors[i]      [A + 1] codes of the moves that are not children, by action; 0 elsewhere
    ownership[i]   [A] of the board

All untried moves of a node are rated alike but for the prior, so selection needs to know only the
best of them: the node names it, and when it becomes a child the row of priors is looked through
for the next one. Nothing is sorted, and every node takes the same room, so that a node which is
dropped makes place for any other.

What a parent has seen of a child stands in the parent's block too, side by side with what it has
seen of the others: selection reads one block and no other node. Nodes hold no pointer to a
parent; a playout keeps its own path.

Sums at a node, and at the record of a child, speak for the player to move at that (child) node.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import PASS, WHITE, action_to_point, point_to_action
from gtp_engine.evaluators.eval_batch import coded_prior, prior_code
from gtp_engine.kernels import inline_kernel, int64, kernel
from gtp_engine.platforms import fresh_memory

NEW, EXPANDED, TERMINAL, FREE, HELD = 0, 1, 2, 3, 4
"""States of a node: in flight, with moves, the end of a game, room for another, and evaluated but
not yet visited often enough to get moves."""

NODE = np.dtype(
    [
        ("value_sum", np.float64),
        ("value_sq_sum", np.float64),
        ("lead_sum", np.float64),
        ("stdev_sum", np.float64),
        ("visits", np.int32),
        ("pending", np.int32),  # descents in flight through the node
        ("first_child", np.int32),  # where its block begins; of a free node, the next free one
        ("raw_value", np.float32),  # the evaluation of the node itself
        ("raw_lead", np.float32),
        ("raw_stdev", np.float32),
        ("untried_prior", np.float32),
        ("untried", np.int16),  # action of the best move that is no child; -1 for none
        ("n_children", np.int16),
        ("block_class", np.int8),  # the block holds 2 ** class children; -1 is no block
        ("state", np.uint8),
        ("to_play", np.uint8),
    ],
    align=True,
)

CHILD = np.dtype(
    [
        ("value_sum", np.float64),
        ("lead_sum", np.float64),
        ("node", np.int32),  # the child; of a free block, the next free one
        ("visits", np.int32),  # playouts that took this way
        ("prior", np.float32),
        ("move", np.int16),  # as a point; PASS is 0
        ("pending", np.int16),  # descents in flight
    ],
    align=True,
)

NodeRecord = Any
"""A numpy record of dtype NODE."""
ChildRecord = Any
"""A numpy record of dtype CHILD."""

# What the entries of `Tree.counts` mean.
N_NODES = 0
"""Nodes in use."""
REACHED = 1
"""Nodes that were ever used."""
FREE_NODE = 2
"""First free one among these; -1 for none."""
N_CHILDREN = 3
"""Records of children taken up by blocks, free blocks among them."""
_WIDTH = 4
FREE_BLOCKS = 5
"""First free block of each class; -1 for none."""
_N_CLASSES = 12
"""Blocks hold 1, 2, 4 ... 2048 children."""

FEWEST_LAZY_BYTES = 1 << 20
"""Smaller arrays are not worth a mapping of their own."""
CHILDREN_PER_NODE = 2
"""Records of children for each node. A block is at least half full, and each node has one parent;
smaller blocks that were outgrown are used again."""


class Tree(NamedTuple):
    """Nodes, their children and their rows, for boards with A points."""

    nodes: npt.NDArray[Any]
    """[capacity] of NODE."""
    children: npt.NDArray[Any]
    """[CHILDREN_PER_NODE * capacity + a block] of CHILD."""
    priors: npt.NDArray[np.uint16]
    """[capacity, A + 1] codes of the priors of untried moves, by action; see `prior_code`."""
    ownership: npt.NDArray[np.int8]
    """[capacity, A], 127 is certainly the mover's; [capacity, 0] when not kept."""
    counts: npt.NDArray[np.int64]
    """How much is in use, and the width of the board."""


def new_tree(capacity: int, width: int, height: int, has_ownership: bool) -> Tree:
    """Return an empty tree with room for this many nodes."""
    area = width * height
    n_children = CHILDREN_PER_NODE * capacity + 2 * largest_block(area)
    tree = Tree(
        nodes=_zeros((capacity,), NODE),
        children=_zeros((n_children,), CHILD),
        priors=_zeros((capacity, area + 1), np.dtype(np.uint16)),
        ownership=_zeros((capacity, area if has_ownership else 0), np.dtype(np.int8)),
        counts=np.zeros(FREE_BLOCKS + _N_CLASSES, np.int64),
    )
    tree.counts[_WIDTH] = width
    clear_tree(tree)
    return tree


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array of zeros that takes memory only where it is written to.

    numpy's own does so too, unless it gets memory that was used before.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < FEWEST_LAZY_BYTES:
        return np.zeros(shape, dtype)
    try:
        memory = fresh_memory(size)
    except (OSError, OverflowError):
        raise MemoryError(f"{size:,} bytes for a tree") from None
    return np.frombuffer(memory, dtype).reshape(shape)


def clear_tree(tree: Tree) -> None:
    """Forget all nodes."""
    tree.counts[[N_NODES, REACHED, N_CHILDREN]] = 0
    tree.counts[FREE_NODE] = -1
    tree.counts[FREE_BLOCKS:] = -1


def capacity_within(memory: int, area: int, has_ownership: bool) -> int:
    """Return for how many nodes a tree has room within so many bytes; 0 at least.

    What `pruning.prune` needs while it works is part of the bill.
    """
    scratch = CHILDREN_PER_NODE * CHILD.itemsize + 3 * 4
    a_node = NODE.itemsize + CHILDREN_PER_NODE * CHILD.itemsize + 2 * (area + 1) + scratch
    blocks = 2 * largest_block(area) * CHILD.itemsize
    return max(0, memory - blocks) // (a_node + (area if has_ownership else 0))


def opened(reserve: Tree, capacity: int) -> Tree:
    """Return the first so many nodes of a tree as a tree, in the same memory.

    A tree that is opened further and further grows without a copy: memory of `new_tree` that
    nobody has written to is not taken yet.
    """
    spare = len(reserve.children) - CHILDREN_PER_NODE * len(reserve.nodes)
    return Tree(
        reserve.nodes[:capacity],
        reserve.children[: CHILDREN_PER_NODE * capacity + spare],
        reserve.priors[:capacity],
        reserve.ownership[:capacity],
        reserve.counts,
    )


def grown(tree: Tree, capacity: int) -> Tree:
    """Return a copy of a tree with room for this many nodes, which takes its place."""
    more = capacity - len(tree.nodes)
    return Tree(
        _longer(tree.nodes, more),
        _longer(tree.children, CHILDREN_PER_NODE * more),
        _longer(tree.priors, more),
        _longer(tree.ownership, more),
        tree.counts,
    )


def _longer(array: npt.NDArray[Any], more: int) -> npt.NDArray[Any]:
    """Return an array with room for so many more rows, the old ones first."""
    longer = np.zeros((len(array) + more, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def largest_block(area: int) -> int:
    """Return the size of the block that holds every child of a node on a board of this area."""
    return 1 << area.bit_length()


@kernel
def has_room(tree: Tree) -> bool:
    """Whether one more child fits in, wherever it may be."""
    block = int64(1)
    while block < tree.priors.shape[1]:
        block *= 2
    return bool(
        tree.counts[N_NODES] < tree.nodes.shape[0]
        and tree.counts[N_CHILDREN] + block <= tree.children.shape[0]
    )


@inline_kernel
def action_of(tree: Tree, move: int) -> int:
    """Return the action of a move on the tree's board."""
    if move == PASS:
        return int64(tree.priors.shape[1] - 1)
    width = tree.counts[_WIDTH]
    row = int64(np.uint32(move) // np.uint32(width + 1))  # half the time of a signed division
    return move - row - width - 1


@inline_kernel
def move_of(tree: Tree, action: int) -> int:
    """Return the move of an action on the tree's board."""
    if action == tree.priors.shape[1] - 1:
        return int64(PASS)
    width = tree.counts[_WIDTH]
    return action + action // width + width + 2


@kernel
def add_node(tree: Tree, to_play: int) -> int:
    """Add a node in state NEW; return its index. The caller has made sure of the room."""
    node = tree.counts[FREE_NODE]
    if node >= 0:
        tree.counts[FREE_NODE] = tree.nodes[node]["first_child"]
    else:
        node = tree.counts[REACHED]
        tree.counts[REACHED] = node + 1
    tree.counts[N_NODES] += 1
    record = tree.nodes[node]
    record["state"] = NEW
    record["to_play"] = to_play
    record["visits"] = 0
    record["pending"] = 0
    record["value_sum"] = 0.0
    record["value_sq_sum"] = 0.0
    record["lead_sum"] = 0.0
    record["stdev_sum"] = 0.0
    record["n_children"] = 0
    record["block_class"] = -1
    record["untried"] = -1
    return node


@kernel
def _take_block(tree: Tree, block_class: int) -> int:
    """Return the start of a free block of 2 ** block_class children."""
    start = tree.counts[FREE_BLOCKS + block_class]
    if start >= 0:
        tree.counts[FREE_BLOCKS + block_class] = tree.children[start]["node"]
        return start
    start = tree.counts[N_CHILDREN]
    tree.counts[N_CHILDREN] = start + (1 << block_class)
    return start


@kernel
def _enlarge_block(tree: Tree, record: NodeRecord) -> None:
    """Move a node's children to a block of twice the size."""
    block_class = int64(record["block_class"])
    start = _take_block(tree, block_class + 1)
    old = int64(record["first_child"])
    if block_class >= 0:
        for k in range(record["n_children"]):
            tree.children[start + k] = tree.children[old + k]
        tree.children[old]["node"] = tree.counts[FREE_BLOCKS + block_class]
        tree.counts[FREE_BLOCKS + block_class] = old
    record["first_child"] = start
    record["block_class"] = block_class + 1


@kernel
def find_untried(tree: Tree, node: int) -> None:
    """Look for a node's best untried move; among equals, the first action."""
    row = tree.priors[node]
    record = tree.nodes[node]
    best = np.uint16(0)
    for action in range(row.shape[0]):
        best = max(best, row[action])
    record["untried"] = -1
    if best == 0:
        return
    for action in range(row.shape[0]):
        if row[action] == best:
            record["untried"] = action
            record["untried_prior"] = coded_prior(int64(best))
            return


@kernel
def add_child(tree: Tree, node: int) -> int:
    """Make a node's best untried move a child; return the new node."""
    record = tree.nodes[node]
    k = int64(record["n_children"])
    if record["block_class"] < 0 or k == (1 << int64(record["block_class"])):
        _enlarge_block(tree, record)
    child = add_node(tree, 3 - int64(record["to_play"]))
    action = int64(record["untried"])
    edge = tree.children[int64(record["first_child"]) + k]
    edge["node"] = child
    edge["move"] = move_of(tree, action)
    edge["prior"] = record["untried_prior"]
    edge["visits"] = 0
    edge["pending"] = 0
    edge["value_sum"] = 0.0
    edge["lead_sum"] = 0.0
    record["n_children"] = k + 1
    tree.priors[node, action] = 0
    find_untried(tree, node)
    return child


@kernel
def expand(
    tree: Tree, node: int, moves: npt.NDArray[np.int16], priors: npt.NDArray[np.float32], n: int
) -> None:
    """Give a node its first n moves of [A + 1], all untried, with their priors [A + 1]."""
    row = tree.priors[node]
    row[:] = 0
    for i in range(n):
        row[action_of(tree, int64(moves[i]))] = prior_code(priors[i])
    tree.nodes[node]["state"] = EXPANDED
    find_untried(tree, node)


@kernel
def find_child(tree: Tree, node: int, move: int) -> int:
    """Return the index among a node's children of the one a move leads to; -1 if untried."""
    first = int64(tree.nodes[node]["first_child"])
    for k in range(tree.nodes[node]["n_children"]):
        if tree.children[first + k]["move"] == move:
            return int64(k)
    return int64(-1)


@kernel
def renew_priors(
    tree: Tree, node: int, moves: npt.NDArray[np.int16], priors: npt.NDArray[np.float32], n: int
) -> None:
    """Give the moves of an expanded node other priors, tried or not; those not named keep theirs.

    Args:
        moves: [n or more] moves of the node.
        priors: [n or more] their priors.
    """
    for i in range(n):
        move = int64(moves[i])
        k = find_child(tree, node, move)
        if k >= 0:
            tree.children[int64(tree.nodes[node]["first_child"]) + k]["prior"] = priors[i]
        else:
            tree.priors[node, action_of(tree, move)] = prior_code(priors[i])
    find_untried(tree, node)


@kernel
def priors_of(tree: Tree, node: int) -> npt.NDArray[np.float64]:
    """Return [A + 1] the priors of an expanded node's moves by action; 0 where there is no move."""
    row = tree.priors[node]
    record = tree.nodes[node]
    priors = np.zeros(row.shape[0])
    for action in range(row.shape[0]):
        if row[action] > 0:
            priors[action] = coded_prior(int64(row[action]))
    for k in range(record["n_children"]):
        edge = tree.children[int64(record["first_child"]) + k]
        priors[action_of(tree, int64(edge["move"]))] = edge["prior"]
    return priors


def white_lead_at(tree: Tree, node: int) -> float:
    """Return White's mean lead at a node, points; 0 without a visit."""
    record = tree.nodes[node]
    lead = float(record["lead_sum"]) / max(1, int(record["visits"]))
    return lead if record["to_play"] == WHITE else -lead


def children_of(tree: Tree, node: int) -> npt.NDArray[Any]:
    """Return [n] of CHILD, a node's children in the order in which they were tried."""
    first = int(tree.nodes[node]["first_child"])
    return tree.children[first : first + int(tree.nodes[node]["n_children"])]


def moves_by_prior(tree: Tree, node: int) -> list[tuple[int, float]]:
    """Return every move of a node with its prior, the highest first; among equals, by action."""
    area = tree.priors.shape[1] - 1
    width = int(tree.counts[_WIDTH])
    codes = np.zeros(area + 1, np.uint32)
    if tree.nodes[node]["untried"] >= 0:
        codes[:] = tree.priors[node]
    priors = (codes << 14).view(np.float32)
    for child in children_of(tree, node):
        priors[point_to_action(int(child["move"]), width, area // width)] = child["prior"]
    order = np.argsort(-priors, kind="stable")[: np.count_nonzero(priors)].tolist()
    return [(action_to_point(i, width, area // width), float(priors[i])) for i in order]
