"""A player at the table: one game in progress and everything needed to play it.

The class is made at once; kernels and net load in the background. A call waits only for the part
that it needs.
"""

import math
import random
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, COLOR_NAMES, PASS
from gtp_engine.evaluators.human_profile import DEFAULT_PROFILE, HumanProfile
from gtp_engine.go.handicap import HandicapError, largest_fixed
from gtp_engine.go.rules import GO
from gtp_engine.play.clock.planner import Outlook, outlook
from gtp_engine.play.decision import Decision, ResignCounter, ResignRule
from gtp_engine.play.game import Game
from gtp_engine.play.levels import (
    Level,
    decide_at_level,
    find_level,
    highest_level,
    policy_level,
)
from gtp_engine.play.loading import NO_PROFILE, EngineUnavailableError, Loader
from gtp_engine.play.pondering import Ponderer
from gtp_engine.play.settings import DEFAULT_SECONDS_PER_MOVE, Settings
from gtp_engine.search.params import SearchParams
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import CHECK_SECONDS, Limits

if TYPE_CHECKING:
    from gtp_engine.evaluators.evaluator import Evaluator
    from gtp_engine.evaluators.net_evaluator import RawEvaluation
    from gtp_engine.evaluators.nets.composition import Net
    from gtp_engine.go.position import Position
    from gtp_engine.play.adjudication.status import FinalStatus
    from gtp_engine.search.analysis import Analysis
    from gtp_engine.search.search import Search


class Engine(Game):
    """One game in progress and the search that plays it.

    Whatever needs the net raises EngineUnavailableError where there is no usable one.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        evaluator: "Evaluator | None" = None,
    ) -> None:
        """Prepare; nothing heavy is loaded before `load` or the first use.

        Args:
            settings: The defaults when None.
            evaluator: Judges positions in place of the settings' net.
        """
        super().__init__(settings or Settings())
        self._loader = Loader(self.settings, evaluator)
        self._generator = random.Random(self.settings.seed)
        self._resign_counter = ResignCounter()
        self._ponderer = Ponderer()
        self.set_level(self.settings.level)
        self._judgement: tuple[bytes, FinalStatus] | None = None
        self._cleaned_up = b""
        """The board when this engine last passed in a clean-up."""

    # Loading --------------------------------------------------------------------------------------

    def load(self) -> None:
        """Begin to load kernels and net in the background, once."""
        self._loader.start()

    @property
    def progress(self) -> str:
        """What is being loaded, for people who wait."""
        return self._loader.progress

    def wait_ready(self, seconds: float | None = None) -> bool:
        """Wait until the engine can think, or for so long; return whether it can.

        Raises:
            EngineUnavailableError: It never will.
        """
        return self._loader.wait_ready(seconds)

    def wait_warm(self, seconds: float) -> None:
        """Wait until a search on this board loses no time to what is done once, or for so long.

        Raises:
            EngineUnavailableError: It never can search.
        """
        self._loader.wait_warm(seconds)

    @property
    def is_ready(self) -> bool:
        """Whether `wait_ready` would return at once."""
        return self._loader.is_ready

    @property
    def has_kernels(self) -> bool:
        """Whether `position` would return at once."""
        return self._loader.has_kernels

    def open_net(self, name: str | None) -> None:
        """Think with another net from now on; the game goes on.

        The search's parameters, some of which suit a kind of net, are again those of the settings.

        Raises:
            EngineUnavailableError: It cannot be used; the one before stays.
        """
        self.rest()
        settings = replace(self.settings, net=name)
        loader = Loader(settings)
        loader.doubts = self._loader.doubts
        loader.use_board(*self.size)
        loader.start()
        loader.wait_ready()
        self.settings, self._loader, self._judgement = settings, loader, None

    @property
    def search(self) -> "Search":
        """The search, once the net is there."""
        self.wait_ready()
        self._loader.renew_search()
        assert self._loader.search is not None
        return self._loader.search

    # The game -------------------------------------------------------------------------------------

    def _wait_for_boards(self) -> None:
        self._loader.wait_kernels()

    def _begin_game(self) -> None:
        super()._begin_game()
        self._judgement, self._cleaned_up = None, b""
        self._loader.use_board(*self.size)

    def place_free_handicap(self, count: int) -> list[int]:
        """Put exactly so many handicap stones where they do good, and return them.

        The traditional places where there are such; beyond them the net's favourite moves.

        Raises:
            HandicapError: The board is not empty, or too small for so many.
            NetFileError: The net failed.
        """
        self._check_empty()
        position = self.position
        if not 2 <= count < position.area:
            raise HandicapError(f"{count} handicap stones do not fit on this board")
        if count <= largest_fixed(position.width, position.height):
            return self.fixed_handicap(count)
        search = self.search
        board = position.copy()
        points: list[int] = []
        while len(points) < count:
            board.set_up(points, (), BLACK)
            search.set_position(board)
            search.run(Limits(playouts=1))
            points.append(next(p for p in search.root_moves() if p != PASS))
        self.set_free_handicap(points)
        return points

    # Thinking -------------------------------------------------------------------------------------

    def genmove(
        self,
        color: int,
        *,
        report: ReportRequest | None = None,
        cleanup: bool = False,
        commit: bool = True,
        stop: threading.Event | None = None,
    ) -> Decision:
        """Choose a move and, unless told otherwise, play it.

        Args:
            color: Who is to move, also out of turn.
            cleanup: Capture every dead stone before passing, and never resign.
            commit: Play the move; a resignation leaves the game as it is.
            stop: Ends the search with what it has found once it is set, from any thread.

        Raises:
            EngineUnavailableError: There is no usable net, or no move to be made any more.
        """
        started = time.perf_counter()
        self.check_goes_on()
        if self.clock.is_limited and not self._wait_on_the_clock(color, stop):
            return self._move_before_loaded(color, started, commit=commit)
        # Only here: on a short clock the time may be over before these are imported.
        from gtp_engine.play.fallback_move import decide_quickly
        from gtp_engine.play.move_choice import decide

        search = self.search
        loaded = time.perf_counter()
        self._loader.say_doubts(self.position)
        self.rest()
        searched = search.seconds
        position = self._position_to_play(color)
        limits = self.move_limits(color, time.perf_counter() - started)
        if limits is None and position.rules.must_move:
            limits = Limits(seconds=0.0)  # the root is judged all the same
        if limits is None:
            decision = decide_quickly(search, position, report, cleanup=cleanup)
        else:
            asked = search, position, replace(limits, stop=stop), report
            if self._level is None:
                decision = decide(*asked, cleanup=cleanup)
            else:
                decision = decide_at_level(self._level, self._generator, *asked, cleanup=cleanup)
        if not cleanup:  # the game is over, and nothing but the count is left
            settings = self.settings
            rule = ResignRule(settings.resign, settings.resign_threshold, settings.resign_turns)
            decision = self._resign_counter.resign_or(decision, rule, position, commit=commit)
        if commit:
            now = time.perf_counter()
            # Loading the net delays one move, and says nothing of later ones.
            overhead = now - loaded - (search.seconds - searched)
            self.clock.spend(color, now - started, overhead, goes_on=True)
            if decision.point is not None:
                self.position.play(color, decision.point, strict=False)
                if cleanup and decision.point == PASS and decision.analysis is not None:
                    self._cleaned_up = self.position.board.tobytes()
            if self._recorder is not None:
                self._recorder.decided(self.position, decision)
            # Not at a restricted level, which begins every search anew.
            ponders = self.settings.ponder and self._level is None and not self.position.is_over
            if decision.point is not None and ponders:
                self._ponderer.start(search, self.position)
        return decision

    def _wait_on_the_clock(self, color: int, stop: threading.Event | None) -> bool:
        """Wait until the engine can think, or the clock or `stop` wants a move; say if it can."""
        return self.wait_until(time.perf_counter() + self.seconds_to_load(color), stop)

    def wait_until(self, end: float, stop: threading.Event | None) -> bool:
        """Wait until the engine can think, until `time.perf_counter` is `end`, or for `stop`.

        Returns:
            Whether it can think.
        """
        while not self.wait_ready(min(CHECK_SECONDS, max(0.0, end - time.perf_counter()))):
            if time.perf_counter() >= end or (stop is not None and stop.is_set()):
                return False
        return True

    def seconds_to_load(self, color: int) -> float:
        """Return for how long a player's clock allows to wait for kernels and net."""
        width, height = self.size
        ply = len(self._first_moves) if self._position is None else self._position.ply
        expected = self._outlook(width * height, ply)
        return self.clock.seconds_to_load(color, expected, is_first=ply < 2)

    def _outlook(self, area: int, ply: int, evaluation: float = 0.0) -> Outlook:
        """Return what a plan expects; the user knows the lag better than what was learned."""
        lag = self.clock.lag
        if self.settings.lag is None:
            return outlook(area, ply, lag.largest, evaluation, lag.usual)
        return outlook(area, ply, self.settings.lag, evaluation)

    def _move_before_loaded(self, color: int, started: float, *, commit: bool) -> Decision:
        """Make a simple move: the clock leaves no time to wait for more."""
        from gtp_engine.play.plain_move import plain_move

        if self.has_kernels:
            position = self.position
            stones = {p: c for c in COLOR_NAMES for p in position.stones(c)}
            point = plain_move(*self.size, stones, color, set(position.legal_moves(color)))
        else:
            point = plain_move(*self.size, {p: c for c, p in self._first_moves}, color)
        if commit:
            self.clock.spend(color, time.perf_counter() - started, goes_on=True)
            if self.has_kernels:
                self.play(color, point)
            else:
                self._first_moves.append((color, point))
        return Decision(color, point, None, f"no time to wait: {self.progress}")

    def analyze(
        self,
        color: int,
        report: ReportRequest,
        limits: Limits | None = None,
        *,
        stop: threading.Event | None = None,
        back: int = 0,
    ) -> "Analysis":
        """Search for people, who want to see several moves, without playing.

        It goes on until a limit is reached or `stop` is set, from any thread.

        Args:
            color: Who is to move, also out of turn; nobody is asked where moves are gone back.
            back: How many moves before the present position.

        Raises:
            EngineUnavailableError: There is no usable net, or no move to be made any more.
        """
        search = self.search
        self._loader.say_doubts(self.position)
        self.rest()
        position = self._position_to_play(color)
        if back:
            position = self.position.copy()
            position.undo(back)
        _check_goes_on(position)
        search.set_position(position, avoid=report.avoid)
        width = self.settings.analysis_width
        search.params = replace(self.search_params, wide_root_noise=width)
        try:
            return search.run(replace(limits or Limits(), stop=stop), report)
        finally:
            search.params = self.search_params

    def rest(self) -> None:
        """Stop thinking on the opponent's time, until the next move."""
        self._ponderer.stop()

    def clear_cache(self) -> None:
        """Forget the tree and every evaluation, so that the next search starts afresh."""
        self.rest()
        self.search.clear()
        self._judgement = None
        net = self._loader.net_evaluator
        if net is not None:
            net.clear_cache()

    def raw_evaluation(
        self, symmetry: int | None, optimism: float | None, color: int | None = None
    ) -> "RawEvaluation":
        """Return what the net says about the position.

        Args:
            symmetry: 0..7; the mean over all of them when None.
            optimism: Share of an optimistic policy; that of a search's root when None.
            color: Who is asked, also out of turn; the player to move when None.
        """
        self.wait_ready()
        self.rest()
        net = self._loader.net_evaluator
        if net is None:
            raise EngineUnavailableError("the evaluator in use is no net")
        self._loader.say_doubts(self.position)
        position = self.position if color is None else self._position_to_play(color)
        return net.raw_evaluation(position, symmetry, optimism)

    @property
    def search_params(self) -> SearchParams:
        """The parameters that steer the search."""
        return self._loader.params

    @search_params.setter
    def search_params(self, params: SearchParams) -> None:
        self.rest()
        self._loader.params = params
        if self._loader.search is not None:
            self._loader.search.params = params
            self._loader.search.clear()

    @property
    def _level(self) -> Level | None:
        """How moves are chosen; None: as well as the settings let it."""
        number, temperature = self.settings.level, self.settings.policy_temperature
        if number is not None:
            return find_level(number)
        return None if temperature is None else policy_level(temperature)

    def set_level(self, number: int | None) -> None:
        """Play at a level from now on; None: as well as the settings let it.

        Raises:
            ValueError: There is no such level, or none but the highest in this game.
        """
        game = self.settings.game
        if number is not None and find_level(number) is not None and game != GO:
            raise ValueError(f"the game {game} is played at level {highest_level()} alone")
        self.settings = replace(self.settings, level=number)
        self.rest()

    def set_human_profile(self, profile: HumanProfile | None) -> None:
        """Play like other people from now on; like those of DEFAULT_PROFILE with None.

        Raises:
            EngineUnavailableError: There is no usable net, or it takes no profile.
        """
        self.wait_ready()
        net = self._loader.net_evaluator
        if net is None or not net.takes_profile:
            raise EngineUnavailableError(NO_PROFILE)
        self.rest()
        self.settings = replace(self.settings, human_profile=profile)
        net.human_profile = profile or HumanProfile.parse(DEFAULT_PROFILE)
        self.search.clear()

    def net(self) -> "Net | None":
        """Return the net in use, None if positions are judged by something else."""
        self.wait_ready()
        evaluator = self._loader.net_evaluator
        return None if evaluator is None else evaluator.net

    def check_goes_on(self) -> None:
        """Refuse to go on with a game without passes that has ended.

        Raises:
            EngineUnavailableError: It has.
        """
        if self.has_kernels:
            _check_goes_on(self.position)

    def move_limits(self, color: int, spent: float = 0.0) -> Limits | None:
        """Return when the next search of a player is to end.

        Args:
            spent: Seconds that are gone since the clock began to run.

        Returns:
            The limits; None where the clock leaves no time for a single evaluation.
        """
        settings = self.settings
        if not self.clock.is_limited:
            seconds = settings.time
            if settings.playouts is None and settings.visits is None and seconds is None:
                seconds = DEFAULT_SECONDS_PER_MOVE
            return Limits(visits=settings.visits, playouts=settings.playouts, seconds=seconds)
        position = self.position
        area = position.area
        seen = self.search.step_seconds(area)
        # What was measured on the first board grows about as the area does. It counts too, as a
        # search that found everything in the cache says nothing about the net's speed.
        evaluation = max(seen, self._loader.step_seconds * area / math.prod(settings.size))
        # Stones that were set up count as moves: they too are a part of the game behind us.
        ply = max(position.ply, int((position.grid() > 0).sum()))
        plan = self.clock.plan(color, self._outlook(area, ply, evaluation), spent)
        if plan.is_urgent:
            return None
        hard = plan.hard if settings.time is None else min(plan.hard, settings.time)
        return Limits(
            visits=settings.visits,
            playouts=settings.playouts,
            seconds=hard,
            soft_seconds=min(plan.soft, hard),
        )

    def _position_to_play(self, color: int) -> "Position":
        position = self.position
        if position.to_play == color:
            return position
        position = position.copy()
        position.to_play = color
        return position

    # The count ------------------------------------------------------------------------------------

    def check_is_counted(self) -> None:
        """Raise EngineUnavailableError in a game that is decided otherwise than by points."""
        if self.position.rules.must_move:
            raise EngineUnavailableError("nothing is counted in this game")

    def final_status(self, stop: threading.Event | None = None) -> "FinalStatus":
        """Return which stones are dead and whose the points are, as things stand.

        Asked again before the next move, it gives the same answer at once.
        After this engine's pass in a clean-up all stones that are left are alive.

        Args:
            stop: Once it is set, from any thread, groups in doubt are read no further. Such an
                answer is not kept.
        """
        from gtp_engine.play.adjudication.chains import find_chains
        from gtp_engine.play.adjudication.status import judge, status_of

        search, position = self.search, self.position
        self.check_is_counted()
        self._loader.say_doubts(position)
        self.rest()
        asked = self._what_a_judgement_depends_on()
        if self._judgement is None or self._judgement[0] != asked:
            has_passed = position.ply > 0 and position.moves[-1].point == PASS
            if has_passed and position.board.tobytes() == self._cleaned_up:
                found = status_of(position, find_chains(position), ())
            else:
                found = judge(search.evaluator, position, close_borders=True, stop=stop)
                if stop is not None and stop.is_set():
                    return found
            self._judgement = (asked, found)
        return self._judgement[1]

    def _what_a_judgement_depends_on(self) -> bytes:
        """Return the board with its prisoners, the turn with its bonuses, rules and profile.

        A turn holds more than a judgement looks at, so that a pass asks anew; nothing is missing.
        """
        position = self.position
        others = (position.width, position.height, position.rules, self.settings.human_profile)
        return bytes(position.board.tobytes() + position.turn.tobytes() + repr(others).encode())

    def final_score(self, stop: threading.Event | None = None) -> float:
        """Return White's points minus Black's, dead stones removed; 0 without a result.

        Args:
            stop: As for `final_status`; an answer cut short by it is not noted as the result.
        """
        position = self.position
        is_kept = True
        if position.rules.must_move or position.is_void:
            score = position.white_margin()
        else:
            status = self.final_status(stop)
            score = status.white_score
            is_kept = self._judgement is not None and self._judgement[1] is status
        if position.is_over and is_kept:
            from gtp_engine.go.scoring import result_of

            self.note_result(result_of(position, score))
        return score

    # The rest -------------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return what plays, in one line."""
        evaluator = self._loader.evaluator
        return "no net yet" if evaluator is None else evaluator.name

    def close(self) -> None:
        """Stop thinking."""
        self.rest()


def _check_goes_on(position: "Position") -> None:
    """Raise EngineUnavailableError where a game without passes has ended: nothing is left to judge.

    In Go two passes may be taken back by playing on.
    """
    if position.rules.must_move and position.is_over:
        raise EngineUnavailableError("the game is over")
