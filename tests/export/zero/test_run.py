"""A whole run with its processes: they end with the run, and a kill of any ends nothing else."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")

from tests.paths import SCRIPTED_ENGINE

from gtp_engine.children import own_command
from gtp_export.span import PAUSE
from gtp_export.zero import supervisor
from gtp_export.zero.catalogue import rows
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.part import Part
from gtp_export.zero.settings import RunFolder, settings_for
from gtp_export.zero.supervisor import Child, supervise

LONGEST_WAIT = 300.0
"""Seconds; only a test that fails takes so long."""

PARENT = """
import sys, time
from pathlib import Path
from gtp_export.zero.settings import RunFolder
from gtp_export.zero.supervisor import Child

child = Child(RunFolder(Path(sys.argv[1])), "work")
print(child.process.pid, flush=True)
time.sleep(1000)
"""


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.perf_counter() + LONGEST_WAIT
    while not is_so():
        assert time.perf_counter() < end
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended, and that nobody has asked about, does not."""
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def run_of_three_by_three(folder: Path) -> RunFolder:
    run = RunFolder(folder / "run")
    run.create(settings_for("go", 3, "ours", shard_games=5, visits=4, fast_visits=2))
    return run


def shards_of(run: RunFolder) -> set[str]:
    return {path.stem for path in run.shards.glob("*.shard")}


def test_a_part_that_is_killed_starts_again_and_no_shard_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_of_three_by_three(tmp_path)
    keeper = Coordinator(run)
    keeper.step()
    child = Child(run, "work")
    wait_until(lambda: len(shards_of(run)) > 0)
    first = child.process.pid
    child.process.kill()
    child.process.wait()
    before = shards_of(run)
    wait_until(lambda: child.look() or child.process.pid != first)
    assert "has ended with status" in caplog.text
    wait_until(lambda: shards_of(run) > before)
    child.end()
    child.wait()
    assert child.process.returncode == 0  # of its own accord
    keeper.step()
    keeper.close()
    assert {name for (name,) in rows(run, "select name from shards")} == shards_of(run)
    counted, played = rows(run, "select count(*), sum(games) from shards")[0]
    assert counted == len(shards_of(run))
    assert rows(run, "select count(*) from games") == [(played,)]


def test_a_part_that_was_stopped_does_not_start_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_of_three_by_three(tmp_path)
    run.stop.touch()
    child = Child(run, "work")
    assert child.process.wait(LONGEST_WAIT) == 0
    child.look()
    assert "starts again" not in caplog.text
    child.end()


def test_a_run_that_is_started_with_its_workers_stopped_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_of_three_by_three(tmp_path)
    run.change(span=1.0, span_unit="core-hours")
    (run.spent / "work-1.json").write_text('{"core_seconds": 3600.0}')  # over at once
    run.stop.touch()
    assert supervise(run) == 0
    assert f"{run.stop} is there, so that nothing is played" in caplog.text


def test_a_part_that_has_failed_all_day_is_still_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = [sys.executable, "-c", "raise SystemExit(1)"]
    monkeypatch.setattr(supervisor, "own_command", lambda *given, **also: refused)
    child = Child(run_of_three_by_three(tmp_path), "work")
    child.process.wait(LONGEST_WAIT)
    child._failures = 1100
    child.look()
    assert 0.0 < child._due - time.perf_counter() <= supervisor.LONGEST_PAUSE


@pytest.mark.skipif(sys.platform == "win32", reason="looks at processes as Linux and macOS do")
def test_a_part_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    run = run_of_three_by_three(tmp_path)
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", PARENT, str(run.path)], stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    wait_until(lambda: len(shards_of(run)) > 0)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not is_alive(pid))


JUDGE = """
import sys
from pathlib import Path
from gtp_export.zero import judge
from gtp_export.zero.settings import RunFolder

engine, folder = sys.argv[1:]
script = [sys.executable, engine, "sleep", f"pid={folder}/pids"]
judge.own_command = lambda *words: script
judge._find_gnu_go = lambda: script[0]
judge.GNU_GO_OPTIONS = script[1:]
run = RunFolder(Path(folder))
judge.Judge(run, run.settings())._play_gnu_go("net")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="looks at processes as Linux and macOS do")
def test_the_engines_of_a_match_end_with_the_judge(tmp_path: Path) -> None:
    run = run_of_three_by_three(tmp_path)
    judge = subprocess.Popen([sys.executable, "-P", "-c", JUDGE, SCRIPTED_ENGINE, str(run.path)])
    pids = run.path / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    judge.kill()
    judge.wait()
    wait_until(lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))


def test_ctrl_c_ends_a_run_that_is_halted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of_three_by_three(tmp_path)
    (run.path / PAUSE).touch()
    halts = []

    def press_ctrl_c(part: Part) -> None:
        halts.append(part)
        raise KeyboardInterrupt

    monkeypatch.setattr(Part, "wait_while_halted", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        supervise(run)
    assert len(halts) == 1
    Coordinator(run).close()  # let go of


def test_one_command_plays_trains_and_ends_with_its_span(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    command = own_command("zero", folder, "--size", "3", "--workers", "1", package="gtp_export")
    small = [*command, *("--set", "net_samples", "256"), *("--set", "first_positions", "50")]
    ended = subprocess.run(
        [*small, "--core-hours", "0.01"], capture_output=True, text=True, timeout=LONGEST_WAIT
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "" and "the best net is" in ended.stderr
    told = subprocess.run(
        own_command("zero", "status", folder, "--json", package="gtp_export"),
        capture_output=True,
        text=True,
        check=True,
    )
    status = json.loads(told.stdout)
    assert status["games"] > 0 and status["core_hours"] >= 0.01
    wanted = ("positions", "shards", "nets", "best", "promotions", "games_per_hour")
    assert all(status[name] is not None for name in wanted)
    assert (Path(folder) / "best.onnx").exists()
    # The last net has played the best one, after all parts had ended.
    (last,) = rows(RunFolder(Path(folder)), "select name from nets order by steps desc limit 1")
    matches = rows(RunFolder(Path(folder)), "select net from matches")
    assert last in matches
    # Its span is over: started again it ends at once, and nothing of it is lost.
    again = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT)
    assert again.returncode == 0
    assert len(list((Path(folder) / "shards").iterdir())) >= status["shards"]
