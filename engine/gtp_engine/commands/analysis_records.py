"""`gtp-engine analysis --sgf`: game records into a file, with a progress bar on stderr."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from gtp_engine.arguments import UsageError
from gtp_engine.commands.progress import shown_progress
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.records import (
    OutputFile,
    analyse_records,
    game_files,
    playable_games,
)
from gtp_engine.messages import INTERRUPTED_STATUS, counted
from gtp_engine.play.analysis_scheduler import AnalysisScheduler
from gtp_engine.play.loading import EngineUnavailableError, Loader
from gtp_engine.play.settings import Settings

logger = logging.getLogger(__name__)


def analyse_files(
    paths: Sequence[Path],
    out: Path,
    settings: Settings,
    analysis: AnalysisSettings,
    at_once: int | None,
) -> int:
    """Analyse every position of every record that the file has no answer about yet.

    Args:
        out: Gets the answers; may hold those of an earlier run.
        at_once: Positions under way at a time; None: as many as suit the device.

    Returns:
        The exit status: 0, 1 if a record or a position could not be used or the file not be
        written to its end, 130 if interrupted.

    Raises:
        UsageError: The file cannot be written, or there is no usable net.
    """
    try:
        output = OutputFile(out)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from None
    # A file that is named twice, or lies in a folder that is named too, is analysed once.
    problems: list[str] = []
    found = (file for path in paths for file in game_files(path, problems.append))
    files = list(dict.fromkeys(found))
    positions = done = 0
    for identity, record in playable_games(files, problems.append):
        turns = range(len(record.moves) + 1)
        positions += len(turns)
        done += sum((identity, turn) in output.done for turn in turns)
    for sentence in problems:
        logger.warning(sentence)
    if positions > done:
        scheduler = _open_scheduler(settings, at_once)
        started = time.perf_counter()
        with shown_progress("positions", positions, done=done) as advance:
            try:
                n_refused = analyse_records(scheduler, files, output, analysis, advance)
            except KeyboardInterrupt:
                logger.info(f"interrupted; the same command goes on where {out} ends")
                return INTERRUPTED_STATUS
            except OSError as error:
                logger.info(f"{out}: {error.strerror}; the same command goes on where it ends")
                return 1
        analysed = positions - done - n_refused
        logger.info(f"{counted(analysed, 'position')} in {time.perf_counter() - started:.0f} s")
        if n_refused:
            problems.append(f"{counted(n_refused, 'position')} could not be analysed")
            logger.warning(problems[-1])
    elif positions or not problems:
        logger.info(f"nothing to do: {out} has answers for all {positions} positions")
    output.close()
    return 1 if problems else 0


def _open_scheduler(settings: Settings, at_once: int | None) -> AnalysisScheduler:
    loader = Loader(settings)
    try:
        loader.wait_ready()
    except EngineUnavailableError as error:
        raise UsageError(str(error)) from None
    assert loader.evaluator is not None
    return AnalysisScheduler.for_settings(loader.evaluator, settings, at_once)
