"""One search under way."""

import threading
import time

from gtp_engine.search.analysis import Analysis
from gtp_engine.search.choice import Child, ranked, visited_children
from gtp_engine.search.playout import RunTerms, Worker
from gtp_engine.search.reporting import analyze
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.root import has_own_priors
from gtp_engine.search.shared_tree import SharedTree
from gtp_engine.search.tree import moves_by_prior, white_lead_at


class Run:
    """One search under way, which whoever holds it carries on: `step` until `is_over`, then `end`.

    Where a step or a report raises an exception, `abandon` takes the place of `end`.
    """

    def __init__(
        self, shared: SharedTree, workers: list[Worker], terms: RunTerms, report: ReportRequest
    ) -> None:
        """Evaluate the root, unless it is known, and set the other workers to work.

        Args:
            workers: The first works when it is stepped, the others in threads of their own.

        Raises:
            NetFileError: The net failed; the run is to be abandoned.
        """
        self.leader = workers[0]
        """The worker that `step` lets work."""
        self.terms = terms
        self.shared = shared
        self._report = report
        self._helpers: list[threading.Thread] = []
        self._error: Exception | None = None
        first = report.interval if report.first_after is None else report.first_after
        self._next_report = terms.stopping.started + first
        for worker in workers:
            worker.begin(terms)
        if not shared.is_root_expanded:
            self.leader.evaluate_root()
            terms.stopping.count(1)
        elif has_own_priors(terms.params, self.leader.evaluator) and not self.is_over:
            self.leader.renew_root()
        center = white_lead_at(shared.tree, shared.root)
        terms.score = terms.params.score_around(center, terms.game.width * terms.game.height)
        try:
            for worker in workers[1:]:
                helper = threading.Thread(target=self._run_helper, args=(worker,), daemon=True)
                helper.start()
                self._helpers.append(helper)
        except BaseException:  # such as when the system has no thread left
            self._join_helpers()
            raise

    def _run_helper(self, worker: Worker) -> None:
        try:
            while not self.is_over:
                worker.step()
        except Exception as error:
            self._error = error
            self.terms.stopping.end()

    @property
    def is_over(self) -> bool:
        """Whether no other playout may start."""
        return self.terms.stopping.is_met()

    def step(self) -> None:
        """Let the leader make a batch of playouts, and report what is due.

        Raises:
            NetFileError: The net failed.
        """
        self.leader.step()
        self.attend()

    def attend(self) -> None:
        """Report, and look whether the choice is still in doubt, between two steps."""
        if self._report.callback is not None and time.perf_counter() >= self._next_report:
            self._next_report = time.perf_counter() + self._report.interval
            self._report.callback(self.analysis())
        if self.terms.stopping.is_look_due():
            with self.shared.lock:
                n_moves = len(moves_by_prior(self.shared.tree, self.shared.root))
                self.terms.stopping.look(ranked(self.children(), self.terms.params), n_moves)

    def end(self) -> Analysis:
        """Return what was found, and report it.

        Raises:
            NetFileError: The net failed in another thread.
        """
        self._join_helpers()
        if self._error is not None:
            self.shared.clear()
            raise self._error
        final = self.analysis(is_final=True)
        if self._report.callback is not None:
            self._report.callback(final)
        return final

    def abandon(self) -> None:
        """Give up, and give up the tree: playouts in flight have left their marks in it."""
        self._join_helpers()
        self.shared.clear()

    def _join_helpers(self) -> None:
        self.terms.stopping.end()
        for helper in self._helpers:
            helper.join()
        self._helpers.clear()

    def children(self) -> list[Child]:
        """Return the root's visited children."""
        shared, terms = self.shared, self.terms
        return visited_children(shared.tree, shared.root, terms.score, terms.params)

    def analysis(self, *, is_final: bool = False) -> Analysis:
        """Return what has been found so far."""
        with self.shared.lock:
            return analyze(self.shared, self.terms, self._report, is_final=is_final)
