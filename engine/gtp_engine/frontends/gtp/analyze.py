"""Searches that report as they go: their grammar, and how they are run.

`[color] [interval] key value ...`, where the first two may be left out and the interval, in
hundredths of a second, may be a key too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gtp_engine.coords import parse_color
from gtp_engine.frontends.gtp.core import answer_move
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError, parse_number
from gtp_engine.frontends.gtp.session import Session
from gtp_engine.go.rules import Ko

if TYPE_CHECKING:
    from gtp_engine.play.engine import Engine
    from gtp_engine.search.analysis import Analysis
    from gtp_engine.search.request import AvoidRule, ReportRequest

COLOR_WORDS = ("b", "w", "black", "white")

DEFAULT_INTERVAL = 1.0
"""Seconds between reports where the client does not say."""

CANCELLED = "cancelled"
"""Stands for the move of a search that the client has given up."""

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
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


@dataclass
class AnalyzeRequest:
    """What a client wants analysed and reported."""

    color: int
    interval: float = DEFAULT_INTERVAL
    """Seconds."""
    min_moves: int = 0
    max_moves: int | None = None
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    pv_visits: bool = False
    pv_edge_visits: bool = False
    root_info: bool = False
    wants_no_result: bool = False
    no_result_value: float | None = None
    """Probability of no result, 0 to 1, once it is known and if it was asked for."""
    avoid: list["AvoidRule"] = field(default_factory=list)


Formatter = Callable[["Analysis", AnalyzeRequest], str]
"""Makes the line that reports an analysis; it may be empty."""


def parse_analyze(session: Session, arguments: Arguments) -> AnalyzeRequest:
    """Return what a client asks for.

    Raises:
        GtpError: The arguments do not follow the grammar.
    """
    words = list(arguments.words)
    request = AnalyzeRequest(color=session.position.to_play)
    if words and words[0].lower() in COLOR_WORDS:
        request.color = parse_color(words.pop(0))
    if words and parse_number(words[0]) is not None:
        request.interval = _interval(words.pop(0))
    while words:
        key = words.pop(0)
        if not words:
            raise GtpError(f"syntax error: {key[:20]!r} lacks a value")
        if key.lower() in ("avoid", "allow"):
            _add_rule(session, request, words, is_allow=key.lower() == "allow")
        else:
            _set_key(request, key, words.pop(0))
    return request


def _set_key(request: AnalyzeRequest, key: str, value: str) -> None:
    lower = key.lower()
    if lower == "interval":
        request.interval = _interval(value)
    elif lower == "minmoves":
        request.min_moves = Arguments(value).integer(0, "minmoves")
    elif lower == "maxmoves":
        request.max_moves = Arguments(value).integer(0, "maxmoves")
    elif lower in _SWITCHES and value.lower() in _BOOLEANS:
        setattr(request, _SWITCHES[lower], _BOOLEANS[value.lower()])
    elif lower in _SWITCHES:
        raise GtpError(f"syntax error: {key} must be true or false, not {value[:20]!r}")
    else:
        raise GtpError(f"syntax error: unknown key {key[:20]!r}")


def _interval(word: str) -> float:
    seconds = Arguments(word).number(0, "the interval", minimum=0) / 100
    return min(max(seconds, _SHORTEST_INTERVAL), _LONGEST_INTERVAL)


def _add_rule(session: Session, request: AnalyzeRequest, words: list[str], is_allow: bool) -> None:
    """Take `color vertex,vertex,... depth` from the front of the words."""
    from gtp_engine.search.request import AvoidRule

    arguments = Arguments(" ".join(words[:3]))
    color = arguments.color(0)
    vertices = arguments.word(1, "a list of vertices").split(",")
    points = frozenset(session.parse_vertex(vertex) for vertex in vertices if vertex)
    depth = arguments.integer(2, "the depth")
    if depth < 1:
        raise GtpError("syntax error: the depth must be 1 or more")
    earlier = [rule for rule in request.avoid if rule.color == color]
    if any(rule.allow or is_allow for rule in earlier):
        raise GtpError("syntax error: allow goes with no other avoid or allow of its color")
    request.avoid.append(AvoidRule(color, points, depth, is_allow))
    del words[:3]


def _judge_no_result(engine: "Engine", request: AnalyzeRequest) -> None:
    """Find the probability of no result if the client asks for it.

    Where superko forbids every cycle it is 0; else the net's own for the position, since the
    search keeps none for each move.
    """
    if not request.wants_no_result:
        return
    is_possible = engine.rules.ko is Ko.SIMPLE
    request.no_result_value = (
        engine.raw_evaluation(0, None, request.color).no_result if is_possible else 0.0
    )


class Reporter:
    """Sends a search's reports to the client, the final one exactly once."""

    def __init__(self, session: Session, request: AnalyzeRequest, form: Formatter) -> None:
        self._reply = session.reply
        self._request = request
        self._form = form
        self._is_finished = False

    def report_request(self, first_after: float | None = None) -> "ReportRequest":
        """Return what to ask of the search.

        Args:
            first_after: Seconds to the first report; as between the others when None.
        """
        from gtp_engine.search.request import ReportRequest

        request = self._request
        return ReportRequest(
            interval=request.interval,
            callback=self.report,
            max_moves=request.max_moves,
            # Stopped at once, a search has visited no move, but one has to be reported.
            min_moves=max(1, request.min_moves),
            ownership=request.ownership,
            ownership_stdev=request.ownership_stdev,
            moves_ownership=request.moves_ownership,
            moves_ownership_stdev=request.moves_ownership_stdev,
            avoid=tuple(request.avoid),
            first_after=first_after,
        )

    def report(self, analysis: "Analysis") -> None:
        """Send a report unless the final one has been sent; called from the searching thread."""
        if self._is_finished:
            return
        self._is_finished = analysis.is_final
        line = self._form(analysis, self._request)
        if line:
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
    _judge_no_result(engine, request)
    reporter = Reporter(session, request, form)
    session.reply.begin()
    with session.searching(any_line_stops=True, stays_open=True) as stop:
        first = min(request.interval, FIRST_REPORT)
        analysis = engine.analyze(request.color, reporter.report_request(first), stop=stop)
    reporter.finish(analysis)
    return ""


def run_genmove(session: Session, arguments: Arguments, form: Formatter) -> str:
    """Choose and play a move, reporting on the way."""
    return f"play {_think_aloud(session, arguments, form, is_played=True)}"


def run_search(
    session: Session, arguments: Arguments, form: Formatter, *, is_cancellable: bool = False
) -> str:
    """Choose a move without playing it, reporting on the way.

    Args:
        session: The conversation.
        arguments: As for an analysis.
        form: Makes the lines of the reports.
        is_cancellable: Whether any line that the client sends ends it without a move.
    """
    move = _think_aloud(session, arguments, form, is_played=False, is_cancellable=is_cancellable)
    return f"play {move}"


def _think_aloud(
    session: Session,
    arguments: Arguments,
    form: Formatter,
    *,
    is_played: bool,
    is_cancellable: bool = False,
) -> str:
    request = parse_analyze(session, arguments)
    engine = session.moving_engine()
    _judge_no_result(engine, request)
    reporter = Reporter(session, request, form)
    session.reply.begin()
    with session.searching(any_line_stops=is_cancellable) as stop:
        report = reporter.report_request()
        decision = engine.genmove(request.color, report=report, commit=is_played, stop=stop)
    reporter.finish(decision.analysis)
    if is_cancellable and session.is_superseded:
        return CANCELLED
    return answer_move(session, decision)
