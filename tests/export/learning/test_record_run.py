"""The commands from game records to a described net, and what draws pictures."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gtp_engine.evaluators.nets.net_info import NetFileError  # noqa: E402
from gtp_engine.evaluators.nets.onnx_net import OnnxNet  # noqa: E402
from gtp_export.architectures.net_file import describe_net  # noqa: E402
from gtp_export.architectures.presets import find_preset  # noqa: E402
from gtp_export.commands import run as run_command  # noqa: E402
from gtp_export.evaluation import Figure, evaluate_games, evaluate_net  # noqa: E402
from gtp_export.learning.batch import NetOutputs  # noqa: E402
from gtp_export.learning.net_export import NetExport  # noqa: E402
from gtp_export.learning.record_run import describe_trained, prepare  # noqa: E402
from gtp_export.learning.record_task import RecordTask  # noqa: E402
from gtp_export.learning.torch_layers import Net  # noqa: E402
from gtp_export.plans import EvaluationPlan, RecordRun  # noqa: E402
from gtp_export.records.games import valid_share  # noqa: E402
from gtp_export.records.reading import read_table  # noqa: E402

# Black owns the left of a 4x4 board, White the right, in four orders of moves.
GAME = (
    "(;SZ[4]KM[0.5]RE[W+0.5]XD[];B[b{}];W[c{}];B[b{}];W[c{}];B[b{}];W[c{}];B[b{}];W[c{}];B[];W[])"
)
ORDERS = ("aabbccdd", "ddccbbaa", "bbaaddcc", "ccddaabb", "aaccbbdd", "ddaaccbb", "bbddccaa")
OTHERS = ("bbccaadd", "ddbbaacc", "ccaaddbb", "aaddbbcc")


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """Write games, and others beside them to measure on."""
    path = tmp_path / "games.sgf"
    path.write_text("\n".join(GAME.format(*order) for order in ORDERS))
    path.with_name("valid.sgf").write_text("\n".join(GAME.format(*order) for order in OTHERS))
    return path


def train(games: Path, out: Path, *more: str) -> int:
    valid = games.with_name("valid.sgf")
    arguments = ["--games", str(games), "--valid", str(valid), "--out", str(out)]
    quick = ["--samples", "200", "--batch-points", "320", "--positions", "20", "--device", "cpu"]
    return run_command(["train", *arguments, *quick, *more])


def test_the_command_trains_evaluates_and_describes(
    games: Path, tmp_path: Path, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert train(games, out, "--preset", "gocnn", "--name", "owner") == 0
    assert f"wrote {out / 'owner.onnx'}" in said
    info = OnnxNet(out / "owner.onnx", "cpu").info
    assert set(info.heads) == {"ownership"} and info.name == "owner"
    facts = json.loads((out / "metrics.json").read_text())
    assert facts["parity"]["ownership"] < 1e-3 and facts["learned_games"] == len(ORDERS)
    assert "ownership end" in facts["figures"] and "top1 all" not in facts["figures"]
    card = (out / "owner.md").read_text()
    made_by = (
        "gtp-export train --games games.sgf --valid valid.sgf --out run --samples 200 "
        "--batch-points 320 --positions 20 --device cpu --preset gocnn --name owner\n"
    )
    assert f"    {made_by}" in card and "the same on the final board" in card
    # The same command again goes on from the checkpoint and puts the net there once more.
    (out / "owner.onnx").unlink()
    assert train(games, out, "--preset", "gocnn", "--name", "owner") == 0
    assert (out / "owner.onnx").exists()
    # Another architecture does not overwrite it.
    assert train(games, out, "--preset", "gocnn-chain21", "--name", "owner") == 1
    assert "another shape" in capsys.readouterr().err


def test_one_size_presets_take_the_size_of_the_games(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert train(games, out, "--preset", "agz-dual") == 0
    info = OnnxNet(out / "agz-dual.onnx", "cpu").info
    assert (info.board_min, info.board_max, info.square_only) == (4, 4, True)
    assert "| Boards | 4x4 |" in (out / "agz-dual.md").read_text()
    figures = evaluate_net(str(out / "agz-dual.onnx"), [games], EvaluationPlan(20))
    assert {"top1 all", "winner all"} <= set(figures) and "score_error all" not in figures


class _BlackOwnsAll(torch.nn.Module):
    """Says so of every point, on boards with Black's stones alone."""

    def forward(self, spatial: torch.Tensor, features: torch.Tensor) -> NetOutputs:
        boards, _, height, width = spatial.shape
        is_black = spatial[:, 2].flatten(1).sum(1) == 0
        sign = torch.where(is_black, 1.0, -1.0)[:, None, None]
        return NetOutputs(
            policy=torch.zeros(boards, height * width + 1),
            value=torch.zeros(boards, 3),
            score=torch.zeros(boards, 3),
            ownership_logit=sign.expand(boards, height, width),
        )


def test_final_owners_are_measured_where_few_records_tell_them(tmp_path: Path) -> None:
    path = tmp_path / "games.sgf"
    settled = "(;SZ[19]KM[0]RE[B+361]XD[];B[aa];W[];B[bb];W[];B[cc];W[])"
    path.write_text(settled + "(;SZ[19];B[aa];W[bb];B[cc];W[dd])" * 99)
    games = read_table([path])
    found = RecordTask(find_preset("tiny"), games, games).measure(_BlackOwnsAll(), "cpu")
    # Some batches hold no position of the game that tells.
    assert found["owned"] == 1.0 and found["policy"] == pytest.approx(np.log(361), rel=0.01)
    assert found["value"] == pytest.approx(np.log(3), abs=1e-3)
    unknown = games.take(np.arange(1, 100))
    assert "owned" not in RecordTask(find_preset("tiny"), games, unknown).measure(
        _BlackOwnsAll(), "cpu"
    )


def test_the_longer_side_of_rectangles_counts_too(tmp_path: Path) -> None:
    path = tmp_path / "games.sgf"
    path.write_text("(;SZ[5:9];B[aa];W[bb])")
    games = read_table([path])
    task = RecordTask(find_preset("tiny"), games, games)
    run = RecordRun(preset="tiny", games=(path,), out=tmp_path)
    assert describe_trained(task, run, "tall").trained_sizes == (5, 9)


def test_few_games_are_divided_too(tmp_path: Path) -> None:
    path = tmp_path / "games.sgf"
    points = [f"{x}{y}" for x in "abcdefgh" for y in "abcdefgh"]
    path.write_text("".join(f"(;SZ[9];B[{point}];W[ii])" for point in points))
    task = prepare(RecordRun(preset="tiny", games=(path,), out=tmp_path))
    assert 5 <= len(task.valid) <= 21 and len(task.valid) + len(task.train) == 64
    path.write_text("(;SZ[9];B[aa];W[ii])")
    with pytest.raises(NetFileError, match=r"1 game: too few .* --valid names more"):
        prepare(RecordRun(preset="tiny", games=(path,), out=tmp_path))
    assert [valid_share(n) for n in (60, 300, 1000, 300_000)] == [0.2, 0.1, 0.03, 0.03]


def test_mistakes_are_one_sentence(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, words in (
        (("--preset", "huge"), "unknown preset 'huge'"),
        (("--preset", "tiny", "--freeze", "roof"), "no layers 'roof'"),
        (("--preset", "tiny", "--recipe", "single-position"), "either --preset or --recipe"),
        ((), "either --preset or --recipe"),
        (("--preset", "tiny", "--from", str(tmp_path / "none.pt")), "none.pt"),
        (("--preset", "tiny", "--freeze", "roof", "--processes", "2"), "no layers 'roof'"),
        (("--preset", "tiny", "--valid", str(games)), "--valid: too few games to learn from some"),
        (("--preset", "tiny", "--size", "5"), "--size does nothing with --preset tiny"),
    ):
        assert train(games, tmp_path / "run", *more) == 1
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error
    assert run_command(["train", "--preset", "list"]) == 0
    assert "gocnn-chain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("--games", "no game says who owns the final board"),
        ("--valid", "--valid: none of the games to measure on says who owns the final board"),
    ],
)
def test_ownership_is_not_learned_where_no_game_tells_it(
    without: str, said: str, games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, out = tmp_path / "plain.sgf", tmp_path / "run"
    source = games if without == "--games" else games.with_name("valid.sgf")
    plain.write_text(source.read_text().replace("XD[]", ""))
    assert train(games, out, "--preset", "gocnn", without, str(plain)) == 1
    assert said in capsys.readouterr().err
    assert not (out / "checkpoint.pt").exists()


def test_a_net_beyond_all_bounds_is_one_sentence(tmp_path: Path) -> None:
    shape = find_preset("tiny").shape
    net = Net(shape)
    for parameter in net.parameters():
        torch.nn.init.constant_(parameter, 1e12)
    with pytest.raises(NetFileError, match=r"huge\.onnx"):
        NetExport(tmp_path, describe_net(shape, "huge"))(net, "huge")
    assert not list(tmp_path.iterdir())


def test_exhausted_memory_keeps_the_checkpoint(
    games: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    assert train(games, out, "--preset", "tiny") == 0
    before = (out / "checkpoint.pt").read_bytes()

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gtp_export.learning.trainer.Trainer.step", fail)
    assert train(games, out, "--preset", "tiny", "--samples", "400") == 1
    assert "memory is exhausted" in capsys.readouterr().err
    assert (out / "checkpoint.pt").read_bytes() == before


def test_a_run_is_alone_in_its_folder_until_all_is_written(
    games: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, ended = tmp_path / "run", []

    def evaluate_meanwhile(*arguments: Any) -> dict[str, Figure]:
        ended.append(train(games, out, "--preset", "gocnn"))
        return evaluate_games(*arguments)

    monkeypatch.setattr("gtp_export.learning.record_run.evaluate_games", evaluate_meanwhile)
    assert train(games, out, "--preset", "gocnn") == 0
    assert ended == [1] and "another run is at work there" in capsys.readouterr().err


def test_pictures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from gtp_export.pictures import draw_board, draw_by_move_number, draw_run

    generator = np.random.default_rng(1)
    grid = generator.integers(3, size=(5, 7)).astype(np.uint8)
    owner = generator.uniform(-1, 1, (5, 7)).astype(np.float32)
    policy = np.full((5, 7), np.nan, np.float32)
    policy[2, 3] = 0.7
    draw_board(tmp_path / "a.svg", grid, ownership_black=owner, policy=policy)
    text = (tmp_path / "a.svg").read_text()
    squares = 35
    assert text.count("<path") > squares + int((grid > 0).sum())
    stages = {f"top1 moves {n:03d}-{n + 19:03d}": Figure(0.4, 0.3, 0.5, 9, 3) for n in (1, 21)}
    draw_by_move_number(tmp_path / "b.png", {"one": stages}, "top1", "moves")
    entry = {"steps": 5, "losses": {"policy": 2.0}, "valid": {"policy": 2.5}}
    draw_run(tmp_path / "c.png", [entry, entry | {"steps": 9}], ("policy", "value"))
    assert all((tmp_path / name).read_bytes()[1:4] == b"PNG" for name in ("b.png", "c.png"))


def test_a_picture_stays_as_it_was_where_another_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    from gtp_export.pictures import draw_curves

    def fail(drawing: Any, file: Any, **how: Any) -> None:
        with open(file, "wb") if isinstance(file, Path) else nullcontext(file) as opened:
            opened.write(b"half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.png"
    path.write_bytes(b"whole")
    monkeypatch.setattr(figure.Figure, "savefig", fail)
    with pytest.raises(OSError, match="No space"):
        draw_curves(path, {}, "steps", "nothing")
    assert path.read_bytes() == b"whole" and [*tmp_path.iterdir()] == [path]


def test_a_net_of_five_in_a_row_draws_records_of_it_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    five, go = tmp_path / "five.sgf", tmp_path / "go.sgf"
    five.write_text("(;GM[4]SZ[9];B[ee];W[ef];B[de];W[fe])")
    go.write_text("(;GM[1]SZ[9];B[ee];W[ef];B[de];W[fe])")
    for what, words in (
        (["--sgf"], "it is a record of another game"),
        (["--figure", "top1", "--games"], "there is no game in"),
    ):
        command = ["picture", "--net", "five", "--out", str(tmp_path / "a.png"), *what]
        assert run_command([*command, str(five)]) == 0
        assert run_command([*command, str(go)]) == 1
        assert words in capsys.readouterr().err


def test_a_picture_takes_the_options_of_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.sgf"
    empty.touch()
    for what, words in (
        (["--sgf", str(empty)], "empty.sgf: there is no SGF game in it"),
        (["--sgf", str(empty), "--figure", "top1"], "--figure does nothing with --sgf"),
        (["--sgf", str(empty), "--positions", "2000"], "--positions does nothing with --sgf"),
        (["--games", str(empty), "--move", "3"], "--move does nothing with --games"),
    ):
        assert run_command(["picture", "--net", "small", "--out", "a.png", *what]) == 1
        assert words in capsys.readouterr().err


def test_moves_are_counted_from_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--net", "small", "--sgf", "g.sgf", "--out", str(tmp_path / "a.png")]
    with pytest.raises(SystemExit):
        run_command(["picture", *arguments, "--move", "-3"])
    assert "--move: '-3' is not a whole number of 1 or more" in capsys.readouterr().err
