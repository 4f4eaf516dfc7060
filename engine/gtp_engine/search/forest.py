"""Searches of many games in step with each other, as many trees in one: for self-play.

    select      one call for all: each search goes down its tree to a leaf, which may be its root
    encode      each leaf is played out on a branch of its game and written into one eval batch
    recall      leaves that are known, ends of games too, are backed up, and others selected
    evaluate    ask the net once for all                                       (evaluators)
    expand      one call for all; back up likewise

Nothing is reported, nobody shares a tree, and a game is never copied: the plies behind its root are
scratch. A `Search` would begin, end and lock each of them by itself. What a root does otherwise
while a net learns stands in `learning.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import OVER, action_to_point
from gtp_engine.evaluators.eval_batch import EvalBatch, gather_slots
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.kernels import hot_kernel, int64, kernel
from gtp_engine.search.choice import utility_of
from gtp_engine.search.game import Branch
from gtp_engine.search.learning import (
    Floats,
    RootResult,
    considered_visits,
    forced_child,
    gumbel_candidates,
    gumbel_child,
)
from gtp_engine.search.params import PuctNumbers, ScoreUtility, SearchParams
from gtp_engine.search.playout import (
    AGAIN,
    FULL,
    LEAF,
    PATH,
    Paths,
    back_up_again,
    back_up_end,
    expand_leaf,
    mark,
    select,
)
from gtp_engine.search.pruning import release
from gtp_engine.search.puct import center_of, child_utility
from gtp_engine.search.root import adjust_priors
from gtp_engine.search.tree import (
    EXPANDED,
    N_NODES,
    NEW,
    Tree,
    action_of,
    add_node,
    children_of,
    clear_tree,
    find_child,
    grown,
    new_tree,
    priors_of,
    renew_priors,
    white_lead_at,
)

FIRST_NODES = 4096
"""Room of a new forest; it grows."""

NONE, FOUND, ENCODED = 0, 1, 2
"""Nothing to evaluate; a leaf just selected; one that waits for its evaluation."""

MAX_ROUNDS = 8
"""Of selections in one step, where leaves turn out to be known."""

SEAT = np.dtype(
    [
        ("center_white", np.float64),  # White's lead around which points count
        ("forced", np.float64),  # factor of the forced playouts; 0 for none
        ("root", np.int32),
        ("visits", np.int32),  # of the root at which the search is over; 0 for no search
        ("gumbel", np.int32),  # candidates of a Gumbel root; 0 for a plain one
        ("begun", np.int32),  # visits of a Gumbel root when its playouts began
        ("leaf", np.uint8),  # what is at the end of the seat's path: NONE, FOUND or ENCODED
    ],
    align=True,
)
"""A game's place in a forest."""


@dataclass(frozen=True, slots=True)
class RootPlan:
    """How one search of a seat is to go."""

    visits: int
    """Of the root, those of a kept tree counted."""
    noise: bool = False
    """Whether the root's priors get the noise and temperature of the parameters."""
    forced: float = 0.0
    """Factor of the forced playouts; 0: none."""
    gumbel: int = 0
    """Candidates of a Gumbel root, which keeps no tree; 0: a plain root."""


class Forest:
    """The searches of G games on boards of one size, a seat each, for one thread."""

    def __init__(
        self,
        evaluator: Evaluator,
        width: int,
        height: int,
        seats: int,
        params: SearchParams,
        seed: int = 0,
    ) -> None:
        """Make a forest without games.

        Args:
            evaluator: Judges positions; `use` puts another in its place at any time.
            seed: Fixes symmetries, noise and candidates.

        Raises:
            NetFileError: The net does not take this size.
        """
        self.width, self.height, self._area = width, height, width * height
        self.params = params
        self.evaluations = 0
        """Leaves that the evaluator was asked about."""
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self._seed = seed & (2**63 - 1)
        self._tree = new_tree(FIRST_NODES, width, height, False)
        self._seats = np.zeros(seats, SEAT)
        self._paths = np.zeros(seats, PATH)
        self._branches: list[Branch | None] = [None] * seats
        self._plans = [RootPlan(0)] * seats
        self._priors: list[Floats | None] = [None] * seats
        self._candidates = np.zeros((seats, width * height + 1))
        actions = np.arange(width * height + 1)
        self._points = np.array([action_to_point(int(a), width, height) for a in actions], np.int16)
        self._schedules = np.zeros((seats, 0), np.int32)
        self.use(evaluator)

    def use(self, evaluator: Evaluator) -> None:
        """Ask this evaluator from now on; what is known already stays.

        Raises:
            NetFileError: The net does not take this size; the old one stays.
        """
        self._batch = evaluator.new_batch(len(self._seats), self.width, self.height)
        self.evaluator = evaluator

    # Games ----------------------------------------------------------------------------------------

    def sit(self, seat: int, branch: Branch) -> None:
        """Give a seat to a game, which the branch holds at the position to be searched first."""
        self._leave(seat)
        self._branches[seat] = branch
        self._plant(seat)

    def reset(self) -> None:
        """Forget all that is known, as after a net has failed; games and plans stay."""
        clear_tree(self._tree)
        self._seats["leaf"] = NONE
        for seat, branch in enumerate(self._branches):
            if branch is not None:
                self._plant(seat)
                self.begin(seat, self._plans[seat])

    def move(self, seat: int, action: int, *, keep: bool) -> float | None:
        """Make a legal move in a game whose search is over.

        Args:
            keep: Whether to keep what is known of the position that it leads to.

        Returns:
            White's lead if the game is over; the seat is then free.
        """
        branch = self._branches[seat]
        assert branch is not None
        path = self._paths[seat]
        move = int(self._points[action])
        path["length"], path["moves"][1] = 2, move
        ply, symmetry = branch.follow(self._paths, seat, 0, 1, 0)
        if symmetry == OVER:
            self._leave(seat)
            return branch.white_lead(ply)
        branch.root_ply = ply
        tree, root = self._tree, int(self._seats[seat]["root"])
        k = int(find_child(tree, root, move)) if keep else -1
        kept = int(children_of(tree, root)["node"][k]) if k >= 0 else -1
        if kept >= 0 and tree.nodes[kept]["state"] != EXPANDED:
            kept = -1
        release(tree, root, kept)
        if kept < 0:
            self._plant(seat)
        else:
            self._seats[seat]["root"] = kept
            self._priors[seat] = None
        return None

    def white_lead(self, seat: int) -> float:
        """Return by how many points White leads if the game is counted as it stands."""
        branch = self._branches[seat]
        assert branch is not None
        return branch.white_lead(branch.root_ply)

    def to_play(self, seat: int) -> int:
        """Return who is to move."""
        return int(self._tree.nodes[self._seats[seat]["root"]]["to_play"])

    def _leave(self, seat: int) -> None:
        if self._branches[seat] is not None:
            release(self._tree, int(self._seats[seat]["root"]), -1)
        self._branches[seat] = None
        self._seats[seat]["visits"] = 0

    def _plant(self, seat: int) -> None:
        branch = self._branches[seat]
        assert branch is not None
        to_play = int(branch.history.turns[branch.root_ply]["to_play"])
        if self._tree.counts[N_NODES] + 1 >= len(self._tree.nodes):
            self._grow()
        self._seats[seat]["root"] = add_node(self._tree, to_play)
        self._priors[seat] = None

    def _grow(self) -> None:
        self._tree = grown(self._tree, 2 * len(self._tree.nodes))

    # Searches -------------------------------------------------------------------------------------

    def begin(self, seat: int, plan: RootPlan) -> None:
        """Begin a search of a seat's position; `step` until it `is_over`."""
        self._plans[seat] = plan
        record = self._seats[seat]
        record["visits"] = plan.visits
        record["forced"] = 0.0  # until the root is ready
        record["gumbel"] = 0
        if self._tree.nodes[record["root"]]["state"] == EXPANDED:
            self._prepare(seat)

    def is_over(self, seat: int) -> bool:
        """Whether a seat's search has made its visits."""
        record = self._seats[seat]
        return bool(self._tree.nodes[record["root"]]["visits"] >= record["visits"])

    def finished(self) -> list[int]:
        """Return the seats whose searches have made their visits."""
        visits, wanted = self._tree.nodes["visits"][self._seats["root"]], self._seats["visits"]
        seats: list[int] = np.flatnonzero((visits >= wanted) & (wanted > 0)).tolist()
        return seats

    def step(self) -> None:
        """Make a playout, or several if they end at ends of games, of every search not over.

        Raises:
            NetFileError: The net failed; `reset` before anything else.
        """
        taken: list[int] = []
        for _ in range(MAX_ROUNDS):
            found, is_full = self._select()
            before = len(taken)
            self._encode(found, taken)
            if not is_full and len(taken) - before == len(found):
                break  # each search that is not over waits for an evaluation
        if taken:
            self.evaluator.evaluate(self._batch, len(taken), use_cache=self.params.use_cache)
            self.evaluations += len(taken)
            self._expand(range(len(taken)), taken)

    def _select(self) -> tuple[list[int], bool]:
        """Select leaves for all searches that have none.

        Returns:
            Their seats, and whether the tree was full, so that some have found none.
        """
        params = self.params
        is_full = select_all(
            self._tree,
            self._paths,
            self._seats,
            self._candidates,
            self._schedules,
            params.numbers,
            params.score_around(0.0, self._area),
        )
        if is_full:
            self._grow()
        return np.flatnonzero(self._seats["leaf"] == FOUND).tolist(), bool(is_full)

    def _encode(self, found: list[int], taken: list[int]) -> None:
        """Encode the leaves found, or back up those that are known.

        Args:
            taken: The seats of the slots filled; receives those of the other leaves.
        """
        begin = len(taken)
        for seat in found:
            branch = self._branches[seat]
            assert branch is not None
            symmetries = branch.symmetries if self.params.random_symmetry else 1
            ply, symmetry = branch.follow(self._paths, seat, 0, symmetries, self._seed)
            if symmetry == OVER:
                back_up_end(self._tree, self._paths, seat, branch.white_lead(ply))
                continue
            history, rules = branch.history, branch.rules
            self.evaluator.encode(self._batch, len(taken), history, ply, rules, symmetry, 0.0)
            taken.append(seat)
        fresh = taken[begin:]
        self._seats["leaf"][fresh] = ENCODED
        if not fresh or not self.params.use_cache:
            return
        unknown = self.evaluator.recall(self._batch, begin, len(fresh))
        if len(unknown) == len(fresh):
            return
        known = [slot for slot in range(begin, len(taken)) if slot not in unknown]
        self._expand(known, [taken[slot] for slot in known])
        gather_slots(self._batch, unknown, begin)
        taken[begin:] = [taken[slot] for slot in unknown]

    def _expand(self, slots: Sequence[int], seats: list[int]) -> None:
        """Put the evaluations of some slots into the trees of their seats."""
        expand_all(self._tree, self._batch, self._paths, np.array(slots), np.array(seats))
        self._seats["leaf"][seats] = NONE
        for seat in seats:
            if self._paths[seat]["length"] == 1:
                self._prepare(seat)

    def _prepare(self, seat: int) -> None:
        """Make a root of the node, whose moves are known: its noise, candidates and center."""
        tree, record, plan = self._tree, self._seats[seat], self._plans[seat]
        root = int(record["root"])
        node = tree.nodes[root]
        record["center_white"] = white_lead_at(tree, root)
        by_action = priors_of(tree, root)
        legal = np.flatnonzero(by_action)
        self._priors[seat] = priors = by_action / by_action.sum()
        if len(legal) == 1:  # there is nothing to find out
            record["visits"] = node["visits"]
        if plan.noise:
            noisy = priors[legal].astype(np.float32)
            adjust_priors(noisy, self.params, self.generator)
            renew_priors(tree, root, self._points[legal], noisy, len(legal))
        record["forced"] = plan.forced
        record["gumbel"] = min(plan.gumbel, len(legal))
        if plan.gumbel:
            self._candidates[seat] = gumbel_candidates(priors, self.generator)
            record["begun"] = node["visits"]
            visits = schedule(int(record["gumbel"]), plan.visits - 1)  # one is the root's own
            more = len(visits) - self._schedules.shape[1]
            if more > 0:
                self._schedules = np.pad(self._schedules, ((0, 0), (0, more)))
            self._schedules[seat, : len(visits)] = visits

    def result(self, seat: int) -> RootResult:
        """Return what a search has found."""
        record, priors = self._seats[seat], self._priors[seat]
        assert priors is not None
        node = self._tree.nodes[record["root"]]
        score = self.params.score_around(float(record["center_white"]), self._area)
        to_play = int(node["to_play"])
        counts = np.zeros(len(priors), np.int64)
        utilities = np.zeros(len(priors))
        numbers = self.params.numbers
        read_children(self._tree, int(record["root"]), numbers, score, counts, utilities)
        return RootResult(
            value=float(node["value_sum"]) / int(node["visits"]),
            raw_utility=utility_of(
                float(node["raw_value"]), float(node["raw_lead"]), to_play, score
            ),
            priors=priors,
            followed=priors_of(self._tree, int(record["root"])),
            counts=counts,
            utilities=utilities,
            candidates=self._candidates[seat].copy(),
        )


@lru_cache
def schedule(candidates: int, playouts: int) -> npt.NDArray[np.int32]:
    """Return [playouts] `considered_visits`."""
    return np.array(considered_visits(candidates, playouts), np.int32)


@hot_kernel
def select_all(
    tree: Tree,
    paths: Paths,
    seats: npt.NDArray[np.void],
    candidates: Floats,
    schedules: npt.NDArray[np.int32],
    numbers: PuctNumbers,
    score: ScoreUtility,
) -> bool:
    """Select a leaf in every search that has none and is not over; say whether the tree is full.

    Playouts to ends of games that are known are backed up at once.

    Args:
        seats: [G] of SEAT; `leaf` is written.
        candidates: [G, A + 1] for Gumbel roots.
        schedules: [G, playouts] `considered_visits` for Gumbel roots.
        score: How points count; the center is each seat's own.
    """
    is_full = False
    for i in range(seats.shape[0]):
        seat = seats[i]
        if seat["leaf"] == ENCODED:
            continue
        seat["leaf"] = NONE
        root = int64(seat["root"])
        record = tree.nodes[root]
        path = paths[i]
        path["nodes"][0] = root
        own = ScoreUtility(
            score.static_weight, score.dynamic_weight, score.scale, seat["center_white"]
        )
        kind = AGAIN
        while kind == AGAIN and record["visits"] < seat["visits"]:
            if record["state"] == NEW:
                path["length"] = 1
                mark(tree, path)
                kind = LEAF
            else:
                child = _child_at_root(tree, seat, candidates[i], schedules[i], numbers, own)
                kind = select(tree, path, int64(0), numbers, own, child)
                if kind == AGAIN:
                    back_up_again(tree, path)
            if kind == LEAF:
                seat["leaf"] = FOUND
            elif kind == FULL:
                is_full = True
    return is_full


@kernel
def _child_at_root(
    tree: Tree,
    seat: np.void,
    candidates: Floats,
    schedule: npt.NDArray[np.int32],
    numbers: PuctNumbers,
    score: ScoreUtility,
) -> int:
    """Return the child of its root that a seat's rule names, -1 to leave it to PUCT."""
    root = int64(seat["root"])
    if seat["gumbel"] > 0:
        at = int64(tree.nodes[root]["visits"]) - int64(seat["begun"])
        visits = int64(schedule[at])
        return gumbel_child(tree, root, candidates, visits, numbers, score)
    if seat["forced"] > 0.0:
        return forced_child(tree, root, np.float64(seat["forced"]))
    return int64(-1)


@hot_kernel
def read_children(
    tree: Tree,
    node: int,
    numbers: PuctNumbers,
    score: ScoreUtility,
    counts: npt.NDArray[np.int64],
    utilities: Floats,
) -> None:
    """Write visits [A + 1] and mean utilities [A + 1] of a node's visited children by action."""
    record = tree.nodes[node]
    center = center_of(record["to_play"], score)
    for k in range(record["n_children"]):
        edge = tree.children[int64(record["first_child"]) + k]
        if edge["visits"] > 0:
            action = action_of(tree, int64(edge["move"]))
            counts[action] = edge["visits"]
            utilities[action] = child_utility(edge, center, numbers, score)


@hot_kernel
def expand_all(
    tree: Tree,
    batch: EvalBatch,
    paths: Paths,
    slots: npt.NDArray[np.int64],
    seats: npt.NDArray[np.int64],
) -> None:
    """Expand and back up the leaves of some seats, whose evaluations lie in these slots."""
    for i in range(slots.shape[0]):
        expand_leaf(tree, batch, slots[i], paths[seats[i]], int64(1))
