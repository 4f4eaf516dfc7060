"""Small boards, whose value is known, are learned from nothing."""

from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")

from gtp_engine.evaluators.net_evaluator import NetEvaluator, open_net
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_export.learning.zero_training import Learning
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.judge import Judge
from gtp_export.zero.settings import RunFolder, settings_for
from gtp_export.zero.status import read_status
from gtp_export.zero.work import Worker


def learn(run: RunFolder, games: int) -> None:
    """Let all parts of a run take turns in this process, until so many games are played."""
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    settings = run.settings()
    worker, learning, judge = Worker(run, seed=1), Learning(run, settings), Judge(run, settings)
    played = shards = 0
    while played < games:
        worker.step()
        found = len(list(run.shards.iterdir()))
        if found == shards:
            continue
        shards = found
        keeper.step()
        while learning.step():
            pass
        keeper.step()
        judge.step()
        keeper.step()
        worker.look()
        played = read_status(run)["games"]
    keeper.close()


def black_winrate(net: NetEvaluator, size: int, komi: float) -> float:
    return net.raw_evaluation(Position(size, rules=Rules(komi=komi))).win


def best_point(net: NetEvaluator, size: int, komi: float) -> int:
    policy = net.raw_evaluation(Position(size, rules=Rules(komi=komi))).policy
    return int(policy.argmax())


def test_three_by_three_is_worth_nine_points_from_the_center(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(settings_for("go", 3, "ours", shard_games=100))
    learn(run, 3500)
    net = open_net(str(run.best), "cpu", threads=1)
    assert black_winrate(net, 3, 8.5) > 0.8
    assert black_winrate(net, 3, 9.5) < 0.3
    assert best_point(net, 3, 9.0) == 4


@pytest.mark.slow
def test_four_by_four_is_worth_two_points_from_a_center_point(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(settings_for("go", 4, "ours", shard_games=100))
    learn(run, 6000)
    net = open_net(str(run.best), "cpu", threads=1)
    assert black_winrate(net, 4, 1.5) > 0.6
    assert black_winrate(net, 4, 2.5) < 0.4
    assert best_point(net, 4, 2.0) in (5, 6, 9, 10)
