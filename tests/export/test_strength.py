"""Strength over accuracy: which nets, what is kept, and what goes on."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from tests.export.learning.test_own_games import write_games  # noqa: E402
from tests.paths import MODELS, ROOT  # noqa: E402

from gtp_export import strength  # noqa: E402
from gtp_export.commands import run as run_command  # noqa: E402
from gtp_export.download import file_hash  # noqa: E402
from gtp_export.evaluation import Figure  # noqa: E402


def measure(nets: Path, games: Path, out: Path, *more: str) -> int:
    quick = ["--size", "4", "--each", "4", "--positions", "20"]
    return run_command(
        ["strength", str(nets), "--games", str(games), "--out", str(out), *quick, *more]
    )


def test_nets_that_a_run_has_kept_are_rated_and_measured(
    tmp_path: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    games, run, out = write_games(tmp_path / "games", 20), tmp_path / "run", tmp_path / "out"
    command = ["train", "--preset", "tiny", "--games", str(games), "--out", str(run)]
    quick = ["--batch-points", "250", "--positions", "20", "--keep-nets", "--device", "cpu"]
    for samples in ("100", "200"):  # two measurements, as they come a minute apart at least
        assert run_command([*command, *quick, "--samples", samples]) == 0
    kept = sorted(path.stem for path in (run / "nets").iterdir())
    assert len(kept) == 2 and kept[0] < kept[1]
    capsys.readouterr()
    assert measure(run, games, out) == 0
    told = capsys.readouterr()
    table = told.out.splitlines()
    assert [line.split()[0] for line in table] == ["net", *kept, "opponent"]
    assert "+0 (+0 to +0)" in table[-1]
    known = json.loads((out / "strength.json").read_text())
    assert len(known["matches"]) == 3 and set(known["accuracy"]) == {*kept, "opponent small"}
    assert (out / "strength.png").stat().st_size > 1000
    # What is known is not played again.
    del known["matches"][f"{kept[0]} / {kept[1]}"]
    (out / "strength.json").write_text(json.dumps(known))
    said.clear()
    assert measure(run, games, out) == 0
    assert sum(" won " in line for line in said) == 1
    # What was measured otherwise is not told as if it were the same.
    for option, value in (("--each", "6"), ("--positions", "30"), ("--seed", "2"), ("--size", "5")):
        assert measure(run, games, out, option, value) == 1
        assert f"was made with another {option}; choose" in capsys.readouterr().err
    assert measure(run, games / "0.sgf", out) == 1
    assert "was made of other games; choose" in capsys.readouterr().err
    another = tmp_path / f"{kept[0]}.onnx"
    another.write_bytes((run / "nets" / f"{kept[1]}.onnx").read_bytes())
    assert measure(another, games, out) == 1
    assert f"knows another net as {kept[0]}; choose" in capsys.readouterr().err


def test_names_mean_the_weights_that_fit_a_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, top1 = list[str](), Figure(0.5, 0.4, 0.6, positions=20, games=1)
    monkeypatch.setattr(strength, "OnnxNet", lambda path, device: opened.append(path.stem))
    monkeypatch.setattr(strength, "evaluate_games", lambda *_: {"top1 all": top1})
    games = tmp_path / "large.sgf"
    games.write_text("(;SZ[19];B[pd];W[dp])")
    assert measure(Path("default"), games, tmp_path / "out") == 0
    known = json.loads((tmp_path / "out" / "strength.json").read_text())
    assert [*known["nets"]] == ["default", "opponent small"]
    assert opened == ["default", "small"]
    for name, content in zip(("default", "small"), known["nets"].values(), strict=True):
        files = MODELS / f"{name}-9x9.onnx", MODELS / f"{name}.onnx"
        assert content == " ".join(map(file_hash, files)), "on 4x4, and in games of 19x19"


def test_mistakes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = write_games(tmp_path / "games", 3)
    for nets, more, words in (
        (games, (), "holds no nets; `train --keep-nets` keeps some"),
        (tmp_path / "none.onnx", (), "none.onnx"),
        (Path("models/five.onnx"), (), "five.onnx: the net five does not play go"),
        (Path("models/gocnn.onnx"), (), "gocnn.onnx: has no policy to play by"),
        (Path("models/dlgo.onnx"), (), "the net dlgo does not play on 4x4"),
    ):
        path = nets if nets.is_absolute() else ROOT / nets
        assert measure(path, games, tmp_path / "out", *more) == 1
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error, error
    passes = tmp_path / "passes.sgf"
    passes.write_text("(;SZ[4];B[];W[])")
    cannot_pass = MODELS / "alphago-sl.onnx"
    assert measure(cannot_pass, passes, tmp_path / "passed") == 1
    error = capsys.readouterr().err
    assert "alphago-sl: the games have no move that this net could name" in error
