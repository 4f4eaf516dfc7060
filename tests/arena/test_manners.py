"""`score`, `manners` and `levels` on the tests' own tiny net: what they print, and mistakes."""

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.arena.test_self_play import game as played
from tests.paths import TINY_NET

from gtp_engine.arena.endgame_review import Verdict
from gtp_engine.arena.many_games import PlayedGame
from gtp_engine.commands.manners import _read_rules, describe_judgement, describe_passing
from gtp_engine.commands.registry import run
from gtp_engine.evaluators.nets.net_info import NetFileError


def test_score_counts_boards_and_names_misses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], said: list[str]
) -> None:
    # Two pass-alive players, and a white stone that cannot live: nothing is left to a net. The
    # second file says that the stone is alive, the third that it may be either.
    board = ["W b b", "bbbbb", "     ", "WWWWW", " W W "]
    marks = ["BBBBB", "BBBBB", "*****", "WWWWW", "WWWWW"]
    document = {"board": board, "correct_ownership": marks}
    (tmp_path / "right.json").write_text(json.dumps(document))
    document["correct_ownership"] = ["W" + marks[0][1:], *marks[1:]]
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    document["correct_ownership"] = ["*" + marks[0][1:], *marks[1:]]
    (tmp_path / "either.json").write_text(json.dumps(document))
    (tmp_path / "z.json").write_text("no board")
    (tmp_path / "two.sgf").write_text("(;SZ[5];B[aa];W[aa])")
    assert run(["score", "--net", TINY_NET, "--misses", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "3/3 boards, 0 s left" in captured.err
    assert "\n".join(said).count("z.json: not a marked board") == 1
    assert f"{tmp_path}, game 1: move 2, white A5, is occupied" in said
    out = captured.out.splitlines()
    assert out[0] == "wrong: taken for dead: A5"
    assert "dead stones as marked on 2 of 3 boards, 66.7%" in out[1]
    assert "the owner of 98.31% of the 59 points" in out[1]


def test_score_of_nothing_and_of_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["score", "--net", TINY_NET, str(tmp_path)]) == 0
    assert "nothing is marked" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run(["score", str(tmp_path / "missing")])
    assert capsys.readouterr().err.endswith("missing': No such file or directory\n")


def test_manners_plays_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "games.jsonl"
    words = ["--net", TINY_NET, "--size", "4", "--games", "3", "--playouts", "4"]
    assert run(["manners", *words, "--keep", str(kept)]) == 0
    out, err = capsys.readouterr()
    assert "3/3 games, 0 s left" in err
    assert "3 games on 4x4, tromp-taylor, komi 7, 4 playouts a move, tiny on cpu\n" in out
    assert (
        "lost because stones that seem dead stayed on the board:" in out and "below -0.80:" in out
    )
    games = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [game["number"] for game in games] == [0, 1, 2]
    assert all(len(game["values"]) == len(game["moves"]) for game in games)


def test_what_was_played_outlives_ctrl_c(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: list[str],
) -> None:
    def play_two(net: object, terms: object, limits: object, *counts_and_note: Any) -> None:
        for number in (1, 0):
            counts_and_note[-1](replace(played([]), number=number))
        raise KeyboardInterrupt

    monkeypatch.setattr("gtp_engine.arena.self_play.play_self_games", play_two)
    kept = tmp_path / "games.jsonl"
    words = ["--net", TINY_NET, "--judge", TINY_NET, "--keep", str(kept)]
    assert run(["manners", *words]) == 130
    out = capsys.readouterr().out
    assert "2 games on 9x9" in out and "judged by" not in out
    assert "below -0.98: 0 games, 0 of them would have been won, of none\n" in out
    assert said[-1].endswith("interrupted")
    assert [json.loads(line)["number"] for line in kept.read_text().splitlines()] == [0, 1]


def test_what_was_played_outlives_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object) -> None:
        raise NetFileError("the judge is out of memory")

    monkeypatch.setattr("gtp_engine.arena.endgame_review.Judge.judge_ends", fail)
    kept = tmp_path / "games.jsonl"
    words = ["--net", TINY_NET, "--judge", TINY_NET]
    words += ["--size", "4", "--games", "1", "--playouts", "4"]
    with pytest.raises(SystemExit):
        run(["manners", *words, "--keep", str(kept)])
    out, err = capsys.readouterr()
    assert err.endswith("manners: the judge is out of memory\n")
    assert "1 game on 4x4" in out and len(kept.read_text().splitlines()) == 1


def test_a_judge_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--net", TINY_NET, "--rules", "japanese", "--size", "4", "--games", "1"]
    words += ["--playouts", "4", "--judge", TINY_NET, "--judge-visits", "8"]
    assert run(["manners", *words]) == 0
    assert "judged by tiny on cpu, 8 visits:\n  moves onto own points: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rules", "komi", "taken"),
    [
        ("japanese", None, 6.5),
        ("japanese", 7.0, 7.0),
        ('{"komi": 5}', None, 5.0),
        ('{"komi": 5}', 7.0, 7.0),
        ('{"scoring": "TERRITORY"}', None, 6.5),
    ],
)
def test_the_komi_is_the_one_that_was_asked_for(
    rules: str, komi: float | None, taken: float
) -> None:
    asked = Namespace(rules=rules, komi=komi, size=(9, 9))
    assert _read_rules(asked).komi == taken


def test_what_a_judge_found_is_counted_beside_what_was_suspected() -> None:
    three = [replace(played([]), number=number, own_moves=(7,)) for number in range(3)]
    broken_off = replace(played([]), number=3, is_over=False)
    found = [
        Verdict(0, 7, 20, was_made=True, gain=6.0),
        Verdict(1, 7, 21, was_made=True, gain=-1.0),
        Verdict(1, 9, 22, was_made=True, gain=0.4),
        Verdict(2, 5, 23, was_made=False, gain=2.5),
        Verdict(2, 8, 24, was_made=False, gain=1.75),
        Verdict(2, 9, 25, was_made=False, gain=-1.0),
        Verdict(3, 9, 26, was_made=True, gain=-1.0),
    ]
    suspected = describe_passing([*three, broken_off])[2]
    assert "own point once all was decided: 0 games" in suspected and "3 such moves" in suspected
    moves, passes, games = describe_judgement([*three, broken_off], found, [2], own_moves_cost=True)
    assert describe_judgement([*three, broken_off], found, [2], own_moves_cost=False) == [
        passes,
        games,
    ]
    assert "own points: 3, 2 of them needless; none needless: 2 games, 66.7%" in moves
    assert passes.endswith("wanted: 3, 2 of them lost points, 4.2 in all")
    assert "where it passed last: 1, 33.3%" in games


def test_levels_play_their_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--net", TINY_NET, "--size", "3", "--games", "2", "--step", "9", "--best", "4"]
    assert run(["levels", *words]) == 0
    out, err = capsys.readouterr()
    head, line = out.splitlines()
    assert "2/2 games of level 10, 0 s left" in err
    assert head.startswith("2 games a pair on 3x3, komi 7")
    assert line.startswith("level 10 against level 1: ") and "Elo" in line


def test_levels_that_are_interrupted_tell_what_was_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: list[str]
) -> None:
    def play_two(*terms_and_note: Any) -> None:
        for number in (0, 1):
            terms_and_note[-1](PlayedGame(number, number, 0, "count", ()))
        raise KeyboardInterrupt

    monkeypatch.setattr("gtp_engine.arena.many_games.play_games", play_two)
    assert run(["levels", "--net", TINY_NET]) == 130
    _, line = capsys.readouterr().out.splitlines()
    assert line.startswith("level 2 against level 1, 2 games so far: share 100.0%")
    assert said[-1] == "interrupted"


def test_a_step_beyond_all_levels_gets_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["levels", "--step", "10"])
    assert capsys.readouterr().err == "gtp-engine levels: --step: there are but 10 levels\n"


@pytest.mark.parametrize("command", ["manners", "levels"])
def test_a_missing_net_gets_a_sentence(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run([command, "--net", "no-such-net"])
    err = capsys.readouterr().err
    assert err.startswith(f"gtp-engine {command}: ") and err.count("\n") == 1


def test_a_file_that_cannot_be_written_is_told_before_anything_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(["manners", "--net", "no-such-net", "--keep", str(tmp_path / "none" / "games.jsonl")])
    err = capsys.readouterr().err
    assert "games.jsonl: No such file or directory" in err and err.count("\n") == 1
    other = tmp_path / "options.toml"
    other.write_text("playouts = 4")
    with pytest.raises(SystemExit):
        run(["manners", "--net", "no-such-net", "--keep", str(other)])
    assert "options.toml holds something else; take another name" in capsys.readouterr().err
    assert other.read_text() == "playouts = 4"
