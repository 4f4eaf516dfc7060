"""A worker: plays games against itself with the newest net and writes them as shards."""

import contextlib
import gc
import logging
import math
import secrets
import threading
import time
from itertools import islice
from pathlib import Path

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.fake import UniformEvaluator
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.net_info import NetFileError
from gtp_engine.evaluators.policy_play import policy_by_action
from gtp_engine.evaluators.runtimes import AUTO, ONNX_RUNTIME
from gtp_engine.games import new_game
from gtp_export.zero.part import Part
from gtp_export.zero.play import SelfPlay
from gtp_export.zero.settings import RunFolder, Settings
from gtp_export.zero.shards import PlayedGame, Searched, ShardError, read_shard, write_shard

logger = logging.getLogger(__name__)

STOP = "STOP"
"""A file of this name in a run's folder ends its workers."""
LOOK_SECONDS = 1.0
"""Between two looks for another net, another komi, and what halts or ends the run."""
RETRY_SECONDS = 10.0
"""Between two attempts to write a shard on a disk that is full."""
EARLIER_SHARDS = 3
"""Read when a worker begins, for positions that games may begin from."""


class Worker:
    """Plays until the run is stopped; nothing it holds in memory is older than a minute."""

    def __init__(self, run: RunFolder, seed: int | None = None) -> None:
        """Begin to play.

        Args:
            run: The run; its settings are read once.
            seed: Makes the games; another one each time when None.

        Raises:
            RunError: There is no such run, or it is another version's.
        """
        self._run = run
        self.settings = run.settings()
        self._part = Part(run, "work")
        self.ending = threading.Event()
        """Set from any thread to end the work."""
        self._part.end_with_parent(self.ending)  # before kernels are compiled, which takes long
        self._net: Path | None = None
        self._refused: Path | None = None
        """A net that cannot be used."""
        seed = secrets.randbits(60) if seed is None else seed
        self._earlier: tuple[Evaluator, Path | None] = UniformEvaluator(seed), None
        """What plays if the net fails."""
        komi = run.fair_komi(self.settings)
        self._play = SelfPlay(self.settings, self._earlier[0], "", komi, seed)
        self._play.remember(earlier_games(run.shards, self.settings))
        self.waiting: list[PlayedGame] = []
        """Games that no shard holds yet."""
        self._since = time.monotonic()
        self._core_seconds = time.process_time()
        self._evaluations = 0
        self._retry_at = 0.0
        self.look()

    def work(self, seconds: float = math.inf) -> None:
        """Play so long, or until the run is stopped or over, or the process is ended.

        Raises:
            NetFileError: The net fails, and so does playing without one.
        """
        part, end = self._part, time.monotonic() + seconds
        while not (self.ending.is_set() or part.is_over or (self._run.path / STOP).exists()):
            if time.monotonic() >= end:
                return
            next_look = time.monotonic() + LOOK_SECONDS
            while time.monotonic() < next_look and not self.ending.is_set():
                self.step()
            part.note()
            if part.is_halted():
                self.write()
                part.wait_while_halted()
            self.look()
        self.write()
        part.note(0.0)

    def step(self) -> None:
        """Make a step; where the net fails, the one before it plays on."""
        try:
            self._add(self._play.step())
        except NetFileError as error:
            if self._net is None:
                raise
            self._refuse(self._net, error)
            evaluator, self._net = self._earlier
            self._earlier = UniformEvaluator(), None
            self._play.use(evaluator, "" if self._net is None else self._net.stem)
            self._play.forest.reset()

    def _add(self, games: list[PlayedGame]) -> None:
        if games and not self.waiting:
            self._since = time.monotonic()
        self.waiting += games
        settings = self.settings
        is_old = time.monotonic() - self._since >= settings.shard_seconds
        if len(self.waiting) >= settings.shard_games or (self.waiting and is_old):
            self.write()

    def write(self) -> None:
        """Write the games that wait as a shard; where that fails they wait on."""
        if not self.waiting or time.monotonic() < self._retry_at:
            return
        spent, asked = time.process_time(), self._play.forest.evaluations
        try:
            path = write_shard(
                self._run.shards,
                self.settings.game,
                self.waiting,
                core_seconds=spent - self._core_seconds,
                evaluations=asked - self._evaluations,
            )
        except OSError as error:
            logger.warning(
                "%s: %s; %d games wait in memory",
                self._run.shards,
                error.strerror,
                len(self.waiting),
            )
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return
        self._core_seconds, self._evaluations = spent, asked
        logger.debug("%s: %d games", path.name, len(self.waiting))
        self.waiting = []

    def look(self) -> None:
        """Take over another komi and another net, if there is one."""
        with contextlib.suppress(OSError, ValueError):
            self._play.komi = self._run.fair_komi(self.settings)
        with contextlib.suppress(OSError):
            path = self._run.playing_net()
            if path is not None and path not in (self._net, self._refused):
                try:
                    earlier = self._play.forest.evaluator, self._net
                    self._play.use(open_checked(path, self.settings), path.stem)
                    self._earlier, self._net = earlier, path
                    del earlier
                    gc.collect()  # megabytes of the net before the earlier one, in circles
                except NetFileError as error:
                    self._refuse(path, error)

    def _refuse(self, path: Path, error: NetFileError) -> None:
        self._refused = path
        told = str(error)
        if path.name not in told:
            told = f"{path}: {told}"
        logger.warning("%s; play goes on without it", told)


def open_checked(path: Path, settings: Settings) -> Evaluator:
    """Open a net, and make sure that it can judge this run's empty board.

    Raises:
        NetFileError: It cannot be opened, is of another size, or says what are no numbers.
    """
    cache_mb = 64 if settings.size <= 5 else 0
    runtime = ONNX_RUNTIME if settings.size <= 4 else AUTO  # OpenVINO compiles longer than it saves
    evaluator = open_net(str(path), "cpu", runtime, threads=1, cache_mb=cache_mb)
    policy_by_action(evaluator, new_game(settings.game, settings.size, settings.size))
    return evaluator


def earlier_games(folder: Path, settings: Settings) -> list[PlayedGame]:
    """Return the games of the newest shards, without what was searched.

    Shards that are damaged, or of another game or size, are left out.
    """
    wanted = settings.game, settings.size, settings.size
    games: list[PlayedGame] = []
    nothing: tuple[Searched | None, ...] = ()
    with contextlib.suppress(OSError):
        newest = sorted(folder.glob("*.shard"), key=lambda path: -path.stat().st_mtime)
        for path in islice(newest, EARLIER_SHARDS):
            with contextlib.suppress(ShardError):
                table = read_shard(path, wanted).games
                records = [table.record(number) for number in range(len(table))]
                games += [PlayedGame(one, nothing, "", "") for one in records if one.moves]
    return games


def work_run(run: RunFolder) -> int:
    """Play until the run is stopped or over, or the process that started this one has ended."""
    Worker(run).work()
    return 0
