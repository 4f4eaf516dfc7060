"""A worker: plays games against itself with the newest net and writes them as shards."""

import contextlib
import gc
import logging
import math
import secrets
import threading
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.net_evaluator import open_net
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.policy_play import policy_by_action
from gtp_engine.evaluators.runtimes.sessions import AUTO, ONNX_RUNTIME
from gtp_engine.evaluators.uniform import UniformEvaluator
from gtp_engine.games import new_game
from gtp_export.architectures.presets import find_preset
from gtp_export.span import is_there
from gtp_export.zero.part import Attempts, Part
from gtp_export.zero.play import SelfPlay
from gtp_export.zero.settings import RunFolder, Settings, readable_net
from gtp_export.zero.shards import (
    SUFFIX,
    LearnedGame,
    Searched,
    ShardError,
    age,
    read_shard,
    write_shard,
)

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Between two looks for another net, another komi, and what halts or ends the run."""
RETRY_SECONDS = 10.0
"""Between two attempts to write a shard on a disk that is full."""
MOST_WAITING = 10
"""Shards of games that wait in memory for that; then nothing more is played."""
EARLIER_SHARDS = 3
"""Read when a worker begins, for positions that games may begin from."""


class Worker:
    """Plays until the run is stopped; nothing it holds in memory is older than a minute."""

    def __init__(self, run: RunFolder, seed: int | None = None) -> None:
        """Begin to play.

        Args:
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
        self._attempts = Attempts()
        seed = secrets.randbits(60) if seed is None else seed
        self._encoder = find_preset(self.settings.preset).shape.encoder
        self._earlier: tuple[Evaluator, Path | None] = UniformEvaluator(seed, self._encoder), None
        """What plays if the net fails."""
        komi, earlier = run.fair_komi(self.settings), earlier_games(run.shards, self.settings)
        self._plays: list[SelfPlay] = []
        """By size of the board."""
        for n, size in enumerate(self.settings.sizes):
            of_size = replace(self.settings, size=size)
            self._plays.append(SelfPlay(of_size, self._earlier[0], "", komi, seed + n))
            self._plays[-1].remember(one for one in earlier if one.record.width == size)
        self.waiting: list[LearnedGame] = []
        """Games that no shard holds yet."""
        self._since = time.perf_counter()
        self._counted, self._asked = time.process_time(), np.zeros(len(self._plays))
        """Processor time and evaluations, by size of the board, that were counted so far."""
        self._spent = np.zeros((len(self._plays), 2))
        """Both by size, that no shard has counted yet."""
        self._retry_at = 0.0
        self.look()

    def work(self, seconds: float = math.inf) -> None:
        """Play so long, or until the run is stopped or over, or the process is ended.

        Raises:
            NetFileError: The net fails, and so does playing without one.
        """
        part, end = self._part, time.perf_counter() + seconds
        while not (self._is_stopped() or part.is_over):
            if time.perf_counter() >= end:
                return
            next_look = time.perf_counter() + LOOK_SECONDS
            while time.perf_counter() < next_look and not self.ending.is_set():
                if len(self.waiting) < MOST_WAITING * self.settings.shard_games:
                    self.step()
                else:
                    self.ending.wait(LOOK_SECONDS)
                    self.write()
            part.note()
            if part.is_halted():
                self.write()
                part.wait_while_halted(self._is_stopped)
            self.look()
        self._retry_at = 0.0
        self.write()
        part.note(0.0)

    def _is_stopped(self) -> bool:
        return self.ending.is_set() or is_there(self._run.stop)

    def step(self) -> None:
        """Make a step on boards of each size; where the net fails, the one before it plays on."""
        try:
            for play in self._plays:
                self._add(play.step())
        except NetFileError as error:
            if self._net is None:
                raise
            self._refuse(self._net, error)
            evaluator, self._net = self._earlier
            self._earlier = UniformEvaluator(0, self._encoder), None
            for play in self._plays:
                play.use(evaluator, "" if self._net is None else self._net.stem)
                play.forest.reset()

    def _add(self, games: list[LearnedGame]) -> None:
        if games and not self.waiting:
            self._since = time.perf_counter()
        self.waiting += games
        settings = self.settings
        is_old = time.perf_counter() - self._since >= settings.shard_seconds
        if len(self.waiting) >= settings.shard_games or (self.waiting and is_old):
            self.write()

    def write(self) -> None:
        """Write the games that wait as a shard for each size; where that fails they wait on."""
        while self.waiting and time.perf_counter() >= self._retry_at:
            self._write(self.waiting[0].record.width)

    def _write(self, width: int) -> None:
        games = [one for one in self.waiting if one.record.width == width]
        self._count()
        place = self.settings.sizes.index(width)
        core_seconds, evaluations = self._spent[place]
        try:
            path = write_shard(
                self._run.shards,
                self.settings.game,
                games,
                core_seconds=float(core_seconds),
                evaluations=int(evaluations),
            )
        except OSError as error:
            logger.warning(
                "%s: %s; %d games wait in memory",
                self._run.shards,
                error.strerror,
                len(self.waiting),
            )
            self._retry_at = time.perf_counter() + RETRY_SECONDS
            return
        self._spent[place] = 0.0
        logger.debug("%s: %d games", path.name, len(games))
        self.waiting = [one for one in self.waiting if one.record.width != width]

    def _count(self) -> None:
        """Divide the processor time since the last count among the sizes, by their evaluations."""
        now = time.process_time()
        asked = np.array([play.forest.evaluations for play in self._plays], np.float64)
        new = asked - self._asked
        shares = new / new.sum() if new.any() else np.full(len(new), 1.0 / len(new))
        self._spent += np.stack([(now - self._counted) * shares, new], axis=1)
        self._counted, self._asked = now, asked

    def look(self) -> None:
        """Take over another komi and another net, if there is one."""
        with contextlib.suppress(OSError, ValueError):
            for play in self._plays:
                play.komi = self._run.fair_komi(self.settings)
        with self._attempts.one():
            path = self._run.playing_net()
            if path is not None and path not in (self._net, self._refused):
                try:
                    earlier = self._plays[0].forest.evaluator, self._net
                    net = open_checked(readable_net(path), self.settings)
                    for play in self._plays:
                        play.use(net, path.stem)
                    self._earlier, self._net = earlier, path
                    del earlier, net
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
    cache_mb = 64 if settings.size <= 5 else 0  # positions come again so often only there
    runtime = ONNX_RUNTIME if settings.size <= 4 else AUTO  # OpenVINO compiles longer than it saves
    evaluator = open_net(str(path), "cpu", runtime, threads=1, cache_mb=cache_mb)
    evaluator.threat_nodes = settings.threat_nodes
    policy_by_action(evaluator, new_game(settings.game, settings.size, settings.size))
    return evaluator


def earlier_games(folder: Path, settings: Settings) -> list[LearnedGame]:
    """Return the games of the newest shards, without what was searched.

    Shards that are damaged, or of another game or size, are left out.
    """
    games: list[LearnedGame] = []
    nothing: tuple[Searched | None, ...] = ()
    with contextlib.suppress(OSError):
        newest = sorted(folder.glob(f"*{SUFFIX}"), key=age, reverse=True)
        for path in islice(newest, EARLIER_SHARDS):
            with contextlib.suppress(ShardError):
                table = read_shard(path, settings.boards).games
                records = [table.record(number) for number in range(len(table))]
                games += [LearnedGame(one, nothing, "", "") for one in records if one.moves]
    return games
