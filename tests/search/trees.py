"""Small trees built by hand, and what holds for every tree that a search has finished."""

from collections.abc import Iterator, Sequence

import numpy as np

from gtp_engine.coords import BLACK
from gtp_engine.go.position import Position
from gtp_engine.search.params import PuctNumbers, ScoreUtility
from gtp_engine.search.playout import PATH
from gtp_engine.search.tree import (
    EXPANDED,
    N_NODES,
    NEW,
    Tree,
    add_child,
    add_node,
    expand,
    moves_by_prior,
    new_tree,
)
from gtp_engine.search.tree import children_of as child_records

PLAIN = PuctNumbers(
    cpuct=1.0,
    cpuct_growth=0.0,
    fpu_reduction=0.2,
    root_fpu_reduction=0.1,
    virtual_loss=1.0,
    wide_root_noise=0.0,
    pierre=0.0,
)
"""Constants that are easy to reckon with."""

NO_SCORE = ScoreUtility(static_weight=0.0, dynamic_weight=0.0, scale=1.0, center_white=0.0)
"""Points count for nothing."""


def small_tree(width: int = 9, height: int = 9, *, has_ownership: bool = False) -> Tree:
    """Return an empty tree with room for a few hundred nodes."""
    return new_tree(400, width, height, has_ownership)


def give_moves(tree: Tree, node: int, moves: Sequence[int], priors: Sequence[float]) -> None:
    """Expand a node with these moves."""
    expand(tree, node, np.array(moves, np.int16), np.array(priors, np.float32), len(moves))


def root_with(tree: Tree, moves: Sequence[int], priors: Sequence[float]) -> None:
    """Make node 0, Black to play, with these moves."""
    assert add_node(tree, BLACK) == 0
    give_moves(tree, 0, moves, priors)


def visited_child(tree: Tree, parent: int, visits: int, value_sum: float, lead_sum: float) -> int:
    """Add a node's next child with these statistics; the sums are for the child's own mover."""
    child = int(add_child(tree, parent))
    for record in (tree.nodes[child], child_records(tree, parent)[-1]):
        record["visits"] = visits
        record["value_sum"] = value_sum
        record["lead_sum"] = lead_sum
    return child


def path_to(*nodes: int, slots: Sequence[int] = ()) -> np.ndarray:
    """Return [1] of PATH through these nodes; slots are the first children where not given."""
    paths = np.zeros(1, PATH)
    paths["length"] = len(nodes)
    paths["nodes"][0, : len(nodes)] = nodes
    paths["slots"][0, 1 : 1 + len(slots)] = slots
    return paths


def moves_of(tree: Tree, node: int) -> list[int]:
    """Return a node's moves by descending prior."""
    return [move for move, _ in moves_by_prior(tree, node)]


def priors_of(tree: Tree, node: int) -> list[float]:
    """Return a node's priors, the highest first."""
    return [prior for _, prior in moves_by_prior(tree, node)]


def children_of(tree: Tree, node: int) -> list[tuple[int, int, int]]:
    """Return (move, child node, visits of the edge) of a node's children."""
    return [
        (int(child["move"]), int(child["node"]), int(child["visits"]))
        for child in child_records(tree, node)
    ]


def paths(tree: Tree, node: int = 0) -> Iterator[tuple[list[int], int]]:
    """Yield the moves that lead to every node, and the node."""
    stack: list[tuple[list[int], int]] = [([], node)]
    while stack:
        moves, node = stack.pop()
        yield moves, node
        stack += [([*moves, move], child) for move, child, _ in children_of(tree, node)]


NUMBERS = (
    "state", "to_play", "visits", "value_sum", "value_sq_sum", "lead_sum", "stdev_sum",
    "raw_value", "raw_lead", "raw_stdev",
)  # fmt: skip
"""What a node says about itself."""


def described(tree: Tree, node: int = 0) -> list[object]:
    """Return everything that a subtree says, whatever the indices of its nodes."""
    return [
        (
            moves,
            [tree.nodes[at][name].item() for name in NUMBERS],
            moves_by_prior(tree, at),
            [visits for _, _, visits in children_of(tree, at)],
            tree.ownership[at].tolist() if tree.nodes[at]["state"] == EXPANDED else [],
        )
        for moves, at in paths(tree, node)
    ]


def assert_sound(tree: Tree, top: int = 0, *, is_pruned: bool = False) -> None:
    """Check what a finished search must leave: nothing in flight, nothing lost, nothing twice.

    Args:
        tree: The tree.
        top: The node to which all results were backed up.
        is_pruned: Whether nodes may have visits of children that are no more.
    """
    seen = set()
    for _, node in paths(tree, top):
        assert node not in seen, "two parents"
        seen.add(node)
        record = tree.nodes[node]
        assert record["pending"] == 0, "descents still in flight"
        assert record["state"] != NEW
        edges = child_records(tree, node)
        for edge in edges:
            child = tree.nodes[edge["node"]]
            assert edge["pending"] == 0
            assert edge["visits"] == child["visits"] > 0
            assert edge["value_sum"] == child["value_sum"]
            assert edge["lead_sum"] == child["lead_sum"]
            assert child["to_play"] == 3 - record["to_play"]
        if record["state"] == EXPANDED:
            priors = priors_of(tree, node)
            assert abs(sum(priors) - 1.0) < 2.0**-10, "codes keep a prior to one part in 1024"
        else:
            assert not len(edges)
            assert record["value_sum"] == record["visits"] * record["raw_value"]
        if record["state"] == EXPANDED and not is_pruned:
            assert record["visits"] == 1 + edges["visits"].sum()
            # Every value is a multiple of 1/1024, so that sums are exact in any order.
            assert record["value_sum"] == record["raw_value"] - edges["value_sum"].sum()
            assert record["lead_sum"] == record["raw_lead"] - edges["lead_sum"].sum()
    assert len(seen) == tree.counts[N_NODES], "nodes that nothing leads to"


def assert_legal(tree: Tree, position: Position, root: int = 0) -> int:
    """Check that every node lists just the legal moves; return how many bans were respected.

    A ban is a move that stones alone would allow, forbidden by ko or superko.
    """
    bans = 0
    for moves, node in paths(tree, root):
        if tree.nodes[node]["state"] != EXPANDED:
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
