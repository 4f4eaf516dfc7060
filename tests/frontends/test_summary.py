"""The lines on stderr that the bridge to OGS and Lizzie read, in those programs' own words."""

import logging
import re
from dataclasses import replace

import pytest
from tests.frontends.conversation import Conversation
from tests.frontends.fake_engine import FakeEngine

from gtp_engine.coords import PASS
from gtp_engine.frontends.gtp.info_lines import summarize
from gtp_engine.messages import collected, set_up
from gtp_engine.play.settings import Settings
from gtp_engine.search.analysis import Analysis

# What the bridge and Lizzie look for in a line, rewritten here with named groups.
BRIDGE_MOVE = re.compile(
    r"(?P<move>[A-Z]\d+|pass) -> +(?P<visits>\d+) \(V: +(?P<winrate>\d+.\d\d)%\)"
    r" \(LCB: +\d+.\d\d%\) \(N: +\d+.\d\d%\) PV:(?P<pv>( ([A-Z][0-9]+|pass)+)+)"
)
BRIDGE_SCORES = re.compile(
    r"(CHAT|MALKOVICH):Visits (\d*) Winrate (\d+\.\d\d)% ScoreLead (-?\d+\.\d)"
    r" ScoreStdev (-?\d+\.\d) PV (.*)"
)
"""Once a line has said KataGo."""
BRIDGE_COUNTS = re.compile(r"(\d+) visits, (\d+) nodes, (\d+) playouts, (\d+) n/s")
LIZZIE_MOVE = re.compile(
    r" *(\w\d*) -> *(\d+) \(V: ([^%)]+)%\) \(LCB: ([^%)]+)%\) \([^)]+\) PV: (.+)"
)


@pytest.fixture
def analysis() -> Analysis:
    return FakeEngine()._analysis(1)


def test_every_line_is_one_that_the_readers_know(analysis: Analysis) -> None:
    *moves, counts = summarize(analysis).split("\n")
    assert moves == [" A19 ->      80 (V: 62.50%) (LCB: 60.00%) (N: 33.33%) PV: A19 B19 pass"]
    assert counts == "100 visits, 95 nodes, 90 playouts, 180 n/s"
    match = BRIDGE_MOVE.search(moves[0])
    assert match is not None and LIZZIE_MOVE.fullmatch(moves[0])
    assert match.groupdict() == {
        "move": "A19",
        "visits": "80",
        "winrate": "62.50",
        "pv": " A19 B19 pass",
    }
    assert BRIDGE_COUNTS.fullmatch(counts)


def test_bounds_beyond_a_winrate_are_cut_off(analysis: Analysis) -> None:
    best = replace(analysis.moves[0], lcb=-0.3, winrate=1.0, prior=0.0)
    line = summarize(replace(analysis, moves=(best,))).split("\n")[0]
    assert BRIDGE_MOVE.search(line) and "(LCB:  0.00%)" in line


def test_nothing_is_said_of_a_pass(analysis: Analysis) -> None:
    passing = replace(analysis.moves[2], order=0, visits=200)
    second = replace(analysis.moves[0], order=1)
    assert summarize(replace(analysis, moves=(passing, second))).count("\n") == 0
    assert passing.point == PASS


def test_each_move_is_followed_by_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    with Conversation(FakeEngine()) as client:
        for command in ("genmove b", "kgs-genmove_cleanup w", "lz-genmove_analyze b 100000"):
            client.ask(command)
    said = capsys.readouterr().err.split("\n")
    assert [line[:12] for line in said] == [" A19 ->     ", "100 visits, "] * 3 + [""]
    assert "KataGo" not in "".join(said)  # the bridge would then expect other lines


def test_the_bridge_hears_of_scores_if_it_wants_to(capsys: pytest.CaptureFixture[str]) -> None:
    with Conversation(FakeEngine(Settings(ogs_chat=True))) as client:
        client.ask("genmove b")
    name, line, _ = capsys.readouterr().err.split("\n")
    assert "KataGo" in name and not BRIDGE_MOVE.search(line)
    match = BRIDGE_SCORES.fullmatch(line)
    assert match and match.groups()[1:] == ("100", "62.50", "1.0", "8.0", "A19 B19 pass")


def test_no_message_ends_up_in_a_chat(capsys: pytest.CaptureFixture[str]) -> None:
    with collected():  # and what is set up ends with it
        set_up("gtp-engine")
        logging.getLogger("gtp_engine.play").info(
            "MAIN: I mean DISCUSSION: and MALKOVICH:x, REMAIN:"
        )
    said = capsys.readouterr().err
    assert said.startswith("gtp-engine: ") and said.endswith("\n")
    assert not re.search(r"(DISCUSSION|MALKOVICH|MAIN):", said)
    assert "MAIN : I mean DISCUSSION : and MALKOVICH :x" in said
