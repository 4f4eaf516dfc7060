"""Playouts, from top to bottom.

    select      follow PUCT from the root to a new leaf, and mark the path as in flight
    encode      play the path's moves on a game of one's own, and write the leaf into an eval batch
    recall      leaves whose evaluation is remembered need no net              (evaluators)
    evaluate    ask the net                                                    (evaluators)
    expand      give the leaf its moves and their priors                       (tree.expand)
    back up     add the evaluation to every node of the path, and take it out of flight

A `Worker` is one thread's share of a search: `Worker.step` makes one playout for each slot of its
eval batch. Only what touches the tree, select, expand and back up, holds the tree's lock; playing
moves, encoding and evaluating happen outside it, on arrays that belong to the worker.

A selection follows, at each node, the child that `puct.select_child` names. Descents in flight
count as lost visits, the *virtual loss* of Chaslot et al. 2008, so that several of them spread out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, OVER
from gtp_engine.evaluators.eval_batch import EvalBatch, gather_slots
from gtp_engine.evaluators.evaluator import Evaluator, evaluate_symmetries
from gtp_engine.kernels import hot_kernel, inline_kernel, int64, kernel
from gtp_engine.search.game import Branch, Game
from gtp_engine.search.params import PuctNumbers, ScoreUtility, SearchParams
from gtp_engine.search.pruning import ForbiddenMoves, drop_moves
from gtp_engine.search.puct import select_child
from gtp_engine.search.root import adjust_priors, heat
from gtp_engine.search.shared_tree import SharedTree
from gtp_engine.search.stopping import StopCondition
from gtp_engine.search.tree import (
    EXPANDED,
    HELD,
    NEW,
    TERMINAL,
    ChildRecord,
    Tree,
    add_child,
    expand,
    has_room,
    renew_priors,
)

MAX_DEPTH = 384
"""Longest path of a descent; deeper nodes are not added."""

PATH = np.dtype(
    [
        ("length", np.int32),  # nodes
        ("nodes", np.int32, (MAX_DEPTH + 1,)),
        ("slots", np.int16, (MAX_DEPTH + 1,)),  # which of its parent's children each node is
        ("moves", np.int16, (MAX_DEPTH + 1,)),  # the move that leads to each node
    ],
    align=True,
)
"""A way down the tree; slot and move of the first node mean nothing."""

PathRecord = Any
"""A numpy record of dtype PATH."""

Paths = npt.NDArray[np.void]
"""[slots] of PATH."""

LEAF, AGAIN, COLLISION, FULL, CROWDED = 0, 1, 2, 3, 4
"""How a selection ended: at a new node to evaluate, at a node whose value is known (the end of a
game), at a node that another worker is just evaluating, where a new node found no room, or before
it began, because enough leaves are in flight."""

MAX_REPEATS = 32
"""Known leaves backed up in one hold of the lock, and others in one step."""

VISITS_A_LEAF = 8
"""Visits of the root for each leaf that may be in flight. A leaf is chosen without knowing those in
flight, so that the first visits of a large batch go astray: a small share of what is known already
does no harm. Of 8 leaves against 1 at 64 visits on 7x7, `gtp-engine net match` says -37 Elo (95 %:
-85 to +12, 200 games) without this rule, and 0 (-34 to +34, 400 games) with it."""
FEWEST_LEAVES = 2
"""Leaves that may always be in flight; two lose nothing to one at 16 visits."""


@dataclass(slots=True)
class RunTerms:
    """What holds for every playout of one run, whichever worker makes it."""

    game: Game
    """At the root."""
    params: SearchParams
    numbers: PuctNumbers
    """PUCT's constants among these."""
    score: ScoreUtility
    """How points count; known once the root is evaluated."""
    forbidden: ForbiddenMoves
    stopping: StopCondition
    noise: np.random.Generator
    """Draws the root's noise."""


class Worker:
    """One thread's playouts on a tree that it may share with other workers."""

    def __init__(
        self, evaluator: Evaluator, shared: SharedTree, slots: int, seed: int, workers: int = 1
    ) -> None:
        """Make one of several workers on a tree; a step makes as many leaves as there are slots."""
        self._workers = workers
        self.slots = slots
        """Leaves of a step, at most."""
        self.evaluator = evaluator
        self._shared = shared
        self._seed = seed & (2**63 - 1)
        self._paths = np.zeros(slots, PATH)
        self._root_at = 0
        self._branch: Branch | None = None
        self._size = (0, 0)
        self._terms: RunTerms

    def begin(self, terms: RunTerms) -> None:
        """Take up a run, whose root is the last node of the shared tree's root path."""
        game = terms.game
        if self._size != (game.width, game.height):
            size = (game.width, game.height)
            self._batch = self.evaluator.new_batch(self.slots, *size)
            self._size = size  # only now: a refused size is refused again
        self._terms = terms
        self._branch = game.branch(MAX_DEPTH, self._branch)
        self._symmetries = self._branch.symmetries if terms.params.random_symmetry else 1
        nodes, slots = self._shared.root_path, self._shared.root_slots()
        self._root_at = len(nodes) - 1
        self._paths["length"] = len(nodes)
        self._paths["nodes"][:, : len(nodes)] = nodes
        self._paths["slots"][:, : len(nodes)] = slots

    # A step, for which a search that is stepped together with others is asked piece by piece ------

    def step(self) -> None:
        """Make as many playouts as there are slots, or fewer if leaves are in flight elsewhere."""
        n = self.fill(self._batch, 0)
        if n:
            self.evaluator.evaluate(self._batch, n, use_cache=self._terms.params.use_cache)
            self.expand_and_back_up(self._batch, 0, n)

    def fill(self, batch: EvalBatch, first: int) -> int:
        """Select leaves and encode them until each slot has one, or no more can be had now.

        Where the game is over, or the evaluation is remembered, a leaf is backed up at once and
        others come in its place: a net takes nearly as long for a batch that is not full.

        Args:
            batch: For boards of the game's size; whoever calls evaluates it.
            first: The slot of the first leaf; there is room for `slots` from there on.

        Returns:
            How many slots were filled; unless none, `expand_and_back_up` is to follow.
        """
        filled = known = 0
        while known < MAX_REPEATS:
            n = self._select(filled)
            kept = self._encode(batch, first, filled, n)
            filled += kept
            if kept == n:
                break
            known += n - kept
        return filled

    def _select(self, filled: int) -> int:
        """Select new leaves for the slots behind those that are filled; return how many."""
        shared, terms = self._shared, self._terms
        with shared.lock:
            allowed = terms.stopping.allowance()
            if not allowed:
                return 0
            leaves, repeats, ended = select_leaves(
                shared.tree,
                self._paths,
                filled,
                self._root_at,
                allowed,
                self._workers,
                terms.numbers,
                terms.score,
            )
            terms.stopping.count(leaves + repeats)
            shared.collisions += ended == COLLISION
            waits = ended in (COLLISION, CROWDED)
            if ended == FULL:
                if terms.stopping.has_time(shared.seconds_to_make_room()):
                    waits = not shared.make_room()
                else:  # so large a tree knows what to play
                    terms.stopping.end()
            if waits and not leaves and not filled:
                shared.wait()
        return int(leaves)

    def _encode(self, batch: EvalBatch, first: int, filled: int, n: int) -> int:
        """Play out the paths selected last; encode their leaves, or back up those that are known.

        Returns:
            How many more slots were filled.
        """
        branch, terms, paths = self._branch, self._terms, self._paths
        assert branch is not None
        end = filled
        for i in range(filled, filled + n):
            if end != i:
                paths[end] = paths[i]
            ply, symmetry = branch.follow(paths, end, self._root_at, self._symmetries, self._seed)
            if symmetry == OVER:
                self._back_up_end(end, branch.white_lead(ply))
            else:
                optimism = terms.params.policy_optimism
                history, rules = branch.history, branch.rules
                slot = first + end
                self.evaluator.encode(batch, slot, history, ply, rules, symmetry, optimism)
                batch.slots["depth"][slot] = ply - branch.root_ply
                end += 1
        if terms.params.use_cache and end > filled:
            end = self._recall(batch, first, filled, end)
        return end - filled

    def _recall(self, batch: EvalBatch, first: int, begin: int, end: int) -> int:
        """Back up those leaves that are remembered; return where the others, moved up, end."""
        unknown = self.evaluator.recall(batch, first + begin, end - begin)
        if len(unknown) == end - begin:
            return end
        for i in range(begin, end):
            if first + i not in unknown:
                self.expand_and_back_up(batch, first + i, 1, at=i)
        gather_slots(batch, unknown, first + begin)
        kept = begin + len(unknown)
        self._paths[begin:kept] = self._paths[[slot - first for slot in unknown]]
        return kept

    def expand_and_back_up(self, batch: EvalBatch, first: int, n: int, at: int = 0) -> None:
        """Put the evaluations of some slots into the tree, whose paths begin with that at `at`."""
        paths = self._paths[at:]
        forbidden = self._terms.forbidden
        if forbidden:
            for i in range(n):
                mask = forbidden.at(int(paths[i]["length"]) - 1 - self._root_at)
                if mask is not None:
                    drop_moves(batch, first + i, mask)
        params = self._terms.params
        if params.policy_temperature != 1.0:
            for i in range(first, first + n):
                heat(batch.priors[i, : int(batch.n_moves[i])], params.policy_temperature)
        visits = int(params.expansion_visits)
        with self._shared.lock:
            expand_and_back_up(self._shared.tree, batch, first, paths, n, visits)
            self._shared.wake()

    def _back_up_end(self, i: int, white_lead: float) -> None:
        with self._shared.lock:
            back_up_end(self._shared.tree, self._paths, i, white_lead)
            self._shared.wake()

    # The root -----------------------------------------------------------------------------------

    def evaluate_root(self) -> None:
        """Evaluate and expand the root."""
        mark(self._shared.tree, self._paths[0])
        batch = self._judge_root()
        with self._shared.lock:
            expand_and_back_up(self._shared.tree, batch, 0, self._paths, 1, 1)

    def renew_root(self) -> None:
        """Give the root of a kept tree, so far a node like others, the priors of a root."""
        batch = self._judge_root()
        n_moves = int(batch.n_moves[0])
        with self._shared.lock:
            root = self._shared.root
            renew_priors(self._shared.tree, root, batch.moves[0], batch.priors[0], n_moves)

    def _judge_root(self) -> EvalBatch:
        """Return a batch whose first slot has what is to be known of the root."""
        terms, branch, batch = self._terms, self._branch, self._batch
        assert branch is not None
        params = terms.params
        _, symmetry = branch.follow(self._paths, 0, self._root_at, self._symmetries, self._seed)
        shown = range(min(branch.symmetries, params.root_symmetries))
        if len(shown) > len(batch.slots):
            batch = self.evaluator.new_batch(len(shown), *self._size)
        position = branch.history, branch.root_ply, branch.rules
        if len(shown) == 1:
            self.evaluator.encode(batch, 0, *position, symmetry, params.root_policy_optimism)
            self.evaluator.evaluate(batch, 1, use_cache=params.use_cache)
        else:
            optimism = params.root_policy_optimism
            evaluate_symmetries(self.evaluator, batch, *position, shown, optimism)
        forbidden = terms.forbidden.at(0)
        if forbidden is not None:
            drop_moves(batch, 0, forbidden)
        adjust_priors(batch.priors[0, : int(batch.n_moves[0])], params, terms.noise)
        return batch


# Select ------------------------------------------------------------------------------------------


@hot_kernel
def select_leaves(
    tree: Tree,
    paths: Paths,
    filled: int,
    root_at: int,
    allowed: int,
    workers: int,
    numbers: PuctNumbers,
    score: ScoreUtility,
) -> tuple[int, int, int]:
    """Select new leaves until the slots are full or no more can be had at the moment.

    Args:
        filled: How many of the paths lead to leaves selected before and still in flight.
        workers: How many share the leaves that may be in flight.

    Returns:
        The number of new leaves; that of playouts to known ends of games, which are backed
        up already; what kept it from going on: LEAF for nothing, or COLLISION, FULL or CROWDED.
    """
    leaves = 0
    repeats = 0
    root = tree.nodes[paths[0]["nodes"][root_at]]
    most = max(int64(FEWEST_LEAVES), int64(root["visits"]) // VISITS_A_LEAF)
    own = min(paths.shape[0], max(int64(1), most // workers)) - filled
    slots = min(own, most - int64(root["pending"]))
    if slots <= 0:
        return leaves, repeats, int64(CROWDED)
    while leaves < slots and leaves + repeats < allowed and repeats < MAX_REPEATS:
        path = paths[filled + leaves]
        kind = select(tree, path, root_at, numbers, score)
        if kind in (COLLISION, FULL):
            return leaves, repeats, kind
        if kind == AGAIN:
            back_up_again(tree, path)
            repeats += 1
        else:
            leaves += 1
    return leaves, repeats, int64(LEAF)


@kernel
def select(
    tree: Tree,
    path: PathRecord,
    root_at: int,
    numbers: PuctNumbers,
    score: ScoreUtility,
    at_root: int = -1,
) -> int:
    """Follow PUCT from the root to a leaf, adding it if it is new, and mark the path as in flight.

    Args:
        tree: Its root is expanded.
        path: Holds the root and what lies above it; receives the nodes below.
        at_root: Index of the root's child to follow, as `select_child` returns it; -1 for PUCT's.

    Returns:
        LEAF, AGAIN, COLLISION or FULL. After the last two nothing is marked.
    """
    at = root_at
    node = int64(path["nodes"][at])
    is_new = False
    while not is_new:
        state = tree.nodes[node]["state"]
        if state == NEW:
            return COLLISION
        if state in (TERMINAL, HELD) or at == MAX_DEPTH:
            break
        if at == root_at and at_root >= 0:
            k = at_root
        else:
            k = select_child(tree, node, at == root_at, numbers, score)
        if k < 0:
            break  # a root without a move: its game is over
        is_new = k == tree.nodes[node]["n_children"]
        if is_new:
            if not has_room(tree):
                return FULL
            add_child(tree, node)
        edge = tree.children[int64(tree.nodes[node]["first_child"]) + k]
        at += 1
        node = int64(edge["node"])
        path["nodes"][at] = node
        path["slots"][at] = k
        path["moves"][at] = edge["move"]
    path["length"] = at + 1
    mark(tree, path)
    return LEAF if is_new or tree.nodes[node]["state"] == HELD else AGAIN


@inline_kernel
def mark(tree: Tree, path: PathRecord) -> None:
    """Mark a path as in flight."""
    for i in range(int64(path["length"])):
        tree.nodes[path["nodes"][i]]["pending"] += 1
        if i > 0:
            _edge_at(tree, path, i)["pending"] += 1


@inline_kernel
def _edge_at(tree: Tree, path: PathRecord, i: int) -> ChildRecord:
    """Return what the parent of a path's node has seen of it."""
    node = path["nodes"][i]
    parent = tree.nodes[path["nodes"][i - 1]]
    first = int64(parent["first_child"])
    # Where siblings were pruned meanwhile, those behind them have moved up.
    slot = min(int64(path["slots"][i]), int64(parent["n_children"]) - 1)
    while tree.children[first + slot]["node"] != node:
        slot -= 1
    path["slots"][i] = slot
    return tree.children[first + slot]


# Expand and back up ------------------------------------------------------------------------------


@hot_kernel
def expand_and_back_up(
    tree: Tree, batch: EvalBatch, first: int, paths: Paths, n: int, expansion_visits: int
) -> None:
    """Expand the last nodes of the first n paths, and back up their evaluations.

    Args:
        first: The slot of the first path; those of the others follow.
        expansion_visits: Visits, this one counted, from which nodes are expanded.
    """
    for i in range(n):
        expand_leaf(tree, batch, first + i, paths[i], expansion_visits)


@kernel
def expand_leaf(
    tree: Tree, batch: EvalBatch, slot: int, path: PathRecord, expansion_visits: int
) -> None:
    """Expand the last node of a path if it is due, and back up the evaluation of a slot."""
    node = int64(path["nodes"][path["length"] - 1])
    numbers = batch.slots[slot]
    record = tree.nodes[node]
    if record["state"] != EXPANDED:  # or another worker was quicker
        if record["visits"] + 1 >= expansion_visits:
            expand(tree, node, batch.moves[slot], batch.priors[slot], int64(numbers["n_moves"]))
        else:
            record["state"] = HELD
    record["raw_value"] = numbers["value"]
    record["raw_lead"] = numbers["lead"]
    record["raw_stdev"] = numbers["stdev"]
    _keep_ownership(tree, node, batch.ownership[slot])
    value, lead = np.float64(numbers["value"]), np.float64(numbers["lead"])
    back_up(tree, path, value, lead, np.float64(numbers["stdev"]))


@kernel
def back_up_again(tree: Tree, path: PathRecord) -> None:
    """Back up what is known of the last node of a path."""
    record = tree.nodes[path["nodes"][path["length"] - 1]]
    value = np.float64(record["raw_value"])
    lead = np.float64(record["raw_lead"])
    back_up(tree, path, value, lead, np.float64(record["raw_stdev"]))


@kernel
def _keep_ownership(tree: Tree, node: int, ownership: npt.NDArray[np.float32]) -> None:
    """Write a node's ownership, [A] of -1..1, in whole numbers, halves going to the even one."""
    row = tree.ownership[node]
    for point in range(min(row.shape[0], ownership.shape[0])):
        row[point] = np.int8(np.rint(ownership[point] * np.float32(127.0)))


@hot_kernel
def back_up_end(tree: Tree, paths: Paths, slot: int, white_lead: float) -> None:
    """Make the last node of a path the end of a game and back it up.

    Args:
        white_lead: By how much White has won there.
    """
    path = paths[slot]
    record = tree.nodes[path["nodes"][path["length"] - 1]]
    lead = -white_lead if record["to_play"] == BLACK else white_lead
    value = 0.0
    if lead > 0.0:
        value = 1.0
    elif lead < 0.0:
        value = -1.0
    record["state"] = TERMINAL
    record["raw_value"] = value
    record["raw_lead"] = lead
    record["raw_stdev"] = 0.0
    back_up(tree, path, value, lead, 0.0)


@kernel
def back_up(tree: Tree, path: PathRecord, value: float, lead: float, stdev: float) -> None:
    """Add one evaluation to every node of a path and take the path out of flight.

    Args:
        path: From the top down, as `select` left it.
        value: Win-loss value, for the player to move at the last node of the path.
        stdev: Standard deviation of the score, points.
    """
    for i in range(int64(path["length"]) - 1, -1, -1):
        record = tree.nodes[path["nodes"][i]]
        record["pending"] -= 1
        record["visits"] += 1
        record["value_sum"] += value
        record["value_sq_sum"] += value * value
        record["lead_sum"] += lead
        record["stdev_sum"] += stdev
        if i > 0:
            edge = _edge_at(tree, path, i)
            edge["pending"] -= 1
            edge["visits"] += 1
            edge["value_sum"] += value
            edge["lead_sum"] += lead
        value = -value
        lead = -lead
