"""The search tree as parallel arrays, and the kernels that grow it.

    node i                      edges of node i                children of node i
    +---------------+           (pool, sorted by prior)        (pool, grows by doubling)
    | visits, sums  |           +------+------+------+         +-----+-----+
    | edge_start  --+---------->| move | move | move | ...     |node |node | ...
    | n_edges       |           | prior| prior| prior|         |visit|visit|
    | child_start --+---------------------------------------->+-----+-----+
    +---------------+

Edges stand in descending order of their prior. All unvisited children of a node are rated alike
but for the prior, so the best unvisited one is always the first: the visited children are a
prefix of the edges, child k belongs to edge k, and selection never looks beyond the first
unvisited edge. Nodes hold no pointer to a parent; a playout keeps its own path.

Sums at a node speak for the player to move at that node.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.go.coords import PASS
from gtp_engine.go.jit import int64, kernel

NEW, EXPANDED, TERMINAL = 0, 1, 2
"""States of a node: in flight, with edges, and the end of a game."""

N_FREE_CLASSES = 12
"""Children blocks hold 1, 2, 4 ... 2048 children."""


class Tree(NamedTuple):
    """Parallel arrays of nodes, edges and children, and their fill."""

    # Nodes, [node_capacity]
    state: npt.NDArray[np.uint8]
    to_play: npt.NDArray[np.uint8]
    visits: npt.NDArray[np.int32]
    pending: npt.NDArray[np.int32]
    """Descents in flight through the node."""
    value_sum: npt.NDArray[np.float64]
    value_sq_sum: npt.NDArray[np.float64]
    lead_sum: npt.NDArray[np.float64]
    stdev_sum: npt.NDArray[np.float64]
    raw_value: npt.NDArray[np.float32]
    """The evaluation of the node itself."""
    raw_lead: npt.NDArray[np.float32]
    raw_stdev: npt.NDArray[np.float32]
    edge_start: npt.NDArray[np.int64]
    n_edges: npt.NDArray[np.int16]
    child_start: npt.NDArray[np.int64]
    n_children: npt.NDArray[np.int16]
    child_class: npt.NDArray[np.int8]
    """The block of children holds 2 ** class of them; -1 is no block."""
    ownership: npt.NDArray[np.int8]
    """[node_capacity, area], 127 is certainly the mover's; [node_capacity, 0] when not kept."""
    # Edges, [edge_capacity]
    edge_move: npt.NDArray[np.int16]
    """The move as a point; PASS is 0."""
    edge_prior: npt.NDArray[np.float32]
    # Children, [child_capacity]
    child_node: npt.NDArray[np.int32]
    child_visits: npt.NDArray[np.int32]
    free_blocks: npt.NDArray[np.int64]
    """[N_FREE_CLASSES] first free block of a class, -1 for none; linked through child_node."""
    # Fill, [3]: nodes, edges, children in use
    used: npt.NDArray[np.int64]


def new_tree(nodes: int, edges: int, children: int, area: int) -> Tree:
    """Return an empty tree with this much room; area 0 keeps no ownership."""
    return Tree(
        state=np.zeros(nodes, np.uint8),
        to_play=np.zeros(nodes, np.uint8),
        visits=np.zeros(nodes, np.int32),
        pending=np.zeros(nodes, np.int32),
        value_sum=np.zeros(nodes),
        value_sq_sum=np.zeros(nodes),
        lead_sum=np.zeros(nodes),
        stdev_sum=np.zeros(nodes),
        raw_value=np.zeros(nodes, np.float32),
        raw_lead=np.zeros(nodes, np.float32),
        raw_stdev=np.zeros(nodes, np.float32),
        edge_start=np.zeros(nodes, np.int64),
        n_edges=np.zeros(nodes, np.int16),
        child_start=np.zeros(nodes, np.int64),
        n_children=np.zeros(nodes, np.int16),
        child_class=np.full(nodes, -1, np.int8),
        ownership=np.zeros((nodes, area), np.int8),
        edge_move=np.zeros(edges, np.int16),
        edge_prior=np.zeros(edges, np.float32),
        child_node=np.zeros(children, np.int32),
        child_visits=np.zeros(children, np.int32),
        free_blocks=np.full(N_FREE_CLASSES, -1, np.int64),
        used=np.zeros(3, np.int64),
    )


def node_bytes(area: int) -> int:
    """Return the bytes of one node's own arrays."""
    return 2 * 1 + 2 * 4 + 4 * 8 + 3 * 4 + 2 * 8 + 2 * 2 + 1 + area


_NODE_ARRAYS = Tree._fields[: Tree._fields.index("edge_move")]
_EDGE_ARRAYS = ("edge_move", "edge_prior")
_CHILD_ARRAYS = ("child_node", "child_visits")


def grown(tree: Tree, nodes: int, edges: int, children: int) -> Tree:
    """Return a tree with this much room and the same content; it takes the place of the old one.

    Arrays that are long enough already are shared, not copied.
    """
    lengths = dict.fromkeys(_NODE_ARRAYS, nodes)
    lengths |= dict.fromkeys(_EDGE_ARRAYS, edges) | dict.fromkeys(_CHILD_ARRAYS, children)
    arrays = tree._asdict()
    return Tree(**arrays | {name: _longer(arrays[name], lengths[name]) for name in lengths})


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Return an array with room for this many rows, the old ones first."""
    if length <= len(array):
        return array
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def largest_block(area: int) -> int:
    """Return the size of the block that holds every child of a node on a board of this area."""
    return 1 << area.bit_length()


@kernel
def add_node(tree: Tree, to_play: int) -> int:
    """Append a node in state NEW; return its index. The caller has made sure of the room."""
    node = tree.used[0]
    tree.used[0] = node + 1
    tree.state[node] = NEW
    tree.to_play[node] = to_play
    tree.visits[node] = 0
    tree.pending[node] = 0
    tree.value_sum[node] = 0.0
    tree.value_sq_sum[node] = 0.0
    tree.lead_sum[node] = 0.0
    tree.stdev_sum[node] = 0.0
    tree.n_edges[node] = 0
    tree.n_children[node] = 0
    tree.child_class[node] = -1
    return node


@kernel
def _take_block(tree: Tree, size_class: int) -> int:
    """Return the start of a free block of 2 ** size_class children."""
    start = tree.free_blocks[size_class]
    if start >= 0:
        tree.free_blocks[size_class] = tree.child_node[start]
        return start
    start = tree.used[2]
    tree.used[2] = start + (1 << size_class)
    return start


@kernel
def add_child(tree: Tree, node: int, to_play: int) -> int:
    """Make the node's first unvisited edge a child; return the new node."""
    k = int64(tree.n_children[node])
    size_class = int64(tree.child_class[node])
    if size_class < 0 or k == (1 << size_class):
        start = _take_block(tree, size_class + 1)
        old = tree.child_start[node]
        for i in range(k):
            tree.child_node[start + i] = tree.child_node[old + i]
            tree.child_visits[start + i] = tree.child_visits[old + i]
        if size_class >= 0:
            tree.child_node[old] = tree.free_blocks[size_class]
            tree.free_blocks[size_class] = old
        tree.child_start[node] = start
        tree.child_class[node] = size_class + 1
    child = add_node(tree, to_play)
    slot = tree.child_start[node] + k
    tree.child_node[slot] = child
    tree.child_visits[slot] = 0
    tree.n_children[node] = k + 1
    return child


@kernel
def set_edges(
    tree: Tree, node: int, moves: npt.NDArray[np.int16], priors: npt.NDArray[np.float32], n: int
) -> None:
    """Give a node its edges, sorted by descending prior; ties stay in the order given."""
    start = tree.used[1]
    tree.used[1] = start + n
    tree.edge_start[node] = start
    tree.n_edges[node] = n
    order = np.argsort(-priors[:n], kind="mergesort")
    for i in range(n):
        tree.edge_move[start + i] = moves[order[i]]
        tree.edge_prior[start + i] = priors[order[i]]
    tree.state[node] = EXPANDED


@kernel
def find_child(tree: Tree, node: int, move: int) -> int:
    """Return the child a move leads to; -1 if it was never visited."""
    start = tree.edge_start[node]
    for k in range(tree.n_children[node]):
        if tree.edge_move[start + k] == move:
            return int64(tree.child_node[tree.child_start[node] + k])
    return int64(-1)


@kernel
def copy_subtree(target: Tree, source: Tree, root: int) -> None:
    """Copy the subtree below a node into an empty tree, where it becomes node 0.

    Breadth first: a node's copy is appended when its parent is read, so that the target itself
    is the queue of what is still to be read. The target has the room.
    """
    origin = np.empty(source.used[0], np.int64)
    origin[0] = root
    add_node(target, source.to_play[root])
    read = 0
    while read < target.used[0]:
        old = origin[read]
        _copy_node(target, read, source, old)
        n_children = int64(source.n_children[old])
        if n_children > 0:
            size_class = int64(source.child_class[old])
            start = _take_block(target, size_class)
            target.child_start[read] = start
            target.child_class[read] = size_class
            target.n_children[read] = n_children
            for k in range(n_children):
                old_slot = source.child_start[old] + k
                child = int64(source.child_node[old_slot])
                copied = add_node(target, source.to_play[child])
                origin[copied] = child
                target.child_node[start + k] = copied
                target.child_visits[start + k] = source.child_visits[old_slot]
        read += 1


@kernel
def _copy_node(target: Tree, new: int, source: Tree, old: int) -> None:
    """Copy a node's own numbers and its edges."""
    target.state[new] = source.state[old]
    target.visits[new] = source.visits[old]
    target.value_sum[new] = source.value_sum[old]
    target.value_sq_sum[new] = source.value_sq_sum[old]
    target.lead_sum[new] = source.lead_sum[old]
    target.stdev_sum[new] = source.stdev_sum[old]
    target.raw_value[new] = source.raw_value[old]
    target.raw_lead[new] = source.raw_lead[old]
    target.raw_stdev[new] = source.raw_stdev[old]
    target.ownership[new] = source.ownership[old]
    n = int64(source.n_edges[old])
    start = target.used[1]
    target.used[1] = start + n
    target.edge_start[new] = start
    target.n_edges[new] = n
    first = source.edge_start[old]
    for i in range(n):
        target.edge_move[start + i] = source.edge_move[first + i]
        target.edge_prior[start + i] = source.edge_prior[first + i]


@kernel
def _take_out(tree: Tree, node: int, child: int, visits: int) -> None:
    """Forget what a child has added to a node's visits and sums."""
    tree.visits[node] -= visits
    tree.value_sum[node] += tree.value_sum[child]
    tree.value_sq_sum[node] -= tree.value_sq_sum[child]
    tree.lead_sum[node] += tree.lead_sum[child]
    tree.stdev_sum[node] -= tree.stdev_sum[child]


@kernel
def drop_edges(tree: Tree, node: int, forbidden: npt.NDArray[np.uint8]) -> None:
    """Remove a node's edges to forbidden moves, and their visits; the order stays.

    A pass is what remains if nothing else does.

    Args:
        tree: The tree; nothing is in flight.
        node: An expanded node.
        forbidden: [points] non-zero where a move is not wanted; index 0 is the pass.
    """
    start = tree.edge_start[node]
    block = tree.child_start[node]
    n_children = int64(tree.n_children[node])
    kept = 0
    kept_children = 0
    total = 0.0
    for i in range(tree.n_edges[node]):
        if forbidden[tree.edge_move[start + i]]:
            if i < n_children:
                child = int64(tree.child_node[block + i])
                _take_out(tree, node, child, int64(tree.child_visits[block + i]))
            continue
        tree.edge_move[start + kept] = tree.edge_move[start + i]
        tree.edge_prior[start + kept] = tree.edge_prior[start + i]
        total += tree.edge_prior[start + kept]
        if i < n_children:
            tree.child_node[block + kept_children] = tree.child_node[block + i]
            tree.child_visits[block + kept_children] = tree.child_visits[block + i]
            kept_children += 1
        kept += 1
    if kept == 0:
        tree.edge_move[start] = PASS
        tree.edge_prior[start] = 1.0
        kept = 1
        total = 1.0
    tree.n_edges[node] = kept
    tree.n_children[node] = kept_children
    if total > 0.0:
        for i in range(kept):
            tree.edge_prior[start + i] = np.float32(tree.edge_prior[start + i] / total)
