"""The trainer and the judge of a run that learns from nothing."""

import errno
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.paths import SCRIPTED_ENGINE

pytest.importorskip("onnx")
pytest.importorskip("torch")

import torch
from tests.export.zero.test_run_folder import (
    SIZE,
    new_run,
    put_match,
    put_net,
    warnings_of,
)
from tests.export.zero.test_targets import write_games

from gtp_engine.arena.many_games import PlayedGame, Terms, play_games
from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.games import FIVE
from gtp_export.learning import zero_training
from gtp_export.learning.trainer import CHECKPOINT, Trainer, TrainError
from gtp_export.learning.zero_training import Learning, ShardSource, batch_of, train_run
from gtp_export.zero.catalogue import GNU_GO, MatchRecord, rows
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.judge import ROUND, Judge, judge_last_net
from gtp_export.zero.nets import NetRecord, add_first_net, add_net, list_nets
from gtp_export.zero.part import Part
from gtp_export.zero.settings import NO_GATE, SHARE, SPRT, RunFolder, settings_for
from gtp_export.zero.status import newest_game
from gtp_export.zero.targets import Window
from gtp_export.zero.work import earlier_games


def small_run(folder: Path, **wanted: object) -> RunFolder:
    few = {"first_positions": 20, "batch": 16, "net_samples": 64, "samples_per_position": 2.0}
    return new_run(folder, **(few | wanted))


def positions_in(run: RunFolder) -> int:
    return ShardSource(run, run.settings(), "katago_v7").positions


# The trainer -------------------------------------------------------------------------------------


def test_training_waits_for_games_and_makes_nets(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    learning = Learning(run, run.settings())
    assert not learning.step()
    write_games(run.shards, 1, games=4)
    steps = 0
    while learning.step():
        steps += 1
    samples = 2.0 * positions_in(run)
    assert samples - 16 < steps * 16 <= samples
    nets = list_nets(run, {})
    assert [net.steps for net in nets] == list(range(4, steps + 1, 4))
    assert nets[-1].positions == positions_in(run) and nets[-1].samples == 16 * nets[-1].steps
    assert {"policy", "value", "score", "ownership"} <= set(nets[-1].losses or {})
    info = OnnxNet(run.net(nets[-1].name), "cpu").info
    assert info.trained_sizes == (SIZE, SIZE) and "learned from nothing" in info.source
    write_games(run.shards, 2, games=1)
    assert learning.step()  # more games, more training


def test_nets_are_quantised_so_that_they_overflow_nowhere(tmp_path: Path) -> None:
    run = small_run(tmp_path, int8=True)
    write_games(run.shards, 1, games=4)
    learning = Learning(run, run.settings())
    while not (nets := list_nets(run, {})):
        assert learning.step()
    precision = OnnxNet(run.net(nets[0].name), "cpu").info.precision
    assert precision.startswith("int8 (7-bit weights)")


def test_training_that_is_behind_learns_from_the_newest_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path, samples_per_position=1000.0)
    write_games(run.shards, 1, games=4)
    learning = Learning(run, run.settings())
    monkeypatch.setattr(zero_training, "LOOK_SECONDS", math.inf)
    assert learning.step()
    write_games(run.shards, 2, games=4)
    assert learning.step() and learning._shards.positions < positions_in(run)
    monkeypatch.setattr(zero_training, "LOOK_SECONDS", 0.0)
    assert learning.step() and learning._shards.positions == positions_in(run)


@pytest.mark.parametrize("head", ["policy", "value", "score", "ownership"])
def test_what_has_no_weight_is_not_learned(tmp_path: Path, head: str) -> None:
    run = small_run(tmp_path, **{f"{head}_weight": 0.0})
    write_games(run.shards, 1, games=4)
    learning = Learning(run, run.settings())
    assert learning.step() and learning._trainer is not None
    last = {"policy": "policy.out", "value": "value.out"}
    last |= {name: f"value.{name}" for name in ("score", "ownership")}
    moved = {
        name
        for name, layer in last.items()
        if any(one.grad.any() for one in learning._trainer.net.get_submodule(layer).parameters())
    }
    assert moved == last.keys() - {head}


def test_the_search_has_its_share_in_the_outcome_that_is_learned(tmp_path: Path) -> None:
    window = Window("katago_v7", small_run(tmp_path).settings().boards)
    window.add(write_games(tmp_path, 1))
    samples = window.draw(50, np.random.default_rng(1))
    played, mixed, searched = (
        batch_of(samples, mix).targets.outcome.numpy() for mix in (0.0, 0.3, 1.0)
    )
    assert set(played) <= {0.0, 0.5, 1.0}
    np.testing.assert_allclose(searched, (samples.value + 1.0) / 2.0)
    np.testing.assert_allclose(mixed, 0.7 * played + 0.3 * searched, rtol=1e-6)


def test_training_that_was_killed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    write_games(run.shards, 1, games=4)
    learning = Learning(run, run.settings())
    for _ in range(5):
        assert learning.step()
    again = Learning(run, run.settings())
    assert again.step()
    state = torch.load(run.path / "train" / CHECKPOINT, weights_only=True)
    assert state["steps"] == 4 and again._trainer is not None and again._trainer.steps == 5


def test_training_begins_with_the_runs_own_copy_of_its_net(tmp_path: Path) -> None:
    start = tmp_path / "start.onnx"
    start.write_bytes(find_net("small").read_bytes())
    run = small_run(tmp_path, preset="b4c32", start=str(start))
    add_first_net(run, run.settings())
    start.unlink()
    write_games(run.shards, 1, games=4)
    assert Learning(run, run.settings()).step()


def test_a_net_that_a_kill_kept_from_being_written_is_written_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path)
    write_games(run.shards, 1, games=4)
    learning = Learning(run, run.settings())

    def kill(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(Learning, "_export", kill)
        with pytest.raises(KeyboardInterrupt):
            for _ in range(5):
                learning.step()
    assert not list_nets(run, {})
    again = Learning(run, run.settings())
    for _ in range(2):
        again.step()
    assert [net.steps for net in list_nets(run, {})] == [4]


def test_gradients_that_blow_up_lead_back_to_the_checkpoint_at_half_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = small_run(tmp_path)
    write_games(run.shards, 1, games=4)
    learning = Learning(run, run.settings())
    for _ in range(5):
        learning.step()

    def blow_up(trainer: Trainer) -> dict[str, float]:
        raise TrainError("gradients are no longer finite")

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", blow_up)
        assert learning.step()
    assert "at half the rate" in caplog.text
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", blow_up)  # now at its first step
        with pytest.raises(NetFileError, match=r"without its checkpoint\.pt training begins anew"):
            learning.step()
    assert learning.step()
    assert learning._trainer is not None and learning._trainer.steps == 5
    assert learning._settings.learning_rate == run.settings().learning_rate / 2


def test_a_checkpoint_that_cannot_be_written_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = small_run(tmp_path, net_samples=16)
    write_games(run.shards, 1, games=4)
    fails = iter([TrainError("no space")] * 3 + [KeyboardInterrupt()])

    def fail(trainer: Trainer) -> None:
        raise next(fails)

    monkeypatch.setattr(Trainer, "save", fail)
    monkeypatch.setattr(zero_training, "WAIT_SECONDS", 0.0)
    part = Part(run, "train")
    monkeypatch.setattr(zero_training, "Part", lambda *_, **__: part)
    with pytest.raises(KeyboardInterrupt):
        train_run(run)
    assert warnings_of(caplog) == ["no space; training goes on"]


def test_a_net_that_was_due_on_a_full_disk_is_made_at_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path)
    write_games(run.shards, 1, games=4)
    learning = Learning(run, run.settings())

    def fail(trainer: Trainer) -> None:
        raise TrainError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "save", fail)
        for _ in range(3):
            assert learning.step()
        with pytest.raises(TrainError):
            learning.step()
    assert not list_nets(run, {})
    assert learning.step()
    assert learning.step()
    assert [net.steps for net in list_nets(run, {})] == [5]


@pytest.mark.parametrize("is_told", [False, True])
def test_training_ends_with_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    run = small_run(tmp_path)
    write_games(run.shards, 1, games=4)
    part, step = Part(run, "train"), Learning.step
    endings: list[threading.Event] = []
    monkeypatch.setattr(part, "end_with_parent", lambda ending, grace: endings.append(ending))
    monkeypatch.setattr(zero_training, "Part", lambda *_, **__: part)

    def last(learning: Learning) -> bool:
        done = step(learning)
        if learning._trainer is not None and learning._trainer.steps == 6:
            if is_told:
                endings[0].set()  # as when the supervisor ends first
            else:
                part.is_over = True
        return done

    monkeypatch.setattr(Learning, "step", last)
    assert train_run(run) == 0
    assert torch.load(run.path / "train" / CHECKPOINT, weights_only=True)["steps"] == 6


def test_without_a_checkpoint_that_can_be_read_nothing_is_said_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = small_run(tmp_path)
    write_games(run.shards, 1, games=4)
    (run.path / "train").mkdir(exist_ok=True)
    torch.save({"weights": 1}, run.path / "train" / "checkpoint.pt")
    part = Part(run, "train")
    monkeypatch.setattr(zero_training, "Part", lambda *_, **__: part)
    monkeypatch.setattr(zero_training.time, "sleep", lambda _: setattr(part, "is_over", True))
    train_run(run)
    assert [line.partition("train/")[2] for line in warnings_of(caplog)] == [
        "checkpoint.pt: is no checkpoint of a run; no training until it is mended"
    ]


def test_a_damaged_shard_is_left_out_and_old_games_leave_the_window(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = small_run(tmp_path, window=30)
    for seed in range(8):
        write_games(run.shards, seed, games=2)
    bad = write_games(run.shards, 99)
    bad.write_bytes(bad.read_bytes()[:-5])
    shards = ShardSource(run, run.settings(), "katago_v7")
    assert not caplog.records  # the coordinator warns
    assert 30 < shards._window.positions < shards.positions


def test_a_shard_that_cannot_be_read_now_is_taken_in_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path)

    def fail(path: Path, most: int) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle", str(path))

    keeper = Coordinator(run)
    shard = write_games(run.shards, 1)
    with monkeypatch.context() as patch:
        patch.setattr("gtp_export.zero.shards.read_file", fail)
        keeper.step()
        learner = ShardSource(run, run.settings(), "katago_v7")
    assert not rows(run, "select name from shards") and not learner.positions
    keeper.step()
    learner.look()
    keeper.close()
    assert rows(run, "select name from shards") == [(shard.stem,)] and learner.positions


def test_a_link_to_a_shard_that_is_away_hinders_nobody(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    write_games(run.shards, 1)
    (run.shards / "0123456789abcdef.shard").symlink_to(tmp_path / "away")
    assert positions_in(run)
    assert newest_game(run).startswith("a game, ")
    assert earlier_games(run.shards, run.settings())


# The judge ---------------------------------------------------------------------------------------


def matches_of(run: RunFolder) -> list[MatchRecord]:
    paths = sorted(run.matches.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return [MatchRecord(**json.loads(path.read_text())) for path in paths]


def judge_of(run: RunFolder) -> Judge:
    return Judge(run, run.settings())


def judging_run(folder: Path, gate: str) -> RunFolder:
    return new_run(folder, gate=gate, gate_games=8, judge_visits=2, anchor_games=0)


def test_the_newest_net_plays_the_best_one_and_is_judged_once(tmp_path: Path) -> None:
    run = judging_run(tmp_path, SPRT)
    judge = judge_of(run)
    assert not judge.step()
    first = put_net(run, 0)
    assert not judge.step()
    put_net(run, 4)
    newest = put_net(run, 8)
    assert judge.step()
    (match,) = matches_of(run)
    assert (match.net, match.other) == (newest, first) and match.games == ROUND
    assert not judge.step() and len(matches_of(run)) == 1


def test_matches_are_played_at_a_komi_with_which_both_can_win(tmp_path: Path) -> None:
    run = judging_run(tmp_path, SPRT)
    for fair, komi in (("2.30", 2.5), ("15.60", 15.5), ("16.00", 15.5)):  # 16 points are the board
        run.komi.write_text(fair)
        assert judge_of(run)._deciding_komi == komi


def test_a_net_on_a_drive_that_does_not_answer_is_not_beaten_by_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judging_run(tmp_path, SPRT)
    _, net = put_net(run, 0), put_net(run, 4)
    judge, whole = judge_of(run), run.net(net).read_bytes()
    run.net(net).unlink()
    run.net(net).symlink_to(tmp_path / "away.onnx")
    with pytest.raises(FileNotFoundError):
        judge.step()
    assert not matches_of(run)
    (tmp_path / "away.onnx").write_bytes(whole)
    assert judge.step() and matches_of(run)[0].games == ROUND


def test_a_last_net_that_cannot_be_judged_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = judging_run(tmp_path, SPRT)
    put_net(run, 0), put_net(run, 4)
    run.komi.write_text("what?")
    judge_last_net(run, run.settings(), lambda: None)
    assert "komi: is damaged" in caplog.text and "is not judged" in caplog.text


def test_a_match_that_could_not_be_written_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judging_run(tmp_path, SPRT)
    first, net = put_net(run, 0), put_net(run, 4)
    judge = judge_of(run)

    def refuse(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as full:
        full.setattr("gtp_export.zero.judge.write_whole", refuse)
        with pytest.raises(OSError, match="No space left"):
            judge.step()
    monkeypatch.setattr(Judge, "_match", None)
    assert not judge.step()
    (match,) = matches_of(run)
    assert (match.net, match.other, match.games) == (net, first, ROUND)


def test_no_opening_comes_twice_in_the_rounds_of_a_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(tmp_path, gate=SHARE, gate_games=40, judge_visits=2, anchor_games=0)
    played: list[PlayedGame] = []

    def play(*args: Any, **options: Any) -> list[PlayedGame]:
        games = play_games(*args, **options)
        played.extend(games)
        return games

    monkeypatch.setattr("gtp_export.zero.judge.play_games", play)
    put_net(run, 0)
    put_net(run, 4)
    assert judge_of(run).step()
    assert [game.number for game in played] == list(range(40))
    openings = {played[number].moves[:1] for number in range(0, 26, 2)}
    assert len(openings) == 13  # of 16 first moves


@pytest.mark.parametrize("broken", [b"noise" * 100, None])
def test_a_best_net_that_fails_gives_its_place_to_the_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: bytes | None
) -> None:
    run = judging_run(tmp_path, SPRT)
    first = put_net(run, 0, broken=broken is None)
    if broken is not None:
        run.net(first).write_bytes(broken)
    put_net(run, 4)
    assert judge_of(run).step()
    assert [match.promoted for match in matches_of(run)] == [True]
    assert "takes its place" in caplog.text


@pytest.mark.parametrize(
    ("gate", "share", "passes"),
    [(SPRT, 0.5, True), (SPRT, 0.4, False), (SHARE, 0.5, False), (SHARE, 0.6, True)],
)
def test_a_gate_lets_through_who_wins_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: str, share: float, passes: bool
) -> None:
    run = judging_run(tmp_path, gate)
    judge = judge_of(run)
    put_net(run, 0)
    put_net(run, 4)
    monkeypatch.setattr("gtp_export.zero.judge.points", lambda games: 0.6 * len(games))
    assert judge.step()
    put_net(run, 8)
    monkeypatch.setattr("gtp_export.zero.judge.points", lambda games: share * len(games))
    assert judge.step()
    assert [match.promoted for match in matches_of(run)] == [True, passes]


@pytest.mark.parametrize(
    ("gate", "start", "passes"), [(SPRT, "", True), (SPRT, "default", False), (SHARE, "", False)]
)
def test_the_first_net_that_learned_from_nothing_passes_the_sequential_test_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: str, start: str, passes: bool
) -> None:
    run = new_run(tmp_path, gate=gate, start=start, gate_games=8, judge_visits=2, anchor_games=0)
    put_net(run, 0)
    put_net(run, 4)
    monkeypatch.setattr("gtp_export.zero.judge.points", lambda games: 0.0)
    assert judge_of(run).step()
    assert [match.promoted for match in matches_of(run)] == [passes]


@pytest.mark.parametrize(("share", "passes"), [(1.0, True), (0.0, False)])
def test_a_match_that_is_decided_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, passes: bool
) -> None:
    run = new_run(
        tmp_path, gate=SPRT, gate_games=10 * ROUND, gate_elo=80.0, judge_visits=2, anchor_games=0
    )
    for steps in (0, 4, 8):
        put_net(run, steps)
        monkeypatch.setattr("gtp_export.zero.judge.points", len if steps < 8 else scaled(share))
        judge_of(run).step()
    match = matches_of(run)[-1]
    assert match.promoted == passes and ROUND <= match.games < 10 * ROUND


def scaled(share: float) -> Callable[[Sequence[object]], float]:
    return lambda games: share * len(games)


def test_matches_are_played_on_all_sizes_by_all_rules_with_the_judges_visits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder(tmp_path / "run")
    wanted = {"least_size": 5, "rules": "freestyle,renju", "gate": SHARE, "judge_visits": 3}
    run.create(settings_for(FIVE, 7, "ours", gate_games=4 * ROUND, **wanted))
    asked: list[tuple[int, Terms]] = []

    def play(players: Any, terms: Terms, games: int, *rest: Any, **more: Any) -> list[PlayedGame]:
        asked.append((players[0].limits.visits, terms))
        return cast(list[PlayedGame], [None] * games)

    monkeypatch.setattr("gtp_export.zero.judge.play_games", play)
    monkeypatch.setattr("gtp_export.zero.judge.points", scaled(0.6))
    put_net(run, 0)
    put_net(run, 4)
    assert judge_of(run).step()
    assert {visits for visits, _ in asked} == {3}
    assert [(terms.width, terms.rules.describe()) for _, terms in asked] == [
        *((5, "freestyle"), (7, "freestyle"), (5, "renju"), (7, "renju")),
    ]


def test_without_a_gate_nets_are_rated_one_after_the_other(tmp_path: Path) -> None:
    run = judging_run(tmp_path, NO_GATE)
    names = [put_net(run, 0), put_net(run, 4)]
    judge = judge_of(run)
    assert judge.step()
    names.append(put_net(run, 8))
    assert judge.step()
    assert [(match.net, match.other) for match in matches_of(run)] == [
        (names[1], names[0]),
        (names[2], names[1]),
    ]


def test_at_the_end_of_a_run_the_last_net_alone_is_judged(tmp_path: Path) -> None:
    run = judging_run(tmp_path, SPRT)
    first, _, last = put_net(run, 0), put_net(run, 4), put_net(run, 8)
    put_match(run, last, first, 3.0, False)
    judge_last_net(run, run.settings(), lambda: None)
    assert [match.net for match in matches_of(run)] == [last]


def test_a_net_that_is_no_net_is_not_promoted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = judging_run(tmp_path, SPRT)
    put_net(run, 0)
    file = run.path / "noise"
    file.write_bytes(b"noise" * 100)
    add_net(run, file, NetRecord("", 4))
    judge = judge_of(run)
    assert judge.step()
    assert "not promoted" in caplog.text
    assert [match.promoted for match in matches_of(run)] == [False]
    assert not judge.step()


def test_gnu_go_is_met_each_time_that_the_promotions_have_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(tmp_path, anchor_games=20)
    monkeypatch.setattr("gtp_export.zero.judge.shutil.which", lambda *_, **__: "gnugo")
    played: list[str] = []

    def play(judge: Judge, net: str) -> MatchRecord:
        played.append(net)
        return MatchRecord(net, GNU_GO, 0.0, 20, 16, 0.5)

    monkeypatch.setattr(Judge, "_play_gnu_go", play)
    due = promote_one_by_one(run, lambda: judge_of(run).step())
    assert due == [False, True, False, True, False, False, False, True]


def test_gnu_go_that_comes_late_is_met_once_by_each_net(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(tmp_path, anchor_games=20)
    monkeypatch.setattr("gtp_export.zero.judge._find_gnu_go", lambda: None)
    promote_one_by_one(run, lambda: judge_of(run).step())
    monkeypatch.setattr("gtp_export.zero.judge._find_gnu_go", lambda: "gnugo")

    def play(judge: Judge, net: str) -> MatchRecord:
        return MatchRecord(net, GNU_GO, 0.0, 20, 16, 0.5)

    monkeypatch.setattr(Judge, "_play_gnu_go", play)
    assert [judge_of(run).step() for _ in range(3)] == [True, False, False]


def test_a_match_with_gnu_go_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path, anchor_games=2)
    script = [sys.executable, SCRIPTED_ENGINE]
    monkeypatch.setattr("gtp_export.zero.judge.own_command", lambda *words: script)
    monkeypatch.setattr("gtp_export.zero.judge._find_gnu_go", lambda: script[0])
    monkeypatch.setattr("gtp_export.zero.judge.GNU_GO_OPTIONS", script[1:])
    waits: list[None] = []
    judge = Judge(run, run.settings(), lambda: waits.append(None))
    # Both pass: the one stone of the opening decides, and each has it once.
    assert judge._play_gnu_go("net") == MatchRecord("net", GNU_GO, 1.0, 2, 16, 0.5)
    assert len(waits) == 2
    monkeypatch.setattr("gtp_export.zero.judge._find_gnu_go", lambda: "/no/such/program")
    assert judge._play_gnu_go("net").games == 0


def promote_one_by_one(run: RunFolder, step: Callable[[], bool]) -> list[bool]:
    """Promote eight nets, each above the one before; return whether the judge had work then."""
    found = []
    for steps in range(8):
        name = put_net(run, steps)
        if steps:
            match = replace(MatchRecord(name, "before", 9.0, 10, 16, 0.5), promoted=True)
            (run.matches / f"{steps}.json").write_text(json.dumps(match.__dict__))
        found.append(step())
    return found
