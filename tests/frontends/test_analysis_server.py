"""The analysis protocol as a conversation: answers, actions, priorities, endings."""

import gc
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.analysis_client import TIMEOUT, AnalysisClient, Json, query
from tests.paths import TINY_NET

from gtp_engine import __version__
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.policy_play import policy_by_action
from gtp_engine.frontends.analysis.analyst import Analyst
from gtp_engine.frontends.analysis.game import QueryGame
from gtp_engine.frontends.analysis.query import Query
from gtp_engine.frontends.analysis.server import read_lines
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.play.settings import Settings
from gtp_engine.search.params import ANALYSIS_WIDTH, SearchParams
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits


class HeldEvaluator(FakeEvaluator):
    """Evaluates no position of a query until it is let go; the engine tries it on other boards."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.goes_on = threading.Event()

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        if batch.ownership.shape[1] == 25:
            self.began.set()
            assert self.goes_on.wait(TIMEOUT)
        super().evaluate(batch, n, use_cache=use_cache)


def turns(answers: list[Json]) -> list[tuple[str, int]]:
    return [(one["id"], one["turnNumber"]) for one in answers]


def test_an_answer_is_what_a_search_finds() -> None:
    client = AnalysisClient()
    moves = [["B", "C3"], ["W", "B2"]]
    [given] = client.ask(query(moves=moves, includePolicy=True, includeOwnership=True, komi=6.5))
    position = Position(5, rules=Rules.parse("chinese", komi=6.5))
    for color, (_, vertex) in zip((1, 2), moves, strict=True):
        position.play(color, (6 - int(vertex[1])) * 6 + "ABCDE".index(vertex[0]) + 1)
    search = Search(FakeEvaluator(), SearchParams(wide_root_noise=ANALYSIS_WIDTH), seed=1)
    search.set_position(position)
    expected = search.run(Limits(visits=10), ReportRequest(ownership=True))
    assert given["rootInfo"]["visits"] == 10 and given["turnNumber"] == 2
    assert given["rootInfo"]["winrate"] == round(expected.winrate, 6)
    assert [one["visits"] for one in given["moveInfos"]] == [m.visits for m in expected.moves]
    assert expected.ownership is not None
    assert np.allclose(given["ownership"], expected.ownership.ravel(), atol=1e-6)
    policy = policy_by_action(FakeEvaluator(), position)
    assert np.allclose(given["policy"], np.nan_to_num(policy, nan=-1.0), atol=1e-6)
    assert given["policy"].count(-1.0) == 2 and len(given["policy"]) == 26


def test_ownership_spreads_as_its_definition_says() -> None:
    """At two visits the tree holds two evaluations, whose ownerships are their values."""
    client = AnalysisClient()
    asked = query(maxVisits=2, includeOwnership=True, includeOwnershipStdev=True)
    [given] = client.ask(asked)
    root = 2 * given["rootInfo"]["rawWinrate"] - 1
    child = 2 * given["moveInfos"][0]["winrate"] - 1
    assert given["ownership"] == pytest.approx([(root + child) / 2] * 25, abs=0.005)
    assert given["ownershipStdev"] == pytest.approx([abs(root - child) / 2] * 25, abs=0.005)


def test_every_turn_gets_one_final_answer() -> None:
    client = AnalysisClient()
    moves = [["B", "C3"], ["W", "B2"], ["B", "D4"]]
    client.send(query(id="a", moves=moves, analyzeTurns=[0, 1, 1, 3]))
    client.send(query(id="a", moves=moves, analyzeTurns=[2]))
    answers = client.everything()
    assert sorted(turns(answers)) == [("a", 0), ("a", 1), ("a", 2), ("a", 3)]
    assert not any(one["isDuringSearch"] for one in answers)


def test_the_most_urgent_comes_first() -> None:
    evaluator = HeldEvaluator()
    client = AnalysisClient(evaluator, at_once=1)
    moves = [["B", "C3"], ["W", "B2"]]
    client.send(query(id="first"))
    assert evaluator.began.wait(TIMEOUT)
    client.send(query(id="low", priority=-1))
    client.send(query(id="plain"))
    client.send(query(id="turns", moves=moves, analyzeTurns=[0, 1, 2], priorities=[1, 3, 2]))
    evaluator.goes_on.set()
    expected = [("first", 0), ("turns", 1), ("turns", 2), ("turns", 0), ("plain", 0), ("low", 0)]
    assert turns(client.everything()) == expected


def test_reports_during_a_search() -> None:
    client = AnalysisClient()
    answers = client.ask(query(maxVisits=300, reportDuringSearchEvery=0.001))
    assert [one["isDuringSearch"] for one in answers] == [True] * (len(answers) - 1) + [False]
    assert len(answers) > 1
    visits = [one["rootInfo"]["visits"] for one in answers]
    assert visits == sorted(visits) and visits[-1] == 300


def test_a_first_report_of_its_own() -> None:
    client = AnalysisClient()
    asked = query(maxVisits=50_000_000, firstReportDuringSearchAfter=0.001)
    client.send(asked)
    assert client.wait_for(1)[0]["isDuringSearch"]
    client.send({"id": "t", "action": "terminate", "terminateId": "q"})
    assert [one["isDuringSearch"] for one in client.everything() if "action" not in one] == [
        True,
        False,
    ]


def test_terminating() -> None:
    evaluator = HeldEvaluator()
    client = AnalysisClient(evaluator, at_once=1)
    moves = [["B", "C3"], ["W", "B2"]]
    client.send(query(id="runs", maxVisits=1_000_000))
    assert evaluator.began.wait(TIMEOUT)
    client.send(query(id="waits", moves=moves, analyzeTurns=[0, 1, 2]))
    client.send(query(id="stays"))
    client.send({"id": "t1", "action": "terminate", "terminateId": "waits", "turnNumbers": [1, 2]})
    none = {"isDuringSearch": False, "noResults": True}
    assert client.wait_for(3)[:2] == [
        {"id": "waits", "turnNumber": 1, **none},
        {"id": "waits", "turnNumber": 2, **none},
    ]
    client.send({"id": "t2", "action": "terminate", "terminateId": "runs"})
    client.send({"id": "t3", "action": "terminate", "terminateId": "unheard of"})
    evaluator.goes_on.set()
    answers = [one for one in client.everything()[3:] if "action" not in one]
    assert turns(answers) == [("runs", 0), ("waits", 0), ("stays", 0)]
    assert answers[0]["rootInfo"]["visits"] < 100 and "noResults" not in answers[0]
    client.send(query(id="again", maxVisits=1_000_000))
    client.send({"id": "t4", "action": "terminate_all", "turnNumbers": [1]})
    client.send({"id": "t5", "action": "terminate_all", "extra": [{}]})
    assert client.everything()[-2:] != []
    assert {"id": "t5", "action": "terminate_all", "extra": [{}]} in client.received
    finals = [one for one in client.received if one["id"] == "again"]
    assert len(finals) == 1


def test_terminating_before_the_net_is_there() -> None:
    class SlowStart(AnalysisClient):
        pass

    client = SlowStart()
    loaded = threading.Event()
    original = client.analyst._loader.wait_ready

    def wait() -> None:
        assert loaded.wait(TIMEOUT)
        original()

    client.analyst._loader.wait_ready = wait  # type: ignore[method-assign]
    client.send(query(id="early"))
    client.send(query(id="kept"))
    client.send({"id": "v", "action": "query_version"})
    client.send({"id": "t", "action": "terminate", "terminateId": "early"})
    assert [one["id"] for one in client.wait_for(3)] == ["v", "early", "t"]
    loaded.set()
    assert [one["id"] for one in client.everything()] == ["v", "early", "t", "kept"]


def test_actions_echo_what_they_were_asked() -> None:
    client = AnalysisClient()
    assert client.ask({"id": "v", "action": "query_version", "more": 1}) == [
        {
            "id": "v",
            "action": "query_version",
            "more": 1,
            "version": __version__,
            "git_hash": "<omitted>",
        }
    ]
    assert client.ask({"id": "c", "action": "clear_cache"}) == [
        {"id": "c", "action": "clear_cache"}
    ]
    [given] = client.ask({"id": "m", "action": "query_models"})
    assert given["models"] == [{"name": "fake", "internalName": "fake"}]


@pytest.mark.parametrize(
    ("sent", "field", "identity"),
    [
        ({"id": "x", "action": "dance"}, "action", "x"),
        ({"id": "x", "action": 3}, "action", "x"),
        ({"id": "x", "action": "terminate"}, "terminateId", "x"),
        ({"id": "x", "action": "terminate_all", "turnNumbers": "1"}, "turnNumbers", "x"),
        (query(id="x", rules="martian"), "rules", "x"),
        (query(id="x", komi=10**400), "komi", "x"),
        (query(id="x", rules={"komi": 10**400}), "rules", "x"),
        (b'{"id":"x","action":"query_version","huge":1e999}', None, None),
        (query(id=5), "id", None),
        (b"{", None, None),
        (None, None, None),
    ],
)
def test_mistakes_get_one_sentence(sent: object, field: str | None, identity: str | None) -> None:
    client = AnalysisClient()
    [given] = client.ask(sent)  # type: ignore[arg-type]
    assert given["error"] and "\n" not in given["error"]
    assert given.get("field") == field and given.get("id") == identity
    assert client.ask(query(id="next"))[0]["id"] == "next"


def test_a_failure_of_ours_is_answered_and_the_next_line_read(said: list[str]) -> None:
    client = AnalysisClient()
    plain = client.analyst.add

    def fail(asked: Query) -> None:
        client.analyst.add = plain  # type: ignore[method-assign]
        raise KeyError("a bug")

    client.analyst.add = fail  # type: ignore[method-assign]
    assert client.ask(query(id="x")) == [{"error": "internal error: KeyError: 'a bug'", "id": "x"}]
    assert "Traceback" in said[0]
    assert client.ask(query(id="next"))[0]["id"] == "next"


def test_empty_lines_are_nothing() -> None:
    client = AnalysisClient()
    assert client.ask(b"  \r") == []


def test_an_impossible_game_is_refused_once() -> None:
    client = AnalysisClient()
    moves = [["B", "C3"], ["W", "C3"], ["B", "D4"]]
    [given] = client.ask(query(moves=moves, analyzeTurns=[0, 1, 2, 3]))
    assert given["error"].startswith("Illegal move 1: C3")
    assert (given["field"], given["id"]) == ("moves", "q")


def test_warnings_come_before_the_answer() -> None:
    client = AnalysisClient()
    warning, given = client.ask(query(komii=3))
    assert (warning["field"], warning["id"]) == ("komii", "q") and "warning" in warning
    assert given["rootInfo"]["visits"] == 10


def test_games_that_are_answered_are_gone_without_the_collector() -> None:
    client = AnalysisClient()
    client.ask(query())
    gc.collect()
    gc.disable()
    try:
        for _ in range(12):
            client.ask(query())
        left = sum(type(one) is QueryGame for one in gc.get_objects())
    finally:
        gc.enable()
    assert left <= 3  # a thread may still hold its last one


def test_an_engine_without_a_net_says_so_of_every_query(tmp_path: Path) -> None:
    received: list[Json] = []
    settings = Settings(net=str(tmp_path / "absent.onnx"))
    analyst = Analyst(settings, received.append)
    from gtp_engine.frontends.analysis.overrides import AnalysisSettings
    from gtp_engine.frontends.analysis.query import parse_query

    for name in ("a", "b"):
        analyst.add(parse_query(query(id=name), AnalysisSettings()))
        analyst.wait()
    assert [one["id"] for one in received] == ["a", "b"]
    assert all("absent.onnx" in one["error"] for one in received)


def test_everything_forbidden_leaves_the_pass() -> None:
    vertices = [f"{letter}{number}" for letter in "ABCDE" for number in range(1, 6)]
    rule = {"player": "B", "moves": [*vertices, "pass"], "untilDepth": 1}
    [given] = AnalysisClient().ask(query(avoidMoves=[rule]))
    assert [one["move"] for one in given["moveInfos"]] == ["pass"]


def test_allowed_moves_are_all_there_is() -> None:
    rule = {"player": "B", "moves": ["A1", "C3"], "untilDepth": 1}
    [given] = AnalysisClient().ask(query(allowMoves=[rule], maxVisits=40))
    assert {one["move"] for one in given["moveInfos"]} == {"A1", "C3"}


def lines_of(data: bytes, longest: int, tmp_path: Path) -> list[bytes | None]:
    path = tmp_path / "lines"
    path.write_bytes(data)
    with path.open("rb") as file:
        return list(read_lines(file.fileno(), longest))


def test_lines_of_any_length(tmp_path: Path) -> None:
    long = b"x" * 200_000
    data = b"ab\r\n\n" + long + b"\n" + b"12345678\n123456789\n" + long
    assert lines_of(data, 8, tmp_path) == [b"ab\r", b"", None, b"12345678", None, None]
    assert lines_of(b"a\nb", 8, tmp_path) == [b"a", b"b"]
    assert lines_of(b"", 8, tmp_path) == []


@pytest.mark.parametrize("more", [{}, {"includePolicy": True}])
def test_a_query_of_one_visit_asks_the_net_once(more: Json) -> None:
    net = open_net(TINY_NET, "cpu")
    client = AnalysisClient(net, at_once=1)
    client.ask(query(maxVisits=1))  # loads
    for moves in ([["B", "C3"]], [["B", "C3"], ["W", "B2"]]):
        before = net.batcher.evaluations
        [given] = client.ask(query(maxVisits=1, moves=moves, **more))
        assert {"rawScoreSelfplay", "rawNoResultProb"} <= given["rootInfo"].keys()
        assert net.batcher.evaluations == before + 1
