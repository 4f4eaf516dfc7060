"""Evaluators that say what a test wants to hear."""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gtp_engine.coords import PASS, row_col
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.go.history import History
from gtp_engine.go.rules import RuleFlags


class FlatEvaluator(FakeEvaluator):
    """Likes all moves alike and calls every position even, unless told otherwise."""

    def __init__(self, favourite: int | None = None, value: float = 0.0) -> None:
        """Give one move nine tenths of the policy, and every position this value."""
        self.favourite = favourite
        self.value = value

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the same for every slot."""
        for slot in range(n):
            count = int(batch.n_moves[slot])
            batch.priors[slot, :count] = 1.0 / count
            moves = batch.moves[slot, :count].tolist()
            if self.favourite in moves and count > 1:
                batch.priors[slot, :count] = 0.1 / (count - 1)
                batch.priors[slot, moves.index(self.favourite)] = 0.9
            batch.value[slot] = self.value
            batch.lead[slot] = 0.0
            batch.stdev[slot] = 0.0
            batch.no_result[slot] = 0.0
            batch.ownership[slot] = self.value


class FailingEvaluator(FakeEvaluator):
    """Fails while `fails` says so, told how many evaluations there were and from which thread."""

    def __init__(self, fails: Callable[[int], bool]) -> None:
        """Ask this before each evaluation."""
        self.fails = fails
        self.calls = 0

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Evaluate or fail."""
        self.calls += 1
        if self.fails(self.calls):
            raise NetFileError("the net failed to run")
        super().evaluate(batch, n, use_cache=use_cache)


class SlowEvaluator(FakeEvaluator):
    """Takes its time, so that a search lasts."""

    def __init__(self, seconds: float) -> None:
        """Wait so long at each evaluation."""
        self._pause = threading.Event()
        self._seconds = seconds

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Wait, then evaluate."""
        self._pause.wait(self._seconds)
        super().evaluate(batch, n, use_cache=use_cache)


class RememberingEvaluator(FakeEvaluator):
    """Remembers the positions of which it was asked, and the sizes of the batches."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.batches: list[int] = []
        self.recalled = 0
        self._known: set[bytes] = set()

    def recall(self, batch: EvalBatch, first: int, n: int) -> Sequence[int]:
        """Let those slots lie whose positions are known: `encode` has judged all."""
        slots = range(first, first + n)
        unknown = [slot for slot in slots if self._key(batch, slot) not in self._known]
        self.recalled += n - len(unknown)
        return unknown

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Learn the positions of the first n slots."""
        self.batches.append(n)
        if use_cache:
            self._known.update(self._key(batch, slot) for slot in range(n))

    def _key(self, batch: EvalBatch, slot: int) -> bytes:
        n_moves = int(batch.n_moves[slot])
        return batch.moves[slot, :n_moves].tobytes() + batch.priors[slot, :n_moves].tobytes()


class MirrorEvaluator(FakeEvaluator):
    """Judges a position by distances between stones alone, which no symmetry changes."""

    has_ownership = False

    def __init__(self, width: int, height: int) -> None:
        """Judge boards of this size."""
        self._size = (width, height)
        self._stones: dict[tuple[int, int], list[tuple[int, int, int]]] = {}

    def new_batch(self, slots: int, width: int, height: int) -> EvalBatch:
        """Return a batch without ownership."""
        return (
            super()
            .new_batch(slots, width, height)
            ._replace(ownership=super().new_batch(slots, width, height).ownership[:, :0])
        )

    def encode(
        self,
        batch: EvalBatch,
        slot: int,
        history: History,
        ply: int,
        rules: RuleFlags,
        symmetry: int,
        optimism: float,
    ) -> None:
        """Remember the stones, each with 1 for the mover's and -1 for the opponent's."""
        super().encode(batch, slot, history, ply, rules, symmetry, optimism)
        width, height = self._size
        board, to_play = history.boards[ply], int(history.turns[ply]["to_play"])
        self._stones[id(batch.spatial), slot] = [
            (row, col, 1 if color == to_play else -1)
            for row in range(height)
            for col in range(width)
            if (color := int(board["color"][(row + 1) * (width + 1) + col + 1])) in (1, 2)
        ]

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Weigh every move and the position by sums that do not depend on an order."""
        width, height = self._size
        middle = ((height - 1) / 2, (width - 1) / 2, 0.4)
        for slot in range(n):
            stones = self._stones[id(batch.spatial), slot]
            count = int(batch.n_moves[slot])
            weights: list[float] = []
            for i in range(count):
                move = int(batch.moves[slot, i])
                around = [*stones, middle]
                weight = 0.01
                if move != PASS:
                    row, col = row_col(move, width)
                    weight = math.fsum(
                        (3 + sign) / (1.5 + (row - r) ** 2 + (col - c) ** 2)
                        for r, c, sign in around
                    )
                weights.append(weight)
            # By rank, so that no two become equal when the tree rounds them.
            ranks = {w: i for i, w in enumerate(sorted(set(weights), reverse=True))}
            shares = [1.0 / (2.0 + ranks[weight]) for weight in weights]
            batch.priors[slot, :count] = np.array(shares) / math.fsum(shares)
            batch.value[slot] = math.tanh(
                math.fsum(
                    sign / (1.3 + (r - middle[0]) ** 2 + (c - middle[1]) ** 2)
                    for r, c, sign in stones
                )
            )
            batch.lead[slot] = 0.0
            batch.stdev[slot] = 0.0


class Verdict(FlatEvaluator):
    """Calls every position won for one color."""

    def __init__(self, winner: int) -> None:
        """Say who wins."""
        super().__init__()
        self.winner = winner
        self._to_play: dict[tuple[int, int], int] = {}

    def encode(self, batch: EvalBatch, slot: int, history: History, ply: int, *rest: Any) -> None:
        """Remember who is to move."""
        super().encode(batch, slot, history, ply, *rest)
        self._to_play[id(batch.spatial), slot] = int(history.turns[ply]["to_play"])

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in 0.95 for the winner, without any opinion on points."""
        super().evaluate(batch, n, use_cache=use_cache)
        for slot in range(n):
            is_winner = self._to_play[id(batch.spatial), slot] == self.winner
            batch.value[slot] = 0.95 if is_winner else -0.95
            batch.ownership[slot] = 0.0
