"""Game records analysed move by move, into a file of one answer a line.

The answers have the form of those to queries; their id is the record's file, with `#2` and so on
behind it for further games of the file. What the file holds already is not analysed again.
"""

import errno
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.net_evaluator import NetEvaluator, RawEvaluation
from gtp_engine.files import open_regular
from gtp_engine.frontends.analysis.analyst import format_line
from gtp_engine.frontends.analysis.answer import answer
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.query import Query, Wanted
from gtp_engine.go.game_record import GameRecord, SgfError
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.sgf import list_game_files, read_games
from gtp_engine.play.analysis_scheduler import AnalysisRequest, AnalysisScheduler
from gtp_engine.play.settings import customary_komi
from gtp_engine.search.analysis import Analysis

logger = logging.getLogger(__name__)

_ANSWER = b'{"id":'
"""What answers begin with."""

Done = frozenset[tuple[str, int]]
"""Id and turn of positions that need no analysis any more."""


def game_files(path: Path, complain: Callable[[str], None]) -> list[Path]:
    """Return a file itself, or the game files of a folder, which should have some."""
    found = list_game_files(path)
    if not found:
        complain(f"{path}: there is no game in it")
    return found


def playable_games(
    files: Sequence[Path], complain: Callable[[str], None]
) -> Iterator[tuple[str, GameRecord]]:
    """Yield the games that can be played over, each with its id; without a komi, with the usual."""
    for file in files:
        for number, record in enumerate(read_games(file, complain), 1):
            identity = str(file) if number == 1 else f"{file}#{number}"
            if record.komi is None:
                rules = record.rules or Rules()
                record.komi = customary_komi(
                    rules, record.width, record.height, has_handicap=record.has_handicap
                )
            try:
                record.position()
            except SgfError as error:
                complain(f"{identity}: {error}")
            else:
                yield identity, record


class OutputFile:
    """Answers of this run and earlier ones, one a line."""

    def __init__(self, path: Path) -> None:
        """Open a file to add to it; an answer that was cut off half-way is removed.

        Raises:
            OSError: It cannot be read or written, or holds something else.
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
            if whole == 0 and not (line.startswith(_ANSWER) or _ANSWER.startswith(line)):
                raise OSError(errno.EINVAL, "holds something else than answers")
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


def analyse_records(
    scheduler: AnalysisScheduler,
    files: Sequence[Path],
    output: OutputFile,
    settings: AnalysisSettings,
    on_position: Callable[[], object],
) -> int:
    """Analyse all positions that a file has no answer about, a few ahead of what is searched.

    Games that cannot be played over are passed by, and what is broken off leaves no half answers.

    Args:
        scheduler: Searches; it is closed in the end.
        output: Gets the answers, and knows what was done earlier.
        on_position: Called for each position that is done with, from any thread.

    Returns:
        How many positions could not be analysed; why is told once a game.

    Raises:
        OSError: An answer cannot be written.
    """
    evaluator = scheduler.evaluator
    net = evaluator if isinstance(evaluator, NetEvaluator) else None
    is_human = net is not None and net.takes_profile
    room = threading.Semaphore(2 * scheduler.at_once)
    is_broken_off = threading.Event()
    failures: list[Exception] = []
    refused: list[int] = []
    told: set[tuple[str, str]] = set()

    def submit(identity: str, record: GameRecord, turn: int) -> None:
        position = record.position(before_move=turn + 1)
        size, wanted = (position.width, position.height), Wanted(pv_length=settings.pv_length + 1)
        query = Query(identity, *size, position.rules, settings=settings, wanted=wanted)
        raw: RawEvaluation | None = None

        def begin() -> Position:
            nonlocal raw
            if net is not None:
                optimism = settings.params.root_policy_optimism
                raw = net.raw_evaluation(position, 0, optimism, remember=True)
            return position

        def end(found: Analysis | Exception | None) -> None:
            try:
                if is_broken_off.is_set() or failures or found is None:
                    return
                if isinstance(found, Exception):
                    refused.append(turn)
                    if (identity, str(found)) not in told:
                        told.add((identity, str(found)))
                        logger.warning(f"{identity}, turn {turn}: {found}")
                else:
                    output.write(answer(query, turn, position, found, None, raw, is_human))
                on_position()
            except Exception as error:  # a full disk, for instance
                failures.append(error)
            finally:
                room.release()

        request = AnalysisRequest(begin, end, settings.limits, settings.params, wanted)
        scheduler.submit(request)

    try:
        for identity, record in playable_games(files, lambda sentence: None):
            for turn in range(len(record.moves) + 1):
                if (identity, turn) not in output.done:
                    room.acquire()
                    if failures:
                        raise failures[0]
                    submit(identity, record, turn)
        scheduler.wait()
        if failures:
            raise failures[0]
    except BaseException:
        is_broken_off.set()
        raise
    finally:
        scheduler.close()
    return len(refused)
