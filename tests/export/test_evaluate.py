"""How well a net predicts records: figures, groups, intervals, the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from gtp_export.commands import run as run_command
from gtp_export.evaluation import evaluate_net, interval_over_games

TINY_NET = Path(__file__).parents[1] / "data" / "tiny.onnx"
# Black owns the left of a 4x4 board, White the right; nothing is dead.
COUNTED = "(;SZ[4]KM[0.5]RE[W+0.5]SO[{}]XD[];B[ba];W[ca];B[bb];W[cb];B[bc];W[cc];B[bd];W[cd])\n"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "games.sgf"
    path.write_text(COUNTED.format("one") * 3 + COUNTED.format("two") + "(;SZ[4];B[aa])\n")
    return path


def test_intervals_are_means_over_whole_games() -> None:
    generator = np.random.default_rng(1)
    one_game = np.array([[7.0, 1.0]] * 10 + [[7.0, 0.0]] * 10)
    figure = interval_over_games(one_game, generator)
    # All of one game: drawing games anew can tell nothing about others.
    assert (figure.mean, figure.low, figure.high) == (0.5, 0.5, 0.5)
    assert (figure.positions, figure.games) == (20, 1)
    many = np.array([[game, game % 2] for game in range(400)], np.float64)
    figure = interval_over_games(many, generator)
    # A share of 1/2 among 400 has a standard deviation of 0.025.
    assert figure.low == pytest.approx(0.45, abs=0.015)
    assert figure.high == pytest.approx(0.55, abs=0.015)


def test_figures_are_grouped_by_source_and_quarter(pack: Path) -> None:
    figures = evaluate_net(TINY_NET, [pack], positions=100, per_game=8, seed=1)
    assert figures["top1 all"].games == 5 and figures["top1 all"].positions == 33
    assert figures["top1 one"].games == 3 and figures["top1 two"].games == 1
    assert figures["winner all"].games == 4
    assert figures["ownership all"].positions == 32
    assert figures["ownership quarter 1"].positions == 8
    # A net that knows nothing: near uniform over some 13 moves.
    assert 2.0 < figures["cross_entropy all"].mean < 3.2
    assert 0.5 < figures["win_log_loss all"].mean < 0.9


def test_the_command_prints_a_table_or_json(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "--net", str(TINY_NET), "--games", str(pack), "--positions", "8"]
    assert run_command(arguments) == 0
    assert "top1 all" in capsys.readouterr().out
    assert run_command([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["top1 all"]["positions"] > 0


def test_a_missing_pack_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.sgf")
    assert run_command(["evaluate", "--net", str(TINY_NET), "--games", missing]) == 1
    error = capsys.readouterr().err
    assert "none.sgf" in error and error.count("\n") == 1
