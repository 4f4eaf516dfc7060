"""A run's settings, its catalogue and its coordinator."""

import argparse
import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from tests.export.zero.test_targets import write_games

from gtp_engine.evaluators.nets.net_files import find_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.go.rules import ATARI_GO, GO
from gtp_export.architectures.onnx_layers import write_graph
from gtp_export.architectures.tower import random_weights
from gtp_export.commands import run as run_command
from gtp_export.commands import zero
from gtp_export.convert.graph import write_model
from gtp_export.zero import coordinator as coordinator_module
from gtp_export.zero import supervisor
from gtp_export.zero.catalogue import MatchRecord, rows
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.nets import NetRecord, add_first_net, add_net, describe_own, shape_of
from gtp_export.zero.part import Part, share_spent
from gtp_export.zero.settings import (
    NO_GATE,
    RunError,
    RunFolder,
    Settings,
    settings_for,
)
from gtp_export.zero.shards import Header
from gtp_export.zero.status import read_status
from gtp_export.zero.supervisor import _Teller

SIZE = 4


def new_run(folder: Path, **wanted: object) -> RunFolder:
    run = RunFolder(folder / "run")
    run.create(settings_for(GO, SIZE, "ours", **wanted))
    return run


def put_net(run: RunFolder, steps: int, broken: bool = False) -> str:
    """Add a net of random weights, a different one for each number of steps."""
    settings = run.settings()
    shape = shape_of(settings)
    weights = random_weights(shape, 100 + steps)
    if broken:  # finite itself, but what it puts out is not
        weights["value.out.weight"][:] = 3e38
        weights["value.hidden.weight"][:] = 3e38
    file = run.path / "made.onnx"
    write_model(write_graph(shape, weights, describe_own(settings, steps).to_metadata()), file)
    return add_net(run, file, NetRecord("", steps, 10 * steps, 5 * steps, {"policy": 1.5}))


def put_match(run: RunFolder, net: str, other: str, won: float, promoted: bool) -> None:
    match = MatchRecord(net, other, won, 20, 16, 0.5, promoted)
    (run.matches / f"{net}-{other}.json").write_text(json.dumps(asdict(match)))


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def contents(run: RunFolder) -> dict[str, list[Sequence[object]]]:
    tables = ("shards", "games", "resignations", "nets", "matches", "problems")
    return {table: sorted(rows(run, f"select * from {table}"), key=repr) for table in tables}


CUT_SHORT = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("pragma cache_size = 5")
db.execute("begin")
for number in range(2000):
    db.execute("insert into problems values (?, ?)", (str(number), 200 * "x"))
os._exit(1)
"""
"""Ends in the middle of a transaction, some of which is on the disk."""


# Settings ----------------------------------------------------------------------------------------


def test_settings_come_back_as_they_were_written(tmp_path: Path) -> None:
    wanted = {
        "workers": 3,
        "span": 1.5,
        "span_unit": "core-hours",
        "start": "/nets/\U0001f409.onnx",
    }
    settings = settings_for(ATARI_GO, 7, "gumbel", **wanted)
    run = RunFolder(tmp_path / "run")
    run.create(settings)
    assert run.settings() == settings
    assert run.change(workers=1) == run.settings() == replace(settings, workers=1)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("format = 2", "another version"),
        ("visits = 1.5", "visits = 1.5 makes no sense"),
        ("visits = 0", "visits = 0 makes no sense"),
        ("komi_step = -1.0", "komi_step = -1.0 makes no sense"),
        ("value_mix = 5.0", "value_mix = 5.0 makes no sense"),
        ("vists = 20", "vists = 20 makes no sense"),
        ('game = "chess"', "game 'chess': known are go, atari-go, five"),
        ('recipe = "x"', "recipe 'x': known are ours, supergo, gumbel"),
        ('gate = "elo"', "gate 'elo': known are sprt, share, none"),
        ('span_unit = "hours"', "span_unit 'hours': known are minutes, core-hours"),
        ("batch = 1", "batch 1: statistics of a batch need two positions"),
        ("visits = ", "Invalid value"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, line: str, complaint: str) -> None:
    run = new_run(tmp_path)
    lines = run.settings_file.read_text().splitlines()
    kept = [one for one in lines if one.split(" ")[0] != line.split(" ")[0]]
    run.settings_file.write_text("\n".join([*kept, line]))
    with pytest.raises(RunError, match=complaint):
        run.settings()


def test_an_older_run_of_five_in_a_row_has_the_defaults_of_its_game(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(settings_for("five", 9, "ours"))
    lines = run.settings_file.read_text().splitlines(keepends=True)
    run.settings_file.write_text("".join(s for s in lines if "opening_random" not in s))
    assert run.settings().opening_random == 0.0


def test_the_window_grows_more_slowly_than_the_run() -> None:
    settings = Settings(window=1000)
    assert settings.window_positions(500) == 500
    assert settings.window_positions(1000) == 1000
    assert 1000 < settings.window_positions(2000) < 1500
    assert settings.window_positions(20_000) / 20_000 < settings.window_positions(2000) / 2000


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--size", "5"], "is a run with size 4, not 5"),
        (["--recipe", "gumbel"], "is a run with recipe ours, not gumbel"),
        (["--seed", "2"], "is a run with seed 1, not 2"),
        (["--from", "default"], "is a run without --from"),
        (["--set", "visits", "many"], "the value makes no sense"),
        (["--set", "visits", "0"], "the value makes no sense"),
        (["--set", "batch", "0"], "the value makes no sense"),
        (["--set", "komi", "17"], "komi 17: is more than the 16 points there are"),
        (["--set", "adam", "true"], "is a run without adam"),
        (["--set", "root_noise", "1.5"], "the value makes no sense"),
        (["--set", "window_power", "0"], "the value makes no sense"),
        (["--set", "window_power", "1.1"], "the value makes no sense"),
        (["--set", "gate_elo", "1500"], "the value makes no sense"),
        (["--set", "seed", str(2**63)], "the value makes no sense"),
        (["--set", "vists", "3"], "no such setting"),
        (["--set", "size", "5"], "no such setting"),
        (["--set", "start", "default"], "no such setting"),
        (["--set", "preset", "b6c64"], "is a run with preset tiny, not b6c64"),
        (["--set", "learning_rate", "inf"], "the value makes no sense"),
    ],
)
def test_another_run_in_the_same_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    pytest.importorskip("torch")
    run = new_run(tmp_path)
    before = run.settings()
    assert run_command(["zero", str(run.path), *words]) == 1
    assert complaint in capsys.readouterr().err
    assert run.settings() == before


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["work", "RUN", "--workers", "4"], "zero work: does not take --workers"),
        (["train", "RUN", "--set", "learning_rate", "1"], "zero train: does not take --set"),
        (["status", "RUN", "--hours", "1"], "zero status: does not take the length of a run"),
        (["judge", "RUN", "--from", "default"], "zero judge: does not take --from"),
        (["RUN", "--size", "4", "--json"], "zero: does not take --json"),
        (["work", "RUN", "--ray", "1.2.3.4:x"], "--ray 1.2.3.4:x: is neither HOST:PORT nor local"),
    ],
)
def test_options_of_other_parts_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    path = str(new_run(tmp_path).path)
    assert run_command(["zero", *(path if word == "RUN" else word for word in words)]) == 1
    assert capsys.readouterr().err == f"gtp-export: {complaint}\n"


def test_a_net_that_says_no_numbers_begins_no_run(tmp_path: Path) -> None:
    other, run = new_run(tmp_path), RunFolder(tmp_path / "another")
    start = other.net(put_net(other, 0, broken=True))
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    given = parser.parse_args([str(run.path), "--size", "4", "--from", str(start)])
    with pytest.raises(NetFileError, match="not numbers"):
        zero._prepare(run, given)
    assert not run.path.exists()


def test_a_net_of_a_name_begins_with_its_weights_for_the_board(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    for size, stem in (("9", "small-9x9"), ("13", "small")):
        run = RunFolder(tmp_path / size)
        zero._prepare(run, parser.parse_args([str(run.path), "--size", size, "--from", "small"]))
        assert Path(run.settings().start).stem == stem
        made = describe_own(run.settings(), 0)
        begun = OnnxNet(find_net(stem), "cpu").info
        assert made.licence == begun.licence and made.trained_on.startswith(begun.trained_on)
        assert made.trained_on.endswith(f"; then go on {size}x{size}")
        assert made.source.startswith(f"begun with {stem}.onnx") and "nothing" not in made.source


def test_a_run_goes_on_from_its_net_wherever_that_lies(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    run, moved = RunFolder(tmp_path / "run"), tmp_path / "moved.onnx"
    zero._prepare(run, parser.parse_args([str(run.path), "--size", "13", "--from", "small"]))
    before, copy = run.settings(), Path(run.settings().start)
    add_first_net(run, before)
    moved.write_bytes(copy.read_bytes())
    for start in ("small", str(moved)):
        changed = zero._prepare(run, parser.parse_args([str(run.path), "--from", start]))
        assert replace(before, **changed) == before
    with pytest.raises(RunError, match=r"with --from .*small.onnx, not .*small-9x9.onnx"):
        zero._prepare(run, parser.parse_args([str(run.path), "--from", "small-9x9"]))


def test_a_run_goes_on_when_its_net_is_gone(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    run, mine = RunFolder(tmp_path / "run"), tmp_path / "mine.onnx"
    mine.write_bytes(find_net("small").read_bytes())
    given = parser.parse_args([str(run.path), "--from", str(mine)])
    zero._prepare(run, given)
    add_first_net(run, run.settings())
    mine.unlink()
    assert zero._prepare(run, given) == {}


def test_a_net_that_does_not_fit_the_preset_begins_no_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    run = RunFolder(tmp_path / "run")
    words = [str(run.path), "--from", "small", "--preset", "b6c64"]
    with pytest.raises(NetFileError, match="no net of this architecture"):
        zero._prepare(run, parser.parse_args(words))
    assert not run.path.exists()


def test_a_start_that_failed_halfway_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    run = RunFolder(tmp_path / "run")
    given = parser.parse_args([str(run.path), "--size", "4"])

    def refuse(path: Path, content: str) -> None:
        raise OSError("No space left")

    with monkeypatch.context() as full:
        full.setattr("gtp_export.zero.settings.write_whole", refuse)
        with pytest.raises(OSError, match="No space left"):
            zero._prepare(run, given)
    assert zero._prepare(run, given) == {} and run.settings().size == 4


def test_a_komi_that_is_set_on_resuming_holds(tmp_path: Path) -> None:
    run = new_run(tmp_path, komi=2.0)
    run.komi.write_text("1.03")
    assert run.fair_komi(run.change(visits=9)) == 1.03
    assert run.fair_komi(run.change(komi=3.0)) == 3.0


def test_a_run_of_no_length_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_command(["zero", str(tmp_path / "run"), "--core-hours", "0"])
    assert "--core-hours: '0' is not a number above 0" in capsys.readouterr().err


def test_without_torch_no_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(zero, "find_spec", lambda name: None)
    assert run_command(["zero", str(tmp_path / "run"), "--core-hours", "1"]) == 1
    assert "this needs torch; `pip install 'gtp-engine[train]'`" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_option_and_a_setting_may_say_the_same(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    words = ["--workers", "2", "--set", "workers", "3"]
    assert zero._prepare(run, parser.parse_args([str(run.path), *words])) == {"workers": 3}


def test_a_setting_may_change_when_a_run_is_resumed_and_the_help_says_so(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    parser = argparse.ArgumentParser()
    zero.add_arguments(parser)
    resumed = parser.parse_args([str(run.path), "--set", "cpuct", "1.5"])
    assert zero._prepare(run, resumed) == {"cpuct": 1.5}
    assert "at the start or changed on resuming" in " ".join(parser.format_help().split())


def test_the_settings_of_a_run_that_is_at_work_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    run = new_run(tmp_path)
    keeper, before = Coordinator(run), run.settings()
    for part in ([], ["coordinate"]):
        assert run_command(["zero", *part, str(run.path), "--minutes", "1"]) == 1
        assert "another `zero coordinate` is at work" in capsys.readouterr().err
        assert run.settings() == before
    keeper.close()
    Coordinator(run, span=1.0).close()
    assert run.settings() == replace(before, span=1.0)


def test_a_net_that_does_not_see_the_komi_plays_under_one_alone(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(settings_for(GO, 5, "supergo"))
    keeper = Coordinator(run)
    fair = run.fair_komi(keeper.settings)
    keeper._seek_komi(header_of([[fair, 1, 5.0, 9, "passes", 0, False]] * 60))
    keeper.close()
    assert run.fair_komi(keeper.settings) == fair
    assert not run.komi.exists()


def test_a_folder_with_something_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "letter.txt").write_text("dear")
    assert run_command(["zero", str(tmp_path), "--size", "4"]) == 1
    assert "is no run's folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    assert run_command(["zero", "status", str(tmp_path)]) == 1
    assert "has no run.toml" in capsys.readouterr().err
    assert run_command(["zero", "rebuild"]) == 1  # not a run in a folder of that name
    assert "the run's folder is missing" in capsys.readouterr().err


# The coordinator ---------------------------------------------------------------------------------


def test_the_first_net_is_handed_out_and_asked_about_the_empty_board(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    keeper = Coordinator(run)
    keeper.step()  # writes the net
    keeper.step()  # takes it in
    keeper.close()
    (name,) = (path.stem for path in run.nets.glob("*.onnx"))
    assert run.playing_net() == run.net(name)
    assert run.best.read_bytes() == run.net(name).read_bytes()
    status = read_status(run)
    assert status["best"] == name and abs(status["empty_board_value"]) < 0.5
    assert status["empty_board_lead"] is not None


def test_shards_are_counted_once_and_found_again_by_a_rebuild(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    paths = [write_games(run.shards, seed, games=seed) for seed in (1, 2)]
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    status = read_status(run)
    assert (status["shards"], status["games"]) == (2, 3)
    games = rows(
        run, "select winner, komi, games.moves from games join shards on shard = shards.id"
    )
    assert len(games) == 3 and all(komi == 0.5 and moves > 2 for _, komi, moves in games)
    first = put_net(run, 0)
    better = put_net(run, 8)
    put_match(run, better, first, 18, promoted=True)
    keeper.step()
    before = contents(run)
    keeper.close()
    assert len(before["nets"]) == 3 and len(before["matches"]) == 1
    run.catalogue.write_bytes(b"what a broken disk left" * 1000)
    with pytest.raises(NetFileError, match="rebuild"):
        read_status(run)
    assert run_command(["zero", "rebuild", str(run.path)]) == 0
    after = contents(run)
    assert after.keys() == before.keys()
    assert [row[1:] for row in after["shards"]] == [row[1:] for row in before["shards"]]
    for table in ("nets", "matches", "problems"):
        assert after[table] == before[table]
    assert {row[1] for row in after["shards"]} == {path.stem for path in paths}


def test_a_damaged_shard_and_one_of_another_game_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    good, bad = (write_games(run.shards, seed) for seed in (1, 2))
    content = bytearray(bad.read_bytes())
    content[-20] ^= 1
    bad.write_bytes(content)
    other = write_games(run.shards, 3, ATARI_GO)
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    keeper.close()
    told = warnings_of(caplog)
    assert len(told) == 2
    assert any(f"{bad}: is damaged" in line for line in told)
    assert any(f"{other}: is a shard of atari-go on 4x4, not of go" in line for line in told)
    assert rows(run, "select name from shards") == [(good.stem,)]
    assert bad.exists() and other.exists()


def test_what_a_drive_does_not_give_now_is_taken_in_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    put_match(run, "a", "b", 12.0, True)
    away = tmp_path / "away"
    away.mkdir()
    files = [
        run.net(put_net(run, 0)),
        *run.matches.glob("*.json"),
        write_games(run.shards, 1),
    ]
    for file in files:
        (away / file.name).write_bytes(file.read_bytes())
        file.unlink()
        file.symlink_to(away / "of the drive" / file.name)
    keeper = Coordinator(run)
    keeper.look()
    keeper.look()
    assert len(warnings_of(caplog)) == len(files)
    assert all(line.endswith("; it is tried again") for line in warnings_of(caplog))
    (away / "of the drive").symlink_to(away)
    keeper.look()
    keeper.close()
    counts = [rows(run, f"select count(*) from {table}") for table in ("matches", "shards")]
    assert counts == [[(1,)], [(1,)]] and read_status(run)["problems"] == 0
    assert (files[0].stem,) in rows(run, "select name from nets")


def test_games_of_before_move_no_komi_when_the_catalogue_is_lost(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for seed in range(4):
        write_games(run.shards, seed, games=coordinator_module.KOMI_GAMES)
    keeper = Coordinator(run)
    keeper.close()
    assert len(rows(run, "select name from shards")) == 4 and not run.komi.exists()


def test_a_match_and_a_net_of_wrong_kinds_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    put_match(run, "a", "b", 12.0, True)
    (match,) = run.matches.glob("*.json")
    match.write_text(match.read_text().replace('"a"', '["a"]'))
    name = put_net(run, 8)
    record = run.nets / f"{name}.json"
    record.write_text(record.read_text().replace('"steps": 8', '"steps": "x"'))
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    keeper.close()
    assert warnings_of(caplog) == [f"{match}: is no match; left out"]
    assert rows(run, "select name from nets where steps > 0") == []


def test_a_transaction_that_was_cut_short_is_taken_back_by_who_reads(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    Coordinator(run).close()
    subprocess.run([sys.executable, "-c", CUT_SHORT, str(run.catalogue)], check=False)
    assert run.catalogue.with_name("catalogue.sqlite-journal").exists()
    assert read_status(run)["problems"] == 0


def test_two_coordinators_on_one_run_are_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    first = Coordinator(run)
    with pytest.raises(NetFileError, match="another `zero coordinate` is at work"):
        Coordinator(run)
    first.close()
    Coordinator(run).close()


@pytest.mark.parametrize("part", ["train", "judge"])
def test_another_trainer_or_judge_on_one_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    pytest.importorskip("torch")
    run = new_run(tmp_path)
    first = Part(run, part, alone=True)
    assert run_command(["zero", part, str(run.path)]) == 1
    assert f"another `zero {part}` is at work there" in capsys.readouterr().err
    first.close()
    Part(run, part, alone=True).close()


@pytest.mark.parametrize("newest_plays", [True, False])
def test_the_best_net_is_the_newest_promoted_and_plays_if_so_wanted(
    tmp_path: Path, newest_plays: bool
) -> None:
    run = new_run(tmp_path, newest_plays=newest_plays)
    first, second, third = (put_net(run, steps) for steps in (0, 5, 9))
    keeper = Coordinator(run)
    keeper.step()
    assert run.best.read_bytes() == run.net(first).read_bytes()
    assert run.playing_net() == run.net(third if newest_plays else first)
    put_match(run, third, first, 9, promoted=False)
    put_match(run, second, first, 15, promoted=True)
    keeper.step()
    keeper.close()
    assert run.playing_net() == run.net(third if newest_plays else second)
    assert run.best.read_bytes() == run.net(second).read_bytes()
    status = read_status(run)
    assert status["best"] == second and status["promotions"] == 1 and status["nets"] == 3
    low, estimate, high = status["elo"][second]
    assert low < estimate < high and estimate > 100
    assert status["elo"][first] == [0.0, 0.0, 0.0]


def test_without_a_gate_the_newest_sound_net_is_played_with(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path, gate=NO_GATE)
    put_net(run, 0)
    second = put_net(run, 5)
    broken = put_net(run, 9, broken=True)
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    keeper.close()
    assert rows(run, "select name from nets where name = ?", broken) == []
    assert run.playing_net() == run.net(second)
    assert run.best.read_bytes() == run.net(second).read_bytes()
    assert len(warnings_of(caplog)) == 1 and "not numbers" in warnings_of(caplog)[0]


def test_a_catalogue_that_cannot_be_written_is_told_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    put_net(run, 0)
    keeper = Coordinator(run)
    shard = write_games(run.shards, 1)
    other = sqlite3.connect(run.catalogue, isolation_level=None)
    keeper._catalogue._db.execute("pragma busy_timeout = 0")
    other.execute("begin exclusive")  # stands for a disk that is full for a while
    keeper.step()
    keeper.step()
    assert len(warnings_of(caplog)) == 1 and "tried again" in warnings_of(caplog)[0]
    other.execute("rollback")
    other.close()
    keeper.step()
    keeper.close()
    assert rows(run, "select name from shards") == [(shard.stem,)]


def test_a_catalogue_that_cannot_be_read_now_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    keeper = Coordinator(run)
    other = sqlite3.connect(run.catalogue, isolation_level=None)
    keeper._catalogue._db.execute("pragma busy_timeout = 0")
    other.execute("begin exclusive")
    keeper.step()
    keeper.step()
    assert len(warnings_of(caplog)) == 1 and "locked" in warnings_of(caplog)[0]
    other.close()
    keeper.step()
    keeper.close()
    assert list(run.nets.glob("*.onnx"))


def test_settings_that_are_half_written_end_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    keeper, teller = Coordinator(run), _Teller(run)
    (run.spent / "coordinate-0.json").write_text('{"seconds": 1800.0}')
    share, words = keeper.share, teller.status()
    assert share == pytest.approx(0.5) and "0 games" in words
    whole = run.settings_file.read_text()
    run.settings_file.write_text(whole[: len(whole) // 2] + "=")
    assert [keeper.share, keeper.share] == [share, share]
    assert len(warnings_of(caplog)) == 1 and "tried again" in warnings_of(caplog)[0]
    assert [teller.status(), teller.status()] == [words, words]
    assert len(warnings_of(caplog)) == 2
    run.settings_file.write_text(whole.replace("span = 60.0", "span = 120.0"))
    assert keeper.share == pytest.approx(0.25)
    keeper.close()


def test_a_newest_game_that_cannot_be_read_ends_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: RunFolder) -> str:
        raise OSError("no such drive")

    monkeypatch.setattr(supervisor, "newest_game", fail)
    teller = _Teller(new_run(tmp_path))
    teller.log_game()
    teller.log_game()
    assert warnings_of(caplog) == ["no such drive; it is tried again"]


def header_of(results: list[list[object]]) -> Header:
    return Header(
        *(GO, SIZE, SIZE, "0", {"": len(results)}, 0.0, 0.0, 0),
        *(len(results), 0, 0, results),
    )


def test_the_fair_komi_moves_by_bounded_steps_towards_even_games(tmp_path: Path) -> None:
    run = new_run(tmp_path, komi=2.0, komi_step=1.0)
    keeper = Coordinator(run)
    n = coordinator_module.KOMI_GAMES
    keeper._seek_komi(header_of([[2.0, 1, 5.0, 9, "passes", 0, False]] * n))  # Black won all
    assert run.fair_komi(run.settings()) == 3.0
    keeper._seek_komi(header_of([[9.0, 2, -5.0, 9, "passes", 0, False]] * n))  # far from fair
    assert run.fair_komi(run.settings()) == 3.0
    even = [[3.0, 1 + i % 2, 0.5, 9, "passes", 0, False] for i in range(n)]
    keeper._seek_komi(header_of(even))
    assert run.fair_komi(run.settings()) == 3.0
    keeper._seek_komi(header_of([[3.0, 2, -1.0, 9, "passes", 0, False]] * n))
    assert run.fair_komi(run.settings()) == 2.0
    keeper.close()


def test_the_fair_komi_runs_away_neither_from_its_net_nor_below_nothing(tmp_path: Path) -> None:
    run = new_run(tmp_path, komi=1.0, komi_step=1.0)
    keeper = Coordinator(run)
    n = coordinator_module.KOMI_GAMES

    def komi_when_all_are_won_by(color: int, times: int) -> float:
        for _ in range(times):
            fair = run.fair_komi(run.settings())
            keeper._seek_komi(header_of([[fair, color, 0.0, 9, "passes", 0, False]] * n))
        return run.fair_komi(run.settings())

    assert komi_when_all_are_won_by(1, 9) == 1.0 + coordinator_module.MOST_STEPS
    put_net(run, 0)
    keeper.step()  # another net plays
    assert komi_when_all_are_won_by(1, 1) == 2.0 + coordinator_module.MOST_STEPS
    assert komi_when_all_are_won_by(2, 2) == coordinator_module.MOST_STEPS
    put_match(run, put_net(run, 5), put_net(run, 6), 20, promoted=True)
    keeper.step()
    assert komi_when_all_are_won_by(2, 9) == 0.0
    keeper.close()


# What parts have in common -----------------------------------------------------------------------


def test_what_parts_spend_adds_up_to_the_share_of_the_run(tmp_path: Path) -> None:
    run = new_run(tmp_path, span=1.0, span_unit="core-hours")
    assert share_spent(run) == 0.0
    for seconds in (600.0, 1200.0):  # a part that was killed, and the one in its place
        spent = {"samples": 0, "core_seconds": seconds, "seconds": 3000.0}
        (run.spent / f"work-{seconds}.json").write_text(json.dumps(spent))
    assert share_spent(run) == pytest.approx(0.5)
    run.change(span_unit="minutes", span=10.0)
    assert share_spent(run) == 0.0  # the coordinator's time alone is the run's
    part = Part(run, "coordinate")
    part.note(0.0)
    assert share_spent(run) > 0.0
    (run.spent / "work-half.json").write_text('{"samples": 0, "core_')
    assert share_spent(run) < 0.1
