"""Several searches advanced by one thread, a step of each at a time, with one evaluation for all.

A tree that is searched one leaf at a time wastes no playout, but a net that is asked for one
position at a time wastes what every call costs. The leaves of different trees make one batch.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.search.search import Search


class _Share(NamedTuple):
    """The slots of a batch that one search has filled."""

    search: Search
    first: int
    n: int


class Lockstep:
    """The batches that a thread's searches share."""

    def __init__(self, evaluator: Evaluator) -> None:
        """Serve searches that use this evaluator."""
        self._evaluator = evaluator
        self._batches: dict[tuple[int, int], EvalBatch] = {}
        """By width and height."""

    def step(self, searches: Sequence[Search]) -> dict[Search, Exception]:
        """Make a step of each search that has begun and goes on, and report what is due.

        Returns:
            Those that failed, and why. They are to be abandoned; the others know nothing of it.
        """
        alike: dict[tuple[tuple[int, int], bool], list[Search]] = defaultdict(list)
        for search in searches:
            alike[search.size, search.params.use_cache].append(search)
        failures: dict[Search, Exception] = {}
        for (size, use_cache), members in alike.items():
            batch = self._batch(size, sum(search.leader.slots for search in members))
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
        searches: list[Search],
        batch: EvalBatch,
        use_cache: bool,
        failures: dict[Search, Exception],
    ) -> None:
        """Make a step of searches whose leaves fit into one batch."""
        shares: list[_Share] = []
        filled = 0
        for search in searches:
            try:
                n = search.leader.open_leaves(batch, filled)
            except Exception as error:  # such as want of memory for a larger tree
                failures[search] = error
                continue
            shares.append(_Share(search, filled, n))
            filled += n
        if filled:
            self._evaluate(batch, shares, use_cache, failures)
        for search, first, n in shares:
            if search not in failures:
                try:
                    if n:
                        search.leader.close_leaves(batch, first, n)
                    search.attend()
                except Exception as error:  # of whoever hears the report
                    failures[search] = error

    def _evaluate(
        self,
        batch: EvalBatch,
        shares: list[_Share],
        use_cache: bool,
        failures: dict[Search, Exception],
    ) -> None:
        """Evaluate all shares together, or each by itself to find out whose are at fault."""
        try:
            filled = sum(share.n for share in shares)
            self._evaluator.evaluate(batch, filled, use_cache=use_cache)
        except Exception:
            for search, first, n in shares:
                part = EvalBatch._make(array[first : first + n] for array in batch)
                try:
                    if n:
                        self._evaluator.evaluate(part, n, use_cache=use_cache)
                except Exception as error:
                    failures[search] = error
