"""A teacher that searches before it answers: slower, and stronger than its net alone."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from gtp_engine.coords import point_to_action
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.runtimes.sessions import AUTO
from gtp_engine.go.position import Position
from gtp_engine.play.analysis_scheduler import LEAVES_A_STEP, AnalysisRequest, AnalysisScheduler
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits
from gtp_export.architectures.tower import SCORE_COLUMNS
from gtp_export.labelling.teacher import Labels, Teacher

_MEAN, _STDEV, _LEAD = (SCORE_COLUMNS.index(name) for name in ("score_mean", "score_stdev", "lead"))


class SearchingTeacher(Teacher):
    """A net that labels positions with what a short search makes of them.

    The policy is the share of the visits that each move got, as in Silver et al. 2017, "Mastering
    the game of Go without human knowledge"; value, lead and ownership are the means over the tree.
    All searches of a call share one batcher.
    """

    def __init__(self, path: Path, playouts: int, runtime: str = AUTO) -> None:
        """Open the net.

        Args:
            playouts: Of each search, at least 2: the first is the position itself.

        Raises:
            NetFileError: As for `Teacher`.
        """
        super().__init__(path, runtime=runtime)
        self._limits = Limits(playouts=playouts)
        evaluator = NetEvaluator(self.net, streams=1, max_batch=LEAVES_A_STEP)
        self._scheduler = AnalysisScheduler(evaluator, threads=1, batch=1)
        self._found: list[Analysis] = []

    def label(self, positions: Sequence[Position]) -> Labels:
        """Search positions of one board size, of any rules and komi."""
        labels = super().label(positions)
        self._found = self._search(positions)
        for i, found in enumerate(self._found):
            width, height = found.width, found.height
            policy = labels.policy[i]
            policy[:] = 0.0
            for move in found.moves:
                policy[point_to_action(move.point, width, height)] = move.visits
            policy /= policy.sum()
            no_result = labels.value[i, 2]
            win = np.clip(found.winrate - 0.5 * no_result, 0.0, 1.0 - no_result)
            labels.value[i, :2] = win, 1.0 - no_result - win
            score = labels.score[i]
            score[_MEAN] += found.score_lead - score[_LEAD]
            score[_STDEV], score[_LEAD] = found.score_stdev, found.score_lead
            labels.ownership[i] = found.ownership
        return labels

    def draw_ahead(
        self, positions: Sequence[Position], count: int, generator: np.random.Generator
    ) -> list[Position]:
        """Draw positions that the searches of the last `label` looked at.

        A search prefers lines that its net thinks too well of, so its errors are found there. The
        positions lie on the best lines of moves drawn by their visits, at any depth.

        Args:
            positions: Those of that call.
            count: At most so many for each of them, no one twice.
        """
        ahead = []
        for position, found in zip(positions, self._found, strict=True):
            visits = np.array([move.visits for move in found.moves], np.float64)
            lines = set()
            for drawn in generator.choice(len(visits), count, p=visits / visits.sum()):
                line = found.moves[drawn].pv
                lines.add(line[: 1 + int(generator.integers(len(line)))])
            for line in sorted(lines):
                later = position.copy()
                for point in line:
                    if not later.is_over:  # searches may go on into encores
                        later.play(later.to_play, point)
                if not later.is_over:
                    ahead.append(later)
        return ahead

    def _search(self, positions: Sequence[Position]) -> list[Analysis]:
        """Return what searches find."""
        found: dict[int, Analysis | Exception | None] = {}
        for i, position in enumerate(positions):
            self._scheduler.submit(
                AnalysisRequest(
                    position=position.copy,
                    on_end=partial(found.__setitem__, i),
                    limits=self._limits,
                    report=ReportRequest(ownership=True),
                )
            )
        self._scheduler.wait()
        for answer in found.values():
            if isinstance(answer, Exception):
                raise answer
        return [cast(Analysis, found[i]) for i in range(len(positions))]  # nobody stops searches
