"""The conversation: every line of the client is a query or an action, taken up as it comes.

Whatever needs no net is answered at once. Only the standard library is imported here.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gtp_engine.frontends.analysis.analyst import Analyst, Send, error_object
from gtp_engine.frontends.analysis.fields import Fields, QueryError
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.query import parse_line, parse_query
from gtp_engine.play.loading import EngineUnavailableError
from gtp_engine.version import __version__

if TYPE_CHECKING:
    from gtp_engine.evaluators.evaluator import Evaluator

LONGEST_LINE = 1 << 24
"""Bytes of a line; what is longer is no query, and is not kept in memory."""

MOST_TURNS = 1 << 31

Action = Callable[["Server", dict[str, Any]], dict[str, Any] | None]
"""Takes an action's object, and returns what to answer; None: nothing yet."""


def read_lines(descriptor: int, longest: int = LONGEST_LINE) -> Iterator[bytes | None]:
    """Yield the lines until the end of input, their ends cut off; None for one too long."""
    # A line may have that many bytes before its end.
    with contextlib.suppress(OSError), open(descriptor, "rb", closefd=False) as file:
        while line := file.readline(longest + 1):
            is_too_long = len(line) > longest and not line.endswith(b"\n")
            while len(line) > longest and not line.endswith(b"\n"):
                line = file.readline(longest + 1)
            yield None if is_too_long else line.removesuffix(b"\n")


class Server:
    """Answers one client's lines; the settings hold where queries say nothing."""

    def __init__(self, analyst: Analyst, settings: AnalysisSettings, send: Send) -> None:
        self.analyst = analyst
        self.send = send
        self._settings = settings

    def handle(self, line: bytes | None) -> None:
        """Take up a line; None stands for one too long to be read. It never raises."""
        identity = None
        try:
            if line is None:
                raise QueryError(f"the line is longer than {LONGEST_LINE >> 20} MiB")
            if not line.strip():
                return
            values = parse_line(line)
            identity = values["id"]
            if "action" in values:
                self._act(values)
            else:
                self._ask(values)
        except Exception as error:
            self.send(error_object(error, identity))

    def _ask(self, values: dict[str, Any]) -> None:
        query = parse_query(values, self._settings)
        for field, warning in query.warnings:
            self.send({"warning": warning, "field": field, "id": query.id})
        self.analyst.add(query)

    def _act(self, values: dict[str, Any]) -> None:
        action = values["action"]
        handler = _ACTIONS.get(action) if isinstance(action, str) else None
        if handler is None:
            raise QueryError(f"an action is one of {', '.join(_ACTIONS)}", "action")
        reply = handler(self, values)
        if reply is not None:
            self.send(reply)


def _query_version(server: Server, values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "version": __version__, "git_hash": "<omitted>"}


def _clear_cache(server: Server, values: dict[str, Any]) -> dict[str, Any]:
    server.analyst.clear_cache()
    return values


def _terminate(server: Server, values: dict[str, Any]) -> dict[str, Any]:
    identity = values.get("terminateId")
    if not isinstance(identity, str):
        raise QueryError("terminate needs a terminateId, which is a string", "terminateId")
    server.analyst.terminate(identity, _turn_numbers(values))
    return values


def _terminate_all(server: Server, values: dict[str, Any]) -> dict[str, Any]:
    server.analyst.terminate(None, _turn_numbers(values))
    return values


def _turn_numbers(values: dict[str, Any]) -> frozenset[int] | None:
    if "turnNumbers" not in values:
        return None
    return frozenset(Fields(values).integers("turnNumbers", 0, MOST_TURNS))


def _query_models(server: Server, values: dict[str, Any]) -> None:
    """Answer once the net is there, without keeping other lines waiting."""

    def reply() -> None:
        try:
            models = [describe_model(server.analyst.evaluator())]
        except EngineUnavailableError as error:
            server.send(error_object(error, values["id"]))
        else:
            server.send({**values, "models": models})

    server.analyst.answer_later(reply)


def describe_model(evaluator: "Evaluator") -> dict[str, Any]:
    """Return what `query_models` says about a net."""
    from gtp_engine.evaluators.net_evaluator import NetEvaluator

    if not isinstance(evaluator, NetEvaluator):
        return {"name": evaluator.name, "internalName": evaluator.name}
    info = evaluator.net.info
    return {
        "name": evaluator.net.path.name,
        "internalName": info.name,
        "maxBatchSize": evaluator.batcher.max_batch,
        "usesHumanSLProfile": evaluator.takes_profile,
        "version": info.encoder_version,
        "usingFP16": "auto",
    }


_ACTIONS: dict[str, Action] = {
    "query_version": _query_version,
    "clear_cache": _clear_cache,
    "terminate": _terminate,
    "terminate_all": _terminate_all,
    "query_models": _query_models,
}
