"""Workers of a run as actors of a Ray cluster, which starts them, and starts them again.

An actor has the worker that plays everywhere. Where it sees the run's folder, that one reads and
writes there. Elsewhere it works in a folder of its own: each call brings the net and the komi, and
takes away the shards and what was spent. A shard stays with its actor until the next call says that
it has come, and is sent again if the answer was lost or could not be written; so a shard may come
twice, which makes the same file, but not be lost on the way.
"""

import logging
import os
import secrets
import shutil
import socket
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gtp_engine.files import read_file, write_whole
from gtp_engine.version import __version__
from gtp_export.span import is_there
from gtp_export.zero.part import Part
from gtp_export.zero.settings import MOST_NET_BYTES, RunError, RunFolder, Settings, content_name
from gtp_export.zero.shards import SUFFIX, store_shard
from gtp_export.zero.work import Worker

logger = logging.getLogger(__name__)

LOCAL = "local"
"""In place of an address: a cluster of this machine alone, for as long as the run."""
CALL_SECONDS = 5.0
"""That an actor plays before it tells what it has."""
CALLS = 2
"""Under way for each actor at most: one that it plays, one that waits."""
RETRY_SECONDS = 1.0
"""Before an actor that has failed is called again; Ray starts it meanwhile."""
END_SECONDS = 3.0
"""For the actors' last shards when the run ends."""
CONNECT_SECONDS = 5.0
STORE_BYTES = 256 << 20
"""Of Ray's memory for objects, such as nets."""

Files = dict[str, bytes]
"""By name, within the run's folder."""


class Player:
    """The actor: a worker, and how its files travel."""

    def __init__(
        self, folder: Path, mark: str, settings: Settings, version: str, name: str
    ) -> None:
        """Begin to play.

        Args:
            folder: Of the run, which this machine may see or not.
            mark: A file that lies there.
            settings: The run's.
            version: Of the program that asks.
            name: Of the folder to work in where the mark is not seen; the actor started in place of
                one that was killed has the same, and finds its shards.

        Raises:
            RunError: This program is of another version.
        """
        if version != __version__:
            raise RunError(f"a worker has version {__version__}, not {version}")
        self._own: RunFolder | None = None
        if not (folder / mark).is_file():
            folder = Path(tempfile.gettempdir()) / name
            folder.mkdir(mode=0o700, exist_ok=True)
            self._own = RunFolder(folder)
            self._own.create(settings)
        self._sent: set[str] = set()
        self._worker = Worker(RunFolder(folder))

    def play(self, net: str, content: bytes, komi: str, come: set[str], again: bool) -> Files:
        """Play for a while; return the files that are new, none where the run's folder is seen.

        Args:
            net: Name of the net to play with.
            content: Its file.
            komi: The fair one, as text.
            come: Shards that have arrived.
            again: Whether to send all others again, for an answer has not arrived.
        """
        own = self._own
        if own is None:
            self._worker.work(CALL_SECONDS)
            return {}
        for shard in come:
            (own.path / shard).unlink(missing_ok=True)
        if again:
            self._sent.clear()
        write_whole(own.komi, komi)
        if not own.net(net).exists():
            write_whole(own.net(net), content)
        write_whole(own.playing, net)
        self._worker.look()
        self._worker.work(CALL_SECONDS)
        found = [*own.shards.glob(f"*{SUFFIX}"), *own.spent.glob("*.json")]
        names = {path.relative_to(own.path).as_posix() for path in found} - self._sent
        files = {name: read_file(own.path / name) for name in names}
        self._sent |= {name for name in files if name.endswith(SUFFIX)}
        return files

    def end(self) -> None:
        """Let `play`, which runs in another thread, return soon with all that there is."""
        self._worker.ending.set()

    def clean(self) -> None:
        """Remove the folder, if it is an own one."""
        if self._own is not None:
            shutil.rmtree(self._own.path, ignore_errors=True)


@dataclass
class _Seat:
    """An actor as the driver sees it."""

    actor: Any
    calls: int = 0
    not_before: float = 0.0
    come: set[str] = field(default_factory=set)
    """Shards that it has not yet been told to have come."""
    again: bool = False
    """Whether an answer of it was lost, and it has not yet been told so."""


class RayWorkers:
    """The driver: keeps the actors of a run busy and takes in what they send."""

    def __init__(self, run: RunFolder, address: str) -> None:
        """Join a cluster, or start one, and its actors.

        Raises:
            RunError: No cluster answers there.
        """
        import ray

        self._ray, self._run = ray, run
        self._settings = run.settings()
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if address == LOCAL:
            options |= {"num_cpus": self._settings.workers, "object_store_memory": STORE_BYTES}
            options |= {"address": LOCAL, "include_dashboard": False}
        try:
            if address != LOCAL:  # Ray would try for minutes
                host, _, port = address.rpartition(":")
                socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            ray.init(**({"address": address} | options))
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            reason = str(error).partition("\n")[0].partition(". ")[0]
            raise RunError(f"no Ray cluster at {address}: {reason}") from None
        self._mark = run.spent / f"ray-{secrets.token_hex(8)}"
        self._mark.touch()
        remote: Any = ray.remote
        options = {"num_cpus": 1, "max_restarts": -1, "scheduling_strategy": "SPREAD"}
        player = remote(**options, concurrency_groups={"control": 1})(Player)
        mark = self._mark.relative_to(run.path).as_posix()
        given = run.path.absolute(), mark, self._settings, __version__
        names = [f"gtp-zero-{self._mark.name}-{n}" for n in range(self._settings.workers)]
        self._seats = [_Seat(player.remote(*given, name)) for name in names]
        self._calls: dict[Any, _Seat] = {}
        self._net: tuple[str, Any] = "", None
        self._problem = ""

    def step(self, seconds: float, calls: int = CALLS) -> None:
        """Call the actors that have too few calls, and take in what comes within so long."""
        path = self._run.playing_net()
        if path is not None and path.stem != self._net[0]:
            content = read_file(path, MOST_NET_BYTES)
            self._net = path.stem, self._ray.put(content)  # once for all actors
        now = time.perf_counter()
        for seat in self._seats:
            while seat.calls < calls and now >= seat.not_before and self._net[1] is not None:
                komi = str(self._run.fair_komi(self._settings))
                call = seat.actor.play.remote(*self._net, komi, seat.come, seat.again)
                self._calls[call] = seat
                seat.calls += 1
                seat.come, seat.again = set(), False
        if not self._calls:
            time.sleep(seconds)
            return
        done, _ = self._ray.wait(list(self._calls), num_returns=len(self._calls), timeout=seconds)
        for call in done:
            seat = self._calls.pop(call)
            seat.calls -= 1
            try:
                self._take(self._ray.get(call), seat)
            except (self._ray.exceptions.RayError, OSError) as error:
                seat.not_before, seat.again = time.perf_counter() + RETRY_SECONDS, True
                problem = "".join(str(error).strip().splitlines()[-1:])
                if isinstance(error, self._ray.exceptions.RayError):
                    problem = f"a worker on Ray failed: {problem}; Ray starts it again"
                if problem != self._problem:
                    logger.warning(problem)
                self._problem = problem

    def _take(self, files: Files, seat: _Seat) -> None:
        """Write what an actor has sent, and note for its next call what has come.

        Where a shard is not what its name says, the actor is asked for it again.

        Raises:
            OSError: It cannot be written; the actor has it still.
        """
        for name, content in files.items():
            path = self._run.path / name
            if path.parent == self._run.spent:
                write_whole(path, content)
            elif path.stem == content_name(content):
                store_shard(self._run.shards, content)
                seat.come.add(name)
            else:
                seat.again = True
                logger.warning(f"{path}: came damaged from a worker on Ray, which sends it again")

    def close(self) -> None:
        """Take the last shards, and leave the cluster."""
        end = time.perf_counter() + END_SECONDS
        for seat in self._seats:
            seat.actor.end.options(concurrency_group="control").remote()
        while self._calls and time.perf_counter() < end:
            self.step(0.1, calls=0)
        gone = [seat.actor.clean.remote() for seat in self._seats]
        self._ray.wait(gone, num_returns=len(gone), timeout=max(0.1, end - time.perf_counter()))
        for seat in self._seats:
            self._ray.kill(seat.actor)
        self._ray.shutdown()
        self._mark.unlink(missing_ok=True)


def ray_run(run: RunFolder, address: str) -> int:
    """Play on a Ray cluster until the run is stopped or over, or who started this has ended.

    Args:
        address: HOST:PORT of the cluster, or LOCAL.

    Raises:
        NetFileError: There is no such run, or no cluster.
        ModuleNotFoundError: Ray is not installed.
    """
    os.dup2(2, 1)  # Ray writes there whatever it is asked
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    if address == LOCAL:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    if address.partition(":")[0] in (LOCAL, "localhost", "127.0.0.1"):
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # its name for "loopback alone"
    part, ending = Part(run, "work"), threading.Event()
    part.end_with_parent(ending, grace=2.0 * END_SECONDS)
    workers = RayWorkers(run, address)
    try:
        while not (ending.is_set() or part.is_over or is_there(run.stop)):
            workers.step(0.5, 0 if part.is_halted() else CALLS)
            part.note()
    finally:
        workers.close()
        part.note(0.0)
    return 0
