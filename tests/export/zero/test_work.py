"""Workers: shards that are whole whenever they end, nets that come and go, disks that are full."""

import errno
import gc
import os
import random
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gtp_engine.children import own_command
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import write_whole
from gtp_engine.go.rules import GO
from gtp_engine.go.sgf import read_games
from gtp_engine.platforms import OWN_GROUP
from gtp_export.zero import work
from gtp_export.zero.nets import add_first_net
from gtp_export.zero.settings import RunError, RunFolder, settings_for
from gtp_export.zero.shards import read_shard
from gtp_export.zero.status import write_games
from gtp_export.zero.work import EARLIER_SHARDS, Worker, earlier_games

SIZE = 3


def new_run(folder: Path, **wanted: object) -> RunFolder:
    run = RunFolder(folder / "run")
    few = {"games_at_once": 8, "visits": 4, "fast_visits": 2, "shard_games": 10}
    run.create(settings_for(GO, SIZE, "ours", **(few | wanted)))
    return run


def step_until(worker: Worker, is_done: Any) -> None:
    for _ in range(5000):
        if is_done():
            return
        worker.step()
    raise AssertionError("it never came")


def shards_of(run: RunFolder) -> list[Path]:
    return sorted(run.shards.glob("*.shard"))


def check_shards(run: RunFolder) -> int:
    """Every shard can be read, and no game is in two; return the games."""
    found: Counter[bytes] = Counter()
    for path in shards_of(run):
        shard = read_shard(path, [(GO, SIZE, SIZE)])
        table = shard.games.table
        for number in range(len(shard.games)):
            moves = slice(table.starts[number], table.starts[number + 1])
            told = table.moves[moves].tobytes() + table.komi[number].tobytes()
            found[told + shard.value[moves].tobytes()] += 1
    assert not [n for n in found.values() if n > 4]  # short games come again by chance
    return found.total()


def test_games_become_shards_and_shards_sgf(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    worker = Worker(run, seed=1)
    step_until(worker, lambda: len(shards_of(run)) == 3)
    headers = [read_shard(path).header for path in shards_of(run)]
    assert all(header.games >= 10 for header in headers)
    assert all(header.evaluations > 0 and header.core_seconds > 0 for header in headers)
    worker.write()
    assert not worker.waiting
    n = check_shards(run)
    assert write_games(run, tmp_path / "sgf") == n
    assert len(list(read_games(tmp_path / "sgf"))) == n
    assert write_games(run, tmp_path / "sgf") == 0  # no new ones


def test_games_that_are_old_become_a_shard_though_they_are_few(tmp_path: Path) -> None:
    run = new_run(tmp_path, shard_games=10_000, shard_seconds=0.0)
    worker = Worker(run, seed=1)
    step_until(worker, lambda: len(shards_of(run)) > 0)
    assert read_shard(shards_of(run)[0]).header.games < 100


def test_a_worker_plays_at_the_newest_fair_komi(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    worker = Worker(run, seed=1)
    write_whole(run.komi, "2.5\n")
    worker.look()
    assert [play.komi for play in worker._plays] == [2.5]


def test_a_damaged_komi_is_told_and_does_not_stop_a_worker(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    worker = Worker(run, seed=1)
    write_whole(run.komi, "7,5\n")
    with pytest.raises(RunError, match="komi: is damaged: '7,5' is no komi"):
        run.fair_komi(run.settings())
    worker.look()


def test_a_worker_begins_where_the_newest_games_left_off(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    worker = Worker(run, seed=1)
    step_until(worker, lambda: len(shards_of(run)) == 6)
    for age, path in enumerate(shards_of(run)):
        os.utime(path, (1e9 - age, 1e9 - age))
    newest = [read_shard(path).games for path in shards_of(run)[:EARLIER_SHARDS]]
    expected = [games.record(number).moves for games in newest for number in range(len(games))]
    found = [game.record.moves for game in earlier_games(run.shards, run.settings())]
    assert found == [moves for moves in expected if moves]


def test_a_full_disk_loses_no_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    worker = Worker(run, seed=1)

    def refuse(*args: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(run.shards))

    with monkeypatch.context() as full:
        full.setattr(work, "write_shard", refuse)
        step_until(worker, lambda: len(worker.waiting) > 25)
    assert len(caplog.messages) == 1
    assert "No space left on device" in caplog.text
    waiting = len(worker.waiting)
    worker.write()  # too soon
    assert len(worker.waiting) == waiting
    monkeypatch.setattr(work, "MOST_WAITING", 1)  # shard: nothing more is played
    monkeypatch.setattr(work, "LOOK_SECONDS", 0.01)
    worker.settings = replace(worker.settings, shard_games=waiting)
    worker.work(0.1)
    assert len(worker.waiting) == waiting
    run.stop.touch()
    worker.work()
    assert check_shards(run) == waiting


def test_a_net_is_taken_over_and_a_bad_one_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    worker = Worker(run, seed=1)
    step_until(worker, lambda: len(shards_of(run)) == 1)
    add_first_net(run, worker.settings)
    good = next(run.nets.glob("*.onnx")).stem
    write_whole(run.playing, good)
    worker.look()
    step_until(worker, lambda: len(shards_of(run)) == 2)
    assert {net for path in shards_of(run) for net in read_shard(path).header.nets} == {"", good}
    run.net("broken").write_bytes(b"nothing")
    for bad in ("broken", "missing"):
        write_whole(run.playing, bad)
        worker.look()
        worker.look()
    assert worker._net == run.net(good)
    assert "broken.onnx" in caplog.messages[0]
    assert "missing.onnx" in caplog.messages[1]
    assert len(caplog.messages) == 2
    worker.step()
    run.net(good).rename(run.net("missing"))  # its drive answers again
    worker.look()
    assert worker._net == run.net("missing")


def test_nets_that_are_played_with_no_more_leave_the_memory(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    add_first_net(run, run.settings())
    content = next(run.nets.glob("*.onnx")).read_bytes()
    worker = Worker(run, seed=1)
    nets: list[weakref.ref[Any]] = []
    gc.disable()
    try:
        for name in ("first", "second", "third"):
            run.net(name).write_bytes(content)
            write_whole(run.playing, name)
            worker.look()
            evaluator: Any = worker._plays[0].forest.evaluator
            evaluator.itself = evaluator  # as runtimes have it within
            nets.append(weakref.ref(evaluator))
            del evaluator
    finally:
        gc.enable()
    assert [net() is None for net in nets] == [True, False, False]


def test_where_a_net_fails_the_one_before_it_plays_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run(tmp_path)
    add_first_net(run, run.settings())
    good = next(run.nets.glob("*.onnx"))
    run.net("second").write_bytes(good.read_bytes())
    worker = Worker(run, seed=1)
    for name in (good.stem, "second"):
        write_whole(run.playing, name)
        worker.look()

    def fail(*args: object, **more: object) -> None:
        raise NetFileError("the net's outputs are not numbers")

    evaluator = worker._plays[0].forest.evaluator
    monkeypatch.setattr(evaluator, "evaluate", fail)
    worker.step()
    assert "not numbers" in caplog.text
    worker.look()  # the same net is not tried again
    step_until(worker, lambda: shards_of(run))
    assert worker._net == good
    monkeypatch.setattr(worker._plays[0].forest.evaluator, "evaluate", fail)
    worker.step()
    assert worker._net is None
    worker.step()
    check_shards(run)


def test_a_damaged_shard_hinders_no_worker(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run.shards / "0123456789abcdef.shard").write_bytes(b"gtpzero\x01 damage")
    worker = Worker(run, seed=1)
    step_until(worker, lambda: len(shards_of(run)) == 2)


def test_positions_of_earlier_games_are_remembered_from_shards(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    worker = Worker(run, seed=1)
    step_until(worker, lambda: shards_of(run))
    assert len(Worker(run, seed=2)._plays[0]._finished) >= 10


def test_games_on_another_board_are_not_gone_on_from(tmp_path: Path) -> None:
    other = RunFolder(tmp_path / "other")
    other.create(settings_for(GO, SIZE + 1, "ours", visits=4, shard_games=10))
    worker = Worker(other, seed=1)
    step_until(worker, lambda: shards_of(other))
    run = new_run(tmp_path)
    (shard, *_) = shards_of(other)
    write_whole(run.shards / shard.name, shard.read_bytes())
    assert not Worker(run, seed=2)._plays[0]._finished


def test_a_stop_ends_the_work_and_writes_what_waits(tmp_path: Path) -> None:
    run = new_run(tmp_path, shard_games=100_000)
    worker = Worker(run, seed=1)
    step_until(worker, lambda: worker.waiting)
    (run.path / "PAUSE").touch()
    run.stop.touch()
    worker.work()
    assert check_shards(run) > 0


def test_the_end_of_the_run_ends_the_work(tmp_path: Path) -> None:
    run = new_run(tmp_path, span=1.0, span_unit="core-hours")
    worker = Worker(run, seed=1)
    (run.spent / "train.json").write_text('{"core_seconds": 3600.0}')
    worker._part.note(0.0)
    too_late = threading.Timer(300.0, worker.ending.set)
    too_late.start()
    worker.work()
    too_late.cancel()
    assert not worker.ending.is_set()


def start_worker(run: RunFolder) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        own_command("zero", "work", str(run.path), package="gtp_export"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **OWN_GROUP,
    )


def wait_for_shard(run: RunFolder, process: "subprocess.Popen[bytes]", more_than: int) -> None:
    while len(shards_of(run)) <= more_than:
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.01)


def test_a_worker_loads_neither_torch_nor_onnx() -> None:
    ask = "import sys, gtp_export.zero.work; print({'torch', 'onnx'} & {*sys.modules})"
    found = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    assert found.stdout.strip() == "set()", found.stderr


def test_a_worker_ends_with_whoever_started_it(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    process = start_worker(run)
    wait_for_shard(run, process, 0)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(300) == 0
    assert check_shards(run) > 0
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.slow
def test_no_kill_halves_or_doubles_a_shard(tmp_path: Path) -> None:
    run = new_run(tmp_path, shard_games=3)
    generator = random.Random(1)
    for _ in range(10):
        before = len(shards_of(run))
        process = start_worker(run)
        wait_for_shard(run, process, before)
        time.sleep(generator.uniform(0.0, 0.2))
        process.kill()
        process.communicate()
        assert check_shards(run) > 0
    assert len(shards_of(run)) >= 10
