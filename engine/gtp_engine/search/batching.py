"""Batching across trees: one thread steps several searches, with one evaluation for all.

A tree that is searched one leaf at a time wastes no playout, but a net that is asked for one
position at a time wastes what every call costs. The leaves of different trees make one batch.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.search.run import Run


class _Share(NamedTuple):
    """The slots of a batch that one run has filled."""

    run: Run
    first: int
    n: int


class TreeBatcher:
    """The batches that a thread's runs share."""

    def __init__(self, evaluator: Evaluator) -> None:
        """Serve runs that use this evaluator."""
        self._evaluator = evaluator
        self._batches: dict[tuple[int, int], EvalBatch] = {}
        """By width and height."""

    def step(self, runs: Sequence[Run]) -> dict[Run, Exception]:
        """Make a step of each run that goes on, and report what is due.

        Returns:
            Those that failed, and why. They are to be abandoned; the others know nothing of it.
        """
        alike: dict[tuple[tuple[int, int], bool], list[Run]] = defaultdict(list)
        for run in runs:
            game = run.terms.game
            alike[(game.width, game.height), run.terms.params.use_cache].append(run)
        failures: dict[Run, Exception] = {}
        for (size, use_cache), members in alike.items():
            try:
                batch = self._batch(size, sum(run.leader.slots for run in members))
            except Exception as error:  # such as want of memory
                failures.update(dict.fromkeys(members, error))
                continue
            self._step_alike(members, batch, use_cache, failures)
        return failures

    def _batch(self, size: tuple[int, int], slots: int) -> EvalBatch:
        """Return a batch for boards of a size with at least so many slots."""
        batch = self._batches.get(size)
        if batch is None or len(batch.slots) < slots:
            batch = self._batches[size] = self._evaluator.new_batch(slots, *size)
        return batch

    def _step_alike(
        self,
        runs: list[Run],
        batch: EvalBatch,
        use_cache: bool,
        failures: dict[Run, Exception],
    ) -> None:
        """Make a step of runs whose leaves fit into one batch."""
        shares: list[_Share] = []
        filled = 0
        for run in runs:
            try:
                n = run.leader.fill(batch, filled)
            except Exception as error:  # such as want of memory for a larger tree
                failures[run] = error
                continue
            shares.append(_Share(run, filled, n))
            filled += n
        if filled:
            self._evaluate(batch, shares, use_cache, failures)
        for run, first, n in shares:
            if run not in failures:
                try:
                    if n:
                        run.leader.expand_and_back_up(batch, first, n)
                    run.attend()
                except Exception as error:  # of whoever hears the report
                    failures[run] = error

    def _evaluate(
        self,
        batch: EvalBatch,
        shares: list[_Share],
        use_cache: bool,
        failures: dict[Run, Exception],
    ) -> None:
        """Evaluate all shares together, or each by itself to find out whose are at fault."""
        try:
            filled = sum(share.n for share in shares)
            self._evaluator.evaluate(batch, filled, use_cache=use_cache)
        except Exception:
            for run, first, n in shares:
                part = EvalBatch._make(array[first : first + n] for array in batch)
                try:
                    if n:
                        self._evaluator.evaluate(part, n, use_cache=use_cache)
                except Exception as error:
                    failures[run] = error
