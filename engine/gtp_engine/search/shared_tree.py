"""The tree that the workers of a search share: its arrays, its lock, its root, and its room."""

import threading
from collections.abc import Sequence

import numpy as np

from gtp_engine.search.pruning import prune, visits_to_stay
from gtp_engine.search.tree import (
    EXPANDED,
    N_NODES,
    Tree,
    add_node,
    capacity_within,
    children_of,
    clear_tree,
    find_child,
    new_tree,
    opened,
)

FIRST_NODES = 2048
"""Room of a new tree; the rest of its memory is opened as it fills."""
FEWEST_NODES = 64
"""Room of a tree that is given no memory at all."""
MOST_NODES = 1_000_000_000
"""Room of a tree however much memory there is; records of children, twice as many, are counted in
32 bits."""
MOST_VISITS = 2_000_000_000
"""Visits of any node at which a search ends, for they are counted in 32 bits. Where hardly a leaf
wants a net, as at the end of a game, an analysis gets there within hours."""
PRUNED_SHARE = 0.25
"""At least this share of the nodes goes when a tree is pruned."""
PRUNING_SECONDS = 1e-6
"""That pruning takes for each node that stays: on 9x9 0.35 microseconds, and more where others keep
the machine busy."""
UNDO_PLIES = 8
"""How many moves may be taken back without losing the tree."""
WAIT_FOR_OTHERS_SECONDS = 0.02
"""Longest sleep of a worker that found nothing but leaves in flight; a leaf backed up ends it."""


class SharedTree:
    """A tree, the way from its top to the root of the search, and the lock that guards both."""

    def __init__(self, memory_mb: int) -> None:
        """Make an empty tree.

        Args:
            memory_mb: Room, in MiB; a full tree loses what was visited least.
        """
        self.lock = threading.Condition()
        self.collisions = 0
        """Selections that ended at a leaf in flight, since the tree was made."""
        self.memory_bytes = memory_mb << 20
        """Room."""
        self._sleeping = 0
        """Workers that found nothing but leaves in flight."""
        self.tree: Tree
        self.root_path: list[int]
        """Nodes from the oldest one kept, the tree's top, down to the root of the search."""
        self._planted_for: tuple[int, int, int, bool] | None
        self._lies_aside = False
        """Whether there may be nodes that the root path does not lead to."""
        self.clear()

    def clear(self) -> None:
        """Forget everything, and give back the memory."""
        self.root_path = [0]
        self._planted_for = None
        self._reserve = self.tree = new_tree(1, 1, 1, False)

    # The root -----------------------------------------------------------------------------------

    @property
    def is_planted(self) -> bool:
        """Whether there is a root."""
        return self._planted_for is not None

    @property
    def root(self) -> int:
        """The node of the position searched."""
        return self.root_path[-1]

    @property
    def is_root_expanded(self) -> bool:
        """Whether the root's moves are known."""
        return bool(self.tree.nodes[self.root]["state"] == EXPANDED)

    def plant(self, width: int, height: int, to_play: int, has_ownership: bool) -> None:
        """Begin a new tree for boards of a size with nothing but a root."""
        most = capacity_within(self.memory_bytes, width * height, has_ownership)
        most = max(min(most, MOST_NODES), FEWEST_NODES)
        if self._planted_for != (most, width, height, has_ownership):
            self.clear()  # its memory is free, and nothing is planted if there is too little
            self._reserve = _new_tree_within(most, width, height, has_ownership)
            self.tree = opened(self._reserve, FIRST_NODES)
            self._planted_for = (most, width, height, has_ownership)
        clear_tree(self.tree)
        self.root_path = [int(add_node(self.tree, to_play))]
        self._lies_aside = False

    def find_path(self, moves: Sequence[tuple[int, int]], to_play: int) -> list[int]:
        """Return the nodes on a way from the top on, the top first; none if a move is new."""
        tree = self.tree
        path = self.root_path[:1]
        for color, point in moves:
            record = tree.nodes[path[-1]]
            if color != record["to_play"] or record["state"] != EXPANDED:
                return []
            k = int(find_child(tree, path[-1], point))
            if k < 0:
                return []
            path.append(int(tree.children[record["first_child"] + k]["node"]))
        record = tree.nodes[path[-1]]
        return path if record["state"] == EXPANDED and record["to_play"] == to_play else []

    def move_root(self, path: list[int]) -> None:
        """Make the end of a path from the top the root, and forget ancestors far above it.

        So are those that have little room left for counting visits.
        """
        path = path[-1 - UNDO_PLIES :]
        visits = [int(self.tree.nodes[node]["visits"]) for node in path[:-1]]
        too_many = sum(n > MOST_VISITS // 2 for n in visits)  # they come first
        self.root_path = path[too_many:]
        self._lies_aside = True

    def root_slots(self) -> list[int]:
        """Return which of its parent's children each node of the root path is; 0 for the first."""
        slots = [0]
        for parent, node in zip(self.root_path, self.root_path[1:], strict=False):
            slots.append(children_of(self.tree, parent)["node"].tolist().index(node))
        return slots

    def visits_left(self) -> int:
        """Return how many visits can still be counted."""
        return MOST_VISITS - int(self.tree.nodes[self.root_path[0]]["visits"])

    def root_visits(self) -> int:
        """Return the root's visits, those in flight counted."""
        record = self.tree.nodes[self.root]
        return int(record["visits"]) + int(record["pending"])

    # What workers do together; the lock is held -------------------------------------------------

    def wait(self) -> None:
        """Sleep until a leaf in flight is backed up, or a moment."""
        self._sleeping += 1
        try:
            self.lock.wait(WAIT_FOR_OTHERS_SECONDS)
        finally:
            self._sleeping -= 1

    def wake(self) -> None:
        """Wake those that wait."""
        if self._sleeping:
            self.lock.notify_all()

    def seconds_to_make_room(self) -> float:
        """Return how long `make_room` may take; growing takes no time."""
        capacity = len(self.tree.nodes)
        grows = not self._lies_aside and capacity < len(self._reserve.nodes)
        return 0.0 if grows else PRUNING_SECONDS * min(capacity, self.root_visits())

    def make_room(self) -> bool:
        """Make room in a full tree; False if all of it is in flight.

        What lies aside from the root path goes first. If that does not help much, the tree grows;
        where it must not, the nodes that were visited least go.
        """
        path = np.array(self.root_path, np.int32)
        tree = self.tree
        capacity = len(tree.nodes)
        if self._lies_aside:
            prune(tree, path, 0)
            self._lies_aside = False
            if tree.counts[N_NODES] <= (1.0 - PRUNED_SHARE) * capacity:
                return True
        if capacity < len(self._reserve.nodes):
            self.tree = opened(self._reserve, 2 * capacity)
            return True
        prune(tree, path, visits_to_stay(tree, PRUNED_SHARE))
        return bool(tree.counts[N_NODES] < capacity)


def _new_tree_within(most: int, width: int, height: int, has_ownership: bool) -> Tree:
    """Return an empty tree with room for this many nodes, or for a part where memory is short."""
    while True:
        try:
            return new_tree(most, width, height, has_ownership)
        except MemoryError:
            if most <= FIRST_NODES:
                raise
            most //= 4  # so that something is left for others
