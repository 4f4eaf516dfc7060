"""Search one position with any number of threads on one tree.

One playout:
    descend     follow PUCT from the root to a new leaf           (puct.descend)
    prepare     play the path's moves on the worker's history       (leaf.prepare)
    evaluate    encode the position and ask the net                (evaluators)
    expand      give the leaf its moves and their priors           (tree.expand)
    backup      add the evaluation to every node of the path       (puct.backup)
"""

import threading
import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.coords import WHITE, opponent
from gtp_engine.go.position import Position
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.choice import Child, visited_children
from gtp_engine.search.clarity import is_clear, is_settled
from gtp_engine.search.limits import AvoidRule, Limits, ReportRequest
from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.pruning import drop_moves_at, prune, visits_to_stay
from gtp_engine.search.reporting import analyze_tree, ownership_below
from gtp_engine.search.tree import (
    EXPANDED,
    N_NODES,
    Tree,
    add_node,
    capacity_within,
    children_of,
    clear_tree,
    find_child,
    grown,
    moves_by_prior,
    new_tree,
)
from gtp_engine.search.worker import Worker

FIRST_NODES = 2048
"""Room of a new tree."""
FEWEST_NODES = 64
"""Room of a tree that is given no memory at all."""
MOST_NODES = 1_000_000_000
"""Room of a tree however much memory there is; records of children, twice as many, are counted in
32 bits."""
PRUNED_SHARE = 0.25
"""At least this share of the nodes goes when a tree is pruned."""
UNDO_PLIES = 8
"""How many moves may be taken back without losing the tree."""
NEVER = 1 << 31
"""More visits than any node has."""
MOST_VISITS = 2_000_000_000
"""Visits of any node at which a search ends, for they are counted in 32 bits. Where hardly a leaf
wants a net, as at the end of a game, an analysis gets there within hours."""
CHECK_SECONDS = 0.05
"""How often a search looks whether its choice is still in doubt."""
WAIT_FOR_OTHERS_SECONDS = 0.02
"""Longest sleep of a worker that found nothing but leaves in flight; a leaf backed up ends it."""

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
            memory_mb: Room for the tree, in MiB; a full one loses what was visited least.
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
        self._sleeping = 0
        """Workers that found nothing but leaves in flight."""
        self._noise = np.random.Generator(np.random.PCG64(seed))
        self._workers = [Worker(self, batch, seed) for _ in range(threads)]
        self._helpers: list[threading.Thread] = []
        self._stop = threading.Event()
        self.tree: Tree
        self._position: Position | None
        self._avoid: list[tuple[AvoidRule, PointMask]]
        self._forbidden: frozenset[int]
        self._planted_for: tuple[int, int, bool] | None
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
        trail = [] if fresh else self._find_trail(position, restricted)
        self._position = position.copy()
        self._avoid = [
            (rule, _point_mask(filter(rule.forbids, range(MAX_POINTS)))) for rule in avoid
        ]
        self._forbidden = restricted
        self._forbidden_mask = _point_mask(restricted)
        self._trail = self._within_count(trail[-1 - UNDO_PLIES :]) or self._plant()
        if restricted and self.tree.nodes[self.root]["state"] == EXPANDED:
            drop_moves_at(self.tree, self.root, self._forbidden_mask)
            self._trail = [self.root]  # what it has lost, those above have not

    def _find_trail(self, position: Position, forbidden: frozenset[int]) -> list[int]:
        """Return the nodes from the oldest one kept down to a position's; none if it has none."""
        old = self._position
        if old is None or not _same_game(old, position):
            return []
        moves = position.moves
        n_before = len(old.moves) - len(self._trail) + 1
        if moves[:n_before] != old.moves[:n_before]:
            return []
        # In the tree two passes lead on into the encore, where other moves are legal. What lies
        # there says nothing about a game that has ended instead, or goes on as before.
        if any(
            turn["past_end"] for turn in position.history.turns[n_before + 1 : position.ply + 1]
        ):
            return []
        tree = self.tree
        trail = self._trail[:1]
        for move in moves[n_before:]:
            record = tree.nodes[trail[-1]]
            if move.color != record["to_play"] or record["state"] != EXPANDED:
                return []
            k = int(find_child(tree, trail[-1], move.point))
            if k < 0:
                return []
            trail.append(int(tree.children[record["first_child"] + k]["node"]))
        record = tree.nodes[trail[-1]]
        if record["state"] != EXPANDED or record["to_play"] != position.to_play:
            return []
        if self._forbidden and trail[-1] != self.root:
            return [trail[-1]] if self.root in trail else []
        # Moves left out before would be missing from the tree now.
        return trail if self._forbidden <= forbidden else []

    def _within_count(self, trail: list[int]) -> list[int]:
        """Return a trail without ancestors that have little room left for counting visits."""
        visits = [int(self.tree.nodes[node]["visits"]) for node in trail[:-1]]
        too_many = sum(n > MOST_VISITS // 2 for n in visits)  # they come first
        return trail[too_many:]

    def _plant(self) -> list[int]:
        """Begin a new tree at the present position; return its root."""
        assert self._position is not None
        width, height = self._position.width, self._position.height
        has_ownership = self.evaluator.has_ownership
        most = capacity_within(self.memory_bytes, width * height, has_ownership)
        self._most_nodes = max(min(most, MOST_NODES), FEWEST_NODES)
        if self._planted_for != (width, height, has_ownership):
            self._planted_for = (width, height, has_ownership)
            first = min(FIRST_NODES, self._most_nodes)
            self.tree = new_tree(first, width, height, has_ownership)
        clear_tree(self.tree)
        return [int(add_node(self.tree, self._position.to_play))]

    def clear(self) -> None:
        """Forget the tree and the position."""
        self._position = None
        self._avoid = []
        self._forbidden = frozenset()
        self._trail = [0]
        self._planted_for = None
        self.tree = new_tree(1, 1, 1, False)

    @property
    def root(self) -> int:
        """The node of the position."""
        return self._trail[-1]

    @property
    def leader(self) -> Worker:
        """The worker that is stepped by whoever runs the search; the others have threads."""
        return self._workers[0]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the board."""
        assert self._position is not None
        return self._position.width, self._position.height

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
        try:
            self.begin(limits, report or ReportRequest())
            n_steps = 0
            began = time.monotonic()
            while self.goes_on():
                self.leader.step()
                n_steps += 1
                self.attend()
            if n_steps:
                self.step_seconds = (time.monotonic() - began) / n_steps
        except BaseException:
            self.abandon()
            raise
        return self.end()

    def stop(self) -> None:
        """End the running search soon, from any thread."""
        self._stop.set()

    def forget_stop(self) -> None:
        """Take back a `stop` that came when nothing was running."""
        self._stop.clear()

    def begin(self, limits: Limits, report: ReportRequest) -> None:
        """Start what `run` does, and leave the rest to the caller.

        While `goes_on()`, steps of the `leader` and `attend` are due; `end` or, if anything
        raised an exception, `abandon` concludes it.

        Raises:
            NetFileError: The net failed.
        """
        assert self._position is not None, "set_position comes first"
        self._limits = limits
        self._report = report
        self._started = time.monotonic()
        first = report.interval if report.first_after is None else report.first_after
        self._next_report = self._started + first
        self._next_check = self._started + min(CHECK_SECONDS, limits.soft_seconds or CHECK_SECONDS)
        self._playouts = 0
        self._most_playouts = MOST_VISITS - int(self.tree.nodes[self._trail[0]]["visits"])
        self._over = False
        self._error = None
        self.numbers = self.params.numbers
        for worker in self._workers:
            worker.begin(self._position, self._trail)
        if self.tree.nodes[self.root]["state"] != EXPANDED:
            self.leader.evaluate_root()
            self._playouts = 1
        elif self._treats_roots_apart and self.goes_on():
            self.leader.renew_root()
        self.score = self._centered_score_utility()
        for worker in self._workers[1:]:
            helper = threading.Thread(target=self._run_helper, args=(worker,), daemon=True)
            self._helpers.append(helper)
            helper.start()

    def end(self) -> Analysis:
        """Return what was found since `begin`, and report it.

        Raises:
            NetFileError: The net failed in another thread.
        """
        self._join_helpers()
        if self._error is not None:
            self.clear()
            raise self._error
        final = self.analysis(self._report, is_final=True)
        if self._report.callback is not None:
            self._report.callback(final)
        return final

    def abandon(self) -> None:
        """Give up what was begun, and the tree: descents in flight have left their marks in it."""
        self._join_helpers()
        self.clear()

    def _join_helpers(self) -> None:
        self._over = True
        for helper in self._helpers:
            helper.join()
        self._helpers.clear()
        self._stop.clear()

    def _run_helper(self, worker: Worker) -> None:
        try:
            worker.run()
        except Exception as error:
            self._error = error
            self._over = True

    def attend(self) -> None:
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
        if len(self.root_moves()) == 1:
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
        if limits.visits is not None and self._visits_in_flight() >= limits.visits:
            return False
        seconds = limits.seconds
        return seconds is None or time.monotonic() < self._started + seconds

    def allowed_playouts(self) -> int:
        """Return how many playouts may start now. The lock is held."""
        if not self.goes_on():
            return 0
        limits = self._limits
        left = self._most_playouts - self._playouts
        if left <= 0:
            self._over = True
            return 0
        if limits.playouts is not None:
            left = min(left, limits.playouts - self._playouts)
        if limits.visits is not None:
            left = min(left, limits.visits - self._visits_in_flight())
        return left

    def count_playouts(self, n: int, *, collided: bool) -> None:
        """Count playouts that have begun, and a descent that found its leaf in flight.

        The lock is held.
        """
        self._playouts += n
        self.collisions += collided

    def _visits_in_flight(self) -> int:
        """Return the root's visits, those in flight counted."""
        record = self.tree.nodes[self.root]
        return int(record["visits"]) + int(record["pending"])

    def wait_for_others(self) -> None:
        """Sleep until a leaf in flight is backed up, or a moment. The lock is held."""
        self._sleeping += 1
        try:
            self.lock.wait(WAIT_FOR_OTHERS_SECONDS)
        finally:
            self._sleeping -= 1

    def wake_workers(self) -> None:
        """Wake those that wait for others. The lock is held."""
        if self._sleeping:
            self.lock.notify_all()

    def make_room(self) -> bool:
        """Make room in a full tree; False if all of it is in flight. The lock is held.

        What lies aside from the moves played goes first. If that does not help much, the tree
        grows; where it must not, the nodes that were visited least go.
        """
        trail = np.array(self._trail, np.int32)
        tree = self.tree
        capacity = len(tree.nodes)
        prune(tree, trail, NEVER, 0)
        if tree.counts[N_NODES] <= (1.0 - PRUNED_SHARE) * capacity:
            return True
        if capacity < self._most_nodes:
            self.tree = grown(tree, self._next_capacity(capacity))
            return True
        prune(tree, trail, NEVER, visits_to_stay(tree, PRUNED_SHARE))
        return bool(tree.counts[N_NODES] < capacity)

    def _next_capacity(self, capacity: int) -> int:
        """Return twice the capacity, or the most if that would be too near to it.

        Old and new nodes are in memory together while a tree grows, so the last step must begin
        at no more than half the most. Room that was never used takes no memory.
        """
        return self._most_nodes if 4 * capacity > self._most_nodes else 2 * capacity

    @property
    def is_restricted(self) -> bool:
        """Whether some moves may not be tried somewhere."""
        return bool(self._forbidden or self._avoid)

    def forbidden_at(self, depth: int) -> PointMask | None:
        """Return which moves may not be tried so many plies below the root; None for none."""
        color = self.to_play if depth % 2 == 0 else opponent(self.to_play)
        mask = self._forbidden_mask if depth == 0 and self._forbidden else None
        for rule, forbidden in self._avoid:
            if rule.holds(color, depth):
                mask = forbidden if mask is None else mask | forbidden
        return mask

    @property
    def _treats_roots_apart(self) -> bool:
        """Whether a root has other priors than the same position inside a tree."""
        params = self.params
        is_less_optimistic = params.root_policy_optimism != params.policy_optimism
        return (
            params.root_symmetries > 1
            or params.root_policy_temperature != 1.0
            or (is_less_optimistic and self.evaluator.has_optimism)
        )

    def adjust_root_priors(self, batch: EvalBatch) -> None:
        """Apply the root's policy temperature and noise to slot 0."""
        params = self.params
        n = int(batch.n_moves[0])
        priors = batch.priors[0, :n]
        if params.root_policy_temperature != 1.0:
            # Over the highest, which then stays 1: high powers of small numbers are all zero.
            priors[:] = (priors / priors.max()) ** (1.0 / params.root_policy_temperature)
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
        return visited_children(self.tree, self.root, self.score, self.params)

    def analysis(self, report: ReportRequest, *, is_final: bool = False) -> Analysis:
        """Return the present state of the search."""
        assert self._position is not None
        with self.lock:
            return analyze_tree(
                self.tree,
                self.root,
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
        return int(self.tree.nodes[self.root]["to_play"])

    def root_moves(self) -> list[int]:
        """Return the moves considered at the root, by descending prior."""
        return [move for move, _ in moves_by_prior(self.tree, self.root)]

    def favourites(self) -> list[int]:
        """Return the moves that the tree already knows at the root, most visited first."""
        if self.tree.nodes[self.root]["state"] != EXPANDED:
            return []
        tried = sorted(children_of(self.tree, self.root), key=lambda each: -int(each["visits"]))
        found = [int(each["move"]) for each in tried]
        return found + [move for move in self.root_moves() if move not in found]

    def ownership(self) -> npt.NDArray[np.float32] | None:
        """Return the ownership expected at the root, for the player to move; None without."""
        assert self._position is not None
        return ownership_below(self.tree, self.root, self._position)

    def _centered_score_utility(self) -> ScoreUtility:
        assert self._position is not None
        record = self.tree.nodes[self.root]
        lead = float(record["lead_sum"]) / max(1, int(record["visits"]))
        params = self.params
        return ScoreUtility(
            float(params.score_utility),
            float(params.dynamic_score_utility),
            float(params.score_scale * 2.0 * self._position.area**0.5),
            lead if record["to_play"] == WHITE else -lead,
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
        and a.history.turns[0]["to_play"] == b.history.turns[0]["to_play"]
        and bool(np.array_equal(a.history.boards[0]["color"], b.history.boards[0]["color"]))
    )
