"""Small trees built by hand, and what holds for every tree that a search has finished."""

from collections.abc import Iterator, Sequence

import numpy as np

from gtp_engine.go.coords import BLACK
from gtp_engine.go.position import Position
from gtp_engine.search.params import PuctNumbers, ScoreUtility
from gtp_engine.search.tree import EXPANDED, NEW, Tree, add_child, add_node, new_tree, set_edges

PLAIN = PuctNumbers(
    cpuct=1.0, cpuct_growth=0.0, fpu_reduction=0.2, root_fpu_reduction=0.1, virtual_loss=1.0
)
"""Constants that are easy to reckon with."""

NO_SCORE = ScoreUtility(static_weight=0.0, dynamic_weight=0.0, scale=1.0, center_white=0.0)
"""Points count for nothing."""


def small_tree(area: int = 0) -> Tree:
    """Return an empty tree with room for a few hundred nodes."""
    return new_tree(400, 2000, 4000, area)


def give_edges(tree: Tree, node: int, moves: Sequence[int], priors: Sequence[float]) -> None:
    """Expand a node with these moves."""
    set_edges(tree, node, np.array(moves, np.int16), np.array(priors, np.float32), len(moves))


def root_with(tree: Tree, moves: Sequence[int], priors: Sequence[float]) -> None:
    """Make node 0, Black to play, with these moves."""
    assert add_node(tree, BLACK) == 0
    give_edges(tree, 0, moves, priors)


def visited_child(tree: Tree, parent: int, visits: int, value_sum: float, lead_sum: float) -> int:
    """Add a node's next child with these statistics; the sums are for the child's own mover."""
    child = int(add_child(tree, parent, 3 - int(tree.to_play[parent])))
    tree.visits[child] = visits
    tree.value_sum[child] = value_sum
    tree.lead_sum[child] = lead_sum
    tree.child_visits[tree.child_start[parent] + tree.n_children[parent] - 1] = visits
    return child


def moves_of(tree: Tree, node: int) -> list[int]:
    """Return a node's moves in the order of its edges."""
    start = int(tree.edge_start[node])
    return [int(move) for move in tree.edge_move[start : start + int(tree.n_edges[node])]]


def priors_of(tree: Tree, node: int) -> list[float]:
    """Return a node's priors in the order of its edges."""
    start = int(tree.edge_start[node])
    return [float(prior) for prior in tree.edge_prior[start : start + int(tree.n_edges[node])]]


def children_of(tree: Tree, node: int) -> list[tuple[int, int, int]]:
    """Return (move, child node, visits of the edge) of a node's children."""
    start, edges = int(tree.child_start[node]), int(tree.edge_start[node])
    return [
        (
            int(tree.edge_move[edges + k]),
            int(tree.child_node[start + k]),
            int(tree.child_visits[start + k]),
        )
        for k in range(int(tree.n_children[node]))
    ]


def paths(tree: Tree, node: int = 0) -> Iterator[tuple[list[int], int]]:
    """Yield the moves that lead to every node, and the node."""
    stack: list[tuple[list[int], int]] = [([], node)]
    while stack:
        moves, node = stack.pop()
        yield moves, node
        stack += [([*moves, move], child) for move, child, _ in children_of(tree, node)]


def described(tree: Tree, node: int = 0) -> list[object]:
    """Return everything that a subtree says, whatever the indices of its nodes."""
    return [
        (
            moves,
            int(tree.state[at]),
            int(tree.to_play[at]),
            int(tree.visits[at]),
            float(tree.value_sum[at]),
            float(tree.value_sq_sum[at]),
            float(tree.lead_sum[at]),
            float(tree.stdev_sum[at]),
            float(tree.raw_value[at]),
            moves_of(tree, at),
            priors_of(tree, at),
            [visits for _, _, visits in children_of(tree, at)],
            tree.ownership[at].tolist(),
        )
        for moves, at in paths(tree, node)
    ]


def assert_sound(tree: Tree) -> None:
    """Check what a finished search must leave: nothing in flight, nothing lost, nothing twice."""
    n_nodes = int(tree.used[0])
    assert not tree.pending[:n_nodes].any(), "descents still in flight"
    seen = set()
    for _, node in paths(tree):
        assert node not in seen, "two parents"
        seen.add(node)
        assert tree.state[node] != NEW
        children = children_of(tree, node)
        for _, child, visits in children:
            assert visits == tree.visits[child] > 0
            assert tree.to_play[child] == 3 - tree.to_play[node]
        if tree.state[node] == EXPANDED:
            below = [child for _, child, _ in children]
            assert tree.visits[node] == 1 + sum(tree.visits[child] for child in below)
            # Every value is a multiple of 1/1024, so that sums are exact in any order.
            sums = sum(tree.value_sum[child] for child in below)
            assert tree.value_sum[node] == tree.raw_value[node] - sums
            leads = sum(tree.lead_sum[child] for child in below)
            assert tree.lead_sum[node] == tree.raw_lead[node] - leads
            priors = priors_of(tree, node)
            assert priors == sorted(priors, reverse=True)
            assert abs(sum(priors) - 1.0) < 1e-5
        else:
            assert not children and tree.value_sum[node] == tree.visits[node] * tree.raw_value[node]
    assert len(seen) == n_nodes, "nodes that nothing leads to"


def assert_legal(tree: Tree, position: Position) -> int:
    """Check that every node lists just the legal moves; return how many bans were respected.

    A ban is a move that stones alone would allow, forbidden by ko or superko.
    """
    bans = 0
    for moves, node in paths(tree):
        if tree.state[node] != EXPANDED:
            continue
        game = position.copy()
        for move in moves:
            game.play(game.to_play, move)
        assert sorted(moves_of(tree, node)) == sorted(game.legal_moves())
        bans += sum(is_banned(game, point) for point in game.points())
    return bans


def is_banned(game: Position, point: int) -> bool:
    """Whether only ko or superko forbids a move."""
    color = game.to_play
    if game.is_legal(color, point):
        return False
    try:
        game.copy().play(color, point, strict=False)
    except ValueError:
        return False
    return True
