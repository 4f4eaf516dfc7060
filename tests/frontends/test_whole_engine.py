"""The real engine with the tests' own tiny net, as a client meets it."""

import re
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.frontends.test_gtp_process import TIMEOUT, ask, run, start
from tests.paths import TINY_NET

from gtp_engine.coords import format_vertex
from gtp_engine.go.sgf import load_sgf

QUICK = ["--net", TINY_NET, "--device", "cpu", "--threads", "1", "--seed", "7", "--playouts", "12"]

INFO = re.compile(
    r"info move \S+ visits \d+ edgeVisits \d+( \w+ -?\d+\.\d+)+"
    r" order \d+ pv( [A-T]\d+| pass)+"
)


def test_a_short_game() -> None:
    with start(*QUICK, "--size", "5x6") as process:
        moves = [ask(process, f"genmove {color}") for color in "bwbwbw"]
        assert all(re.fullmatch(r"= ([A-E][1-6]|pass|resign)", move) for move in moves)
        assert re.fullmatch(r"= (0|[BW]\+\d+\.\d)", ask(process, "final_score"))
        assert ask(process, "final_status_list alive").startswith("= ")
        assert len(ask(process, "place_free_handicap 3").split()) > 1
        assert ask(process, "clear_board") == "= "
        assert len(ask(process, "place_free_handicap 4").split()) == 5
        assert ask(process, "genmove w").startswith("= ")
        assert float(ask(process, "cputime").split()[1]) > 0
        assert ask(process, "quit") == "= "
        assert process.wait(TIMEOUT) == 0


def test_the_same_seed_gives_the_same_game() -> None:
    script = "boardsize 7\n" + "genmove b\ngenmove w\n" * 6
    games = [run(*QUICK, text=script).stdout for _ in range(2)]
    assert games[0] == games[1]
    assert games[0].count("= ") == 13


def test_what_is_shown_does_not_change_what_is_played() -> None:
    played = []
    for maximum in ("", " maxmoves 0", " maxmoves 1"):
        asked = f"boardsize 5\nkata-genmove_analyze b 1{maximum}\n"
        told = run(*QUICK, "--level", "1", text=asked).stdout
        played.append(told.split("\nplay ")[1])
    assert len(set(played)) == 1


@pytest.mark.parametrize("leaving", ["quit", "eof", "kill"])
def test_games_are_kept_however_it_ends(tmp_path: Path, leaving: str) -> None:
    with start(*QUICK, "--size", "5", "--keep-games", str(tmp_path)) as process:
        moves = [ask(process, f"genmove {color}")[2:].lower() for color in "bw"]
        ask(process, "play b pass")
        assert process.stdin is not None
        if leaving == "quit":
            ask(process, "quit")
        elif leaving == "eof":
            process.stdin.close()
        else:
            process.kill()
        process.wait(TIMEOUT)
    (file,) = tmp_path.iterdir()
    record = load_sgf(file)
    played = [format_vertex(move.point, 5, 5).lower() for move in record.moves]
    assert played == [*moves, "pass"]


def test_analysis_lines() -> None:
    with start(*QUICK) as process:
        ask(process, "boardsize 5")
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"kata-analyze b 1 ownership true\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"= \n"
        lines = [process.stdout.readline().decode() for _ in range(3)]
        process.stdin.write(b"\n")
        process.stdin.flush()
        while (line := process.stdout.readline().decode()) != "\n":
            lines.append(line)
        assert len(lines) >= 4
        for line in lines:
            moves, _, ownership = line.rstrip("\n").partition(" ownership ")
            for segment in re.split(r" (?=info )", moves):
                assert INFO.fullmatch(segment), segment
            assert len(ownership.split()) == 25
            assert all(re.fullmatch(r"-?[01]\.\d{4}", word) for word in ownership.split())
        assert ask(process, "1 protocol_version") == "=1 2"
        process.kill()


def test_every_key_of_an_analysis() -> None:
    keys = "ownership ownershipStdev movesOwnership movesOwnershipStdev pvVisits pvEdgeVisits"
    asked = " ".join(f"{key} true" for key in [*keys.split(), "rootInfo", "noResultValue"])
    script = f"boardsize 5\nkata-set-rules japanese\nkata-search_analyze b {asked} maxmoves 2\n"
    line = run(*QUICK, text=script).stdout.split("\n\n")[2].split("\n")[-2]
    whole, _, spread = line.partition(" ownershipStdev ")
    whole, _, owned = whole.partition(" ownership ")
    moves, _, root = whole.partition(" rootInfo ")
    assert [len(spread.split()), len(owned.split())] == [25, 25]
    assert all(0 <= float(word) <= 1 for word in spread.split())
    assert root.startswith("visits 12 utility ")
    segments = moves.removeprefix("info ").split(" info ")
    assert len(segments) == 2
    for segment in segments:
        numbers, _, rest = segment.partition(" pv ")
        pairs = dict(zip(numbers.split()[::2], numbers.split()[1::2], strict=True))
        assert 0 <= float(pairs["noResultValue"]) <= 1
        assert float(pairs["utilityLcb"]) <= float(pairs["utility"])
        pv, _, rest = rest.partition(" pvVisits ")
        visits, _, rest = rest.partition(" pvEdgeVisits ")
        edges, _, rest = rest.partition(" movesOwnership ")
        after, _, after_spread = rest.partition(" movesOwnershipStdev ")
        assert len(pv.split()) == len(visits.split()) == len(edges.split())
        assert [len(after.split()), len(after_spread.split())] == [25, 25]


def test_an_analysis_that_is_ended_at_once_reports_too() -> None:
    script = "boardsize 5\nlz-analyze 100\nkata-analyze\nlz-genmove_analyze b\nquit\n"
    replies = run(*QUICK, text=script).stdout.split("\n\n")
    for reply in replies[1:4]:
        assert reply.startswith("= \ninfo move ")
    assert re.search(r"\nplay ([A-E][1-5]|pass)$", replies[3])


def test_a_move_without_time_to_think_is_reported_too() -> None:
    script = "boardsize 5\nkata-raw-nn 0\n"  # which waits until the net is there
    script += "time_settings 10 0 0\ntime_left b 0 0\ntime_left w 0 0\n"
    script += "kata-genmove_analyze b rootInfo true\nlz-genmove_analyze w\nquit\n"
    replies = run(*QUICK, text=script).stdout.split("\n\n")
    for reply in replies[5:7]:
        head, line, move = reply.split("\n")
        vertex = move.removeprefix("play ")
        assert head == "= " and line.startswith(f"info move {vertex} visits 0 ")


def test_raw_evaluations_agree_with_the_board() -> None:
    script = "boardsize 3 2\nplay b a1\nkata-raw-nn all\n"
    text = run(*QUICK, text=script).stdout
    assert [f"symmetry {index}" in text for index in range(5)] == [True] * 4 + [False]
    assert text.count("NAN") == 4


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot tell that a pipe is full")
@pytest.mark.parametrize("leaving", ["eof", "quit", "signal"])
def test_leaving_in_mid_search(leaving: str) -> None:
    with start("--net", TINY_NET, "--device", "cpu", "--time", "100000") as process:
        ask(process, "boardsize 9")
        ask(process, "kata-raw-nn 0")  # the net is there
        assert process.stdin is not None
        process.stdin.write(b"kata-analyze b 1\n")
        process.stdin.flush()
        assert process.stdout is not None and process.stdout.readline() == b"= \n"
        assert process.stdout.readline().startswith(b"info ")
        if leaving == "signal":
            process.send_signal(signal.SIGTERM)
        elif leaving == "quit":
            process.stdin.write(b"quit\n")
            process.stdin.flush()
        else:
            process.stdin.close()
        assert process.wait(TIMEOUT) in (0, -15)
        assert process.stderr is not None and b"Traceback" not in process.stderr.read()


def test_an_interrupted_genmove_answers_with_the_best_move() -> None:
    with start("--net", TINY_NET, "--device", "cpu", "--time", "100000") as process:
        ask(process, "boardsize 9")
        ask(process, "kata-raw-nn 0")
        assert process.stdin is not None
        process.stdin.write(b"1 genmove b\n")
        process.stdin.flush()
        time.sleep(1.0)
        assert re.match(r"=1 [A-J]\d", ask(process, "# interrupt"))
        process.kill()


def test_a_client_that_stops_listening_in_mid_analysis() -> None:
    with start("--net", TINY_NET, "--device", "cpu") as process:
        ask(process, "boardsize 5")
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"kata-analyze b 1\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"= \n"
        process.stdout.close()
        # It neither searches on nor waits for more, though its input stays open.
        assert process.wait(TIMEOUT) == 0
        assert process.stderr is not None and b"Traceback" not in process.stderr.read()


def test_without_a_net_nothing_says_that_a_game_ends_without_a_result() -> None:
    words = ["--net", "none", "--playouts", "4"]
    script = "boardsize 5\nkata-set-rules japanese\nkata-search_analyze b noResultValue true\n"
    line = run(*words, text=script).stdout.split("\n\n")[2]
    assert " noResultValue 0.000000 " in line
