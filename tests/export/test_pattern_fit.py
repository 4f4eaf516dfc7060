"""Fitting pattern policies to records: the command, what it learns, and what it refuses."""

import random
from pathlib import Path

import numpy as np
import pytest

from gtp_engine.coords import PASS, format_vertex
from gtp_engine.evaluators.rollouts.pattern_file import unpack
from gtp_engine.go.position import Position
from gtp_engine.kernels import JIT_ENABLED
from gtp_export.commands import run as run_command
from gtp_export.evaluation import draw_plies
from gtp_export.pattern_fit import evaluate_patterns, fit_policies
from gtp_export.pattern_kernels import measure
from gtp_export.plans import EvaluationPlan
from gtp_export.records.reading import read_table

pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="takes long without a compiler")
SIZE = 5


def follower(seed: int) -> str:
    """Return a game whose players capture if they can, else play beside the last move."""
    generator, position = random.Random(seed), Position(SIZE)
    text = f"(;SZ[{SIZE}]"
    for _ in range(18):
        moves = [move for move in position.legal_moves() if move != PASS]
        last = position.moves[-1].point if position.moves else PASS
        near = [one for one in moves if abs(one - last) in (1, SIZE + 1)]
        point = generator.choice(near or moves)
        vertex = format_vertex(point, SIZE, SIZE)
        spot = chr(ord("a") + ord(vertex[0]) - ord("A")) + chr(ord("a") + SIZE - int(vertex[1]))
        text += f";{'BW'[position.to_play - 1]}[{spot}]"
        position.play(position.to_play, point)
    return text + ")\n"


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("games") / "games.sgf"
    path.write_text("".join(follower(seed) for seed in range(300)))
    path.with_name("valid.sgf").write_text("".join(follower(seed) for seed in range(300, 400)))
    return path


def test_a_run_writes_patterns_that_know_what_was_played(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "--preset", "rollout", "--games", str(games), "--out", str(tmp_path)]
    words += [
        "--valid",
        str(games.with_name("valid.sgf")),
        "--licence",
        "CC0",
        "--samples",
        "5000",
        "--name",
        "mine",
    ]
    assert run_command(words) == 0
    path = tmp_path / "mine.patterns"
    header, _ = unpack(path)
    assert header["licence"] == "CC0" and "300 games (games.sgf)" in header["trained_on"]
    card = (tmp_path / "mine.md").read_text()
    assert card.startswith("# mine") and "| rollout policy | tree policy |" in card
    figures = evaluate_patterns(path, [games], EvaluationPlan(400))
    # One of up to four neighbours, drawn evenly; chance alone would be one of some fifteen.
    for policy in ("rollout", "tree"):
        assert figures[f"{policy} top1 all"].mean > 0.25
        assert figures[f"{policy} cross_entropy all"].mean < 1.6
    capsys.readouterr()
    assert run_command(["evaluate", "--net", str(path), "--games", str(games)]) == 0
    out = capsys.readouterr().out
    assert "rollout top1 all" in out and "tree cross_entropy all" in out


def test_what_is_learned_is_what_the_file_says(games: Path) -> None:
    from gtp_engine.evaluators.rollouts.pattern_file import build_policy

    table = read_table([games])
    arrays, n = fit_policies(table, 1, 3000)
    assert 2500 < n <= 3200
    pairs = draw_plies(table, np.arange(50), 2, np.random.default_rng(1))
    untaught = {k: v if v.dtype == np.uint32 else 0 * v for k, v in arrays.items()}
    for which in (0, 1):
        plain = measure(build_policy(untaught), table, pairs, which)
        taught = measure(build_policy(arrays), table, pairs, which)
        assert np.nanmean(taught[:, 2]) < np.nanmean(plain[:, 2]) - 0.5
        moves = plain[~np.isnan(plain[:, 0])]
        assert (moves[:, 0] == 0).all() and (moves[:, 1] > 5).all()  # all liked alike


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--minutes", "3"], "only --samples ends it earlier"),
        (["--from", "x.onnx"], "--from is for nets"),
        (["--int8"], "--int8 does nothing with --preset rollout"),
        ([], "--games and --out are needed"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    words: list[str], said: str, tmp_path: Path, games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--games", str(games), "--out", str(tmp_path / "x")] if words else []
    assert run_command(["train", "--preset", "rollout", *words, *more]) != 0
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_disk_that_is_full_leaves_the_old_file(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gtp_export import pattern_fit

    def full(path: Path, content: str | bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    (tmp_path / "rollout.patterns").write_bytes(b"old")
    monkeypatch.setattr(pattern_fit, "write_whole", full)
    words = ["train", "--preset", "rollout", "--games", str(games), "--out", str(tmp_path)]
    assert (
        run_command([*words, "--valid", str(games.with_name("valid.sgf")), "--samples", "500"]) != 0
    )
    assert "No space left on device" in capsys.readouterr().err
    assert (tmp_path / "rollout.patterns").read_bytes() == b"old"
