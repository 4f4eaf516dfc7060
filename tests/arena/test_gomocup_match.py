"""Matches of engines that speak Gomocup's protocol, with scripted ones that misbehave."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gtp_engine.commands.registry import run
from gtp_engine.coords import format_vertex

SCRIPT = """
import sys, time
moves = iter(sys.argv[1].split())
for line in sys.stdin:
    words = line.split()
    word = words[0].upper()
    with open(sys.argv[2], "a") as log:
        log.write(line)
    if word == "ABOUT":
        print('name="scripted", version="1"', flush=True)
    elif word in ("START", "RECTSTART"):
        print("OK", flush=True)
    elif word in ("BEGIN", "TURN", "DONE"):
        move = next(moves, "crash")
        if move == "crash":
            sys.exit(3)
        if move == "hang":
            time.sleep(600)
        if move == "late":
            time.sleep(0.2)
            move = "7,6"
        print("MESSAGE thinking, hard")
        print(move, flush=True)
    elif word == "END":
        break
"""


def play(tmp_path: Path, a: str, b: str, *options: str) -> dict[str, Any]:
    """Let two lists of moves play each other; return the game's record."""
    script, out = tmp_path / "engine.py", tmp_path / "match.json"
    script.write_text(SCRIPT)
    commands = [
        f"'{sys.executable}' '{script}' '{moves}' '{tmp_path / name}'"
        for moves, name in ((a, "a.log"), (b, "b.log"))
    ]
    told = ["--games", "1", "--openings", "0", "--json", str(out), *options]
    run(["match", *commands, "--game", "five", *told])
    game: dict[str, Any] = json.loads(out.read_text())["games"][0]
    return game


def test_five_in_a_row_wins_and_both_are_told_all(tmp_path: Path) -> None:
    clock = ("--clock", "fischer-capped 60 0 -1 5", "--sgf", str(tmp_path))
    game = play(tmp_path, "0,0 1,0 2,0 3,0 4,0", "0,1 1,1 2,1 3,1", *clock)
    assert (game["result"], game["reason"], game["moves"]) == ("B+1", "five", 9)
    told = (tmp_path / "b.log").read_text().splitlines()
    assert told[:7] == [
        *("ABOUT", "START 15", "INFO rule 0", "INFO timeout_match 60000"),
        *("INFO timeout_turn 5000", told[5], "BOARD"),
    ]
    assert told[5].startswith("INFO time_left 5") or told[5] == "INFO time_left 60000"
    assert told[7:9] == ["0,0,2", "DONE"] and "TURN 1,0" in told
    record = next(tmp_path.glob("*.sgf")).read_text()
    assert "GM[4]" in record and "RU[freestyle]" in record and ";B[aa]" in record


def test_a_clock_for_moves_leaves_the_match_without_limit(tmp_path: Path) -> None:
    play(tmp_path, "0,0 crash", "0,1", "--clock", "simple 5")
    told = (tmp_path / "a.log").read_text().splitlines()
    clock = [line for line in told if "time" in line]
    assert clock[:2] == ["INFO timeout_match 0", "INFO timeout_turn 5000"]
    assert set(clock[2:]) == {"INFO time_left 2147483647"}


@pytest.mark.parametrize(
    "clock", ["byoyomi 30 5 3", "canadian 30 5 3", "fischer 60 1", "fischer-capped 60 1 -1 5"]
)
def test_a_clock_that_the_protocol_has_not_is_refused(
    clock: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        play(tmp_path, "0,0 crash", "0,1", "--clock", clock)
    assert f"--clock: five in a row has no clock {clock!r}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("black", "white", "rules", "reason", "result"),
    [
        # 3-3 in the middle: forbidden to Black under renju alone
        ("7,5 7,6 5,7 6,7 7,7", "0,0 0,2 0,4 0,6", "renju", "illegal move", "W+F"),
        ("7,5 7,6 5,7 6,7 7,7 crash", "0,0 0,2 0,4 0,6 0,8", "standard", "crash", "W+F"),
        ("7,5 7,5", "0,0", "freestyle", "illegal move", "W+F"),
        ("7,5 15,0", "0,0", "freestyle", "illegal move", "W+F"),
        ("7,5 ERROR", "0,0", "freestyle", "refusal", "W+F"),
        ("7,5 7,6", "0,0 crash", "freestyle", "crash", "B+F"),
        ("7,5 hang", "0,0", "freestyle", "time-out", "W+F"),
    ],
)
def test_who_fails_loses(
    black: str, white: str, rules: str, reason: str, result: str, tmp_path: Path
) -> None:
    game = play(tmp_path, black, white, "--rules", rules, "--timeout", "5")
    assert (game["reason"], game["result"]) == (reason, result), game


def test_a_fallen_flag_loses_whatever_the_late_move_is(tmp_path: Path) -> None:
    game = play(tmp_path, "late", "0,0", "--clock", "absolute 0.1")
    assert (game["reason"], game["result"], game["moves"]) == ("flag", "W+T", 0), game


def test_openings_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openings = tmp_path / "openings.txt"
    openings.write_text("0,0 1,1,  -7,-7\n")  # commas or blanks
    game = play(tmp_path, "0,1 crash", "0,2 crash", "--openings", str(openings))
    assert game["opening"] == [format_vertex(p, 15, 15) for p in (8 * 16 + 8, 9 * 16 + 9, 17)]
    for text, reason in (
        ("8,0\n", "8,0 is off the board"),
        ("0,0, 0,0\n", "occupied"),
        ("0,0, 1\n", "line 1: '0,0, 1' is not like 0,0, 1,-2, 3,1"),
        ("0,0 a,b\n", "line 1: '0,0 a,b' is not like"),
        ("", "there are none"),
    ):
        openings.write_text(text)
        with pytest.raises(SystemExit):
            play(tmp_path, "0,0", "0,1", "--openings", str(openings))
        assert reason in capsys.readouterr().err
