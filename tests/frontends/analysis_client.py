"""A client of the analysis protocol, in the same process as the server."""

import json
import threading
from typing import Any

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.frontends.analysis.analyst import Analyst, format_line
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.server import Server
from gtp_engine.play.settings import Settings

TIMEOUT = 300.0
"""Seconds after which a test gives up; nothing should ever take that long."""

Json = dict[str, Any]


class AnalysisClient:
    """Sends lines and keeps what is answered."""

    def __init__(
        self, evaluator: Evaluator | None = None, *, at_once: int = 2, visits: int = 10
    ) -> None:
        self.received: list[Json] = []
        self._grown = threading.Condition()
        self.analyst = Analyst(
            Settings(seed=1, memory=256),
            self._receive,
            at_once=at_once,
            evaluator=evaluator or FakeEvaluator(),
        )
        settings = AnalysisSettings().with_limits(visits=visits)
        self.server = Server(self.analyst, settings, self._receive)

    def _receive(self, found: Json) -> None:
        line = format_line(found)
        assert line.endswith("\n") and line.count("\n") == 1 and line.isascii()
        with self._grown:
            self.received.append(json.loads(line))
            self._grown.notify_all()

    def send(self, query: Json | bytes | None) -> None:
        """Send an object, or bytes as they are; None stands for a line too long to be read."""
        self.server.handle(json.dumps(query).encode() if isinstance(query, dict) else query)

    def wait_for(self, count: int) -> list[Json]:
        """Wait until so many lines have come, and return all there are."""
        with self._grown:
            assert self._grown.wait_for(lambda: len(self.received) >= count, TIMEOUT)
            return list(self.received)

    def everything(self) -> list[Json]:
        """Wait until every query is answered, and return all lines."""
        waiting = threading.Thread(target=self.analyst.wait, daemon=True)
        waiting.start()
        waiting.join(TIMEOUT)
        assert not waiting.is_alive()
        return list(self.received)

    def ask(self, query: Json | bytes | None) -> list[Json]:
        """Send an object and return all that comes of it alone."""
        before = len(self.received)
        self.send(query)
        return self.everything()[before:]


def query(**changes: Any) -> Json:
    """Return a small query with some fields changed; None leaves a field out."""
    values = {"id": "q", "moves": [], "rules": "chinese", "boardXSize": 5, "boardYSize": 5}
    return {name: value for name, value in {**values, **changes}.items() if value is not None}
