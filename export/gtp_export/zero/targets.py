"""From shards to what a net is trained on: positions as it sees them, and what it should say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gtp_engine.go.symmetry import N_SYMMETRIES, action_table
from gtp_export.records.games import Games, join_games
from gtp_export.records.stream import PositionReader, RecordSamples
from gtp_export.zero.shards import FULL, Shard, read_shard

BLOCK_POSITIONS = 2048
"""Positions encoded at a time, so that several of one game take one replay."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TargetSamples:
    """B positions of self-play with A points, under random symmetries; all for the mover."""

    seen: RecordSamples
    """What the net sees; move played, outcome, score and ownership of the game. Score and
    ownership are exact; NaN and 0 where a game was not counted."""
    policy: NDArray[np.float32]
    """[B, A + 1] the search's policy; sums to 1."""
    value: NDArray[np.float32]
    """[B] the mean value of the search's root, -1 to 1."""

    def part(self, index: Ints) -> "TargetSamples":
        """Return the positions of an index [n]."""
        return TargetSamples(self.seen.part(index), self.policy[index], self.value[index])


class Window:
    """The newest positions of a run, from shards that come one by one."""

    def __init__(self, encoder: str, wanted: Sequence[tuple[str, int, int]]) -> None:
        """Begin without any.

        Args:
            wanted: Games, widths and heights that shards may be of.
        """
        self._encoder = encoder
        self._wanted = wanted
        self._shards: list[Shard] = []
        self._joined: list[_Joined] = []
        """By size of the board."""

    @property
    def positions(self) -> int:
        """Positions with a full search."""
        return sum(shard.header.positions for shard in self._shards)

    def add(self, path: Path) -> int:
        """Read a shard, the newest; return its positions.

        Raises:
            ShardError: It is damaged, or of another version, game or size.
        """
        shard = read_shard(path, self._wanted)
        self._shards.append(shard)
        self._joined = []
        return shard.header.positions

    def keep(self, positions: int) -> None:
        """Forget the oldest shards without which so many positions, or all that are left, stay."""
        while self._shards and self.positions - self._shards[0].header.positions >= positions:
            del self._shards[0]
            self._joined = []

    def draw(self, positions: int, generator: np.random.Generator) -> TargetSamples:
        """Return some positions of one size of board, each drawn from all of it, in no order.

        Raises:
            ValueError: There are none.
        """
        if not self.positions:
            raise ValueError("there are no positions to learn from yet")
        if not self._joined:
            for board in self._wanted:
                shards = [one for one in self._shards if one.header.width == board[1]]
                if sum(one.header.positions for one in shards):
                    self._joined.append(_Joined(shards, self._encoder))
        if len(self._joined) == 1:
            return self._joined[0].draw(positions, generator)
        shares = np.array([one.positions for one in self._joined], np.float64)
        chosen = generator.choice(len(shares), p=shares / shares.sum())
        return self._joined[chosen].draw(positions, generator)

    def batches(self, batch: int, generator: np.random.Generator) -> Iterator[TargetSamples]:
        """Yield batches without end; a shard added on the way is drawn from after a block."""
        while True:
            blocks = BLOCK_POSITIONS // max(1, len(self._joined))  # lest one size comes for long
            block = self.draw(max(batch, blocks // batch * batch), generator)
            for at in range(0, len(block.value), batch):
                yield block.part(np.arange(at, at + batch))


class _Joined:
    """The shards of a window that are of one size, one behind the other."""

    def __init__(self, shards: Sequence[Shard], encoder: str) -> None:
        self.games: Games = join_games([shard.games for shard in shards])
        self._reader = PositionReader(self.games, encoder)
        self._value = np.concatenate([shard.value for shard in shards])
        self._actions = np.concatenate([shard.actions for shard in shards])
        self._shares = np.concatenate([shard.shares for shard in shards])
        counts = np.concatenate([np.diff(shard.policy_starts) for shard in shards])
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        kind = np.concatenate([shard.kind for shard in shards])
        self._targets: Ints = np.flatnonzero(kind == FULL)
        header = shards[0].header
        self._table = action_table(header.width, header.height)

    @property
    def positions(self) -> int:
        """Positions with a full search."""
        return len(self._targets)

    def draw(self, positions: int, generator: np.random.Generator) -> TargetSamples:
        moves = np.sort(generator.choice(self._targets, positions))
        symmetries = generator.integers(N_SYMMETRIES, size=positions)
        starts = self.games.table.starts
        games = np.searchsorted(starts, moves, side="right") - 1
        seen = self._reader.read(games, moves - starts[games], symmetries)
        policies = self._policies(moves, symmetries)
        samples = TargetSamples(seen, policies, self._value[moves].astype(np.float32))
        return samples.part(generator.permutation(positions))

    def _policies(self, moves: Ints, symmetries: Ints) -> NDArray[np.float32]:
        """Return [n, A + 1] the policies at moves [n] under symmetries."""
        counts = self._starts[moves + 1] - self._starts[moves]
        rows = np.repeat(np.arange(len(moves)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        at = np.repeat(self._starts[moves], counts) + within
        policy = np.zeros((len(moves), self._table.shape[1]), np.float32)
        policy[rows, self._table[symmetries[rows], self._actions[at]]] = self._shares[at]
        policy /= np.maximum(policy.sum(axis=1, keepdims=True), 1.0)
        return policy
