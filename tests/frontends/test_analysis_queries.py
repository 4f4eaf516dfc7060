"""From JSON to queries: what is understood, and what is said of the rest."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.analysis_client import query

from gtp_engine.coords import BLACK, PASS, WHITE, parse_vertex
from gtp_engine.frontends.analysis.fields import QueryError
from gtp_engine.frontends.analysis.overrides import (
    AnalysisSettings,
    OverrideError,
    parse_config,
    read_config,
)
from gtp_engine.frontends.analysis.query import first_to_play, parse_line, parse_query
from gtp_engine.go.rules import Rules


def parse(**changes: Any):  # type: ignore[no-untyped-def]
    return parse_query(query(**changes), AnalysisSettings())


def point(vertex: str) -> int:
    return parse_vertex(vertex, 5, 5)


def test_a_whole_query() -> None:
    found = parse(
        initialStones=[["b", "A1"], ["W", "(4,0)"]],
        moves=[["B", "c3"], ["white", "pass"]],
        rules="tromp-taylor",
        komi=6,
        initialPlayer="W",
        analyzeTurns=[2, 0],
        priorities=[5, -3],
        maxVisits=17,
        rootPolicyTemperature=1.5,
        rootFpuReductionMax=0.3,
        analysisPVLen=4,
        includeOwnership=True,
        includePVVisits=True,
        reportDuringSearchEvery=0.5,
        firstReportDuringSearchAfter=0.1,
        allowMoves=[{"player": "B", "moves": ["A1", "pass"], "untilDepth": 2}],
        overrideSettings={"maxTime": 3.5, "reportAnalysisWinratesAs": "WHITE"},
    )
    assert found.stones == ((BLACK, point("A1")), (WHITE, point("E5")))
    assert found.moves == ((BLACK, point("C3")), (WHITE, PASS))
    assert found.rules == Rules.parse("tromp-taylor", komi=6.0)
    assert found.first_player == WHITE
    assert found.turns == (0, 2) and found.priorities == (-3, 5)
    settings = found.settings
    assert (settings.limits.visits, settings.limits.seconds) == (17, 3.5)
    assert settings.params.root_policy_temperature == 1.5
    assert settings.params.root_fpu_reduction == 0.3
    assert settings.pv_length == 4 and settings.perspective == "WHITE"
    assert found.wanted.ownership and found.wanted.pv_visits and not found.wanted.policy
    assert (found.wanted.interval, found.wanted.first_after) == (0.5, 0.1)
    rule = found.wanted.avoid[0]
    assert (rule.color, rule.points, rule.depth, rule.allow) == (
        BLACK,
        frozenset({point("A1"), PASS}),
        2,
        True,
    )
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"boardXSize": None}, "boardXSize"),
        ({"boardXSize": 29}, "boardXSize"),
        ({"boardYSize": 1}, "boardYSize"),
        ({"boardXSize": True}, "boardXSize"),
        ({"boardXSize": 5.0}, "boardXSize"),
        ({"moves": None}, "moves"),
        ({"moves": [["B"]]}, "moves"),
        ({"moves": [["X", "A1"]]}, "moves"),
        ({"moves": [["B", "A6"]]}, "moves"),
        ({"moves": [["B", "(5,0)"]]}, "moves"),
        ({"moves": [["B", 3]]}, "moves"),
        ({"moves": "B A1"}, "moves"),
        ({"initialStones": [["B", "pass"]]}, "initialStones"),
        ({"initialPlayer": "E"}, "initialPlayer"),
        ({"rules": None}, "rules"),
        ({"rules": "martian"}, "rules"),
        ({"rules": {"ko": "NEVER"}}, "rules"),
        ({"rules": 3}, "rules"),
        ({"komi": 7.25}, "komi"),
        ({"komi": 401}, "komi"),
        ({"komi": "7.5"}, "komi"),
        ({"whiteHandicapBonus": "2N"}, "whiteHandicapBonus"),
        ({"analyzeTurns": [1]}, "analyzeTurns"),
        ({"analyzeTurns": [0.0]}, "analyzeTurns"),
        ({"priorities": [1]}, "priorities"),
        ({"analyzeTurns": [0], "priorities": [1, 2]}, "priorities"),
        ({"analyzeTurns": [0], "priorities": [1], "priority": 1}, "priority"),
        ({"priority": 1 << 62}, "priority"),
        ({"maxVisits": 0}, "maxVisits"),
        ({"analysisPVLen": 0}, "analysisPVLen"),
        ({"rootPolicyTemperature": 0}, "rootPolicyTemperature"),
        ({"rootFpuReductionMax": "much"}, "rootFpuReductionMax"),
        ({"includeOwnership": 1}, "includeOwnership"),
        ({"reportDuringSearchEvery": 0}, "reportDuringSearchEvery"),
        ({"avoidMoves": [], "allowMoves": []}, "allowMoves"),
        ({"avoidMoves": [[]]}, "avoidMoves"),
        ({"avoidMoves": [{"player": "B", "moves": ["A1"]}]}, "avoidMoves"),
        ({"avoidMoves": [{"player": "B", "moves": "A1", "untilDepth": 1}]}, "avoidMoves"),
        ({"allowMoves": [{"player": "B", "moves": [], "untilDepth": 1}] * 2}, "allowMoves"),
        ({"overrideSettings": []}, "overrideSettings"),
        ({"overrideSettings": {"maxVisits": -1}}, "overrideSettings"),
        ({"overrideSettings": {"wideRootNoise": "wide"}}, "overrideSettings"),
        ({"overrideSettings": {"reportAnalysisWinratesAs": "RED"}}, "overrideSettings"),
        ({"overrideSettings": {"cpuctExploration": 1e9}}, "overrideSettings"),
    ],
)
def test_what_makes_no_sense_names_its_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(**changes)
    assert caught.value.field == field
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[1]",
        b"3",
        b'{"id":1}',
        b'{"moves":[]}',
        b'{"id":"a","komi":NaN}',
        b"[" * 100_000,
        b'{"id":"a","komi":' + b"9" * 5000 + b"}",
        b"\xff\xfe",
    ],
)
def test_a_line_that_is_no_query(line: bytes) -> None:
    with pytest.raises(QueryError) as caught:
        parse_line(line)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_any_value_of_any_field_is_taken_or_refused(value: Any) -> None:
    for name in ("moves", "rules", "komi", "analyzeTurns", "avoidMoves", "overrideSettings"):
        line = json.dumps({**query(), name: value})
        try:
            parse_query(parse_line(line), AnalysisSettings())
        except QueryError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("rules", "komi"),
    [
        ("chinese", 7.5),
        ("japanese", 6.5),
        ("aga-button", 7.0),
        ({"scoring": "TERRITORY"}, 6.5),
        ({"komi": 5.5}, 5.5),
    ],
)
def test_the_komi_that_nobody_mentions(rules: Any, komi: float) -> None:
    assert parse(rules=rules).rules.komi == komi


def test_a_handicap_bonus_overrides_the_rules() -> None:
    assert parse(whiteHandicapBonus="N-1").rules.to_kata()["whiteHandicapBonus"] == "N-1"
    assert parse(whiteHandicapBonus=0).rules.to_kata()["whiteHandicapBonus"] == "0"


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({}, BLACK),
        ({"moves": [["W", "A1"]]}, WHITE),
        ({"initialStones": [["B", "A1"], ["B", "B2"]]}, WHITE),
        ({"initialStones": [["B", "A1"]]}, BLACK),
        ({"initialStones": [["B", "A1"], ["B", "B2"], ["W", "C3"]]}, BLACK),
        ({"initialStones": [["B", "A1"], ["B", "B2"]], "initialPlayer": "B"}, BLACK),
    ],
)
def test_who_moves_first(changes: dict[str, Any], first: int) -> None:
    assert first_to_play(parse(**changes)) == first


@pytest.mark.parametrize("where", ["the query", "overrideSettings"])
def test_a_root_may_be_as_hot_as_katagos(where: str) -> None:
    hot = {"rootPolicyTemperature": 100}
    found = parse(**hot) if where == "the query" else parse(overrideSettings=hot)
    assert found.settings.params.root_policy_temperature == 100.0


def test_what_is_not_known_is_said_but_does_no_harm() -> None:
    found = parse(typo=1, overrideSettings={"antiMirror": True, "playoutDoublingAdvantage": 1.5})
    assert found.warnings == (
        ("overrideSettings", "not known here: antiMirror, playoutDoublingAdvantage"),
        ("typo", "unknown field"),
    )


def test_roots_are_wide_unless_somebody_says_otherwise() -> None:
    assert AnalysisSettings().params.wide_root_noise == 0.04
    settings, unknown = AnalysisSettings().with_overrides({"wideRootNoise": 0.0})
    assert unknown == [] and settings.params.wide_root_noise == 0.0


def test_parameters_by_their_own_names() -> None:
    settings, _ = AnalysisSettings().with_overrides({"cpuct": 1.25, "use_cache": False})
    assert settings.params.cpuct == 1.25 and not settings.params.use_cache
    with pytest.raises(OverrideError, match="between 0 and 10"):
        AnalysisSettings().with_overrides({"cpuct": 11})


def test_configurations_made_for_other_programs(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "analysis.cfg"
    path.write_text("# comment\nmaxVisits = 300  # each\n\nnumAnalysisThreads=2\nno setting\n")
    assert read_config(path) == {"maxVisits": "300", "numAnalysisThreads": "2"}
    assert parse_config(["a=1", " b = 2"]) == {"a": "1", "b": "2"}
    with pytest.raises(OverrideError, match="No such file"):
        read_config(tmp_path / "absent.cfg")


def test_games_and_lines_are_bounded() -> None:
    with pytest.raises(QueryError, match="has more than 10,000 entries"):
        parse(moves=[["B", "pass"]] * 10_001)
    assert len(parse(moves=[["B", "pass"], ["W", "pass"]] * 5_000).moves) == 10_000
    for action in ('"action": "query_models"', '"moves": []'):
        line = f'{{"id": "x", {action}, "y": {"[" * 900 + "]" * 900}}}'
        with pytest.raises(QueryError, match="too deep"):
            parse_line(line)


def test_a_device_is_no_configuration() -> None:
    with pytest.raises(OverrideError, match=r"not a regular file|No such file"):
        read_config(Path("/dev/zero"))
