"""`score`, `manners` and `levels` on the tests' own tiny net: what they print, and mistakes."""

import json
from pathlib import Path

import pytest

from gtp_engine.commands.table import run

TINY = str(Path(__file__).parent.parent / "data" / "tiny.onnx")


def test_score_counts_boards_and_names_misses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two pass-alive players, and a white stone that cannot live: nothing is left to a net. The
    # second file says that the stone is alive.
    board = ["W b b", "bbbbb", "     ", "WWWWW", " W W "]
    marks = ["BBBBB", "BBBBB", "*****", "WWWWW", "WWWWW"]
    document = {"board": board, "correct_ownership": marks}
    (tmp_path / "right.json").write_text(json.dumps(document))
    document["correct_ownership"] = ["W" + marks[0][1:], *marks[1:]]
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    assert run(["score", "--net", TINY, "--misses", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "wrong: taken for dead: A5"
    assert "dead stones as marked on 1 of 2 boards, 50.0%" in out[1]
    assert "the owner of 97.50% of the 40 points" in out[1]


def test_score_of_nothing_and_of_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["score", "--net", TINY, str(tmp_path)]) == 0
    assert "nothing is marked" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run(["score", str(tmp_path / "missing")])
    assert capsys.readouterr().err.endswith("missing'\n")


def test_manners_plays_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "games.jsonl"
    words = ["--net", TINY, "--size", "4", "--games", "3", "--playouts", "4"]
    assert run(["manners", *words, "--keep", str(kept)]) == 0
    out = capsys.readouterr().out
    assert "3 games on 4x4, tromp-taylor, 4 playouts a move" in out
    assert "lost only because dead stones stayed on the board:" in out and "below -0.80:" in out
    games = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [game["number"] for game in games] == [0, 1, 2]
    assert all(len(game["values"]) == len(game["moves"]) for game in games)


def test_levels_play_their_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--net", TINY, "--size", "3", "--games", "2", "--step", "9", "--best", "4"]
    assert run(["levels", *words]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("2 games a pair on 3x3, komi 7")
    assert line.startswith("level 10 against level 1: ") and "Elo" in line


@pytest.mark.parametrize("command", ["manners", "levels"])
def test_a_missing_net_gets_a_sentence(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run([command, "--net", "no-such-net"])
    err = capsys.readouterr().err
    assert err.startswith(f"gtp-engine {command}: ") and err.count("\n") == 1
