"""Answers queries: one game a query, one position of the scheduler a turn, one final answer a turn.

The net loads while queries are already taken. Only the standard library is imported here.
"""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.frontends.analysis.fields import QueryError
from gtp_engine.frontends.analysis.query import NEVER, Query
from gtp_engine.messages import describe_failure
from gtp_engine.play.loading import EngineUnavailableError, Loader
from gtp_engine.play.settings import Settings
from gtp_engine.search.request import ReportRequest

if TYPE_CHECKING:
    from gtp_engine.evaluators.evaluator import Evaluator
    from gtp_engine.evaluators.net_evaluator import RawEvaluation
    from gtp_engine.frontends.analysis.game import QueryGame
    from gtp_engine.go.position import Position
    from gtp_engine.play.analysis_scheduler import AnalysisJob, AnalysisScheduler
    from gtp_engine.search.analysis import Analysis

logger = logging.getLogger(__name__)


Send = Callable[[dict[str, Any]], None]
"""Takes an object for the client, from any thread."""


@dataclass(eq=False)
class OpenQuery:
    """What the turns of a query have in common."""

    query: Query
    errors: set[str] = field(default_factory=set)
    """What has been said about it; a mistake in a game concerns all its turns, but is said once."""
    game: "QueryGame | None" = None
    """Once there is a board to play it on."""


@dataclass(eq=False)
class OpenTurn:
    """A turn of a query that has not been answered for good."""

    query: OpenQuery
    turn: int
    priority: int
    job: "AnalysisJob | None" = None
    """In the scheduler, once there is one."""
    is_dropped: bool = False
    """Whether it was terminated before there was a scheduler."""
    is_answered: bool = False
    raw: "RawEvaluation | None" = None
    """What a net says without a search, from the beginning of the search on."""


class Analyst:
    """The net, its scheduler of searches, and the turns that are open."""

    def __init__(
        self,
        settings: Settings,
        send: Send,
        *,
        at_once: int | None = None,
        evaluator: "Evaluator | None" = None,
    ) -> None:
        """Prepare; nothing heavy is loaded before `start`.

        Args:
            at_once: Positions under way at a time; None: as many as suit the device.
            evaluator: Judges positions in place of the settings' net.
        """
        self._settings = settings
        self._send = send
        self._at_once = at_once
        self._loader = Loader(settings, evaluator)
        self._changed = threading.Condition()
        self._open: dict[OpenTurn, None] = {}  # a set that keeps the order
        self._n_later = 0
        self._scheduler: AnalysisScheduler | None = None
        self._failure: Exception | None = None
        self._is_started = False

    # Loading --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to load in the background, once."""
        with self._changed:
            if self._is_started:
                return
            self._is_started = True
        threading.Thread(target=self._load, daemon=True).start()

    def evaluator(self) -> "Evaluator":
        """Return the net, waiting for it.

        Raises:
            EngineUnavailableError: There is none.
        """
        self.start()
        self._loader.wait_ready()
        assert self._loader.evaluator is not None
        return self._loader.evaluator

    def _load(self) -> None:
        try:
            net = self.evaluator()
            from gtp_engine.play.analysis_scheduler import AnalysisScheduler

            scheduler = AnalysisScheduler.for_settings(net, self._settings, self._at_once)
        except Exception as error:
            self._fail(error)
            return
        with self._changed:
            self._scheduler = scheduler
            for turn in list(self._open):  # some may end at once
                if not turn.is_dropped:
                    self._submit(turn)
        logger.info(f"ready; {scheduler.at_once} positions at once")

    def _fail(self, error: Exception) -> None:
        """Answer whatever comes, and what has come, with why nothing can be analysed."""
        with self._changed:
            self._failure = error
            turns = list(self._open)
        for turn in turns:
            self._end(turn, error)

    # Queries --------------------------------------------------------------------------------------

    def add(self, query: Query) -> None:
        """Put all turns of a query in line."""
        self.start()
        shared = OpenQuery(query)
        turns = [
            OpenTurn(shared, turn, priority)
            for turn, priority in zip(query.turns, query.priorities, strict=True)
        ]
        with self._changed:
            failure = self._failure
            for turn in turns:
                self._open[turn] = None
                if self._scheduler is not None:
                    self._submit(turn)
        if failure is not None:
            for turn in turns:
                self._end(turn, failure)

    def terminate(self, identity: str | None, turns: frozenset[int] | None) -> None:
        """End open turns soon, with what was found of them.

        Args:
            identity: Of queries of this id; None: of all.
            turns: Only these turns; None: all.
        """
        with self._changed:
            meant = [
                (one, one.job)
                for one in self._open
                if (identity is None or one.query.query.id == identity)
                and (turns is None or one.turn in turns)
            ]
            for turn, job in meant:
                turn.is_dropped |= job is None
        for turn, job in meant:
            if job is None:
                self._end(turn, None)
            else:
                job.stop()

    def clear_cache(self) -> None:
        """Forget all evaluations; searches under way keep their trees."""
        net = self._loader.net_evaluator
        if net is not None:
            net.clear_cache()

    def answer_later(self, task: Callable[[], None]) -> None:
        """Run what answers the client once the net is there, in a thread of its own."""
        with self._changed:
            self._n_later += 1

        def run() -> None:
            try:
                task()
            finally:
                with self._changed:
                    self._n_later -= 1
                    self._changed.notify_all()

        threading.Thread(target=run, daemon=True).start()

    def wait(self) -> None:
        """Wait until every turn is answered, and what is to be answered later."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._open or self._n_later))

    def close(self) -> None:
        """Stop everything; turns are answered with what was found."""
        self.terminate(None, None)

    # Turns ----------------------------------------------------------------------------------------

    def _submit(self, turn: OpenTurn) -> None:
        """Hand a turn to the scheduler. The lock is held."""
        from gtp_engine.play.analysis_scheduler import AnalysisRequest

        query = turn.query.query
        assert self._scheduler is not None
        if turn.query.game is None:
            from gtp_engine.frontends.analysis.game import QueryGame

            turn.query.game = QueryGame(query)
        game = turn.query.game
        turn.job = self._scheduler.submit(
            AnalysisRequest(
                position=lambda: self._begin(turn, game),
                on_end=lambda found: self._end(turn, found),
                limits=query.settings.limits,
                params=query.settings.params,
                report=self._report_request(turn),
                priority=turn.priority,
            )
        )

    def _begin(self, turn: OpenTurn, game: "QueryGame") -> "Position":
        """Return the position of a turn, which is about to be searched.

        The net is asked about it first, for what only the net knows: the search's first evaluation
        then comes from the cache.
        """
        position, net = game.position(turn.turn), self._loader.net_evaluator
        if net is not None:
            optimism = turn.query.query.settings.params.root_policy_optimism
            turn.raw = net.raw_evaluation(position, 0, optimism, remember=True)
        return position

    def _report_request(self, turn: OpenTurn) -> ReportRequest:
        wanted = turn.query.query.wanted

        def report(analysis: "Analysis") -> None:
            if not analysis.is_final:
                self._answer(turn, analysis)

        hears = wanted.interval < NEVER or wanted.first_after is not None
        return replace(wanted, callback=report if hears else None)

    def _end(self, turn: OpenTurn, found: "Analysis | Exception | None") -> None:
        """Give a turn its final answer, once."""
        from gtp_engine.frontends.analysis.answer import no_answer

        with self._changed:
            if turn.is_answered:
                return
            turn.is_answered = True
        try:
            if found is None:
                self._send(no_answer(turn.query.query, turn.turn))
            elif isinstance(found, Exception):
                self._explain(turn, found)
            else:
                self._answer(turn, found)
        except Exception as error:
            self._explain(turn, error)
        finally:
            with self._changed:
                self._open.pop(turn, None)
                turn.job = None  # it knows the turn too, and both would wait for the collector
                self._changed.notify_all()

    def _answer(self, turn: OpenTurn, analysis: "Analysis") -> None:
        from gtp_engine.evaluators.policy_play import policy_by_action
        from gtp_engine.frontends.analysis.answer import answer

        query = turn.query.query
        assert turn.query.game is not None
        position = turn.query.game.position(turn.turn)
        policy = None
        if query.wanted.policy:
            optimism = query.settings.params.root_policy_optimism
            policy = policy_by_action(self.evaluator(), position, optimism)
        self._loader.say_doubts(position)
        net = self._loader.net_evaluator
        is_human = net is not None and analysis.is_final and net.takes_profile
        raw = turn.raw if analysis.is_final else None
        self._send(answer(query, turn.turn, position, analysis, policy, raw, is_human))

    def _explain(self, turn: OpenTurn, error: Exception) -> None:
        """Say why a turn has no answer, unless it was said of another turn of the query."""
        found = error_object(error, turn.query.query.id)
        with self._changed:
            is_new = found["error"] not in turn.query.errors
            turn.query.errors.add(found["error"])
        if is_new:
            self._send(found)


def error_object(error: Exception, identity: str | None) -> dict[str, Any]:
    """Return the answer to a query that cannot be answered."""
    message = describe_failure(error, QueryError, EngineUnavailableError, NetFileError)
    found: dict[str, Any] = {"error": message}
    if isinstance(error, QueryError) and error.field is not None:
        found["field"] = error.field
    if identity is not None:
        found["id"] = identity
    return found


def format_line(found: dict[str, Any]) -> str:
    """Return an object as a line of pure ASCII, its end included."""
    return json.dumps(found, separators=(",", ":"), allow_nan=False) + "\n"
