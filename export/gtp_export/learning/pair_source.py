"""Batches of chosen positions of games that were just played."""

import numpy as np
from numpy.typing import NDArray

from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Position
from gtp_engine.go.scoring import format_result
from gtp_export.learning.batch import Batch
from gtp_export.learning.record_task import batch_of
from gtp_export.records.games import GameCollector, Games
from gtp_export.records.stream import PositionReader, RecordSamples


class PairSource:
    """Draws positions of games that are chosen one by one."""

    waited = 0.0

    def __init__(self, encoder: str) -> None:
        """Begin without positions; see `feed`."""
        self._encoder = encoder

    def feed(self, games: Games, pairs: NDArray[np.int64], size: int) -> None:
        """Draw from now on these [n, 2] games, of one board size, and plies, so many at a time."""
        self._reader = PositionReader(games, self._encoder)
        self._pairs, self._size, self._at = pairs, min(size, len(pairs)), len(pairs)

    def draw(self, generator: np.random.Generator) -> Batch:
        """Return the next batch: all positions once, each as one of its symmetries, then again."""
        if self._at + self._size > len(self._pairs):
            self._pairs, self._at = generator.permutation(self._pairs), 0
        chosen = self._pairs[self._at : self._at + self._size]
        self._at += self._size
        return batch_of(self.read(chosen, generator.integers(8, size=len(chosen))))

    def read(self, chosen: NDArray[np.int64], symmetries: NDArray[np.int64]) -> RecordSamples:
        """Return the positions of [n, 2] games and plies, in the games' order."""
        chosen = chosen[np.lexsort((chosen[:, 1], chosen[:, 0]))]
        return self._reader.read(chosen[:, 0].copy(), chosen[:, 1].copy(), symmetries)


def collect(positions: list[Position]) -> Games:
    """Return finished games, all stones alive, as a table."""
    collector = GameCollector()
    for one in positions:
        collector.add(
            GameRecord(
                *(one.width, one.height, one.komi, one.rules),
                moves=one.moves,
                result=format_result(one.white_margin()),
                dead=(),
            )
        )
    return collector.games()
