"""Small boards, whose value is known, are learned from nothing."""

from collections.abc import Generator
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")

from gtp_engine.evaluators.net_evaluator import NetEvaluator, open_net
from gtp_engine.go.position import Position
from gtp_engine.go.rules import GO, Rules
from gtp_export.learning.zero_training import Learning
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.judge import Judge
from gtp_export.zero.settings import RECIPES, RunFolder, settings_for
from gtp_export.zero.work import Worker

MOST_WAITING = 100
"""Games of a shard."""


def learn(
    folder: Path, size: int, games: int, recipe: str = "ours", game: str = GO, **wanted: object
) -> Generator[NetEvaluator]:
    """Let all parts of a run take turns in this process; yield the best net, the first one too.

    Args:
        folder: Of the run.
        size: Of the board.
        games: After so many the run ends.
        recipe: How to learn.
        game: What to learn.
        wanted: Other settings.
    """
    run = RunFolder(folder)
    wanted = {"anchor_games": 0, "shard_games": MOST_WAITING, "shard_seconds": 1e9} | wanted
    run.create(settings_for(game, size, recipe, **wanted))
    keeper = Coordinator(run)
    keeper.step()  # makes the first net, ...
    keeper.step()  # ... which is the best so far
    settings = run.settings()
    worker = Worker(run, seed=settings.seed)
    learning, judge = Learning(run, settings), Judge(run, settings)
    best = b""
    try:
        for _ in range(games // settings.shard_games):
            if run.best.read_bytes() != best:
                best = run.best.read_bytes()
                yield open_net(str(run.best), "cpu", threads=1)
            shards = len(list(run.shards.iterdir()))
            while len(list(run.shards.iterdir())) == shards:
                worker.step()
            keeper.step()
            while learning.step():
                pass
            judge.step()
            keeper.step()
            worker.look()
    finally:
        keeper.close()


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_learns_and_hands_its_nets_on(tmp_path: Path, recipe: str) -> None:
    few = {"net_samples": 256, "first_positions": 50, "shard_games": 10, "gate_games": 20}
    few |= {"gate_share": 0.0, "batch": 32, "judge_visits": 4, "visits": 8, "fast_visits": 4}
    nets = learn(tmp_path / "run", 3, 200, recipe, **few)
    first, trained = next(nets), next(nets, None)
    nets.close()
    matches = [path.read_text() for path in (tmp_path / "run" / "matches").iterdir()]
    assert trained is not None, matches
    assert first.net.info.name.endswith("-0") and not trained.net.info.name.endswith("-0")
    assert "score" in trained.net.info.heads or recipe == "supergo"


def black_winrate(net: NetEvaluator, size: int, komi: float) -> float:
    return net.raw_evaluation(Position(size, rules=Rules(komi=komi))).win


def best_action(net: NetEvaluator, size: int, komi: float) -> int:
    policy = net.raw_evaluation(Position(size, rules=Rules(komi=komi))).policy
    return int(policy.argmax())


def test_three_by_three_is_worth_nine_points_from_the_center(tmp_path: Path) -> None:
    assert any(
        black_winrate(net, 3, 8.5) > 0.8
        and black_winrate(net, 3, 9.5) < 0.3
        and best_action(net, 3, 9.0) == 4
        for net in learn(tmp_path / "run", 3, 3500)
    )


@pytest.mark.slow
def test_four_by_four_is_worth_two_points_from_a_center_point(tmp_path: Path) -> None:
    assert any(
        black_winrate(net, 4, 1.5) > 0.6
        and black_winrate(net, 4, 2.5) < 0.4
        and best_action(net, 4, 2.0) in (5, 6, 9, 10)
        for net in learn(tmp_path / "run", 4, 6000)
    )
