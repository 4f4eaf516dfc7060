"""One thread's share of a search: gather leaves, evaluate them, put the results into the tree.

Only descents and back-ups hold the tree's lock; replaying moves, encoding and evaluating happen
outside it, on arrays that belong to the worker.
"""

import weakref
from typing import TYPE_CHECKING

import numpy as np

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import evaluate_symmetries
from gtp_engine.go.coords import NULL_MOVE
from gtp_engine.go.history import History, copy_history, new_history
from gtp_engine.go.position import Position
from gtp_engine.go.symmetry import symmetries
from gtp_engine.search.leaf import (
    CROWDED,
    OVER,
    drop_moves,
    final_score,
    finish_game,
    finish_leaves,
    gather,
    prepare,
)
from gtp_engine.search.puct import COLLISION, FULL, MAX_DEPTH, PATH, mark
from gtp_engine.search.tree import find_child, renew_priors

if TYPE_CHECKING:
    from gtp_engine.search.search import Search


class Worker:
    """The arrays of one searching thread."""

    def __init__(self, search: "Search", slots: int, seed: int) -> None:
        # A worker must not keep its search: freed only by the cycle collector, which does not know
        # how large arrays are, trees that nobody uses any more would pile up.
        self._owner = weakref.ref(search)
        self.slots = slots
        """Leaves of a step, at most."""
        self._seed = seed & (2**63 - 1)
        self._paths = np.zeros(slots, PATH)
        self._root_at = 0
        self._history: History = new_history(0)
        self._root_ply = 0
        self._size = (0, 0)

    def _search(self) -> "Search":
        search = self._owner()
        assert search is not None, "it is the search that lets its workers work"
        return search

    def begin(self, position: Position, trail: list[int]) -> None:
        """Make a position the root from which leaves are played out.

        Args:
            position: The root's.
            trail: The nodes to which results are backed up from the root on, the root last.
        """
        search = self._search()
        if self._size != (position.width, position.height):
            size = (position.width, position.height)
            self._batch = search.evaluator.new_batch(self.slots, *size)
            self._size = size  # only now: a refused size is refused again
        room = position.ply + MAX_DEPTH + 2
        if len(self._history.situations) < room:
            self._history = new_history(room + 64)
        copy_history(self._history, position.history, position.ply + 1)
        self._history.turns[position.ply + 1]["move"] = NULL_MOVE  # see `prepare`
        self._root_ply = position.ply
        self._rules = position.rules.flags
        random = search.params.random_symmetry
        self._symmetries = len(symmetries(*self._size)) if random else 1
        self._root_at = len(trail) - 1
        self._paths["length"] = len(trail)
        self._paths["nodes"][:, : len(trail)] = trail
        for i, move in enumerate(position.moves[len(position.moves) - self._root_at :], 1):
            slot = find_child(search.tree, trail[i - 1], move.point)
            self._paths["slots"][:, i] = slot

    def evaluate_root(self) -> None:
        """Evaluate and expand the root."""
        search = self._search()
        mark(search.tree, self._paths[0])
        batch = self._judge_root()
        with search.lock:
            finish_leaves(search.tree, batch, 0, self._paths, 1)

    def renew_root(self) -> None:
        """Give the root of a kept tree, so far a node like others, the priors of a root."""
        search = self._search()
        batch = self._judge_root()
        n_moves = int(batch.n_moves[0])
        with search.lock:
            renew_priors(search.tree, search.root, batch.moves[0], batch.priors[0], n_moves)

    def _judge_root(self) -> EvalBatch:
        """Return a batch whose first slot has what is to be known of the root."""
        search = self._search()
        params = search.params
        shown = symmetries(*self._size)[: params.root_symmetries]
        optimism = params.root_policy_optimism
        batch = self._batch
        if len(shown) == 1:
            self._encode(0, batch, 0, optimism)
            search.evaluator.evaluate(batch, 1, use_cache=params.use_cache)
        else:
            if len(shown) > self.slots:
                batch = search.evaluator.new_batch(len(shown), *self._size)
            root = self._history, self._root_ply, self._rules
            evaluate_symmetries(search.evaluator, batch, *root, shown, optimism)
        self._drop_forbidden(batch, 0, 1)
        search.adjust_root_priors(batch)
        return batch

    def run(self) -> None:
        """Make playouts until the search says that it is enough."""
        search = self._search()
        while search.goes_on():
            self.step()

    def step(self) -> None:
        """Make as many playouts as there are slots, or fewer if leaves are in flight elsewhere."""
        search = self._search()
        n = self.open_leaves(self._batch, 0)
        if n:
            search.evaluator.evaluate(self._batch, n, use_cache=search.params.use_cache)
            self.close_leaves(self._batch, 0, n)

    def open_leaves(self, batch: EvalBatch, first: int) -> int:
        """Begin a step: descend to new leaves and encode them.

        Args:
            batch: For boards of the search's size; its owner evaluates it.
            first: The slot of the first leaf; there is room for `slots` from there on.

        Returns:
            How many slots were filled; unless none, `close_leaves` is to follow.
        """
        search = self._search()
        with search.lock:
            n = self._gather()
        opened = 0
        for i in range(n):
            if opened != i:
                self._paths[opened] = self._paths[i]
            if self._encode(opened, batch, first + opened, search.params.policy_optimism):
                opened += 1
        return opened

    def close_leaves(self, batch: EvalBatch, first: int, n: int) -> None:
        """End a step: put the evaluations of the slots filled into the tree."""
        search = self._search()
        self._drop_forbidden(batch, first, n)
        with search.lock:
            finish_leaves(search.tree, batch, first, self._paths, n)
            search.wake_workers()

    def _gather(self) -> int:
        """Descend to up to a batch of new leaves; return how many. The lock is held."""
        search = self._search()
        allowed = search.allowed_playouts()
        if not allowed:
            return 0
        leaves, repeats, ended = gather(
            search.tree, self._paths, self._root_at, allowed, search.numbers, search.score
        )
        search.count_playouts(leaves + repeats, collided=ended == COLLISION)
        waits = ended in (COLLISION, CROWDED) or (ended == FULL and not search.make_room())
        if not leaves and waits:
            search.wait_for_others()
        return int(leaves)

    def _encode(self, i: int, batch: EvalBatch, slot: int, optimism: float) -> bool:
        """Play a path's moves and encode its leaf, or back it up at once if the game is over.

        Returns:
            Whether it is to be evaluated.
        """
        search = self._search()
        history, paths, rules = self._history, self._paths, self._rules
        ply, symmetry = prepare(
            history,
            self._root_ply,
            paths,
            i,
            self._root_at,
            rules,
            self._symmetries,
            self._seed,
        )
        if symmetry == OVER:
            score = final_score(history, ply, rules)
            with search.lock:
                finish_game(search.tree, paths, i, score)
                search.wake_workers()
            return False
        search.evaluator.encode(batch, slot, history, ply, rules, symmetry, optimism)
        return True

    def _drop_forbidden(self, batch: EvalBatch, first: int, n: int) -> None:
        """Drop what is not to be tried from evaluated slots."""
        search = self._search()
        if not search.is_restricted:
            return
        for i in range(n):
            depth = int(self._paths[i]["length"]) - 1 - self._root_at
            forbidden = search.forbidden_at(depth)
            if forbidden is not None:
                drop_moves(batch, first + i, forbidden)
