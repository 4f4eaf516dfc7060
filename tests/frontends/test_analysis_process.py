"""`gtp-engine analysis` as a process: pipes, endings, game records."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.analysis_client import query
from tests.paths import TINY_NET

TIMEOUT = 300
COMMAND = [sys.executable, "-m", "gtp_engine", "analysis"]

GAME = "(;GM[1]SZ[5]KM[6.5]RU[Chinese];B[cc];W[bb];B[dd])"


def converse(text: str, *options: str) -> tuple[list[Any], subprocess.CompletedProcess[str]]:
    done = subprocess.run(
        [*COMMAND, "--net", TINY_NET, *options],
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done


def lines(*objects: Any) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def test_the_end_of_input_waits_for_every_answer(tmp_path: Path) -> None:
    asked = [query(id=str(n), maxVisits=20, komi=n / 2) for n in range(12)]
    log = tmp_path / "log"
    answers, done = converse(lines(*asked) + "nonsense", "--log", str(log))
    assert done.returncode == 0
    assert sorted(one["id"] for one in answers if "id" in one) == sorted(str(n) for n in range(12))
    assert sum("error" in one for one in answers) == 1
    assert all(one["rootInfo"]["visits"] == 20 for one in answers if "id" in one)
    noted = log.read_text()
    assert noted.count(" > {") == 12 and "> nonsense" in noted and noted.count(" < {") == 13


def test_the_end_of_input_waits_for_what_is_said_of_the_net() -> None:
    [given], done = converse(lines({"id": "m", "action": "query_models"}))
    assert done.returncode == 0
    assert given["models"][0]["internalName"] == "tiny"


def test_leaving_without_waiting() -> None:
    endless = query(maxVisits=1 << 40)
    for option in ("--quit-without-waiting", "-quit-without-waiting"):
        answers, done = converse(lines(endless), option)
        assert done.returncode == 0
        assert all(one["id"] == "q" for one in answers)


def test_a_client_that_closes_the_pipe_in_mid_analysis() -> None:
    with subprocess.Popen(
        [*COMMAND, "--net", TINY_NET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines(query(maxVisits=1 << 40, reportDuringSearchEvery=0.01)))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["isDuringSearch"]
        process.stdout.close()
        assert process.wait(TIMEOUT) == 0


def test_being_told_to_go() -> None:
    with subprocess.Popen(
        [*COMMAND, "--net", TINY_NET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines({"id": "v", "action": "query_version"}))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == "v"
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT) != 0


def test_a_command_line_made_for_katago(tmp_path: Path) -> None:
    config = tmp_path / "analysis.cfg"
    config.write_text("reportAnalysisWinratesAs = SIDETOMOVE\nmaxVisits = 7\nlogDir = x\n")
    options = ["-config", str(config), "-model", TINY_NET, "-override-config", "maxVisits=9,a=b"]
    options += ["-analysis-threads", "4", "-human-model", "h.bin.gz"]
    done = subprocess.run(
        [*COMMAND, *options],
        input=lines(query()),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert json.loads(done.stdout)["rootInfo"]["visits"] == 9
    assert "-human-model is not read" in done.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--sgf", "x.sgf"], "--sgf and --out go together"),
        (["--winrates-as", "RED"], "--winrates-as: reportAnalysisWinratesAs must be one of"),
        (["-override-config", "maxVisits=0"], "-override-config: maxVisits must be a number from"),
        (["-config", "absent.cfg"], "absent.cfg: No such file"),
        (["--visits", "0"], "not a whole number of 1 or more"),
        (["--sgf", "x.sgf", "--out", "/absent/x.jsonl"], "No such file"),
    ],
)
def test_options_that_make_no_sense(options: list[str], complaint: str) -> None:
    answers, done = converse("", *options)
    assert (answers, done.returncode) == ([], 2)
    assert complaint in done.stderr and len(done.stderr.splitlines()) == 1


def analyse_records(out: Path, *paths: Path) -> tuple[list[Any], subprocess.CompletedProcess[str]]:
    sgf = ["--sgf", *(str(path) for path in paths)]
    _, done = converse("", *sgf, "--out", str(out), "--visits", "5")
    return [json.loads(line) for line in out.read_text().splitlines()], done


def test_game_records_go_into_a_file_that_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    good = folder / "good.sgf"
    good.write_text(GAME + GAME.replace("[dd]", "[ee]"))
    (folder / "bad.sgf").write_text("no game at all")
    (folder / "illegal.sgf").write_text(GAME.replace("W[bb]", "W[cc]"))
    out = tmp_path / "out.jsonl"
    answers, done = analyse_records(out, folder, good)  # which is in the folder already
    assert done.returncode == 1
    complaints = [line for line in done.stderr.splitlines() if "bad.sgf" in line]
    assert len(complaints) == 1
    assert [
        line for line in done.stderr.splitlines() if "illegal.sgf" in line and "occupied" in line
    ]
    expected = sorted((name, turn) for name in (str(good), f"{good}#2") for turn in range(4))
    assert sorted((one["id"], one["turnNumber"]) for one in answers) == expected
    assert all(one["rootInfo"]["visits"] == 5 for one in answers)
    (asked,), _ = converse(lines(query(maxVisits=5)))
    assert {*answers[0]} == {*asked} and {*answers[0]["rootInfo"]} == {*asked["rootInfo"]}
    # Broken off in the middle of an answer, it is gone on with from there.
    whole = out.read_text().splitlines()
    out.write_text("\n".join(whole[:5]) + "\n" + whole[5][:20])
    again, done = analyse_records(out, folder)
    assert sorted((one["id"], one["turnNumber"]) for one in again) == expected
    assert out.read_text().splitlines()[:5] == whole[:5]
    size = out.stat().st_size
    _, done = analyse_records(out, good)
    assert done.returncode == 0 and "nothing to do" in done.stderr and out.stat().st_size == size
    (tmp_path / "nothing").mkdir()
    _, done = analyse_records(out, tmp_path / "nothing")
    assert done.returncode == 1 and "nothing: there is no game in it" in done.stderr
