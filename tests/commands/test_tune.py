"""`gtp-engine tune`: trials, what is made of them, and going on."""

import argparse
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.evaluators.nets.small_nets import write_with_heads
from tests.paths import TINY_NET

from gtp_engine.arguments import Parser
from gtp_engine.commands import analysis, tune
from gtp_engine.commands.options import add_options, read_settings
from gtp_engine.commands.registry import run
from gtp_engine.play.engine import Engine
from gtp_engine.play.settings import Settings


def command(out: Path, *more: str) -> list[str]:
    return ["tune", "--net", TINY_NET, "--size", "3", "--visits", "2", "--out", str(out), *more]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """Let the numbers win by how near cpuct is to 1.5; return what was tried."""
    tried: list[dict[str, float]] = []

    def play(args: argparse.Namespace, net: object, numbers: dict[str, float], trial: int) -> float:
        tried.append(numbers)
        return 16 * max(0.0, 1 - abs(numbers["cpuct"] - 1.5))

    monkeypatch.setattr(tune, "_play", play)
    return tried


def test_finds_what_wins_and_writes_what_config_reads(
    tmp_path: Path, played: list[dict[str, float]], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tuned.toml"
    # 320 games: 15 trials of 16 are 240, three quarters; 5 matches of 16 are the rest.
    assert run(command(out, "--games", "320", "--parameters", "cpuct,fpu-reduction")) == 0
    assert len(played) == 20
    assert played[0] == {"cpuct": 1.0, "fpu_reduction": 0.2}, "the usual numbers come first"
    assert all(numbers == played[-1] for numbers in played[15:])
    # The mean of the best fifth, three of the fifteen.
    best = sorted(played[:15], key=lambda numbers: abs(numbers["cpuct"] - 1.5))[:3]
    assert played[-1]["cpuct"] == pytest.approx(sum(one["cpuct"] for one in best) / 3, abs=0.001)
    parser = Parser(prog="test")
    add_options(parser)
    parameters = read_settings(parser.parse_args(["--config", str(out)])).parameters
    assert parameters == played[-1]
    assert f"written to {out}" in capsys.readouterr().out


def test_goes_on_from_the_trials_kept(tmp_path: Path, played: list[dict[str, float]]) -> None:
    out = tmp_path / "tuned.toml"
    assert run(command(out, "--games", "64", "--parameters", "cpuct")) == 0
    assert len(played) == 4
    assert run(command(out, "--games", "128", "--parameters", "cpuct")) == 0
    assert len(played) == 4 + 3 + 2, "three of six trials were there; then the test"
    assert played[4] not in played[:4], "what is tried is new"


def test_trials_of_another_net_of_that_name_are_left_alone(
    tmp_path: Path, played: list[dict[str, float]]
) -> None:
    out = tmp_path / "odd?name%41.toml"
    net = write_with_heads(tmp_path / "net.onnx", "policy", "value")
    words = ["--games", "64", "--parameters", "cpuct", "--net", str(net)]
    assert run(command(out, *words)) == 0
    assert len(played) == 4 and out.with_suffix(".trials").exists()
    write_with_heads(net, "policy", "value", "ownership")
    assert run(command(out, *words)) == 0
    assert len(played) == 4 + 4


def test_a_full_disk_is_one_sentence(
    tmp_path: Path,
    played: list[dict[str, float]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    connect = sqlite3.connect

    def connect_on_a_full_disk(*args: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*args, **named)
        if played:
            connection.execute("pragma max_page_count = 1")  # or what there is already
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_on_a_full_disk)
    out = tmp_path / "tuned.toml"
    with pytest.raises(SystemExit):
        run(command(out, "--games", "16000", "--parameters", "cpuct"))
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"gtp-engine tune: {out.with_suffix('.trials')}: database or disk is full"
    )


def test_plays_the_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "GAMES_A_TRIAL", 2)
    out = tmp_path / "tuned.toml"
    assert run(command(out, "--games", "4", "--parameters", "cpuct")) == 0
    assert "# from 2 trials of 2 games" in out.read_text()


def test_mistakes_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tuned.toml"
    with pytest.raises(SystemExit):
        run(command(out, "--parameters", "cpuct,speed"))
    assert "'speed' is not one of cpuct, " in capsys.readouterr().err
    kept = out.with_suffix(".trials")
    kept.write_text("no trials of an earlier run")
    for where, complaint in ((out, "file is not a database"), (kept, "take another ending")):
        with pytest.raises(SystemExit):
            run(command(where))
        err = capsys.readouterr().err
        assert complaint in err and str(kept) in err and err.count("\n") == 1
    assert kept.read_text() == "no trials of an earlier run"
    for held in ('net = "default"\nparameters = "cpuct=1"\n', "a game of [chess"):
        out.write_text(held)
        with pytest.raises(SystemExit):
            run(command(out))
        assert capsys.readouterr().err == (
            f"gtp-engine tune: --out: {out} holds something else; take another name\n"
        )
        assert out.read_text() == held
    out.unlink()
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SystemExit):
        run(command(out))
    assert capsys.readouterr().err == (
        "gtp-engine tune: needs the extra `tune`: pip install 'gtp-engine[tune]'\n"
    )


def test_numbers_reach_the_engine_and_analyses() -> None:
    assert Engine(Settings(parameters={"cpuct": 1.5})).search_params.cpuct == 1.5
    parser = Parser(prog="test")
    analysis.add_arguments(parser)
    assert Engine(Settings(net="none", parameters={"cpuct": 1.0})).search_params.cpuct == 1.0
    args = parser.parse_args(["--parameters", "cpuct=1.5", "--visits", "7"])
    parameters = read_settings(parser.parse_args(["--parameters", "cpuct=1.5"])).parameters
    assert analysis._analysis_settings(args, parameters).params.cpuct == 1.5
    other = parser.parse_args(["-override-config", "cpuctExploration=3"])
    assert analysis._analysis_settings(other, {}).params.cpuct == 3.0
    assert analysis._analysis_settings(other, parameters).params.cpuct == 1.5
    narrow = {"wide_root_noise": 0.0}
    assert analysis._analysis_settings(args, narrow).params.wide_root_noise == 0.0
