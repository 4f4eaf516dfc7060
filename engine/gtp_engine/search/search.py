"""Search one position with any number of threads on one tree.

One playout:
    descend     follow PUCT from the root to a new leaf           (puct.descend)
    replay      play the path's moves on the worker's line         (leaf.replay)
    evaluate    encode the position and ask the net                (evaluators)
    expand      give the leaf its edges, sorted by prior           (tree.set_edges)
    backup      add the evaluation to every node of the path       (puct.backup)
"""

import threading
import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.leaves import LeafBatch
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.position import Position
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.choice import Child, visited_children
from gtp_engine.search.clarity import is_clear, is_settled
from gtp_engine.search.limits import AvoidRule, Limits, ReportRequest
from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.reporting import analyze_tree, ownership_below
from gtp_engine.search.tree import (
    EXPANDED,
    Tree,
    add_node,
    copy_subtree,
    drop_edges,
    find_child,
    grown,
    largest_block,
    new_tree,
    node_bytes,
)
from gtp_engine.search.worker import Worker

FIRST_NODES = 2048
FIRST_EDGES = 64 * FIRST_NODES
FIRST_CHILDREN = 16 * FIRST_NODES
GROWTH = (2.0, 1.25)
"""By which factor a full array grows; the next one is tried where memory is short."""
EDGE_BYTES = 6
CHILD_BYTES = 8
CHECK_SECONDS = 0.05
"""How often a search looks whether its choice is still in doubt."""

PointMask = npt.NDArray[np.uint8]


class Search:
    """A tree, its workers, and the position at its root.

    Not for use from several threads at once, except `stop`.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        params: SearchParams | None = None,
        *,
        threads: int = 1,
        batch: int = 1,
        memory_mb: int = 1024,
        seed: int = 0,
    ) -> None:
        """Prepare a search.

        Args:
            evaluator: Judges positions.
            params: The defaults when None.
            threads: Workers on the tree.
            batch: Leaves that each worker evaluates at once.
            memory_mb: Room for the tree, in MiB; a full tree ends the search.
            seed: Fixes the symmetries drawn, and with one thread the whole search.
        """
        self.evaluator = evaluator
        self.params = params or SearchParams()
        self.lock = threading.Condition()
        self.memory_bytes = memory_mb << 20
        self.collisions = 0
        """Descents that ended at a leaf in flight, since the search was made."""
        self.step_seconds = 0.0
        """What a worker's step, a batch of evaluations, took on average in the latest search."""
        self._noise = np.random.Generator(np.random.PCG64(seed))
        self._workers = [Worker(self, batch, seed) for _ in range(threads)]
        self._batch = batch
        self._stop = threading.Event()
        self.tree: Tree
        self._position: Position | None
        self._avoid: tuple[AvoidRule, ...]
        self._forbidden: frozenset[int]
        self._error: Exception | None
        self.clear()

    # The root -----------------------------------------------------------------------------------

    def set_position(
        self,
        position: Position,
        forbidden: Iterable[int] = (),
        avoid: tuple[AvoidRule, ...] = (),
    ) -> None:
        """Make a position the root, keeping what the tree knows about it.

        Args:
            position: Copied; it may change afterwards.
            forbidden: Moves that are not considered at the root.
            avoid: Restrictions of either player near the root; the tree is then built anew.
        """
        restricted = frozenset(forbidden)
        fresh = avoid or self._avoid or self.params.root_noise_weight > 0
        root = -1 if fresh else self._find_root(position, restricted)
        self._position = position.copy()
        self._avoid = avoid
        self._forbidden = restricted
        self._forbidden_mask = _point_mask(restricted)
        if root < 0:
            self._plant()
        elif root > 0:
            self._keep_subtree(root)
        if self.tree.state[0] == EXPANDED and restricted:
            drop_edges(self.tree, 0, self._forbidden_mask)

    def _find_root(self, position: Position, forbidden: frozenset[int]) -> int:
        """Return the node of a position that continues the present one; -1 if there is none."""
        old = self._position
        if old is None or not _same_game(old, position):
            return -1
        old_moves, moves = old.moves, position.moves
        if moves[: len(old_moves)] != old_moves:
            return -1
        if len(moves) == len(old_moves):
            # Moves left out before would be missing from the tree now.
            is_same = old.to_play == position.to_play and self._forbidden <= forbidden
            return 0 if is_same else -1
        node = 0
        color = old.to_play
        for move in moves[len(old_moves) :]:
            if move.color != color or self.tree.state[node] != EXPANDED:
                return -1
            node = int(find_child(self.tree, node, move.point))
            if node < 0:
                return -1
            color = 3 - color
        is_same = color == position.to_play and self.tree.state[node] == EXPANDED
        return node if is_same else -1

    def _keep_subtree(self, root: int) -> None:
        area = self.tree.ownership.shape[1]
        sizes = (len(self.tree.state), len(self.tree.edge_move), len(self.tree.child_node))
        kept = new_tree(*sizes, area)
        copy_subtree(kept, self.tree, root)
        self.tree = kept

    def _plant(self) -> None:
        """Begin a new tree at the present position."""
        assert self._position is not None
        area = self._position.area
        nodes, edges, children = self._room_in_flight(area)
        self.tree = new_tree(
            FIRST_NODES + nodes,
            FIRST_EDGES + edges,
            FIRST_CHILDREN + children,
            area if self.evaluator.has_ownership else 0,
        )
        add_node(self.tree, self._position.to_play)

    def clear(self) -> None:
        """Forget the tree and the position."""
        self._position = None
        self._avoid = ()
        self._forbidden = frozenset()
        self.tree = new_tree(1, 1, 1, 0)

    # Running ------------------------------------------------------------------------------------

    def run(self, limits: Limits, report: ReportRequest | None = None) -> Analysis:
        """Search until a limit is reached or `stop` is called.

        Args:
            limits: When to end; without any limit, only `stop` ends it.
            report: Who wants to hear about it on the way, and what.

        Returns:
            What was found; the same goes to the report's callback, marked as final.

        Raises:
            NetFileError: The net failed.
        """
        assert self._position is not None, "set_position comes first"
        try:
            self._begin(limits, report or ReportRequest())
            if self.tree.state[0] != EXPANDED:
                self._workers[0].evaluate_root()
                self._playouts = 1
            self.score = self._centered_score_utility()
            self._run_workers()
        except BaseException:
            self.clear()  # descents in flight have left their marks in the tree
            raise
        finally:
            self._stop.clear()
        final = self.analysis(self._report, is_final=True)
        if self._report.callback is not None:
            self._report.callback(final)
        return final

    def stop(self) -> None:
        """End the running search soon, from any thread."""
        self._stop.set()

    def forget_stop(self) -> None:
        """Take back a `stop` that came when nothing was running."""
        self._stop.clear()

    def _begin(self, limits: Limits, report: ReportRequest) -> None:
        assert self._position is not None
        self._limits = limits
        self._report = report
        self._started = time.monotonic()
        first = report.interval if report.first_after is None else report.first_after
        self._next_report = self._started + first
        self._next_check = self._started + min(CHECK_SECONDS, limits.soft_seconds or CHECK_SECONDS)
        self._playouts = 0
        self._over = False
        self._error = None
        self.numbers = self.params.numbers
        for worker in self._workers:
            worker.begin(self._position)

    def _run_workers(self) -> None:
        """Search with all workers, the first one in this thread."""
        helpers = [
            threading.Thread(target=self._run_helper, args=(worker,), daemon=True)
            for worker in self._workers[1:]
        ]
        for helper in helpers:
            helper.start()
        n_steps = 0
        began = time.monotonic()
        try:
            while self.goes_on():
                self._workers[0].step()
                n_steps += 1
                self._attend()
        finally:
            if n_steps:
                self.step_seconds = (time.monotonic() - began) / n_steps
            self._over = True
            for helper in helpers:
                helper.join()
        if self._error is not None:
            raise self._error

    def _run_helper(self, worker: Worker) -> None:
        try:
            worker.run()
        except Exception as error:
            self._error = error
            self._over = True

    def _attend(self) -> None:
        """Report and look at the clock, between two steps of the leading worker."""
        now = time.monotonic()
        if self._report.callback is not None and now >= self._next_report:
            self._next_report = now + self._report.interval
            self._report.callback(self.analysis(self._report))
        if self._limits.soft_seconds is not None and now >= self._next_check:
            self._next_check = now + CHECK_SECONDS
            with self.lock:
                if self._is_enough(now - self._started, self._limits.soft_seconds):
                    self._over = True

    def _is_enough(self, elapsed: float, soft_seconds: float) -> bool:
        """Whether a search may end before its hard limits."""
        children = self.children()
        if int(self.tree.n_edges[0]) == 1:
            return True
        if not children or self._playouts == 0:
            return elapsed >= soft_seconds
        if elapsed >= soft_seconds:
            return is_clear(children, self.params)
        to_come = (soft_seconds - elapsed) * self._playouts / elapsed
        if self._limits.playouts is not None:
            to_come = min(to_come, self._limits.playouts - self._playouts)
        return is_settled(children, to_come, self.params)

    # What workers ask -----------------------------------------------------------------------------

    def goes_on(self) -> bool:
        """Whether another playout may start."""
        if self._over or self._stop.is_set():
            return False
        limits = self._limits
        if limits.playouts is not None and self._playouts >= limits.playouts:
            return False
        if limits.visits is not None:
            in_flight = int(self.tree.visits[0] + self.tree.pending[0])
            if in_flight >= limits.visits:
                return False
        seconds = limits.seconds
        return seconds is None or time.monotonic() < self._started + seconds

    def claim_playout(self) -> bool:
        """Count a playout that is about to start; False if none may. The lock is held."""
        if not self.goes_on():
            return False
        self._playouts += 1
        return True

    def return_playout(self) -> None:
        """Take back a playout that found its leaf in flight. The lock is held."""
        self._playouts -= 1
        self.collisions += 1

    def make_room(self) -> None:
        """Make sure that all leaves that may be in flight fit, or end the search.

        The lock is held. The workers' slots together are provided for whenever one of them sets
        out, so that no back-up has to grow the tree.
        """
        tree = self.tree
        assert self._position is not None
        room = self._room_in_flight(self._position.area)
        need = [int(used) + more for used, more in zip(tree.used, room, strict=True)]
        have = [len(tree.state), len(tree.edge_move), len(tree.child_node)]
        if all(n <= h for n, h in zip(need, have, strict=True)):
            return
        for factor in GROWTH:
            larger = [
                h if n <= h else max(int(factor * h), n) for n, h in zip(need, have, strict=True)
            ]
            if self._tree_bytes(*larger) <= self.memory_bytes:
                self.tree = grown(tree, *larger)
                return
        self._over = True

    def _room_in_flight(self, area: int) -> tuple[int, int, int]:
        """Return the nodes, edges and children that all workers' leaves may take up."""
        leaves = len(self._workers) * self._batch
        # A new child may need a larger block for its parent.
        return leaves, leaves * (area + 1), leaves * largest_block(area)

    def _tree_bytes(self, nodes: int, edges: int, children: int) -> int:
        area = self.tree.ownership.shape[1]
        return nodes * node_bytes(area) + edges * EDGE_BYTES + children * CHILD_BYTES

    @property
    def is_restricted(self) -> bool:
        """Whether some moves may not be tried somewhere."""
        return bool(self._forbidden or self._avoid)

    def forbidden_at(self, depth: int, to_play: int) -> PointMask | None:
        """Return which moves may not be tried at a node; None for no restriction.

        Args:
            depth: 0 at the root.
            to_play: Who moves there.
        """
        mask = self._forbidden_mask if depth == 0 and self._forbidden else None
        for rule in self._avoid:
            if rule.color == to_play and depth < rule.depth:
                mask = np.zeros(MAX_POINTS, np.uint8) if mask is None else mask.copy()
                listed = _point_mask(rule.points)
                mask |= (1 - listed) if rule.allow else listed
        return mask

    def adjust_root_priors(self, batch: LeafBatch) -> None:
        """Apply the root's policy temperature and noise to slot 0."""
        params = self.params
        n = int(batch.n_moves[0])
        priors = batch.priors[0, :n]
        if params.root_policy_temperature != 1.0:
            priors[:] = priors ** (1.0 / params.root_policy_temperature)
        if params.root_noise_weight > 0.0:
            noise = self._noise.dirichlet(np.full(n, params.root_noise_total / n))
            weight = params.root_noise_weight
            priors[:] = (1.0 - weight) * priors + weight * noise
        total = float(priors.sum())
        if total > 0.0:
            priors /= total

    # What was found -------------------------------------------------------------------------------

    def children(self) -> list[Child]:
        """Return the root's visited children."""
        return visited_children(self.tree, 0, self.score, self.params)

    def analysis(self, report: ReportRequest, *, is_final: bool = False) -> Analysis:
        """Return the present state of the search."""
        assert self._position is not None
        with self.lock:
            return analyze_tree(
                self.tree,
                self._position,
                self.score,
                self.params,
                report,
                playouts=self._playouts,
                elapsed=time.monotonic() - self._started,
                is_final=is_final,
            )

    @property
    def to_play(self) -> int:
        """Who is to move at the root."""
        return int(self.tree.to_play[0])

    def root_moves(self) -> list[int]:
        """Return the moves considered at the root, by descending prior."""
        start = int(self.tree.edge_start[0])
        return [int(move) for move in self.tree.edge_move[start : start + self.tree.n_edges[0]]]

    def favourites(self) -> list[int]:
        """Return the moves that the tree already knows at the root, most visited first."""
        tree = self.tree
        if tree.state[0] != EXPANDED:
            return []
        n_edges, first_child = int(tree.n_children[0]), int(tree.child_start[0])
        visits = [int(tree.child_visits[first_child + k]) for k in range(n_edges)]
        moves = self.root_moves()
        by_visits = sorted(range(len(visits)), key=lambda k: -visits[k])
        return [moves[k] for k in by_visits] + moves[len(visits) :]

    def ownership(self) -> npt.NDArray[np.float32] | None:
        """Return the ownership expected at the root, for the player to move; None without."""
        assert self._position is not None
        return ownership_below(self.tree, 0, self._position)

    def _centered_score_utility(self) -> ScoreUtility:
        assert self._position is not None
        tree = self.tree
        lead = float(tree.lead_sum[0]) / max(1, int(tree.visits[0]))
        params = self.params
        return ScoreUtility(
            float(params.score_utility),
            float(params.dynamic_score_utility),
            float(params.score_scale * 2.0 * self._position.area**0.5),
            lead if tree.to_play[0] == 2 else -lead,
        )


def _point_mask(points: Iterable[int]) -> PointMask:
    mask = np.zeros(MAX_POINTS, np.uint8)
    for point in points:
        mask[point] = 1
    return mask


def _same_game(a: Position, b: Position) -> bool:
    """Whether two positions began with the same stones under the same rules."""
    return (
        (a.width, a.height, a.rules, a.encores) == (b.width, b.height, b.rules, b.encores)
        and a.line.turns[0]["to_play"] == b.line.turns[0]["to_play"]
        and bool(np.array_equal(a.line.boards[0]["color"], b.line.boards[0]["color"]))
    )
