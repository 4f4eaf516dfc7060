"""Game records analysed move by move, into a file of one answer a line.

The answers have the form of those to queries; their id is the record's file, with `#2` and so on
behind it for further games of the file. What the file holds already is not analysed again.
"""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gtp_engine.files import open_regular
from gtp_engine.frontends.analysis.analyst import format_line
from gtp_engine.frontends.analysis.answer import answer
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.query import Query
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import Position
from gtp_engine.go.sgf import list_game_files, read_games
from gtp_engine.play.analysis_scheduler import AnalysisRequest, AnalysisScheduler
from gtp_engine.search.analysis import Analysis

logger = logging.getLogger(__name__)

Done = frozenset[tuple[str, int]]
"""Id and turn of positions that need no analysis any more."""


@dataclass
class Survey:
    """What there is to do."""

    files: list[Path] = field(default_factory=list)
    positions: int = 0
    done: int = 0
    """Positions that were analysed earlier."""
    problems: int = 0
    """Games and files that cannot be read."""


def survey_records(paths: Sequence[Path], done: Done) -> Survey:
    """Look through all records; a sentence is logged for each that cannot be used."""
    survey = Survey(files=[file for path in paths for file in list_game_files(path)])

    def count(sentence: str) -> None:
        survey.problems += 1
        logger.warning(sentence)

    for identity, record in playable_games(survey.files, count):
        survey.positions += len(record.moves) + 1
        survey.done += sum((identity, turn) in done for turn in range(len(record.moves) + 1))
    return survey


def playable_games(
    files: Sequence[Path], complain: Callable[[str], None]
) -> Iterator[tuple[str, GameRecord]]:
    """Yield the games that can be played over, each with its id."""
    for file in files:
        n_games = n_complaints = 0

        def complain_of(sentence: str) -> None:
            nonlocal n_complaints
            n_complaints += 1
            complain(sentence)

        for record in read_games(file, complain_of):
            n_games += 1
            identity = str(file) if n_games == 1 else f"{file}#{n_games}"
            try:
                record.position()
            except SgfError as error:
                complain(f"{identity}: {error}")
            else:
                yield identity, record
        if not (n_games or n_complaints):
            complain(f"{file}: there is no SGF game in it")


class OutputFile:
    """Answers of this run and earlier ones, one a line."""

    def __init__(self, path: Path) -> None:
        """Open a file to add to it; an answer that was cut off half-way is removed.

        Raises:
            OSError: It cannot be read or written.
        """
        self._guard = threading.Lock()
        self.done = _read_done(path)
        self._file = path.open("a", encoding="ascii", buffering=1)

    def write(self, found: dict[str, Any]) -> None:
        """Add an answer, from any thread."""
        with self._guard:
            self._file.write(format_line(found))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _read_done(path: Path) -> Done:
    if not path.exists():
        return frozenset()
    done = set()
    whole = 0
    with open_regular(path) as file:
        for line in file:
            if not line.endswith(b"\n"):
                os.truncate(path, whole)
                break
            whole += len(line)
            try:
                found = json.loads(line)
                done.add((str(found["id"]), int(found["turnNumber"])))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # not ours, and none of our business
    return frozenset(done)


class RecordAnalysis:
    """Feeds records to a scheduler, a few positions ahead of what is searched."""

    def __init__(
        self,
        scheduler: AnalysisScheduler,
        output: OutputFile,
        settings: AnalysisSettings,
        on_position: Callable[[], None],
    ) -> None:
        """Prepare.

        Args:
            scheduler: Searches.
            output: Gets the answers, and knows what was done earlier.
            settings: Limits and perspective.
            on_position: Called for each position that was analysed.
        """
        self._scheduler = scheduler
        self._output = output
        self._settings = settings
        self._on_position = on_position
        self._room = threading.Semaphore(2 * scheduler.at_once)
        self._is_broken_off = False
        self._failure: Exception | None = None
        """Why answers cannot be written any more."""

    def run(self, files: Sequence[Path]) -> None:
        """Analyse all positions of these files; what is broken off leaves no half answers.

        Raises:
            OSError: An answer cannot be written.
        """
        try:
            for identity, record in playable_games(files, lambda sentence: None):
                for turn in range(len(record.moves) + 1):
                    if (identity, turn) not in self._output.done:
                        self._room.acquire()
                        self._check()
                        self._submit(identity, record, turn)
            self._scheduler.wait()
            self._check()
        except BaseException:
            self._is_broken_off = True
            raise
        finally:
            self._scheduler.close()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _submit(self, identity: str, record: GameRecord, turn: int) -> None:
        position = record.position(before_move=turn + 1)

        def end(found: Analysis | Exception | None) -> None:
            try:
                if self._is_broken_off or self._failure is not None or found is None:
                    return
                if isinstance(found, Exception):
                    logger.warning(f"{identity}, turn {turn}: {found}")
                else:
                    self._output.write(self._answer(identity, turn, position, found))
                self._on_position()
            except Exception as error:  # a full disk, for instance; `run` raises it
                self._failure = error
            finally:
                self._room.release()

        self._scheduler.submit(
            AnalysisRequest(
                position=lambda: position,
                on_end=end,
                limits=self._settings.limits,
                params=self._settings.params,
            )
        )

    def _answer(
        self, identity: str, turn: int, position: Position, found: Analysis
    ) -> dict[str, Any]:
        query = Query(
            id=identity,
            width=position.width,
            height=position.height,
            rules=position.rules,
            settings=self._settings,
        )
        return answer(query, turn, position, found, policy=None)
