"""Matches between scripted engines: who wins, who is to blame, what is written down."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.paths import GNUGO, SCRIPTED_ENGINE

from gtp_engine.arena import match_report
from gtp_engine.arena.gtp_client import (
    EngineDied,
    Engines,
    GtpClient,
    split_command,
)
from gtp_engine.arena.match import Pairing, play_match
from gtp_engine.arena.match_report import Report
from gtp_engine.arena.referee import MatchGame, MatchTerms
from gtp_engine.arena.statistics import Sprt
from gtp_engine.commands.registry import run
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import format_result
from gtp_engine.go.sgf import load_sgf

SCRIPT = [sys.executable, SCRIPTED_ENGINE]


def engine(*words: str) -> str:
    return shlex.join([*SCRIPT, *words])


def play(tmp_path: Path, a: str, b: str, *options: str) -> dict[str, Any]:
    """Play a match on 5x5 and return its JSON."""
    report = tmp_path / "match.json"
    arguments = [a, b, "--size", "5", "--games", "2", "--openings", "0", *options]
    arguments += ["--json", str(report)]
    assert run(["match", *arguments]) == 0
    document: dict[str, Any] = json.loads(report.read_text())
    return document


def test_a_whole_game_is_counted_by_both(tmp_path: Path) -> None:
    a = engine("C3", "score=B+17.0")
    b = engine("score=B+17")
    document = play(tmp_path, a, b, "--games", "1", "--komi", "7", "--sgf", str(tmp_path / "sgf"))
    game = document["games"][0]
    assert (game["result"], game["winner"], game["reason"]) == ("B+17", 0, "score")
    assert (game["agreed"], game["moves"], game["referee_score"]) == (True, 3, None)
    record = load_sgf(tmp_path / "sgf" / "game0001.sgf")
    assert (record.width, record.komi, record.result) == (5, 7.0, "B+17")
    assert (record.black_name, record.white_name) == ("Script (A)", "Script (B)")
    first = (tmp_path / "sgf" / "game0001.sgf").read_text()
    assert "s]" in first
    play(tmp_path, b, a, "--games", "1", "--sgf", str(tmp_path / "sgf"))
    assert (tmp_path / "sgf" / "game0001.sgf").read_text() == first
    assert load_sgf(tmp_path / "sgf" / "game0002.sgf").black_name == "Script (A)"


def test_whoever_oversteps_the_time_loses(tmp_path: Path) -> None:
    document = play(tmp_path, engine("C3", "D3"), engine("C4", "sleep"), "--clock", "absolute 2")
    assert [game["reason"] for game in document["games"]] == ["flag"] * 2
    assert [game["result"] for game in document["games"]] == ["B+T", "W+T"]
    assert document["engines"][1]["failures"]["flag"] == 2
    assert document["games"][0]["clock_left"][1] == 0.0 < document["games"][0]["clock_left"][0]


def test_nobody_hangs_who_has_time_left_on_the_clock(tmp_path: Path) -> None:
    limits = ("--clock", "simple 20", "--timeout", "2.5", "--games", "1")
    game = play(tmp_path, engine("sleep"), engine(), *limits)["games"][0]  # for three seconds
    assert game["reason"] == "score" and game["slowest"][0] > 2.5


def test_a_clock_of_the_kind_none_is_no_clock(tmp_path: Path) -> None:
    document = play(tmp_path, engine("C3", "D3"), engine("C4"), "--clock", "none")
    assert [game["reason"] for game in document["games"]] == ["score"] * 2
    assert document["games"][0]["clock_left"] == [None, None]


def test_a_disagreement_is_recorded_and_counted_by_the_referee(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = engine("C3", "score=B+17.0"), engine("score=W+3.5")
    document = play(tmp_path, a, b, "--games", "1", "--komi", "7.5")
    game = document["games"][0]
    assert game["scores"] == ["B+17.0", "W+3.5"]
    assert (game["agreed"], game["result"], game["referee_score"]) == (False, "B+17.5", "B+17.5")
    assert (document["scores_compared"], document["scores_agreed"]) == (1, 0)
    assert "A says B+17.0, B says W+3.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("says_a", "says_b", "result", "counted"),
    [
        # Black's stone is at C3 and White's at D4, on 5x5 with a komi of 7.5.
        ((17.5, "D4"), (16.5, "D4"), "B+17.5", "without the stones that both call dead"),
        ((17.5, "D4"), (16.5, ""), "B+16.5", "the smaller of two scores for one side"),
        ((17.5, "E5"), (16.5, "E5"), "B+16.5", "the smaller of two scores for one side"),
        ((17.5, "nonsense"), (-8.5, "nonsense"), "W+7.5", "with all stones alive"),
        ((17.5, "D4"), (0, ""), "W+7.5", "with all stones alive"),
    ],
)
def test_engines_that_differ_are_heard_about_dead_stones_and_the_winner(
    says_a: tuple[float, str],
    says_b: tuple[float, str],
    result: str,
    counted: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def says(score: float, dead: str) -> list[str]:
        return [f"score={format_result(-score)}", f"dead={dead}"]

    a, b = engine("C3", *says(*says_a)), engine("D4", *says(*says_b))
    game = play(tmp_path, a, b, "--games", "1", "--komi", "7.5")["games"][0]
    assert (game["result"], game["referee_score"], game["counted"]) == (result, result, counted)
    assert f"counted {counted}: {result}" in capsys.readouterr().out


def test_engines_agree_on_no_dead_stones_where_the_rules_know_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A black stone and a white one stay on the board, whatever both say.
    a, b = engine("C3", "score=B+17.5"), engine("A1", "score=B+17.5")
    options = ["--games", "1", "--komi", "7.5", "--rules"]
    game = play(tmp_path, a, b, *options, "tromp-taylor")["games"][0]
    assert (game["agreed"], game["result"], game["referee_score"]) == (True, "W+7.5", "W+7.5")
    assert "game 1: A says B+17.5, B says B+17.5; counted with" in capsys.readouterr().out
    game = play(tmp_path, a, b, *options, "chinese")["games"][0]
    assert (game["agreed"], game["result"], game["referee_score"]) == (True, "B+17.5", None)
    game = play(tmp_path, engine("C3", "score=B+17.5"), engine("score=B+17.5"), *options, "cgos")
    assert game["games"][0]["referee_score"] is None


def test_a_report_is_json_of_a_sensible_length_whatever_engines_say(tmp_path: Path) -> None:
    game = play(tmp_path, engine("score=" + "x" * 100_000), engine(), "--games", "1")["games"][0]
    assert game["scores"] == ["x" * 200, None]


def test_colors_alternate_and_resigning_loses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = play(tmp_path, engine("resign"), engine("C3", "D3"), "--games", "4")
    assert [game["result"] for game in document["games"]] == ["W+R", "B+R", "W+R", "B+R"]
    assert [game["black"] for game in document["games"]] == [0, 1, 0, 1]
    assert document["wins"] == [0, 4]
    assert document["elo"][1] is None
    # Whoever resigns has thought about that too.
    assert [game["thoughts"] for game in document["games"]] == [[1, 0], [1, 1]] * 2
    seconds = sum(game["seconds"][0] for game in document["games"])
    assert f"A: {seconds / 4:.3f} s a move" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["C3", "C3"], "illegal move"),
        (["I5"], "illegal move"),
        (["Z9"], "illegal move"),
        (["crash"], "crash"),
        (["hang"], "time-out"),
        (["babble"], "bad reply"),
        (["flood"], "bad reply"),
        (["E5", "refuse"], "refused move"),
    ],
)
def test_whoever_fails_loses(tmp_path: Path, words: list[str], reason: str) -> None:
    healthy = engine("D4", "D3", "D2")
    n_games = 1 if reason == "time-out" else 2
    options = ["--timeout", "5", "--games", str(n_games)]
    document = play(tmp_path, healthy, engine(*words), *options)
    assert [game["reason"] for game in document["games"]] == [reason] * n_games
    assert document["wins"] == [n_games, 0]
    assert document["engines"][1]["failures"][reason] == n_games
    assert sum(document["engines"][0]["failures"].values()) == 0


@pytest.mark.parametrize("failure", ["crash", "hang"])
def test_who_fails_in_the_count_loses_nothing_and_is_started_anew(
    tmp_path: Path, failure: str, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy, failing = engine("C3", "score=B+17.0", "cpu"), engine(f"score={failure}", "cpu")
    document = play(tmp_path, healthy, failing, "--timeout", "5")
    games = document["games"]
    assert [(game["reason"], game["result"]) for game in games] == [("score", "B+17")] * 2
    assert all("Script (B): " in game["detail"] for game in games)
    assert [game["cpu_seconds"] for game in games] == [[0.0, None]] * 2
    assert "one engine alone told the score in 2 games" in capsys.readouterr().out


@pytest.mark.parametrize("said", ["cpu=nan", "cpu=inf", "cpu=a while", "cpu=-1e308 cpu=1e308"])
def test_a_time_that_is_no_number_is_not_known(tmp_path: Path, said: str) -> None:
    words = [f"cpu={each.strip()}" for each in said.split("cpu=")[1:]]
    game = play(tmp_path, engine("resign", *words), engine(), "--games", "1")["games"][0]
    assert game["cpu_seconds"] == [None, None]


def test_processor_time_is_told_a_move_of_the_games_that_it_is_known_of() -> None:
    report = Report(["A", "B"], ["a", "b"], MatchTerms(5, 5, Rules(), None, 75), None)
    report.add(MatchGame(1, 0, "B+F", winner=0, reason="illegal move", thoughts=[4, 4]))
    report.add(MatchGame(2, 1, "0", thoughts=[4, 4], cpu_seconds=[8.0, None]))
    text = report.text()
    assert "A: 0.000 s a move, 2.000 s of processor, slowest" in text
    assert "A won 1, B won 0, 1 draw, 0 void" in text and "B failed: illegal move (1)" in text


@pytest.mark.parametrize(
    ("game", "told"),
    [
        (MatchGame(3, 0, "0", None, "draw", moves=81), "a draw, 81 moves; A 0-0 B"),
        (MatchGame(3, 0, "0", None, "score", moves=1), "a draw by score, 1 move; A 0-0 B"),
        (MatchGame(3, 0, reason="cycle", moves=9), "no result, Void by cycle, 9 moves; A 0-0 B"),
        (MatchGame(3, 0, "W+R", 1, "resign", moves=9), "B (white) wins, W+R by resign, 9 moves;"),
    ],
)
def test_a_game_is_told_in_a_line(game: MatchGame, told: str) -> None:
    report = Report(["a", "b"], ["a", "b"], MatchTerms(9, 9, Rules(), None, 243), None)
    assert report.game_line(game).startswith(f"game 3: {told}")


def test_void_games_are_nobodys() -> None:
    report = Report(["A", "B"], ["a", "b"], MatchTerms(5, 5, Rules(), None, 75), None)
    for result, winner in (("B+R", 0), ("Void", None), ("0", None)):
        report.add(MatchGame(1, 0, result, winner=winner))
    text = report.text()
    assert "A won 1, B won 0, 1 draw, 1 void" in text and "A as black: won 1 of 2" in text


def test_ko_is_checked_by_the_rules_in_force(tmp_path: Path) -> None:
    # Black takes the ko at D4, and White takes back at once.
    white = engine("D5", "E4", "D3", "C4", "C4")
    black = engine("C5", "B4", "C3", "A1", "D4")
    document = play(tmp_path, black, white, "--games", "1")
    game = document["games"][0]
    assert game["reason"] == "illegal move"
    assert "repeats" in game["detail"]


def test_a_game_of_atari_go_ends_with_a_capture(tmp_path: Path) -> None:
    a, b = engine("A1", "E5"), engine("A2", "B1")
    document = play(tmp_path, a, b, "--games", "1", "--game", "atari-go")
    game = document["games"][0]
    assert (game["reason"], game["result"], game["winner"]) == ("capture", "W+1", 1)
    assert split_command("self --seed 1", "atari-go")[-4:] == ["--game", "atari-go", "--seed", "1"]


def test_long_games_are_ended(tmp_path: Path) -> None:
    a, b = engine("A1", "A2", "A3", "A4"), engine("E1", "E2", "E3", "E4")
    document = play(tmp_path, a, b, "--games", "1", "--max-moves", "6", "--komi", "0.5")
    assert document["games"][0]["reason"] == "max moves"
    assert document["games"][0]["result"] == "W+0.5"


def test_openings_come_in_pairs(tmp_path: Path) -> None:
    options = ["--openings", "3", "--games", "4", "--seed", "5"]
    games = play(tmp_path, engine("resign"), engine("resign"), *options, "--at-once", "2")["games"]
    openings = [game["opening"] for game in games]
    assert [game["number"] for game in games] == [1, 2, 3, 4]
    assert openings[0] == openings[1] != openings[2] == openings[3]
    assert all(len(set(opening)) == 3 for opening in openings)
    # White is to move, and gives up.
    assert [game["result"] for game in games] == ["B+R"] * 4
    options += ["--parallel", "2"]  # the old name of `--at-once`
    again = play(tmp_path, engine("resign"), engine("resign"), *options)["games"]
    assert [game["opening"] for game in again] == openings


def test_games_differ_though_no_openings_are_asked_for(tmp_path: Path) -> None:
    report = tmp_path / "match.json"
    words = [engine("resign"), engine("resign"), "--size", "9", "--games", "4"]
    assert run(["match", *words, "--json", str(report)]) == 0
    openings = [game["opening"] for game in json.loads(report.read_text())["games"]]
    assert openings[0] == openings[1] != openings[2] == openings[3]
    assert [len(opening) for opening in openings] == [2] * 4
    assert run(["match", *words, "--max-moves", "1", "--json", str(report)]) == 0
    assert json.loads(report.read_text())["games"][0]["opening"] == []


def test_sprt_ends_a_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--games", "50", "--sprt", "0", "400"]
    document = play(tmp_path, engine("C3"), engine("resign"), *options)
    assert document["sprt"]["verdict"] == "elo1"
    assert document["games_played"] < 50
    assert " Elo accepts +" in capsys.readouterr().out


def test_games_after_the_verdict_do_not_reopen_it() -> None:
    # Games of other pairings go on while the test is decided in one.
    report = Report(["A", "B"], ["a", "b"], MatchTerms(5, 5, Rules(), None, 75), Sprt(0.0, 400.0))
    for number, winner in enumerate([0] * 5 + [1, 1], 1):
        report.add(MatchGame(number, black=0, result="B+R", winner=winner, reason="resign"))
    found = report.document()["sprt"]
    assert found["verdict"] == "elo1" and found["log_likelihood_ratio"] < 1.0
    assert "SPRT of +0 against +400 Elo accepts +400: " in report.text()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for one process")
def test_games_that_a_signal_breaks_off_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[MatchGame] = []
    terms = MatchTerms(5, 5, Rules(), None, 75)
    # Where the tests are a shell's background job, Ctrl-C is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Engines() as engines:
            pairing = Pairing(engines, [[*SCRIPT, "hang"]] * 2, 600.0)
            players = pairing.players()

            def ask(client: GtpClient, command: str, timeout: float | None = None) -> str:
                if command == "genmove B":
                    os.kill(os.getpid(), signal.SIGINT)
                return asked(client, command, timeout)

            asked = GtpClient.ask
            monkeypatch.setattr(GtpClient, "ask", ask)
            failure = play_match(engines, [pairing], ["A", "B"], terms, 5, 0, heard.append)
            assert engines.signal == signal.SIGINT and all(player.is_closed for player in players)
            with pytest.raises(EngineDied):
                engines.start(SCRIPT, 600.0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert not heard and failure is None


def test_a_table_that_fails_takes_no_games_from_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_begun, has_failed = threading.Event(), threading.Event()

    def play_game(pairing: Pairing, number: int, *agreed: object) -> MatchGame:
        if number == 1:
            assert has_begun.wait(60)
            raise EngineDied("it cannot be started again")
        has_begun.set()
        assert has_failed.wait(60)
        return MatchGame(number, black=0, result="W+R", winner=1, reason="resign")

    class FailingPairing(Pairing):
        def clear(self) -> None:
            has_failed.set()

    monkeypatch.setattr(Pairing, "play_game", play_game)
    terms = MatchTerms(5, 5, Rules(), None, 75)
    engines = Engines()
    pairings: list[Pairing] = [FailingPairing(engines, [], 1.0), Pairing(engines, [], 1.0)]
    heard: list[MatchGame] = []
    failure = play_match(engines, pairings, ["A", "B"], terms, 2, 0, heard.append)
    assert failure == "it cannot be started again" and engines.signal is None
    assert [game.number for game in heard] == [2]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for one process")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_tells_what_was_played_and_leaves_no_engine(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    report, pids = tmp_path / "match.json", tmp_path / "pids"
    deaf = engine("hang", "deaf", f"pid={pids}")
    command = [sys.executable, "-m", "gtp_engine", "match", engine("resign"), deaf]
    command += ["--size", "5", "--openings", "0", "--json", str(report)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        try:
            assert process.stderr is not None and process.stdout is not None
            assert process.stderr.readline().startswith("1/10 game 1: B (white) wins")
            assert json.loads(report.read_text())["games_played"] == 1  # before the end
            process.send_signal(number)
            assert process.wait(60) == 128 + number
            assert process.stderr.read() == "gtp-engine: interrupted\n"
            assert "1 game on 5x5" in process.stdout.read()
        finally:
            process.kill()
    assert json.loads(report.read_text())["games_played"] == 1
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_a_report_for_which_there_is_no_room_fails_the_command(
    tmp_path: Path,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(path: Path, text: str, pipes: bool = False) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(match_report, "write_whole", fail)
    report = str(tmp_path / "match.json")
    words = [engine("resign"), engine(), "--size", "5", "--games", "1", "--json", report]
    assert run(["match", *words]) == 1
    assert said == [f"{report}: No space left on device"]
    assert "B won 1" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_report_goes_into_a_pipe_and_does_not_replace_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        words = [engine("resign"), engine(), "--size", "5", "--games", "1", "--json", str(pipe)]
        assert run(["match", *words]) == 0
        assert json.loads(os.read(reader, 1 << 16))["wins"] == [0, 1]
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/stdout")
def test_a_report_and_the_text_share_a_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gtp_engine", "match", engine("resign"), engine()]
    command += ["--size", "5", "--games", "1", "--json", "/dev/stdout"]
    with (tmp_path / "out").open("w") as out:
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, timeout=60, check=True)
    text = (tmp_path / "out").read_text()
    report, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    assert report["wins"] == [0, 1] and "B won 1" in text


def test_a_match_that_cannot_begin_leaves_no_report(tmp_path: Path, said: list[str]) -> None:
    report = tmp_path / "match.json"
    assert run(["match", engine(), "no-such-engine", "--size", "5", "--json", str(report)]) == 1
    assert len(said) == 1 and not report.exists()


def test_a_report_is_written_though_nobody_reads_the_text(tmp_path: Path) -> None:
    report = tmp_path / "match.json"
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-u", "-m", "gtp_engine", "match", engine("resign"), engine()]
    command += ["--size", "5", "--games", "1", "--json", str(report)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert done.returncode == 0
    assert json.loads(report.read_text())["wins"] == [0, 1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["x"],
        ["", "x"],
        ["'", "x"],
        ["x", "y", "--games", "0"],
        ["x", "y", "--size", "1"],
        ["x", "y", "--komi", "nan"],
        ["x", "y", "--rules", "calvinball"],
        ["x", "y", "--clock", "hourglass 5"],
        ["x", "y", "--clock", "absolute -5"],
        ["x", "y", "--sprt", "50", "0"],
        ["x", "y", "--sgf", __file__],
        ["x", "y", "--openings", "20", "--max-moves", "20"],
        ["x", "y", "--json", "no-such-folder/match.json"],
    ],
)
def test_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["match", *arguments])
    assert caught.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1


def test_an_engine_that_does_not_start(said: list[str]) -> None:
    assert run(["match", "no-such-program", engine()]) == 1
    (line,) = said
    assert line.startswith("no-such-program cannot be started: ")


def test_an_engine_that_ends_at_once_is_named(said: list[str]) -> None:
    ends = shlex.join([sys.executable, "-c", "import sys; sys.exit('out of order')"])
    assert run(["match", engine(), ends]) == 1
    assert said == ["B: it ended during 'name': out of order"]


def test_an_engine_that_refuses_the_first_game_ends_the_match(
    said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["match", engine("error"), engine(), "--size", "5"]) == 1
    assert said == ["Script (A): 'genmove B' is answered no net"]
    assert run(["match", engine(), engine(), "--size", "25"]) == 1
    assert said[1:] == ["Script (A): 'boardsize 25' is answered unacceptable size"]
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(GNUGO is None, reason="gnugo is not installed")
def test_gnugo_against_itself(tmp_path: Path) -> None:
    gnugo = f"{GNUGO} --mode gtp --level 1 --chinese-rules --capture-all-dead"
    document = play(tmp_path, gnugo, gnugo, "--openings", "2", "--rules", "chinese")
    assert [game["reason"] in ("score", "resign") for game in document["games"]] == [True] * 2
    assert document["scores_agreed"] == document["scores_compared"]
