"""Random positions of random games, encoded on other threads while a net learns.

A thread fills a block from many games, a few positions of each, and shuffles it; batches are cut
from the block. All positions are drawn equally often, so long games more often than short ones.
Every position is seen under a random symmetry.
"""

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtp_engine.coords import BLACK, EMPTY, WHITE
from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_engine.games import FIVE, game_shown
from gtp_engine.go.game_record import SgfError
from gtp_engine.go.history import new_history
from gtp_engine.go.ladders import new_reader
from gtp_engine.go.rules import NO_FIVE
from gtp_engine.go.symmetry import N_SYMMETRIES, point_table
from gtp_export.records.games import UNKNOWN_WINNER, Games
from gtp_export.records.replay import Filled, Ints, find_filler, new_filled, rule_rows

POSITIONS_PER_GAME = 4
BLOCK_POINTS = 512 * 361
"""Points of the boards of a block, unless a batch has more."""
WAITING_BLOCKS = 2
MOST_EMPTY_BLOCKS = 100
"""In a row; then there is nothing to be found."""


@dataclass(frozen=True)
class RecordSamples:
    """B positions of one board size with A points, and what the records say about them.

    Everything speaks for the player to move.
    """

    spatial: NDArray[np.uint8]
    """[B, C, H, W]"""
    features: NDArray[np.float32]
    """[B, G]"""
    legal: NDArray[np.uint8]
    """[B, A + 1] whether an action is legal, pass last."""
    action: NDArray[np.int64]
    """[B] what was played."""
    outcome: NDArray[np.float32]
    """[B] 1 where the game was won, 0 lost, 0.5 drawn, NaN where nobody knows."""
    score: NDArray[np.float32]
    """[B] points by which it was won; NaN where it was not counted."""
    ownership: NDArray[np.int8]
    """[B, H, W] 1 and -1 for own and the opponent's points; 0 where nobody knows or owns."""
    game: NDArray[np.int64]
    """[B] which game of the table."""
    ply: NDArray[np.int64]
    """[B] after how many moves."""
    to_play: NDArray[np.uint8]
    """[B] who is to move."""

    def part(self, index: NDArray[np.int64]) -> "RecordSamples":
        """Return the positions of an index [n]."""
        return RecordSamples(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


class PositionReader:
    """Encodes positions of games; for one thread."""

    def __init__(self, games: Games, encoder: str, suicide_alive: int = 0) -> None:
        """Set aside the memory for the longest game.

        Args:
            suicide_alive: See `inputs.Seen`.

        Raises:
            SgfError: The encoder shows another game.
        """
        if any((one.five != NO_FIVE) != (game_shown(encoder) == FIVE) for one in games.rules):
            raise SgfError(f"the games are not what the net's encoder, {encoder}, shows")
        _, self._planes, self._features = ENCODERS[encoder]
        self._fill = find_filler(encoder, suicide_alive)
        self._games = games
        self._rows = rule_rows(games.rules)
        self._history = new_history(int(np.diff(games.table.starts).max(initial=0)) + 2)
        self._reader = new_reader()

    def read(self, games: Ints, plies: Ints, symmetries: Ints) -> RecordSamples:
        """Return positions of games of one board size.

        Args:
            games: [n] which; equal ones together.
            plies: [n] after how many moves, rising within a game.
            symmetries: [n] how each is shown.
        """
        table = self._games.table
        width, height = int(table.width[games[0]]), int(table.height[games[0]])
        filled = new_filled(len(games), self._planes, self._features, width, height)
        tables = point_table(width, height)
        self._fill(
            table, self._rows, games, plies, symmetries, tables, self._history, self._reader, filled
        )
        return _judge(self._games, games, plies, filled, width, height)


def _judge(
    games: Games, chosen: Ints, plies: Ints, filled: Filled, width: int, height: int
) -> RecordSamples:
    """Turn what is known in terms of colors to the player to move."""
    table, to_play = games.table, filled.to_play
    winner = table.winner[chosen]
    outcome = np.where(winner == EMPTY, 0.5, winner == to_play).astype(np.float32)
    outcome[winner == UNKNOWN_WINNER] = np.nan
    score = np.where(to_play == BLACK, table.score[chosen], -table.score[chosen])
    owner = filled.owner.reshape(len(chosen), height, width)
    mine = owner == to_play[:, None, None]
    theirs = owner == (BLACK + WHITE - to_play)[:, None, None]
    return RecordSamples(
        spatial=filled.spatial,
        features=filled.features,
        legal=filled.legal,
        action=filled.action.astype(np.int64),
        outcome=outcome,
        score=score.astype(np.float32),
        ownership=mine.astype(np.int8) - theirs.astype(np.int8),
        game=chosen,
        ply=plies,
        to_play=to_play,
    )


class PositionStream:
    """An endless stream of batches, made ahead on threads of its own."""

    def __init__(
        self,
        games: Games,
        encoder: str,
        batch_points: int,
        seed: int,
        *,
        threads: int = 1,
        shifts: bool = False,
        with_pass: bool = True,
        only_settled: bool = False,
    ) -> None:
        """Start the threads.

        Args:
            shifts: Whether positions of five in a row are moved about; see `shift`.
            with_pass: Whether positions count in which a pass was played.
            only_settled: Whether only games count whose final owners are known.

        Raises:
            SgfError: No game is left to draw from.
        """
        self._games = games
        self._encoder = encoder
        self._batch_points = batch_points
        self._shifts = shifts
        self._with_pass = with_pass
        # A settled game ends with passes, whether they were recorded or not.
        self._ends = np.diff(games.table.starts) + np.int64(with_pass) * games.table.settled
        self._pools = _pools(games, self._ends, only_settled)
        if not self._pools:
            what = (
                "says who owns the final board (XD, or TB and TW)" if only_settled else "has moves"
            )
            raise SgfError(f"no game {what}")
        self._blocks: queue.Queue[RecordSamples | BaseException] = queue.Queue(WAITING_BLOCKS)
        self._stop = threading.Event()
        self.waited = 0.0
        """Seconds that the taker of batches has waited for one, the first block left out."""
        self._took_first = False
        self._batches: Iterator[RecordSamples] = iter(())
        for number in range(threads):
            generator = np.random.default_rng([seed, number])
            threading.Thread(target=self._produce, args=(generator,), daemon=True).start()

    def draw(self) -> RecordSamples:
        """Return the next batch.

        Raises:
            MemoryError: A thread could not get the memory for a block.
        """
        batch = next(self._batches, None)
        if batch is None:
            start = time.perf_counter()
            block = self._blocks.get()
            if isinstance(block, BaseException):
                raise block
            if self._took_first:
                self.waited += time.perf_counter() - start
            self._took_first = True
            self._batches = self._cut(block)
            batch = next(self._batches)
        return batch

    def close(self) -> None:
        self._stop.set()

    def _cut(self, block: RecordSamples) -> Iterator[RecordSamples]:
        area = block.legal.shape[1] - 1
        n = min(len(block.action), max(2, self._batch_points // area))
        for at in range(0, len(block.action) - n + 1, n):
            yield block.part(np.arange(at, at + n))

    def _produce(self, generator: np.random.Generator) -> None:
        try:
            reader = PositionReader(self._games, self._encoder)
            empty = 0
            while not self._stop.is_set():
                block = self._make_block(reader, generator)
                empty = 0 if len(block.action) else empty + 1
                if empty == MOST_EMPTY_BLOCKS:
                    raise SgfError("no game has a move to learn")
                if not empty:
                    self._put(block)
        except BaseException as error:  # the taker raises it
            self._put(error)

    def _put(self, block: RecordSamples | BaseException) -> None:
        while not self._stop.is_set():
            try:
                self._blocks.put(block, timeout=0.5)
                return
            except queue.Full:
                continue

    def _make_block(self, reader: PositionReader, generator: np.random.Generator) -> RecordSamples:
        sizes = list(self._pools)
        # A block has as many points on any board, so that of a large one fewer positions.
        shares = np.array(
            [sums[-1] * width * height for (width, height), (_, sums) in self._pools.items()],
            np.float64,
        )
        width, height = sizes[int(generator.choice(len(sizes), p=shares / shares.sum()))]
        pool, sums = self._pools[width, height]
        points = max(BLOCK_POINTS, self._batch_points)
        count = max(1, points // (width * height * POSITIONS_PER_GAME))
        drawn = np.searchsorted(sums, generator.integers(sums[-1], size=count), side="right")
        chosen = np.repeat(pool[np.sort(drawn)], POSITIONS_PER_GAME)
        plies = (generator.random(len(chosen)) * self._ends[chosen]).astype(np.int64)
        order = np.lexsort((plies, chosen))
        symmetries = generator.integers(N_SYMMETRIES, size=len(chosen))
        block = reader.read(chosen[order], plies[order], symmetries)
        if self._shifts:
            shift(block, generator)
        wanted = self._games.counts(block.game, block.to_play)
        if not self._with_pass:
            wanted &= block.action < width * height
        return block.part(generator.permutation(np.flatnonzero(wanted)))


def shift(block: RecordSamples, generator: np.random.Generator) -> None:
    """Move each position of `five4` with its answer as far as all of it stays on the board."""
    _, _, height, width = block.spatial.shape
    for i, action in enumerate(block.action):
        used = block.spatial[i, 0].copy()
        used[divmod(action, width)] = 1
        ways = []
        for axis, size in ((1, height), (0, width)):
            lines = np.flatnonzero(used.any(axis))
            ways.append(int(generator.integers(-lines[0], size - lines[-1])))
        block.spatial[i] = np.roll(block.spatial[i], ways, (1, 2))
        legal = block.legal[i, : height * width].reshape(height, width)
        legal[:] = np.roll(legal, ways, (0, 1))
        block.action[i] = action + ways[0] * width + ways[1]


def _pools(
    games: Games, ends: Ints, only_settled: bool
) -> dict[tuple[int, int], tuple[Ints, Ints]]:
    """Return by board size the games, and how many positions these have up to the end of each."""
    usable = np.diff(games.table.starts) > 0
    if only_settled:
        usable &= games.table.settled == 1
    pools = {size: games.of_size(*size) for size in games.sizes}
    pools = {size: pool[usable[pool]] for size, pool in pools.items()}
    return {size: (pool, ends[pool].cumsum()) for size, pool in pools.items() if len(pool)}
