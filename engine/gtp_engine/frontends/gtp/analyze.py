"""Searches that report as they go: their grammar, and how they are run.

`[color] [interval] key value ...`, where the first two may be left out and the interval, in
hundredths of a second, may be a key too.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gtp_engine.arguments import parse_number
from gtp_engine.coords import parse_color
from gtp_engine.frontends.gtp.core import CANCELLED, answer_move
from gtp_engine.frontends.gtp.info_lines import AnalyzeRequest
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError, read_switch
from gtp_engine.frontends.gtp.session import Session
from gtp_engine.go.rules import Ko
from gtp_engine.search.request import AvoidRule

if TYPE_CHECKING:
    from gtp_engine.play.engine import Engine
    from gtp_engine.search.analysis import Analysis

COLOR_WORDS = ("b", "w", "black", "white")

FIRST_REPORT = 0.1
"""Seconds to an analysis's first report at most, so that there is something to see."""

_SHORTEST_INTERVAL, _LONGEST_INTERVAL = 0.01, 1e6

_SWITCHES = {
    "ownership": "ownership",
    "ownershipstdev": "ownership_stdev",
    "movesownership": "moves_ownership",
    "movesownershipstdev": "moves_ownership_stdev",
    "pvvisits": "pv_visits",
    "pvedgevisits": "pv_edge_visits",
    "rootinfo": "root_info",
    "noresultvalue": "wants_no_result",
}

Formatter = Callable[["Analysis", AnalyzeRequest], str]
"""Makes the line that reports an analysis; it may be empty."""


def parse_analyze(session: Session, arguments: Arguments) -> AnalyzeRequest:
    """Return what a client asks for."""
    words = list(arguments.words)
    asked: dict[str, Any] = {}
    avoid: list[AvoidRule] = []
    if words and words[0].lower() in COLOR_WORDS:
        asked["color"] = parse_color(words.pop(0))
    else:  # only then: a board may have to be waited for
        asked["color"] = session.position.to_play
    if words and not math.isnan(parse_number(words[0])):
        asked["interval"] = _interval(words.pop(0))
    while words:
        key = words.pop(0)
        if not words:
            raise GtpError(f"syntax error: {key[:20]!r} lacks a value")
        if key.lower() in ("avoid", "allow"):
            avoid.append(_rule(session, words[:3], avoid, is_allow=key.lower() == "allow"))
            del words[:3]
        else:
            asked |= _setting(key, words.pop(0))
    return AnalyzeRequest(avoid=tuple(avoid), **asked)


def _setting(key: str, value: str) -> dict[str, Any]:
    """Return the field that a key sets, and its value."""
    lower = key.lower()
    if lower == "interval":
        return {"interval": _interval(value)}
    if lower == "minmoves":
        return {"min_moves": max(1, Arguments(value).integer(0, "minmoves", minimum=0))}
    if lower == "maxmoves":
        return {"max_moves": Arguments(value).integer(0, "maxmoves", minimum=0)}
    if lower not in _SWITCHES:
        raise GtpError(f"syntax error: unknown key {key[:20]!r}")
    return {_SWITCHES[lower]: read_switch(value, key)}


def _interval(word: str) -> float:
    seconds = Arguments(word).number(0, "the interval", minimum=0) / 100
    return min(max(seconds, _SHORTEST_INTERVAL), _LONGEST_INTERVAL)


def _rule(
    session: Session, words: list[str], before: list[AvoidRule], *, is_allow: bool
) -> AvoidRule:
    """Return the rule of `color vertex,vertex,... depth`."""
    arguments = Arguments(" ".join(words))
    color = arguments.color(0)
    vertices = arguments.word(1, "a list of vertices").split(",")
    points = frozenset(session.parse_vertex(vertex) for vertex in vertices if vertex)
    depth = arguments.integer(2, "the depth", minimum=1)
    if any(rule.color == color and (rule.allow or is_allow) for rule in before):
        raise GtpError("syntax error: allow goes with no other avoid or allow of its color")
    return AvoidRule(color, points, depth, is_allow)


def _with_no_result(engine: "Engine", request: AnalyzeRequest) -> AnalyzeRequest:
    """Return the request with the probability of no result if the client asks for it.

    Where superko forbids every cycle, or no net judges yet, it is 0; else the net's own for the
    position, since the search keeps none for each move.
    """
    if not request.wants_no_result:
        return request
    is_possible = engine.is_ready and engine.rules.ko is Ko.SIMPLE and engine.net() is not None
    value = engine.raw_evaluation(0, None, request.color).no_result if is_possible else 0.0
    return replace(request, no_result_value=value)


class Reporter:
    """Sends a search's reports to the client, the final one exactly once."""

    def __init__(
        self,
        session: Session,
        request: AnalyzeRequest,
        form: Formatter,
        first_after: float | None = None,
    ) -> None:
        self._reply = session.reply
        self._form = form
        self._is_finished = False
        self.request = replace(request, callback=self.report, first_after=first_after)
        """What to ask of the search."""

    def report(self, analysis: "Analysis") -> None:
        """Send a report unless the final one has been sent; called from the searching thread."""
        if self._is_finished:
            return
        self._is_finished = analysis.is_final
        line = self._form(analysis, self.request)
        if line:
            self._reply.begin()
            self._reply.line(line)

    def finish(self, analysis: "Analysis | None") -> None:
        """Make sure that a final report has been sent."""
        if analysis is not None and not self._is_finished:
            self.report(analysis)
        self._is_finished = True


def run_analysis(session: Session, arguments: Arguments, form: Formatter) -> str:
    """Analyse until the client sends another line."""
    request = parse_analyze(session, arguments)
    engine = session.net_engine()
    engine.check_goes_on()  # while the reply may still be an error
    request = _with_no_result(engine, request)
    reporter = Reporter(session, request, form, min(request.interval, FIRST_REPORT))
    session.reply.begin()
    with session.searching(any_line_stops=True, stays_open=True) as stop:
        analysis = engine.analyze(request.color, reporter.request, stop=stop)
    reporter.finish(analysis)
    return ""


def run_genmove(
    session: Session,
    arguments: Arguments,
    form: Formatter,
    *,
    is_played: bool = True,
    is_cancellable: bool = False,
) -> str:
    """Choose a move, reporting on the way.

    Args:
        arguments: As for an analysis.
        is_played: Whether to make the move too.
        is_cancellable: Whether any line that the client sends ends it without a move.
    """
    request = parse_analyze(session, arguments)
    engine = session.moving_engine()
    engine.check_goes_on()
    reporter = Reporter(session, _with_no_result(engine, request), form)
    with session.searching(any_line_stops=is_cancellable) as stop:
        report = reporter.request
        decision = engine.genmove(request.color, report=report, commit=is_played, stop=stop)
    session.reply.begin()  # only now, or with the first report: it may be an error
    analysis = decision.analysis
    if analysis is None and decision.point is not None:
        from gtp_engine.search.analysis import unsearched

        # Clients look for the move in a line before it, also where nobody thought about it.
        analysis = unsearched(request.color, *engine.size, decision.point)
    reporter.finish(analysis)
    if is_cancellable and session.is_superseded:
        return f"play {CANCELLED}"
    return f"play {answer_move(session, decision)}"
