"""Game records analysed into a file: what happens when the file cannot be written any more."""

import errno
import threading
from pathlib import Path
from typing import Any

from tests.frontends.analysis_client import TIMEOUT

from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.frontends.analysis.overrides import AnalysisSettings
from gtp_engine.frontends.analysis.records import OutputFile, RecordAnalysis
from gtp_engine.play.position_pool import PositionPool


class FullDisk(OutputFile):
    """Has room for one answer."""

    def write(self, found: dict[str, Any]) -> None:
        """Add an answer, or fail."""
        if self.n_written:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.n_written += 1
        super().write(found)

    n_written = 0


def test_a_full_disk_ends_the_analysis(tmp_path: Path) -> None:
    game = tmp_path / "game.sgf"
    game.write_text("(;GM[1]SZ[5]" + "".join(f";B[{x}{y}]" for x in "abcd" for y in "abcde") + ")")
    output = FullDisk(tmp_path / "out.jsonl")
    settings = AnalysisSettings().with_limits(visits=2)
    pool = PositionPool(FakeEvaluator(), at_once=2)
    failures: list[OSError] = []

    def analyse() -> None:
        try:
            RecordAnalysis(pool, output, settings, lambda: None, lambda line: None).run([game])
        except OSError as error:
            failures.append(error)

    analysing = threading.Thread(target=analyse, daemon=True)
    analysing.start()
    analysing.join(TIMEOUT)
    assert [failure.errno for failure in failures] == [errno.ENOSPC]
    output.close()
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 1
