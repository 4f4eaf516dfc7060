"""Game records analysed into a file: what happens when the file cannot be written any more."""

import errno
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.analysis_client import TIMEOUT

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.records import OutputFile, analyse_records, playable_games
from gtp_engine.play.analysis_scheduler import AnalysisScheduler


class BreakingFile(OutputFile):
    """Has room for one answer."""

    def __init__(self, path: Path, failure: Exception) -> None:
        super().__init__(path)
        self._failure = failure
        self._n_written = 0

    def write(self, found: dict[str, Any]) -> None:
        """Add an answer, or fail."""
        if self._n_written:
            raise self._failure
        self._n_written += 1
        super().write(found)


def test_records_without_a_komi_have_the_usual_one(tmp_path: Path) -> None:
    game = tmp_path / "game.sgf"
    even, handicap = "(;SZ[9])(;SZ[9]RU[japanese])(;SZ[13])(;SZ[9]KM[0])", "SZ[9]AB[cc][gg]"
    game.write_text(f"{even}(;{handicap}HA[2])(;{handicap})(;{handicap}KM[6])(;{handicap}AW[gc])")
    games = [record for _, record in playable_games([game], pytest.fail)]
    assert [record.position().komi for record in games] == [7, 6.5, 7.5, 0, 0.5, 0.5, 6, 7]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), ValueError("NaN")])
def test_an_answer_that_cannot_be_written_ends_the_analysis(
    tmp_path: Path, failure: Exception
) -> None:
    game = tmp_path / "game.sgf"
    game.write_text("(;GM[1]SZ[5]" + "".join(f";B[{x}{y}]" for x in "abcd" for y in "abcde") + ")")
    output = BreakingFile(tmp_path / "out.jsonl", failure)
    settings = AnalysisSettings().with_limits(visits=2)
    scheduler = AnalysisScheduler(FakeEvaluator(), at_once=2)
    failures: list[Exception] = []

    def analyse() -> None:
        try:
            analyse_records(scheduler, [game], output, settings, lambda: None)
        except (OSError, ValueError) as error:
            failures.append(error)

    analysing = threading.Thread(target=analyse, daemon=True)
    analysing.start()
    analysing.join(TIMEOUT)
    assert failures == [failure]
    output.close()
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 1


def test_positions_that_cannot_be_analysed_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(FakeEvaluator):
        def new_batch(self, slots: int, width: int, height: int) -> EvalBatch:
            if width == 5:
                raise NetFileError("the net does not play on 5x5")
            return super().new_batch(slots, width, height)

    games = []
    for size in (5, 6):
        games.append(tmp_path / f"{size}.sgf")
        games[-1].write_text(f"(;GM[1]SZ[{size}];B[aa];W[bb])")
    output = OutputFile(tmp_path / "out.jsonl")
    settings = AnalysisSettings().with_limits(visits=2)
    scheduler = AnalysisScheduler(Refusing(), at_once=2)
    done: list[None] = []
    assert analyse_records(scheduler, games, output, settings, lambda: done.append(None)) == 3
    output.close()
    assert len(done) == 6
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 3
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "the net does not play on 5x5"
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_answers_go_into_a_regular_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(OSError, match="not a regular file"):
            OutputFile(path)


@pytest.mark.parametrize("content", [b"(;GM[1]KM[7.5];B[aa])", b"some words\n", b'{"x":1'])
def test_a_file_of_something_else_is_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_bytes(content)
    with pytest.raises(OSError, match="something else than answers"):
        OutputFile(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"{", b'{"id":"a","turnN'])
def test_a_first_answer_that_was_cut_off_is_removed(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(content)
    OutputFile(path).close()
    assert path.read_bytes() == b""


def test_what_is_done_is_known_line_by_line_and_a_cut_line_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    whole = b'{"id":"a","turnNumber":3}\nnoise\n' + b"[" * 10**5 + b"\n"
    path.write_bytes(whole + b'{"id":"a","turnNu')
    output = OutputFile(path)
    output.close()
    assert output.done == {("a", 3)} and path.read_bytes() == whole
