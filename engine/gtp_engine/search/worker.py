"""One thread's share of a search: gather leaves, evaluate them, put the results into the tree.

Only descents and back-ups hold the tree's lock; replaying moves, encoding and evaluating happen
outside it, on arrays that belong to the worker.
"""

from typing import TYPE_CHECKING

import numpy as np

from gtp_engine.go.line import Line, copy_line, new_line
from gtp_engine.go.position import Position
from gtp_engine.search.leaf import (
    OVER,
    drop_moves,
    finish_game,
    finish_leaf,
    repeat_leaf,
    replay,
)
from gtp_engine.search.puct import AGAIN, COLLISION, MAX_DEPTH, descend

if TYPE_CHECKING:
    from gtp_engine.search.search import Search

WAIT_FOR_OTHERS_SECONDS = 0.02
"""Longest sleep of a worker that found nothing but leaves in flight; any back-up ends it."""

_GOLDEN_RATIO = 0x9E3779B97F4A7C15

MAX_REPEATS = 32
"""Known leaves backed up in one hold of the lock."""


class Worker:
    """The arrays of one searching thread."""

    def __init__(self, search: "Search", slots: int, seed: int) -> None:
        self._search = search
        self._slots = slots
        self._seed = seed
        self._paths = np.zeros((slots, MAX_DEPTH + 1), np.int32)
        self._edges = np.zeros((slots, MAX_DEPTH + 1), np.int64)
        self._moves = np.zeros((slots, MAX_DEPTH + 1), np.int16)
        self._lengths = [0] * slots
        self._line: Line = new_line(0)
        self._root_ply = 0
        self._size = (0, 0)

    def begin(self, position: Position) -> None:
        """Make a position the root from which leaves are played out."""
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
        self._symmetries = 8 if position.width == position.height else 4

    def evaluate_root(self) -> None:
        """Evaluate and expand the root, node 0."""
        search = self._search
        self._lengths[0] = 1
        self._paths[0, 0] = 0
        search.tree.pending[0] += 1
        self._encode(0, self._root_ply, search.params.root_policy_optimism)
        self._judge([self._root_ply])
        search.adjust_root_priors(self._batch)
        with search.lock:
            finish_leaf(search.tree, self._batch, 0, self._paths[0], self._edges[0], 1)

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
        search.make_room()
        tree = search.tree
        n = 0
        repeats = 0
        while n < self._slots and repeats < MAX_REPEATS and search.claim_playout():
            path, edges = self._paths[n], self._edges[n]
            kind, length = descend(tree, path, edges, self._moves[n], search.numbers, search.score)
            if kind == COLLISION:
                search.return_playout()
                if n == 0:
                    search.lock.wait(WAIT_FOR_OTHERS_SECONDS)
                break
            if kind == AGAIN:
                repeat_leaf(tree, path, edges, length)
                repeats += 1
            else:
                self._lengths[n] = length
                n += 1
        return n

    def _evaluate(self, n: int) -> None:
        """Evaluate the gathered leaves and back them up."""
        search = self._search
        opened: list[int] = []
        for i in range(n):
            if not self._finish_if_over(i):
                ply = self._root_ply + self._lengths[i] - 1
                self._encode(len(opened), ply, search.params.policy_optimism)
                opened.append(i)
        if opened:
            self._judge([self._root_ply + self._lengths[i] - 1 for i in opened])
        with search.lock:
            for slot, i in enumerate(opened):
                path, edges, length = self._paths[i], self._edges[i], self._lengths[i]
                finish_leaf(search.tree, self._batch, slot, path, edges, length)
            search.lock.notify_all()

    def _finish_if_over(self, i: int) -> bool:
        """Play a path's moves on the line; count and back it up if they end the game."""
        search = self._search
        path, edges, length = self._paths[i], self._edges[i], self._lengths[i]
        line, rules = self._line, self._rules
        if replay(line, self._root_ply, self._moves[i], length, rules) != OVER:
            return False
        with search.lock:
            ply = self._root_ply + length - 1
            finish_game(search.tree, line, ply, path, edges, length, rules)
        return True

    def _encode(self, slot: int, ply: int, optimism: float) -> None:
        """Encode the position at a ply, under a symmetry drawn from its stones and the seed."""
        symmetry = 0
        if self._search.params.random_symmetry:
            drawn = (int(self._line.boards[ply]["hash"]) ^ self._seed) * _GOLDEN_RATIO
            symmetry = (drawn >> 40) % self._symmetries
        self._search.evaluator.encode(
            self._batch, slot, self._line, ply, self._rules, symmetry, optimism
        )

    def _judge(self, plies: list[int]) -> None:
        """Evaluate the first slots, which hold these plies, and drop what is not to be tried."""
        search = self._search
        use_cache = search.params.use_cache
        search.evaluator.evaluate(self._batch, len(plies), use_cache=use_cache)
        if not search.is_restricted:
            return
        for slot, ply in enumerate(plies):
            to_play = int(self._line.turns[ply]["to_play"])
            forbidden = search.forbidden_at(ply - self._root_ply, to_play)
            if forbidden is not None:
                drop_moves(self._batch, slot, forbidden)
