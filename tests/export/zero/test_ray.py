"""Workers on a Ray cluster: two nodes on this machine, one of which is killed."""

import errno
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")

from gtp_engine.children import own_command
from gtp_export.learning.zero_training import Learning
from gtp_export.zero import ray_workers
from gtp_export.zero.catalogue import rows
from gtp_export.zero.coordinator import Coordinator
from gtp_export.zero.part import spent_by
from gtp_export.zero.ray_workers import Player, RayWorkers, _Seat
from gtp_export.zero.settings import RunError, RunFolder, content_name, settings_for
from gtp_export.zero.shards import read_shard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")

LONGEST_WAIT = 120.0
"""Seconds; only a test that fails takes so long."""


def small_run(folder: Path, **wanted: object) -> RunFolder:
    few = {"shard_games": 10, "visits": 4, "fast_visits": 2, "games_at_once": 8, "workers": 2}
    few |= {"first_positions": 50, "net_samples": 128, "batch": 32}
    run = RunFolder(folder)
    run.create(settings_for("go", 3, "ours", **(few | wanted)))
    return run


def shards_of(run: RunFolder) -> set[str]:
    return {path.stem for path in run.shards.glob("*.shard")}


# An actor in this process ------------------------------------------------------------------------


@pytest.fixture
def calls_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "CALL_SECONDS", 0.2)


def player_elsewhere(run: RunFolder, version: str = ray_workers.__version__) -> Player:
    name = f"gtp-zero-test-{run.path.parent.name}-{os.getpid()}"
    return Player(run.path, "no-such-file", run.settings(), version, name)


def test_an_actor_that_was_killed_leaves_its_shards_to_the_next(
    tmp_path: Path, calls_are_short: None
) -> None:
    run = small_run(tmp_path / "run")
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    keeper.close()
    path = run.playing_net()
    assert path is not None
    net = path.stem, path.read_bytes(), "1.5"
    player = player_elsewhere(run)
    files: dict[str, bytes] = {}
    while not (shards := [name for name in files if name.endswith(".shard")]):
        files = player.play(*net, set(), False)
    while not any(name.startswith("spent/") for name in files):
        files = player.play(*net, set(), False)
    again = player_elsewhere(run)
    assert set(shards) <= set(again.play(*net, set(), False))  # nobody said that they had come
    later = again.play(*net, set(shards), False)
    assert not set(shards) & set(later)
    third = player_elsewhere(run)
    third.end()
    assert not set(shards) & set(third.play(*net, set(), False))
    assert not shards_of(run)
    third.clean()
    assert third._own is not None and not third._own.path.exists()


class OneActorOfRay:
    """In place of Ray: an actor in this process, which answers at once."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self, player: Player) -> None:
        self.play = SimpleNamespace(remote=self.call)
        self.player = player
        self.answers: dict[int, dict[str, bytes]] = {}

    def call(self, *given: Any) -> int:
        self.answers[len(self.answers)] = self.player.play(*given)
        return len(self.answers) - 1

    def put(self, content: bytes) -> bytes:
        return content

    def wait(self, calls: list[int], **_: Any) -> tuple[list[int], list[int]]:
        return calls, []

    def get(self, call: int) -> dict[str, bytes]:
        return self.answers[call]


OneActor = tuple[RayWorkers, OneActorOfRay, RunFolder]


@pytest.fixture
def one_actor(
    tmp_path: Path, calls_are_short: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OneActor]:
    """A driver, its one actor, which does not see the run's folder, and the run."""
    run = small_run(tmp_path / "run")
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    keeper.close()
    ray = OneActorOfRay(player_elsewhere(run))
    driver = RayWorkers.__new__(RayWorkers)  # its own beginning starts a cluster
    vars(driver).update(_ray=ray, _run=run, _settings=run.settings(), _seats=[_Seat(ray)])
    vars(driver).update(_calls={}, _net=("", None), _problem="")
    monkeypatch.setattr(ray_workers, "RETRY_SECONDS", 0.0)
    yield driver, ray, run
    ray.player.clean()


def test_a_shard_that_could_not_be_written_is_sent_again(
    one_actor: OneActor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver, _, run = one_actor
    lost: set[str] = set()

    def refuse(folder: Path, content: bytes) -> None:
        lost.add(content_name(content))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    with monkeypatch.context() as full:
        full.setattr(ray_workers, "store_shard", refuse)
        while not lost:
            driver.step(0.1)
    assert "No space left on device" in caplog.text and "failed" not in caplog.text
    driver.step(0.1)
    driver.step(0.1)
    assert lost <= shards_of(run)


def test_a_shard_that_came_damaged_is_sent_again(
    one_actor: OneActor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver, ray, run = one_actor
    damaged: set[str] = set()

    def damage(call: int) -> dict[str, bytes]:
        shards = {name for name in ray.answers[call] if name.endswith(".shard")}
        damaged.update(Path(name).stem for name in shards)
        return ray.answers[call] | dict.fromkeys(shards, b"damaged")

    with monkeypatch.context() as faulty:
        faulty.setattr(ray, "get", damage)
        while not damaged:
            driver.step(0.1)
    assert "came damaged" in caplog.text and not shards_of(run)
    driver.step(0.1)
    driver.step(0.1)
    assert damaged <= shards_of(run)


def test_an_actor_that_sees_the_folder_plays_there(tmp_path: Path, calls_are_short: None) -> None:
    run = small_run(tmp_path / "run")
    player = Player(run.path, "run.toml", run.settings(), ray_workers.__version__, "no-folder")
    while not shards_of(run):
        assert player.play("", b"", "", set(), False) == {}


def test_an_actor_of_another_version_does_not_play(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has version .*, not 0\.0\.1"):
        player_elsewhere(small_run(tmp_path / "run"), "0.0.1")


# Clusters ----------------------------------------------------------------------------------------


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[int]]]:
    """Two nodes on loopback: their address, and the process ids of their raylets."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback alone
    import ray  # not before: it reads those at once
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = Cluster()
    nodes = [cluster.add_node(**small), cluster.add_node(**small)]
    pids = [node.all_processes["raylet"][0].process.pid for node in nodes]
    yield cluster.address, pids
    ray.shutdown()
    cluster.shutdown()


@needs_ray
def test_a_node_that_is_killed_loses_no_shard(
    tmp_path: Path, two_nodes: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, (_, second) = two_nodes
    real = small_run(tmp_path / "run")
    descriptor = os.open(real.path, os.O_RDONLY)
    run = RunFolder(Path(f"/proc/self/fd/{descriptor}"))  # actors see another folder there, or none
    keeper, learning = Coordinator(run), Learning(run, run.settings())
    keeper.step()
    keeper.step()
    workers = RayWorkers(run, address)

    def go_on(is_enough: Callable[[], bool]) -> None:
        end = time.perf_counter() + LONGEST_WAIT
        while not is_enough():
            assert time.perf_counter() < end
            workers.step(0.1)
            keeper.look()
            learning.step()

    def players() -> int:
        return len(list(run.spent.glob("work-*.json")))

    go_on(lambda: players() >= 2 and bool(shards_of(run)))
    before = shards_of(run)
    os.kill(second, signal.SIGKILL)
    go_on(lambda: len(shards_of(run)) > len(before) + 2)
    go_on(lambda: len(list(run.nets.glob("*.onnx"))) > 1)
    workers.close()
    keeper.look()
    keeper.close()
    assert before < shards_of(run)
    games = sum(len(read_shard(path).games) for path in run.shards.glob("*.shard"))
    assert rows(run, "select count(*), sum(games) from shards") == [(len(shards_of(run)), games)]
    assert rows(run, "select count(*) from problems") == [(0,)]
    assert spent_by(run, "work").core_seconds > 0.0
    os.close(descriptor)


def processes_of(session: int) -> list[str]:
    """Return the command lines of a session's processes that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append((path / "cmdline").read_text())
        except OSError:
            continue
    return found


@needs_ray
def test_where_no_cluster_is_there_is_a_sentence(tmp_path: Path) -> None:
    run = small_run(tmp_path / "run")
    for address in ("127.0.0.1:9", "nowhere"):
        with pytest.raises(RunError, match=f"no Ray cluster at {address}: "):
            RayWorkers(run, address)


@needs_ray
@pytest.mark.parametrize("is_killed", [False, True])
def test_nothing_of_ray_is_left_behind_nor_on_stdout(tmp_path: Path, is_killed: bool) -> None:
    run = small_run(tmp_path / "run", workers=1)
    keeper = Coordinator(run)
    keeper.step()
    keeper.step()
    driver = subprocess.Popen(
        own_command("zero", "work", str(run.path), "--ray", "local", package="gtp_export"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.perf_counter() + LONGEST_WAIT
    while not shards_of(run):
        assert driver.poll() is None and time.perf_counter() < end
        time.sleep(0.1)
    keeper.close()
    assert len(processes_of(driver.pid)) > 3
    assert driver.stdin is not None
    if is_killed:
        driver.stdin.close()
    else:
        run.stop.touch()
    assert driver.stdout is not None and driver.stdout.read() == b""
    assert driver.wait(LONGEST_WAIT) == 0
    end = time.perf_counter() + LONGEST_WAIT
    while processes_of(driver.pid):
        assert time.perf_counter() < end
        time.sleep(0.1)
    assert not list(run.spent.glob("ray-*"))
    if not is_killed:
        driver.stdin.close()
    driver.stdout.close()
