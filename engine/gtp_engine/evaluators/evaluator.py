"""What a search asks of whatever judges positions."""

from collections.abc import Sequence
from typing import Any, Protocol

from gtp_engine.evaluators.eval_batch import EvalBatch, average_slots, new_eval_batch
from gtp_engine.go.history import History
from gtp_engine.go.position import Position
from gtp_engine.go.rules import RuleFlags


class Evaluator(Protocol):
    """Turns positions into policy, value, score and ownership. Safe to use from many threads."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    @property
    def has_ownership(self) -> bool:
        """Whether it fills in ownership."""

    @property
    def has_optimism(self) -> bool:
        """Whether it has an optimistic policy besides, so that `optimism` makes a difference."""

    def new_batch(self, slots: int, width: int, height: int) -> EvalBatch:
        """Return a batch for boards of this size.

        Raises:
            NetFileError: The net does not take this size.
        """

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
        """Fill a slot's inputs and legal moves from the position at a ply.

        Args:
            batch: The batch.
            slot: Which of its slots.
            history: The game and the path to the position.
            ply: The position.
            rules: The rules.
            symmetry: 0..7, under which a net is shown the position.
            optimism: Share of an optimistic policy to mix in, where there is one.
        """

    def suggest(self, threads: int | None, batch: int | None) -> tuple[int, int]:
        """Return the workers of one search and the leaves of each; given numbers stay."""

    def recall(self, batch: EvalBatch, first: int, n: int) -> Sequence[int]:
        """Fill in the results of n slots where they are remembered; return the other slots."""

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the results of the first n slots; may block while others' batches run.

        Raises:
            NetFileError: The net failed.
        """


class NetlessEvaluator:
    """What evaluators have in common that judge positions without a net's inputs."""

    has_ownership = False
    has_optimism = False

    def new_batch(self, slots: int, width: int, height: int) -> EvalBatch:
        """Return a batch for boards of this size."""
        return new_eval_batch(slots, width, height, 0, 0, self.has_ownership)

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
        """Judge a position; symmetry and optimism change nothing."""
        self._judge(batch, slot, history, ply, rules)

    def _judge(self, *leaf: Any) -> None:
        """Fill a slot, results and all; the leaf is what `encode` takes before the symmetry."""
        raise NotImplementedError

    def suggest(self, threads: int | None, batch: int | None) -> tuple[int, int]:
        """Return the workers of one search and the leaves of each: 1 where they are not given."""
        return threads or 1, batch or 1

    def recall(self, batch: EvalBatch, first: int, n: int) -> Sequence[int]:
        """Return all n slots: nothing is remembered."""
        return range(first, first + n)

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Leave the slots as they are: `encode` has said it all."""


def encode_positions(
    evaluator: Evaluator,
    positions: Sequence[Position],
    symmetries: Sequence[int],
    *,
    optimism: float = 0.0,
    batch: EvalBatch | None = None,
) -> EvalBatch:
    """Return a batch whose first slots are these positions, for `evaluate` to judge.

    Args:
        evaluator: Whom to ask.
        positions: All of one board size, one at least.
        symmetries: 0..7, for each position.
        optimism: Share of an optimistic policy to mix in, where there is one.
        batch: To be used again; a new one of as many slots when None.

    Raises:
        NetFileError: The net does not take this size.
    """
    if batch is None:
        batch = evaluator.new_batch(len(positions), positions[0].width, positions[0].height)
    for slot, (one, symmetry) in enumerate(zip(positions, symmetries, strict=True)):
        evaluator.encode(batch, slot, one.history, one.ply, one.rules.flags, symmetry, optimism)
    return batch


def evaluate_symmetries(
    evaluator: Evaluator,
    batch: EvalBatch,
    history: History,
    ply: int,
    rules: RuleFlags,
    shown: Sequence[int],
    optimism: float,
) -> None:
    """Fill the first slot with the mean of what is said of one position under several symmetries.

    Args:
        evaluator: Whom to ask.
        batch: With a slot for each symmetry.
        history: The game and the path to the position.
        ply: The position.
        rules: The rules.
        shown: The symmetries, 0..7.
        optimism: Share of an optimistic policy to mix in, where there is one.

    Raises:
        NetFileError: The net failed.
    """
    for slot, symmetry in enumerate(shown):
        evaluator.encode(batch, slot, history, ply, rules, symmetry, optimism)
    # The cache would give one answer for all symmetries.
    evaluator.evaluate(batch, len(shown), use_cache=False)
    average_slots(batch, len(shown))
