"""Five in a row, learned from nothing: its games, their records, what nets are taught by them."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from tests.paths import TINY_NET

pytest.importorskip("onnx")

from tests.evaluators.encoders.encoding import encoded
from tests.evaluators.test_five import write_five
from tests.export.zero.test_small_boards import learn

from gtp_engine.coords import BLACK, EMPTY, WHITE, point_to_action
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.uniform import UniformEvaluator
from gtp_engine.five.game import FiveGame
from gtp_engine.five.rules import FREESTYLE, RENJU, STANDARD
from gtp_engine.games import FIVE
from gtp_engine.go.sgf import load_sgf
from gtp_engine.go.symmetry import action_table
from gtp_engine.search.forest import Forest, RootPlan
from gtp_engine.search.params import SearchParams
from gtp_export.commands import run as run_command
from gtp_export.quantise.positions import play_positions
from gtp_export.records.pack_file import read_pack
from gtp_export.records.reading import read_table
from gtp_export.records.stream import PositionStream
from gtp_export.zero.catalogue import rows
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.nets import shape_of
from gtp_export.zero.settings import RECIPES, RunFolder, settings_for
from gtp_export.zero.shards import LearnedGame, read_shard, write_shard
from gtp_export.zero.status import describe, newest_game, plot, read_status, write_games
from gtp_export.zero.targets import Window
from gtp_export.zero.work import Worker

FEW = {"games_at_once": 4, "visits": 8, "fast_visits": 4, "shard_games": 6, "stored_share": 0.4}


def new_run(folder: Path, recipe: str = "ours", **wanted: object) -> RunFolder:
    run = RunFolder(folder / "run")
    rules = {"rules": "standard,renju", "least_size": 6}
    run.create(settings_for(FIVE, 8, recipe, **(FEW | rules | wanted)))
    return run


def play(run: RunFolder, games: int) -> list[LearnedGame]:
    """Let a worker play without a net; return the games, which are in shards as well."""
    worker = Worker(run, seed=1)
    played: list[LearnedGame] = []
    worker._add = played.extend  # type: ignore[method-assign]
    while len(played) < games:
        worker.step()
    worker.waiting = played
    worker.write()
    return played


@pytest.mark.parametrize("recipe", RECIPES)
def test_games_of_all_sizes_and_rules_end_as_the_game_does(tmp_path: Path, recipe: str) -> None:
    played = play(new_run(tmp_path, recipe), 60)
    assert {game.record.width for game in played} == {6, 8}
    assert {game.record.rules for game in played} == {STANDARD, RENJU}
    assert {game.reason for game in played} == {"five", "draw"}
    assert any(game.begun for game in played)
    assert {game.record.komi for game in played} == {0.0}
    for game in played:
        position = game.record.position()
        assert isinstance(position, FiveGame) and position.is_over
        assert (game.record.winner, game.reason == "five") == (
            position.winner,
            position.winner != EMPTY,
        )
        again = game.record.position(before_move=1)
        for move, found in zip(game.record.moves, game.searched, strict=True):
            if found is not None:
                legal = {point_to_action(p, again.width, again.height) for p in again.legal_moves()}
                assert set(found.actions.tolist()) <= legal
            again.play(move.color, move.point)


def test_shards_become_games_again_and_go_on(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    played = play(run, 20)
    shards = [read_shard(path, run.settings().boards) for path in run.shards.iterdir()]
    assert {shard.header.width for shard in shards} == {6, 8}
    back = [shard.games.record(n) for shard in shards for n in range(len(shard.games))]
    assert sorted(map(repr, back)) == sorted(repr(game.record) for game in played)
    # What they cost is divided as the net was asked.
    assert len({shard.header.core_seconds > 0 for shard in shards}) == 1
    cost = [shard.header.core_seconds / shard.header.evaluations for shard in shards]
    assert min(cost) > 0 and max(cost) == pytest.approx(min(cost), rel=0.2)
    again = Worker(run, seed=2)  # a worker that was killed begins from earlier games
    assert {size: len(one._finished) for size, one in zip((6, 8), again._plays, strict=True)} == {
        size: sum(game.record.width == size for game in played) for size in (6, 8)
    }
    assert write_games(run, tmp_path / "sgf") == len(played)
    for path in (tmp_path / "sgf").iterdir():
        text = path.read_text()
        assert "GM[4]" in text and ("RU[renju]" in text or "RU[standard]" in text)
        assert load_sgf(path, FiveGame).position().is_over
    assert newest_game(run).startswith("a game, ") and "komi" not in newest_game(run)


def test_targets_are_what_the_net_sees_and_the_game_allows(tmp_path: Path) -> None:
    run = new_run(tmp_path, least_size=0)
    for path in [write_shard(run.shards, FIVE, play(run, 30))]:
        window = Window("five", run.settings().boards)
        window.add(path)
        games = read_shard(path).games
    samples = window.draw(150, np.random.default_rng(3))
    seen = samples.seen
    tables = action_table(8, 8)
    for n in range(150):
        record = games.record(int(seen.game[n]))
        position = record.position(before_move=int(seen.ply[n]) + 1)
        assert isinstance(position, FiveGame)
        shown = [encoded("five", position, symmetry) for symmetry in range(8)]
        planes = [
            symmetry for symmetry in range(8) if (shown[symmetry][0] == seen.spatial[n]).all()
        ]
        assert planes and (shown[0][1] == seen.features[n]).all()
        legal = [point_to_action(point, 8, 8) for point in position.legal_moves()]
        move = point_to_action(record.moves[seen.ply[n]].point, 8, 8)
        assert any(
            set(np.flatnonzero(seen.legal[n])) == set(tables[symmetry][legal].tolist())
            and seen.action[n] == tables[symmetry][move]
            for symmetry in planes
        )
        won = {EMPTY: 0.5, position.to_play: 1.0}.get(record.winner or EMPTY, 0.0)
        assert seen.outcome[n] == won
    assert (samples.policy <= seen.legal).all()
    assert not seen.ownership.any()


def test_batches_come_from_boards_of_all_sizes(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    play(run, 30)
    window = Window("five", run.settings().boards)
    for path in sorted(run.shards.iterdir()):
        window.add(path)
    batches = window.batches(32, np.random.default_rng(1))
    sizes = {next(batches).seen.spatial.shape[2] for _ in range(300)}
    assert sizes == {6, 8}


def test_a_move_without_a_choice_is_not_searched() -> None:
    game = FiveGame(9)
    for n in range(4):
        game.play(BLACK, game.point(f"{'abcd'[n]}1"))
        if n < 3:
            game.play(WHITE, game.point(f"{'aceg'[n]}9"))
    forest = Forest(UniformEvaluator(1, FIVE), 9, 9, 1, SearchParams())
    forest.sit(0, game.branch(50))
    forest.begin(0, RootPlan(100, noise=True, forced=2.0))
    steps = 0
    while not forest.is_over(0):
        forest.step()
        steps += 1
    assert steps == 1 and forest.evaluations == 1
    assert np.flatnonzero(forest.result(0).priors).tolist() == [
        point_to_action(game.point("e1"), 9, 9)
    ]


def test_all_parts_learn_it_and_say_nothing_of_points(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    few = FEW | {"net_samples": 256, "first_positions": 300, "batch": 32, "shard_games": 10}
    few |= {"gate": "none", "gate_games": 20, "judge_visits": 2, "int8": False}
    few |= {"rules": "freestyle,renju", "least_size": 5, "samples_per_position": 1.0}
    nets = learn(tmp_path / "run", 7, 120, game=FIVE, **few)
    first, trained = next(nets), next(nets)
    assert first.net.info.name.endswith("-0") and not trained.net.info.name.endswith("-0")
    assert set(trained.net.info.heads) == {"policy", "value"}
    assert trained.net.info.trained_sizes == (5, 7)
    nets.close()
    run = RunFolder(tmp_path / "run")
    status = read_status(run)
    for name in ("fair_komi", "empty_board_komi", "empty_board_lead"):
        assert status[name] is None
    assert abs(status["empty_board_value"]) <= 1 and set(status["losses"]) >= {"policy", "value"}
    assert not {"score", "ownership"} & set(status["losses"])
    assert "komi" not in describe(status) and "lead" not in describe(status)
    drawn = [path.name for path in plot(run, tmp_path / "pictures")]
    assert "lead.png" not in drawn and {"empty-board.png", "losses.png"} <= set(drawn)
    found = rows(run, "select count(*), sum(reason in ('five', 'draw')) from games")[0]
    run.catalogue.unlink()
    assert run_command(["zero", "rebuild", str(run.path)]) == 0
    assert found[0] == found[1]
    assert rows(run, "select count(*), sum(reason in ('five', 'draw')) from games") == [found]


def test_the_empty_board_is_judged_under_the_first_rules(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    run = new_run(tmp_path)  # standard and renju
    coordinator = Coordinator(run)
    coordinator.step()
    coordinator.step()
    said = coordinator.look_at_empty_board(name := run.playing_net().stem)
    coordinator.close()
    net = open_net(str(run.net(name)), "cpu", threads=1)
    values = [
        raw.win - raw.loss
        for raw in (net.raw_evaluation(FiveGame(8, rules=rules)) for rules in (STANDARD, FREESTYLE))
    ]
    assert abs(values[0] - values[1]) > 1e-6
    assert said.value == pytest.approx(values[0], abs=1e-6)


def test_recorded_games_are_packed_and_measured_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    run = new_run(tmp_path)
    played = play(run, 12)
    folder = tmp_path / "sgf"
    write_games(run, folder)
    (folder / "bad.sgf").write_text("(;GM[4]SZ[8]RU[standard];B[aa];W[aa])")
    (folder / "plain.sgf").write_text("(;GM[4]SZ[8]RE[W+R];B[aa];W[bb])")
    pack = tmp_path / "five.games"
    assert run_command(["pack", str(folder), "--game", "five", "--out", str(pack)]) == 0
    assert "occupied" in caplog.text and "1 left out" in caplog.text
    games = read_pack(pack)
    back = [games.record(n) for n in range(len(games))]
    wanted = [(game.record.rules, game.record.moves, game.record.winner) for game in played]
    plain = next(one for one in back if one.rules == FREESTYLE)
    assert (len(plain.moves), plain.winner) == (2, WHITE)
    found = [(one.rules, one.moves, one.winner) for one in back if one is not plain]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    net = str(write_five(tmp_path / "five.onnx"))
    for source in (pack, folder):
        words = ["evaluate", "--net", net, "--games", str(source), "--positions", "60", "--json"]
        assert run_command(words) == 0
        figures = json.loads(capsys.readouterr().out)
        assert 0.0 <= figures["top1 all"]["mean"] <= 0.5
    assert run_command(["evaluate", "--net", TINY_NET, "--games", str(pack)]) == 1
    assert "not what the net's encoder, katago_v7, shows" in capsys.readouterr().err


def test_positions_are_moved_about_with_their_answer(tmp_path: Path) -> None:
    stones = [(3, 3), (3, 5), (6, 4)]
    for number, action in enumerate(("ee", "hh")):
        setup = "".join(f"[{chr(97 + x)}{chr(97 + y)}]" for y, x in stones)
        text = f"(;GM[4]SZ[9]RU[freestyle]AB{setup}PL[W];W[{action}])"
        (tmp_path / f"{number}.sgf").write_text(text)
    games = read_table([tmp_path], kind=FiveGame)
    stream = PositionStream(games, "five4", 40 * 81, seed=1, with_pass=False, shifts=True)
    batches = [stream.draw() for _ in range(6)]
    stream.close()
    seen = set()
    for batch in batches:
        for planes, legal, action in zip(batch.spatial, batch.legal, batch.action, strict=True):
            assert planes.sum((1, 2)).tolist() == [3, 0, 3, 81]
            assert legal[:81].tolist() == (planes[0].ravel() == 0).tolist() and legal[action]
            points = [divmod(int(at), 9) for at in np.flatnonzero(planes[0])]
            whole = [*points, divmod(int(action), 9)]
            seen.add(tuple(whole))
            # All distances are what they were, so that nothing has come in from the other side.
            told = sorted((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for a in whole for b in whole)
            answers = [(*stones, (4, 4)), (*stones, (7, 7))]
            assert told in [
                sorted((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for a in each for b in each)
                for each in answers
            ]
    assert len(seen) > 100  # 8 symmetries of two positions would be 16


def test_nets_are_quantised_on_positions_of_their_own_game(tmp_path: Path) -> None:
    evaluator = open_net(str(write_five(tmp_path / "five.onnx")), "cpu", threads=1)
    batches = play_positions(evaluator, 40, 1)
    assert {batch.spatial.shape[2] for batch in batches} == {9, 13, 19}
    features = np.concatenate([batch.features for batch in batches])
    assert len(features) == 40 and len(np.unique(features[:, 6])) > 20  # stones on the board
    assert {tuple(row) for row in features[:, 3:5].tolist()} == {(0, 0), (0, 1), (1, 0)}  # rules
    assert all((batch.n_moves > 0).all() for batch in batches)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--game", "five", "--size", "4"], "five is played on boards from 5 to 25"),
        (["--game", "five", "--rules", "chinese"], "there are no rules 'chinese'"),
        (["--game", "go", "--rules", "renju"], "those of go have no names here"),
        (["--game", "go", "--set", "least_size", "5"], "least_size 5: makes no sense"),
        (["--game", "five", "--set", "least_size", "10"], "least_size 10: makes no sense"),
        (["--game", "five", "--preset", "b4c32"], "nets of the preset b4c32 do not play five"),
        (["--game", "go", "--preset", "five-b4c32"], "the preset five-b4c32 do not play go"),
        (["--game", "five", "--preset", "pierre"], "the preset pierre lack a policy or a value"),
        (
            ["--game", "atari-go", "--recipe", "supergo", "--set", "least_size", "5"],
            "the preset agz-dual take boards of one size only",
        ),
    ],
)
def test_runs_that_cannot_be_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    assert run_command(["zero", str(tmp_path / "run"), *words]) == 1
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_game_or_other_rules_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RunFolder(tmp_path / "go").create(settings_for("go", 9, "ours"))
    assert run_command(["zero", str(tmp_path / "go"), "--game", "five"]) == 1
    assert "is a run with game go, not five" in capsys.readouterr().err
    run = new_run(tmp_path)
    assert run_command(["zero", str(run.path), "--rules", "freestyle"]) == 1
    assert "is a run with rules standard,renju, not freestyle" in capsys.readouterr().err
    assert shape_of(run.settings()).encoder == FIVE
    keeper = Coordinator(run)
    keeper.close()
    text = run.settings_file.read_text()
    run.settings_file.write_text(text.replace(json.dumps("standard,renju"), '"standrad"'))
    assert run_command(["zero", "work", str(run.path)]) == 1
    assert "there are no rules 'standrad'" in capsys.readouterr().err
