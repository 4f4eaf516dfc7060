"""Load kernels and net side by side in the background, then make the search.

A call waits only for the part that it needs. The first start of a version compiles all kernels
that a game needs, see `warmup.py`. Only the standard library is imported here.
"""

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.evaluators.nets.net_files import (
    DEFAULT_ROLLOUT_WEIGHT,
    NO_NET,
    NetFiles,
    without_rollouts,
)
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.games import FIVE
from gtp_engine.go.rules import ATARI_GO, GO
from gtp_engine.play.settings import Settings, share_memory
from gtp_engine.search.params import ROLLOUT_PARAMS, SearchParams

if TYPE_CHECKING:
    from gtp_engine.evaluators.evaluator import Evaluator
    from gtp_engine.evaluators.net_evaluator import NetEvaluator
    from gtp_engine.evaluators.nets.composition import Net
    from gtp_engine.evaluators.nets.onnx_net import OnnxNet
    from gtp_engine.go.position import Position
    from gtp_engine.kernel_cache import KernelCache
    from gtp_engine.search.search import Search

logger = logging.getLogger(__name__)

SHARE_OF_A_LEAF = 200
"""At the root of a search so many times the positions are read that are read at a leaf."""

KERNELS_OF_A_GAME = 200
"""Kernels that a start compiles with the shipped net; other encoders have a few more or less."""

NO_PROFILE = "the net in use takes no human profile, only KataGo's human nets do"


class EngineUnavailableError(RuntimeError):
    """The engine cannot think; the message says why in one sentence."""


class Loader:
    """Kernels, net and search of one engine, loaded in a thread of their own."""

    def __init__(
        self,
        settings: Settings,
        evaluator: "Evaluator | None" = None,
    ) -> None:
        """Prepare; nothing is loaded before `start`.

        Args:
            evaluator: Judges positions in place of the settings' net.
        """
        self.evaluator = evaluator
        self.search: Search | None = None
        self.step_seconds = 0.0
        """What an evaluation on the first board took when the net was loaded."""
        self.params = replace(SearchParams(), **settings.parameters)
        """Parameters that the search begins with."""
        self._settings = settings
        self._net, self._has_rollouts = without_rollouts(settings.net)
        may_have = settings.game == GO or settings.net is not None
        self._has_net = evaluator is None and may_have and self._net != NO_NET
        """Whether the settings name a net to be opened."""
        if settings.game != ATARI_GO and (self._net == NO_NET or not may_have):
            self.params = replace(ROLLOUT_PARAMS, **settings.parameters)
        self._board = settings.size
        """The size of the game in progress."""
        self._warming: list[threading.Thread] = []
        """What gets the net ready for that board, once it is loaded."""
        self._kernels_ready = threading.Event()
        self._net_ready = threading.Event()
        self._kernels_error: str | None = None
        self._net_error: str | None = None
        self._opened: Future[Net | None] = Future()
        """What another thread has opened; None where that is put off."""
        self._kernel_cache: KernelCache | None = None
        self._is_first = False
        """Whether no start has compiled all that a game needs before."""
        self._is_started = False
        self._guard = threading.Lock()
        self.doubts: set[str] = set()
        """What people have been told that the net was not made for."""

    def start(self) -> None:
        """Begin to load in the background, once."""
        with self._guard:
            if self._is_started:
                return
            try:
                threading.Thread(target=self._load, daemon=True).start()
            except RuntimeError as error:  # the system has no thread left
                raise EngineUnavailableError(f"the engine cannot be loaded: {error}") from None
            self._is_started = True

    @property
    def progress(self) -> str:
        """What is being loaded, and how far it is, for people who wait."""
        cache = self._kernel_cache
        if cache is None or not cache.compiled:
            return "loading the engine"
        from gtp_engine.kernel_cache import ADVICE

        # Kernels of other commands may be among them.
        done = min(max(cache.compiled, cache.files), KERNELS_OF_A_GAME)
        often = f"at each start: {cache.obstacle}; {ADVICE}" if cache.obstacle else "once"
        doing = f"compiling the kernels ({often})"
        share = min(0.99, done / KERNELS_OF_A_GAME)
        return f"{doing}, {done} of about {KERNELS_OF_A_GAME}, {share:.0%}"

    @property
    def has_kernels(self) -> bool:
        """Whether `wait_kernels` would return at once."""
        return self._kernels_ready.is_set()

    @property
    def is_ready(self) -> bool:
        """Whether `wait_ready` would return at once."""
        return self._net_ready.is_set()

    @property
    def net_evaluator(self) -> "NetEvaluator | None":
        """What judges positions, once loaded, if that is a net."""
        from gtp_engine.evaluators.net_evaluator import NetEvaluator

        return self.evaluator if isinstance(self.evaluator, NetEvaluator) else None

    def renew_search(self) -> None:
        """Make the search anew if a GPU has failed, for a processor bears fewer leaves at once."""
        net, old = self.net_evaluator, self.search
        if net is not None and old is not None and net.has_moved():
            self.search = self._new_search(net)
            self.search.params = old.params

    def say_doubts(self, position: "Position") -> None:
        """Tell people once of each thing about a game that the net was not made for."""
        net = self.net_evaluator
        for doubt in () if net is None else net.doubts(position):
            with self._guard:
                is_new = doubt not in self.doubts
                self.doubts.add(doubt)
            if is_new:
                logger.warning(doubt)

    def wait_kernels(self) -> None:
        """Wait until boards can be made.

        Raises:
            EngineUnavailableError: They never can.
        """
        self.start()
        self._kernels_ready.wait()
        if self._kernels_error is not None:
            raise EngineUnavailableError(self._kernels_error)

    def wait_ready(self, seconds: float | None = None) -> bool:
        """Wait until positions can be searched, or for so long; return whether they can.

        Raises:
            EngineUnavailableError: They never can.
        """
        self.start()
        is_ready = self._net_ready.wait(seconds)
        if is_ready and self._net_error is not None:
            raise EngineUnavailableError(self._net_error)
        return is_ready

    def use_board(self, width: int, height: int) -> None:
        """Get the net ready in the background for another board: once it is there, if not yet."""
        with self._guard:
            self._board = width, height
            if self._net_ready.is_set():
                self._warm_up()

    def wait_warm(self, seconds: float) -> None:
        """Wait until a search loses no time by what is done for the board in use, or so long.

        Raises:
            EngineUnavailableError: There is no usable net.
        """
        end = time.perf_counter() + seconds
        if self.wait_ready(seconds):
            for thread in self._warming:
                thread.join(max(0.0, end - time.perf_counter()))

    def _warm_up(self) -> None:
        net, settings = self.net_evaluator, self._settings
        if net is not None and net.accepts(*self._board):
            _, batch = net.suggest(settings.threads, settings.batch)
            with contextlib.suppress(RuntimeError):  # the system has no thread left
                self._warming = net.net.prepare(batch, *self._board)

    def _load(self) -> None:
        self._begin_opening()
        try:
            self._load_kernels()
        except Exception as error:
            self._kernels_error = self._net_error = f"the kernels cannot be loaded: {error}"
        self._kernels_ready.set()
        if self._kernels_error is None:
            try:
                self._load_net()
            except (NetFileError, OSError) as error:
                self._net_error = str(error)
            except Exception as error:
                self._net_error = f"the net cannot be used: {type(error).__name__}: {error}"
        if self._net_error is not None:
            logger.error(self._net_error)
        with self._guard:
            if self._net_error is None:
                self._warm_up()
            self._net_ready.set()

    def _begin_opening(self) -> None:
        """Begin to open the net in a thread of its own, unless that measures something.

        Measurements wait for a quiet moment.
        """

        def begin() -> None:
            settings = self._settings
            try:
                from gtp_engine.evaluators.nets.precision import has_to_measure

                waits = has_to_measure(self._net, settings.device, settings.runtime)
                self._opened.set_result(None if waits else self._open_net())
            except Exception as error:
                self._opened.set_exception(error)

        if self._has_net:
            try:
                threading.Thread(target=begin, daemon=True).start()
            except RuntimeError:  # the system has no thread left
                self._opened.set_result(None)

    def _open_net(self) -> "Net":
        from gtp_engine.evaluators.nets.composition import open_whole

        settings = self._settings
        return open_whole(self._net, settings.device, settings.runtime, settings.threads)

    def _load_kernels(self) -> None:
        from gtp_engine import kernels

        self._kernel_cache = kernels.CACHE
        self._is_first = kernels.JIT_ENABLED and not kernels.CACHE.is_warm
        import gtp_engine.go.position  # noqa: F401  (its import is what takes the time)

        if self._is_first:
            from gtp_engine.play.warmup import compile_boards

            compile_boards()

    def _load_net(self) -> None:
        """Load the net, make the search, and try both."""
        is_given = self.evaluator is not None
        if self.evaluator is None:
            self.evaluator = self._open_evaluator()
        self.search = self._new_search(self.evaluator)
        self.search.params = self.params  # they may have been set while it was made
        try:
            if self._is_first and not is_given:
                self._compile(self.evaluator)
            self.step_seconds = self._measure(self.evaluator)
        except NetFileError:
            pass  # said when somebody asks for a move, and perhaps for another board
        net = self.net_evaluator
        if net is not None and net.net.device == "cuda" and self._settings.batch is None:
            net.tune_batch(*self._settings.size)  # in the background, for the next search

    def _compile(self, evaluator: "Evaluator") -> None:
        """Compile what a game needs besides what `_measure` does."""
        from gtp_engine.games import new_game
        from gtp_engine.kernels import CACHE
        from gtp_engine.play.warmup import compile_search, compile_tree

        settings = self._settings
        if settings.game != GO:
            compile_tree(evaluator, new_game(settings.game, *settings.size))
            return
        compile_search(evaluator, *settings.size)
        if self._has_net:  # rollouts need less than a net does
            CACHE.mark_warm()

    def _measure(self, evaluator: "Evaluator") -> float:
        """Return how long an evaluation takes, so that the first move is on time as well.

        Of so few steps the median leaves out the first, which takes a GPU a hundred times as long.
        """
        from gtp_engine.games import new_game
        from gtp_engine.search.search import FEWEST_STEPS, Search
        from gtp_engine.search.stopping import Limits

        trial = Search(evaluator, SearchParams(use_cache=False))
        game = new_game(self._settings.game, *self._settings.size)
        game.proved_win(1)
        trial.set_position(game)
        trial.run(Limits(visits=1 + FEWEST_STEPS))  # one is the root's
        return trial.step_seconds(game.width * game.height)

    def _open_evaluator(self) -> "Evaluator":
        """Return the net, or what judges without one."""
        if self._has_net:
            return self._serve_net()
        if self._settings.game == GO:
            from gtp_engine.evaluators.rollouts.go import RolloutEvaluator

            evaluator = RolloutEvaluator(self._seed())
            logger.info(evaluator.describe())
            return evaluator
        if self._settings.game == FIVE:
            from gtp_engine.evaluators.five import FiveEvaluator

            return FiveEvaluator(self._threat_nodes_at_a_leaf)
        from gtp_engine.evaluators.rollouts.atari_go import AtariRollouts

        return AtariRollouts()

    def _serve_net(self) -> "NetEvaluator":
        from gtp_engine.evaluators.net_evaluator import NetEvaluator, serve
        from gtp_engine.evaluators.nets.composition import check_game, members_of
        from gtp_engine.evaluators.rollouts.go import MixedEvaluator, wants_rollout_params

        settings = self._settings
        make: Callable[..., NetEvaluator] = NetEvaluator
        net = self._opened.result() or self._open_net()
        check_game(net, settings.game)
        if self._rollout_weight > 0.0:
            if settings.game == ATARI_GO:
                raise NetFileError(f"rollouts beside a net are not for the game {ATARI_GO}")
            make = MixedEvaluator
            if settings.game == FIVE:
                from gtp_engine.evaluators.rollouts.five import FiveRollouts

                make = partial(FiveRollouts, player=self._open_player(members_of(net)[0].path))
            make = partial(make, weight=self._rollout_weight, seed=self._seed())
        elif settings.game == FIVE and self.params.shape_share > 0.0:
            from gtp_engine.evaluators.five_shaped import ShapedEvaluator

            make = partial(ShapedEvaluator, share=self.params.shape_share)
        evaluator = serve(
            net,
            make=make,
            threads=settings.threads,
            max_batch=settings.batch,
            cache_mb=share_memory(settings.memory)[1],
        )
        if wants_rollout_params(evaluator):
            changed = ROLLOUT_PARAMS.changed_by(self.params)
            self.params = replace(changed, **settings.parameters)
        if settings.game == FIVE:
            evaluator.threat_nodes = self._threat_nodes_at_a_leaf
        logger.info(evaluator.describe())
        profile = settings.human_profile
        if profile is not None and evaluator.takes_profile:
            evaluator.human_profile = profile
        elif profile is not None:
            logger.warning(f"warning: {NO_PROFILE}; the profile {profile.name} changes nothing")
        return evaluator

    def _open_player(self, path: Path) -> "OnnxNet":
        """Open the net beside one of five in a row that plays its rollouts.

        Raises:
            NetFileError: There is none.
        """
        from gtp_engine.evaluators.nets.precision import open_best

        stem = path.stem.removesuffix("-int8").removesuffix("-fp16")
        files = NetFiles(path.with_name(f"{stem}-rollout.onnx"), is_exact=True)
        settings = self._settings
        return open_best(files, settings.device, settings.runtime, settings.threads)

    @property
    def _rollout_weight(self) -> float:
        if self._settings.rollout_weight is not None:
            return self._settings.rollout_weight
        return DEFAULT_ROLLOUT_WEIGHT if self._has_rollouts else 0.0

    @property
    def _threat_nodes_at_a_leaf(self) -> int:
        return self.params.threat_nodes // SHARE_OF_A_LEAF

    def _seed(self) -> int:
        seed = self._settings.seed
        return random.SystemRandom().randrange(2**31) if seed is None else seed

    def _new_search(self, evaluator: "Evaluator") -> "Search":
        from gtp_engine.search.search import Search

        settings = self._settings
        threads, batch = evaluator.suggest(settings.threads, settings.batch)
        return Search(
            evaluator,
            self.params,
            threads=threads,
            batch=batch,
            memory_mb=share_memory(settings.memory)[0],
            seed=self._seed(),
        )
