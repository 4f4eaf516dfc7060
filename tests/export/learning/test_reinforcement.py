"""Reinforcement: games in step, whose moves are learned and which way, runs that go on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.export.tiny_net import write_tiny_net  # noqa: E402

from gtp_engine.arena.policy_games import AT_RANDOM, play_policy_games, points_of_first  # noqa: E402
from gtp_engine.coords import BLACK, PASS, WHITE  # noqa: E402
from gtp_engine.evaluators.fake import FakeEvaluator  # noqa: E402
from gtp_engine.evaluators.nets.onnx_net import OnnxNet  # noqa: E402
from gtp_engine.files import write_json  # noqa: E402
from gtp_engine.go.board import is_own_eye  # noqa: E402
from gtp_export.architectures.presets import find_preset  # noqa: E402
from gtp_export.commands import run as run_command  # noqa: E402
from gtp_export.learning.batch import NetOutputs  # noqa: E402
from gtp_export.learning.pair_source import PairSource, collect  # noqa: E402
from gtp_export.learning.record_losses import RecordTargets  # noqa: E402
from gtp_export.learning.reinforcement import (  # noqa: E402
    NOTHING_GAINED,
    ReinforceTask,
    learned_pairs,
)
from gtp_export.run_settings import alone_in  # noqa: E402


def reinforce(net: Path | str, out: Path, *more: str) -> int:
    quick = ["--size", "4", "--games", "8", "--samples", "300"]
    return run_command(["reinforce", str(net), "--out", str(out), *quick, *more])


def test_games_in_step_fill_no_eyes_and_end_with_all_stones_alive() -> None:
    games = play_policy_games([FakeEvaluator()] * 2, 5, 0.5, 12, np.random.default_rng(1))
    for game in games:
        again = game.copy()
        moves = game.moves
        again.undo(len(moves))
        for ply, (color, point) in enumerate(moves):
            assert color == (WHITE if ply % 2 else BLACK)
            if point != PASS:
                assert not is_own_eye(again.board, point, color)
            else:
                assert all(
                    other == PASS or is_own_eye(again.board, other, color)
                    for other in again.legal_moves()
                )
            again.play(color, point)
    assert len({tuple(game.moves) for game in games}) == 12
    won = [game.white_margin() < 0 for game in games]
    assert points_of_first(games) == sum(won[::2]) + sum(not one for one in won[1::2])


def test_somebody_else_may_choose_who_moves() -> None:
    class Refuses(FakeEvaluator):
        def evaluate(self, *_: object, **__: object) -> None:
            raise AssertionError("nobody asked for it")

    refuses = Refuses()
    games = play_policy_games(
        [refuses], 4, 0.5, 3, np.random.default_rng(1), lambda game, position: AT_RANDOM
    )
    assert all(game.is_over or game.ply >= 3 * 16 for game in games)


def test_the_first_players_moves_are_learned_from_and_passes_are_not() -> None:
    ended = play_policy_games([FakeEvaluator()] * 2, 4, 0.5, 6, np.random.default_rng(2))
    games = collect(ended)
    pairs = learned_pairs(games)
    source = PairSource("katago_v7")
    source.feed(games, pairs, len(pairs))
    samples = source.read(pairs, np.zeros(len(pairs), np.int64))
    assert (samples.to_play == np.where(samples.game % 2 == 0, BLACK, WHITE)).all()
    assert (samples.action < 16).all() and set(samples.game) == set(range(6))
    wins = [ended[game].white_margin() < 0 for game in samples.game]
    assert (samples.outcome == (np.array(wins) == (samples.to_play == BLACK))).all()
    assert (samples.ownership != 0).any() and not np.isnan(samples.score).any()


def test_which_positions_are_drawn_is_up_to_the_generator() -> None:
    ended = play_policy_games([FakeEvaluator()] * 2, 4, 0.5, 6, np.random.default_rng(2))
    games = collect(ended)
    drawn = []
    for seed in (1, 1, 2):
        source = PairSource("katago_v7")
        source.feed(games, games.plies(), 8)
        drawn.append(source.draw(np.random.default_rng(seed)).spatial)
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


@pytest.mark.parametrize("name", ["tiny", "alphago-sl"])
def test_moves_of_games_that_were_won_become_likelier(name: str) -> None:
    preset = find_preset(name)
    task = ReinforceTask(preset, PairSource(preset.shape.encoder))
    actions = 9 + preset.shape.has_pass
    policy = torch.zeros(2, actions, requires_grad=True)
    value = torch.zeros(2, 3) if "value" in preset.shape.heads else None
    targets = RecordTargets(
        legal=torch.ones(2, 10, dtype=torch.bool),
        action=torch.tensor([3, 5]),
        outcome=torch.tensor([1.0, 0.0]),
        score=torch.tensor([2.0, -2.0]),
        ownership=torch.zeros(2, 3, 3),
    )
    task.losses(NetOutputs(policy, value), targets)["policy"].backward()
    rises = -policy.grad
    assert rises[0, 3] > 0 > rises[0, 5] and rises[1, 5] < 0 < rises[1, 3]
    if preset.shape.has_pass:
        assert (rises[:, -1] == 0).all()


def test_a_run_goes_on_pools_and_judges(
    tmp_path: Path,
    net: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gtp_export.learning.reinforcement.POOL_ROUNDS", 2)
    monkeypatch.setattr("gtp_export.learning.reinforcement.GATE_GAMES", 8)
    monkeypatch.setattr("gtp_export.learning.reinforcement.GATE_SHARE", 0.0)
    monkeypatch.setattr("gtp_export.learning.reinforcement.FINAL_GAMES", 10)
    out = tmp_path / "run"

    def interrupt(line: str) -> None:
        if "round 3" in line:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gtp_export.learning.reinforcement.logger.info", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reinforce(net, out, "--samples", "100000")
    assert [path.stem for path in sorted((out / "nets").iterdir())] == ["000000", "000002"]
    assert (out / "best.onnx").read_bytes() == (out / "nets" / "000002.onnx").read_bytes()
    assert reinforce(net, out, "--samples", "900") == 0
    told = "\n".join(said)
    assert "round 3:" in told and "round 2:" not in told, "it goes on from its checkpoint"
    ladder = json.loads((out / "ladder.json").read_text())
    assert [(one["net"], one["other"]) for one in ladder[:2]] == [
        ("000002", "000000"),
        ("000004", "000002"),
    ]
    info = OnnxNet(out / "run.onnx", "cpu").info
    card = (out / "run.md").read_text()
    assert info.name == "run" and info.created_by == "gtp-export reinforce"
    assert info.licence == "CC0"  # of the net that it began with
    assert "| 000002 | 000000 |" in card and "without search" in card
    assert "the value as baseline" in card
    assert "10 games on 4x4 without search" in info.strength and info.strength in card
    # The same again has nothing to do, and puts the net there once more.
    (out / "run.onnx").unlink()
    assert reinforce(net, out, "--samples", "900") == 0
    assert len(json.loads((out / "ladder.json").read_text())) == len(ladder)
    assert OnnxNet(out / "run.onnx", "cpu").info == info
    write_json(out / "ladder.json", [one | {"promoted": False} for one in ladder])
    (out / "nets" / "000000.onnx").write_bytes(net.read_bytes())
    assert reinforce(net, out, "--samples", "900") == 0
    begun = OnnxNet(net, "cpu").info
    assert OnnxNet(out / "run.onnx", "cpu").info == replace(begun, strength=NOTHING_GAINED)
    assert f"# {begun.name}\n" in (out / "run.md").read_text()
    for start, more, words in (
        (net, ("--size", "5"), "was made with another --size"),
        (net, ("--komi", "0.5"), "was made with another --komi"),
        ("small", (), "was begun with another net"),
    ):
        assert reinforce(start, out, *more) == 1
        assert f"{out}: {words}; choose another --out" in capsys.readouterr().err


def test_a_second_run_in_the_folder_plays_and_writes_nothing(
    tmp_path: Path, net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with alone_in(tmp_path / "run"):
        before = [*(tmp_path / "run").iterdir()]
        assert reinforce(net, tmp_path / "run") == 1
    assert "another run is at work there" in capsys.readouterr().err
    assert [*(tmp_path / "run").iterdir()] == before


def test_mistakes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tiny_net(tmp_path / "foreign.onnx")
    for start, more, words in (
        ("gocnn", (), "has no policy"),
        ("five", (), "the net five does not play go"),
        (tmp_path / "foreign.onnx", (), "this program cannot train its architecture"),
        ("dlgo", (), "takes boards of 19 to 19 points a side, not 4x4"),
        ("small", ("--games", "1"), "--games must be 2 or more"),
    ):
        assert reinforce(start, tmp_path / "run", *more) == 1
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error
        assert not (tmp_path / "run").exists()
    with pytest.raises(SystemExit):
        reinforce("small", tmp_path / "run", "--size", "1")
    assert "--size: board size 1 is not between 2 and 25" in capsys.readouterr().err
