"""Search one position with any number of threads on one tree.

What one playout does stands in `playout.py`, what ends a search in `stopping.py`, what is special
about the root in `root.py`, and what a search asks of a game in `game.py`.
"""

import time
from collections import defaultdict, deque
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.choice import Child
from gtp_engine.search.game import Game
from gtp_engine.search.params import ScoreUtility, SearchParams
from gtp_engine.search.playout import RunTerms, Worker
from gtp_engine.search.pruning import ForbiddenMoves, drop_moves_at
from gtp_engine.search.reporting import ownership_below
from gtp_engine.search.request import AvoidRule, ReportRequest
from gtp_engine.search.run import Run
from gtp_engine.search.shared_tree import SharedTree
from gtp_engine.search.stopping import Limits, StopCondition
from gtp_engine.search.tree import Tree, children_of, moves_by_prior

STEPS_REMEMBERED = 63
FEWEST_STEPS = 3
"""Steps of which `Search.step_seconds` is the median, at most and at least."""


class Search:
    """A tree, its workers, and the position at its root.

    Not for use from several threads at once.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        params: SearchParams | None = None,
        *,
        threads: int = 1,
        batch: int = 1,
        memory_mb: int = 256,
        seed: int = 0,
    ) -> None:
        """Prepare a search.

        Args:
            params: The defaults when None.
            batch: Leaves that each worker evaluates at once.
            memory_mb: Room for the tree, in MiB; a full one loses what was visited least.
            seed: Fixes the symmetries drawn, and with one thread the whole search.
        """
        self.evaluator = evaluator
        self.params = params or SearchParams()
        self._step_times: defaultdict[int, deque[float]] = defaultdict(
            lambda: deque(maxlen=STEPS_REMEMBERED)
        )
        """By the points of a board."""
        self.seconds = 0.0
        """What all calls of `run` took together."""
        self._noise = np.random.Generator(np.random.PCG64(seed))
        self.shared = SharedTree(memory_mb)
        """What the workers have in common."""
        self._workers = [
            Worker(evaluator, self.shared, batch, seed, workers=threads) for _ in range(threads)
        ]
        self._game: Game | None = None
        self._avoid: tuple[AvoidRule, ...] = ()
        self._forbidden: frozenset[int] = frozenset()
        self._run: Run | None = None

    # The root -----------------------------------------------------------------------------------

    def set_position(
        self,
        position: Game,
        forbidden: Iterable[int] = (),
        avoid: tuple[AvoidRule, ...] = (),
    ) -> None:
        """Make a position the root, keeping what the tree knows about it.

        Args:
            position: Copied; it may change afterwards.
            avoid: Restrictions of either player near the root; the tree is then built anew.
        """
        restricted = frozenset(forbidden)
        fresh = avoid or self._avoid or self.params.root_noise_weight > 0
        path = [] if fresh else self._find_path(position, restricted)
        self._game = position.copy()
        self._avoid = avoid
        self._forbidden = restricted
        self._banned = ForbiddenMoves(self._game, restricted, avoid)
        shared = self.shared
        if not path:
            size = position.width, position.height
            shared.plant(*size, position.to_play, self.evaluator.has_ownership)
            return
        shared.move_root(path)
        mask = self._banned.at(0)
        if mask is not None:
            drop_moves_at(shared.tree, shared.root, mask)
            shared.root_path = [shared.root]  # what it has lost, those above have not

    def _find_path(self, position: Game, forbidden: frozenset[int]) -> list[int]:
        """Return the nodes from the tree's top down to a position's; none if it has none."""
        shared, old = self.shared, self._game
        if old is None or not shared.is_planted:
            return []
        moves = position.moves_since(old, old.ply - len(shared.root_path) + 1)
        path = [] if moves is None else shared.find_path(moves, position.to_play)
        if path and self._forbidden and path[-1] != shared.root:
            return [path[-1]] if shared.root in path else []
        # Moves left out before would be missing from the tree now.
        return path if self._forbidden <= forbidden else []

    def clear(self) -> None:
        """Forget the tree and the position."""
        self._game = None
        self._avoid = ()
        self._forbidden = frozenset()
        self._run = None
        self.shared.clear()

    @property
    def tree(self) -> Tree:
        """The tree's arrays; a search may put larger ones in their place."""
        return self.shared.tree

    @property
    def root(self) -> int:
        """The node of the position."""
        return self.shared.root

    @property
    def to_play(self) -> int:
        """Who is to move at the root."""
        return int(self.tree.nodes[self.root]["to_play"])

    def step_seconds(self, area: int) -> float:
        """Return what a worker's step, a batch of evaluations, takes on boards of so many points.

        The median of the latest ones, as a machine may stand still in some; 0 while there are few.
        """
        times = self._step_times[area]
        return float(np.median(times)) if len(times) >= FEWEST_STEPS else 0.0

    # Running ------------------------------------------------------------------------------------

    def run(self, limits: Limits, report: ReportRequest | None = None) -> Analysis:
        """Search until a limit is reached.

        Args:
            limits: When to end; without any limit, only its `stop` ends it.

        Returns:
            What was found; the same goes to the report's callback, marked as final.

        Raises:
            NetFileError: The net failed.
        """
        began = time.perf_counter()
        run = self.begin(limits, report)
        times = self._step_times[run.terms.game.width * run.terms.game.height]
        before = time.perf_counter()
        try:
            while not run.is_over:
                run.step()
                now = time.perf_counter()
                times.append(now - before)
                before = now
        except BaseException:
            run.abandon()
            raise
        found = run.end()
        self.seconds += time.perf_counter() - began
        return found

    def begin(self, limits: Limits, report: ReportRequest | None = None) -> Run:
        """Begin what `run` does, and leave the rest to the caller.

        Raises:
            NetFileError: The net failed.
        """
        shared = self.shared
        assert self._game is not None and shared.is_planted, "set_position comes first"
        terms = RunTerms(
            self._game,
            self.params,
            self.params.numbers,
            ScoreUtility(0.0, 0.0, 1.0, 0.0),
            self._banned,
            StopCondition(limits, shared.visits_left(), shared.root_visits),
            self._noise,
        )
        try:
            self._run = Run(shared, self._workers, terms, report or ReportRequest())
        except BaseException:
            self.clear()
            raise
        return self._run

    # What was found -------------------------------------------------------------------------------

    def children(self) -> list[Child]:
        """Return the root's visited children, as the latest run sees them."""
        assert self._run is not None
        return self._run.children()

    def root_moves(self) -> list[int]:
        """Return the moves considered at the root, by descending prior."""
        return [move for move, _ in moves_by_prior(self.tree, self.root)]

    def favourites(self) -> list[int]:
        """Return the moves that the tree already knows at the root, most visited first."""
        if not self.shared.is_root_expanded:
            return []
        tried = sorted(children_of(self.tree, self.root), key=lambda each: -int(each["visits"]))
        found = [int(each["move"]) for each in tried]
        return found + [move for move in self.root_moves() if move not in found]

    def ownership(self) -> npt.NDArray[np.float32] | None:
        """Return [H, W] the ownership expected at the root, for its mover; None without."""
        assert self._game is not None
        return ownership_below(self.tree, self.root, self._game).mean
