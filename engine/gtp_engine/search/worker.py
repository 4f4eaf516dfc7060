"""One thread's share of a search: gather leaves, evaluate them, put the results into the tree.

Only descents and back-ups hold the tree's lock; replaying moves, encoding and evaluating happen
outside it, on arrays that belong to the worker.
"""

import weakref
from typing import TYPE_CHECKING

import numpy as np

from gtp_engine.go.line import Line, copy_line, new_line
from gtp_engine.go.position import Position
from gtp_engine.search.leaf import OVER, drop_moves, finish_game, finish_leaves, gather, prepare
from gtp_engine.search.puct import COLLISION, FULL, MAX_DEPTH, PATH, mark
from gtp_engine.search.tree import find_child

if TYPE_CHECKING:
    from gtp_engine.search.search import Search

WAIT_FOR_OTHERS_SECONDS = 0.02
"""Longest sleep of a worker that found nothing but leaves in flight; any back-up ends it."""


class Worker:
    """The arrays of one searching thread."""

    def __init__(self, search: "Search", slots: int, seed: int) -> None:
        # A worker must not keep its search: freed only by the cycle collector, which does not know
        # how large arrays are, trees that nobody uses any more would pile up.
        self._search: Search = weakref.proxy(search)
        self._slots = slots
        self._seed = seed
        self._paths = np.zeros(slots, PATH)
        self._root_at = 0
        self._line: Line = new_line(0)
        self._root_ply = 0
        self._size = (0, 0)

    def begin(self, position: Position, trail: list[int]) -> None:
        """Make a position the root from which leaves are played out.

        Args:
            position: The root's.
            trail: The nodes to which results are backed up from the root on, the root last.
        """
        if self._size != (position.width, position.height):
            size = (position.width, position.height)
            self._batch = self._search.evaluator.new_batch(self._slots, *size)
            self._size = size  # only now: a refused size is refused again
        room = position.ply + MAX_DEPTH + 2
        if len(self._line.situations) < room:
            self._line = new_line(room + 64)
        copy_line(self._line, position.line, position.ply + 1)
        self._root_ply = position.ply
        self._rules = position.rules.flags
        random = self._search.params.random_symmetry
        self._symmetries = (8 if position.width == position.height else 4) if random else 1
        self._root_at = len(trail) - 1
        self._paths["length"] = len(trail)
        self._paths["nodes"][:, : len(trail)] = trail
        for i, move in enumerate(position.moves[len(position.moves) - self._root_at :], 1):
            slot = find_child(self._search.tree, trail[i - 1], move.point)
            self._paths["slots"][:, i] = slot

    def evaluate_root(self) -> None:
        """Evaluate and expand the root."""
        search = self._search
        mark(search.tree, self._paths[0])
        self._encode(0, search.params.root_policy_optimism)
        self._judge(1)
        search.adjust_root_priors(self._batch)
        with search.lock:
            finish_leaves(search.tree, self._batch, self._paths, 1)

    def run(self) -> None:
        """Make playouts until the search says that it is enough."""
        while self._search.goes_on():
            self.step()

    def step(self) -> None:
        """Make as many playouts as there are slots, or fewer if leaves are in flight elsewhere."""
        search = self._search
        with search.lock:
            n = self._gather()
        if n:
            self._evaluate(n)

    def _gather(self) -> int:
        """Descend to up to a batch of new leaves; return how many. The lock is held."""
        search = self._search
        allowed = search.allowed_playouts()
        if not allowed:
            return 0
        leaves, repeats, ended = gather(
            search.tree, self._paths, self._root_at, allowed, search.numbers, search.score
        )
        search.count_playouts(leaves + repeats, collided=ended == COLLISION)
        waits = ended == COLLISION or (ended == FULL and not search.make_room())
        if waits and not leaves:
            search.lock.wait(WAIT_FOR_OTHERS_SECONDS)
        return int(leaves)

    def _evaluate(self, n: int) -> None:
        """Evaluate the gathered leaves and back them up."""
        search = self._search
        opened = 0
        for slot in range(n):
            if opened != slot:
                self._paths[opened] = self._paths[slot]
            if self._encode(opened, search.params.policy_optimism):
                opened += 1
        if opened:
            self._judge(opened)
        with search.lock:
            finish_leaves(search.tree, self._batch, self._paths, opened)
            search.lock.notify_all()

    def _ply(self, slot: int) -> int:
        """Return the ply of a slot's leaf."""
        return self._root_ply + int(self._paths[slot]["length"]) - 1 - self._root_at

    def _encode(self, slot: int, optimism: float) -> bool:
        """Play a path's moves and encode its leaf, or back it up at once if the game is over.

        Returns:
            Whether it is to be evaluated.
        """
        search = self._search
        line, paths, rules = self._line, self._paths, self._rules
        symmetry = prepare(
            line,
            self._root_ply,
            paths,
            slot,
            self._root_at,
            rules,
            self._symmetries,
            self._seed,
        )
        ply = self._ply(slot)
        if symmetry == OVER:
            with search.lock:
                finish_game(search.tree, line, ply, paths, slot, rules)
            return False
        search.evaluator.encode(self._batch, slot, line, ply, rules, symmetry, optimism)
        return True

    def _judge(self, n: int) -> None:
        """Evaluate the first n slots, and drop what is not to be tried."""
        search = self._search
        search.evaluator.evaluate(self._batch, n, use_cache=search.params.use_cache)
        if not search.is_restricted:
            return
        for slot in range(n):
            depth = int(self._paths[slot]["length"]) - 1 - self._root_at
            color = search.to_play if depth % 2 == 0 else 3 - search.to_play
            forbidden = search.forbidden_at(depth, color)
            if forbidden is not None:
                drop_moves(self._batch, slot, forbidden)
