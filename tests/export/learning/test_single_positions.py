"""The value net's recipe: which positions are learned, and that one run goes on from another."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gtp_engine.evaluators.fake import FakeEvaluator  # noqa: E402
from gtp_engine.evaluators.nets.net_info import NetFileError  # noqa: E402
from gtp_engine.evaluators.nets.onnx_net import OnnxNet  # noqa: E402
from gtp_export.commands import run as run_command  # noqa: E402
from gtp_export.learning import single_positions  # noqa: E402
from gtp_export.learning.single_positions import Pairs, make_shard, many_positions  # noqa: E402
from gtp_export.plans import TrainRun  # noqa: E402
from gtp_export.records.games import Games  # noqa: E402
from gtp_export.records.reading import read_table  # noqa: E402


def learn(out: Path, *more: str) -> int:
    command = ["train", "--recipe", "single-position", "--size", "5", "--out", str(out)]
    quick = ["--make", "20", "--samples", "60", "--batch-points", "250"]
    return run_command([*command, *quick, "--policies", "small", "small", *more])


def test_the_position_after_the_random_move_is_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_positions, "SHARD_GAMES", 30)
    asked: list[tuple[int, int]] = []

    def noting(player: int) -> FakeEvaluator:
        class Noting(FakeEvaluator):
            def encode(self, batch, slot, history, ply, *rest) -> None:  # type: ignore[no-untyped-def]
                asked.append((player, ply))
                super().encode(batch, slot, history, ply, *rest)

        return Noting()

    run = TrainRun(size=5, out=tmp_path)
    games, pairs = make_shard(run, [noting(0), noting(1)], 0)
    lengths = np.diff(games.table.starts)
    assert len(pairs) > 5 and len(set(pairs[:, 0])) == len(pairs)
    assert (pairs[:, 1] >= 1).all() and (pairs[:, 1] < lengths[pairs[:, 0]]).all()
    # The first policy moves before the random move; the second makes all moves from U on.
    late = sum(length - ply for length, ply in zip(lengths[pairs[:, 0]], pairs[:, 1], strict=True))
    assert sum(player for player, _ in asked) == late
    again, same = make_shard(run, [], 0)
    assert (again.table.moves == games.table.moves).all() and (same == pairs).all()
    few = many_positions(games, 40)
    assert len(few) == 40 and few[-1, 0] < 5 and (few[:, 1] > 0).all()


def test_both_trainings_are_made_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(single_positions, "SHARD_GAMES", 10)
    out = tmp_path / "value"
    assert learn(out, "--licence", "MIT") == 0
    for name in ("single positions", "many positions of few games"):
        assert any(line.startswith(f"{name}: error") for line in said)
    info = OnnxNet(out / "alphago-value.onnx", "cpu").info
    assert (set(info.heads), info.spatial_planes, info.board_max) == ({"value"}, 49, 5)
    assert info.licence == "MIT"
    errors = json.loads((out / "errors.json").read_text())
    assert set(errors) == {"single positions", "many positions of few games"}
    assert all(0 < one["value"] < 4 for one in errors.values())
    metrics = (out / "many" / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line)["steps"] for line in metrics]
    assert steps == list(range(1, len(steps) + 1)), "there are few, and a picture needs a course"
    assert len(steps) > 5
    # A shard and a checkpoint that a kill has left are gone on with.
    kept = (out / "games" / "00000.games").read_bytes()
    (out / "games" / "00001.games").unlink()
    (out / "many" / "checkpoint.pt").unlink()
    assert learn(out) == 0
    assert (out / "games" / "00000.games").read_bytes() == kept
    assert json.loads((out / "errors.json").read_text()).keys() == errors.keys()


def test_games_that_were_learned_from_are_never_measured_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_positions, "SHARD_GAMES", 1)
    monkeypatch.setattr(single_positions, "can_draw", lambda: False)
    sides: list[list[set[int]]] = []

    def make(run: TrainRun, players: object, number: int) -> tuple[Games, Pairs]:
        (tmp_path / "one.sgf").write_text(f"(;SZ[5]KM[{number}]RE[B+R];B[aa];W[])")
        return read_table([tmp_path / "one.sgf"]), np.array([[0, 1]])

    def note(run: TrainRun, name: str, *of: Any) -> None:
        sides.append([set(games.table.komi.astype(int).tolist()) for games, _ in of[:2]])
        raise NetFileError("noted")

    monkeypatch.setattr(single_positions, "make_shard", make)
    monkeypatch.setattr(single_positions, "_train", note)
    for games in ("12", "25"):
        assert learn(tmp_path / "value", "--make", games) == 1
    (learned, others), (more, others_then) = sides
    assert learned | others == set(range(12)) and more | others_then == set(range(25))
    assert others and not learned & others_then and not more & others


def test_mistakes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more, words in (
        (("--policies", "small", "five"), "the net five does not play go"),
        (("--policies", "small", "gocnn"), "has no policy to play by"),
        (("--make", "9"), "too few games to make; give 500 or more"),
        (("--int8",), "--int8 does nothing with --recipe single-position"),
        (("--size", "2"), "--size must be between 5 and 25"),
        (("--make", "600", "--from", "nosuch.pt"), "nosuch.pt: cannot be read: No such file"),
        (("--policies", "small", "dlgo", "--make", "600"), "the net dlgo does not play on 5x5"),
    ):
        assert learn(tmp_path / "value", *more) == 1
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error, error


def test_a_run_with_checkpoints_goes_on_without_the_net_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_positions, "SHARD_GAMES", 10)
    monkeypatch.setattr(single_positions, "_train", lambda *given: 1 / 0)
    checkpoint = tmp_path / "many" / "checkpoint.pt"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    with pytest.raises(ZeroDivisionError):
        learn(tmp_path, "--from", "nosuch.pt")


def test_games_that_were_made_otherwise_are_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(single_positions, "SHARD_GAMES", 10)
    monkeypatch.setattr(single_positions, "_train", lambda *given: 1 / 0)
    out = tmp_path / "value"
    with pytest.raises(ZeroDivisionError):
        learn(out)
    for more, name in (
        (("--seed", "2"), "seed"),
        (("--size", "6"), "size"),
        (("--policies", "small", "default"), "policies"),
    ):
        assert learn(out, *more) == 1
        assert f"games: was made with another --{name}; choose another" in capsys.readouterr().err
