"""The engine in the hands of the package through which Sabaki talks to engines.

It needs node and npm's `@sabaki/gtp` where node looks for packages, e.g. in `NODE_PATH`.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.paths import TINY_NET

HERE = Path(__file__).resolve().parent
TIMEOUT = 300

_KEY = re.compile(r"[A-Za-z]+")
_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+")


@pytest.fixture(scope="module")
def found() -> Any:
    """What Sabaki's package made of a session with the engine."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    probe = [node, "-e", "require.resolve('@sabaki/gtp')"]
    if subprocess.run(probe, capture_output=True, cwd=HERE).returncode:
        pytest.skip("node has no package @sabaki/gtp")
    engine = [sys.executable, "-m", "gtp_engine", "--net", TINY_NET, "--playouts", "8"]
    done = subprocess.run(
        [node, str(HERE / "sabaki_client.cjs"), *engine, "--threads", "1"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_first_questions_come_in_one_go(found: Any) -> None:
    name, version, protocol, commands = found["hello"]
    assert (name["content"], protocol["content"]) == ("gtp-engine", "2")
    assert re.fullmatch(r"[0-9]+\.[0-9]+.*", version["content"])
    listed = commands["content"].split("\n")
    assert {"undo", "rectangular_boardsize", "set_free_handicap"} <= set(listed)
    assert {"kata-analyze", "kata-genmove_analyze"} <= set(listed)
    # Sabaki would prefer these, and misread them.
    assert not {"analyze", "genmove_analyze"} & set(listed)
    assert not any(one["error"] for one in found["hello"])


def test_positions_are_taken_over_step_by_step(found: Any) -> None:
    start = found["sent"].index("komi 6.5")
    assert found["sent"][start : start + 9] == [
        "komi 6.5",
        "boardsize 9",
        "clear_board",
        "play B D4",
        "play W E5",
        "play B pass",
        "play W C3",
        # The second position differs in the last move alone.
        "undo",
        "play W G7",
    ]


def test_an_analysis_ends_with_the_next_command(found: Any) -> None:
    assert found["analysis"]
    for line in found["analysis"]:
        assert line.startswith("info ")
        for info in line.removeprefix("info ").split(" info "):
            words = info.split(" ")
            at = words.index("pv")
            pairs = dict(zip(words[0:at:2], words[1:at:2], strict=True))
            assert all(_KEY.fullmatch(key) for key in pairs)
            assert _FLOAT.fullmatch(pairs["winrate"]) and _FLOAT.fullmatch(pairs["scoreLead"])
            assert pairs["visits"].isdigit() and len(words) > at + 1


def test_a_move_with_its_analysis_is_counted_by_both(found: Any) -> None:
    played = [line for line in found["move"] if line.startswith("play ")]
    assert len(played) == 1
    vertex = played[0].removeprefix("play ")
    moves = [one["args"] for one in found["history"]]
    assert moves == [
        ["B", "D4"],
        ["W", "E5"],
        ["B", "PASS"],
        ["W", "G7"],
        ["B", vertex.upper()],
    ]
    assert "5 moves made" in found["afterwards"]


def test_stones_anywhere_on_boards_of_any_shape(found: Any) -> None:
    rows = found["tsumego"].split("\n")
    assert rows[0].split() == list("ABCDE")
    assert "1 move made" in found["tsumego"] and "komi 0" in found["tsumego"]
    assert rows[7].split()[:4] == ["1", "X", "X", "."]


def test_what_is_refused_and_what_is_left_behind(found: Any) -> None:
    assert found["refused"] is True
    assert found["state"] is None
