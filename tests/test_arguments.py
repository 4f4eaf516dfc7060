"""What the words of a command line are checked for."""

import math
import os
import sys
from pathlib import Path

import pytest

from gtp_engine.arguments import UsageError, check_file, parse_number


def test_a_file_that_can_be_written_is_as_it_was(tmp_path: Path) -> None:
    there, missing = tmp_path / "there", tmp_path / "missing"
    there.write_text("old")
    check_file(there, "--out")
    check_file(missing, "--out")
    assert there.read_text() == "old"
    assert not missing.exists()


def test_a_file_that_cannot_be_written_gets_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no folder" / "file"):
        with pytest.raises(UsageError, match=r"^--out: "):
            check_file(path, "--out")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows grants links to few, and has no pipes")
def test_links_and_pipes_stay(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    check_file(link, "--out")
    assert link.is_symlink()
    assert not target.exists()

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_file(pipe, "--out")  # which would wait for a reader, and send it away


def test_numbers() -> None:
    assert parse_number("1e3") == 1000
    for word in ("nan", "inf", "1_0", "x", ""):
        assert math.isnan(parse_number(word))
