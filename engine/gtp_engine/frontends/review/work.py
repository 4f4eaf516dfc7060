"""Has the positions of reviews searched, many at once, and remembers what was found.

What a game's searches say is added to a file beside its review at once, so that a review that is
broken off goes on where it was. The file is removed once the review is written.
"""

import contextlib
import json
import os
import queue
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gtp_engine.files import open_regular
from gtp_engine.frontends.review.judgement import Judgement, Spot, judgement_of
from gtp_engine.frontends.review.stages import (
    Material,
    Stages,
    Wish,
    position_at,
    review_stages,
)
from gtp_engine.go.game_record import GameRecord
from gtp_engine.play.analysis_scheduler import AnalysisRequest, AnalysisScheduler
from gtp_engine.search.analysis import Analysis
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits

GAMES_AT_ONCE = 2
"""The last positions of a stage do not fill the machine alone; the next game's do."""
PV_LENGTH = 12
"""Moves of a variation that are kept."""


class SearchLog:
    """What was found out about a game so far, one search a line, in a file."""

    def __init__(self, path: Path | None, heading: dict[str, Any]) -> None:
        """Read what there is of the same game, net and visits; begin anew otherwise.

        Args:
            path: The file; need not exist. None: nothing is kept.
            heading: What must be equal for its lines to be of use.

        Raises:
            OSError: It cannot be read or written.
        """
        self.found: dict[Wish, Judgement] = {}
        self._path = path
        lines = list(_whole_lines(path)) if path is not None and path.exists() else []
        # Written again: the last line may have been cut off.
        name = path or os.devnull
        self._file = open(name, "w", encoding="ascii", buffering=1)  # noqa: SIM115
        self._write(heading)
        for line in lines[1:] if lines[:1] == [heading] else []:
            with contextlib.suppress(KeyError, TypeError):  # something else has written it
                wish = Wish(Spot(line["turn"], line["instead"]), line["wanted"])
                self.add(wish, Judgement.from_json(line["judgement"]))

    def add(self, wish: Wish, judgement: Judgement) -> None:
        """Remember what a search found.

        Raises:
            OSError: It cannot be written.
        """
        self.found[wish] = judgement
        spot = wish.spot
        line = {"turn": spot.turn, "instead": spot.instead, "wanted": wish.visits}
        self._write({**line, "judgement": asdict(judgement)})

    def close(self, *, remove: bool) -> None:
        """Close the file; remove it if the review is written."""
        self._file.close()
        if remove and self._path is not None:
            self._path.unlink(missing_ok=True)

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _whole_lines(path: Path) -> Iterable[dict[str, Any]]:
    """Yield the lines of a log up to one that is damaged or was cut off."""
    with open_regular(path) as file:
        for line in file:
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                return
            if not (line.endswith(b"\n") and isinstance(found, dict)):
                return
            yield found


@dataclass(eq=False)
class ReviewTask:
    """A game on its way to its review."""

    record: GameRecord
    visits: int
    log: SearchLog
    failure: Exception | None = None
    """Why there is no review."""
    wanted: list[Wish] = field(default_factory=list)
    """Of the stage under way."""
    n_open: int = 0
    """How many of them are still searched."""

    def __post_init__(self) -> None:
        """Begin the first stage."""
        self.stages: Stages = review_stages(self.record, self.visits)
        self.wanted = next(self.stages)
        self.make = position_at(self.record)


def run_reviews(
    scheduler: AnalysisScheduler,
    tasks: Iterable[ReviewTask],
    on_search: Callable[[ReviewTask, Wish], None],
    on_end: Callable[[ReviewTask, Material | None], None],
) -> None:
    """Carry out reviews, a few games at a time, in order.

    Args:
        scheduler: Searches; it is closed in the end.
        tasks: The games; each is taken when its turn comes.
        on_search: Called for every search that is done, or was done in an earlier run.
        on_end: Called for every game with what was found, or None where its `failure` says why
            there is nothing.

    Raises:
        OSError: A log cannot be written.
    """
    found: queue.SimpleQueue[tuple[ReviewTask, Wish, Analysis | Exception | None]]
    found = queue.SimpleQueue()
    waiting = iter(tasks)
    under_way: set[ReviewTask] = set()

    def submit(task: ReviewTask) -> None:
        missing = [wish for wish in task.wanted if wish not in task.log.found]
        for wish in task.wanted:
            if wish in task.log.found:
                on_search(task, wish)
        task.n_open = len(missing)
        for wish in missing:
            scheduler.submit(_request(task, wish, found.put))

    def advance(task: ReviewTask) -> None:
        """Go on to the next stage that has anything to search."""
        while not task.n_open:
            if task.failure is not None:
                under_way.discard(task)
                on_end(task, None)
                return
            try:
                answer = {wish: task.log.found[wish] for wish in task.wanted}
                task.wanted = task.stages.send(answer)
            except StopIteration as end:
                under_way.discard(task)
                on_end(task, end.value)
                return
            submit(task)

    try:
        while True:
            while len(under_way) < GAMES_AT_ONCE and (task := next(waiting, None)) is not None:
                under_way.add(task)
                submit(task)
                advance(task)
            if not under_way:
                return
            task, wish, result = found.get()
            task.n_open -= 1
            if isinstance(result, Analysis):
                task.log.add(wish, judgement_of(result))
            else:
                task.failure = result or RuntimeError("the search was stopped")
            on_search(task, wish)
            advance(task)
    finally:
        scheduler.close()


def _request(
    task: ReviewTask,
    wish: Wish,
    put: Callable[[tuple[ReviewTask, Wish, Analysis | Exception | None]], None],
) -> AnalysisRequest:
    return AnalysisRequest(
        position=lambda: task.make(wish.spot),
        on_end=lambda result: put((task, wish, result)),
        limits=Limits(visits=wish.visits),
        report=ReportRequest(ownership=True, pv_length=PV_LENGTH),
    )
