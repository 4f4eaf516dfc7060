"""The programs as processes: where nobody can read what they print, and where memory lacks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gtp_engine.messages import run_program

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [["gtp_engine", "--help"], ["gtp_engine", "perft", "--help"], ["gtp_export", "--help"]]
)
def test_help_for_a_full_device_is_a_sentence(words: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [sys.executable, "-m", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            text=True,
            timeout=60,
        )
    program = words[0].replace("_", "-")
    assert (found.returncode, found.stderr) == (1, f"{program}: No space left on device\n")


WRITER = """
from pathlib import Path
from gtp_engine.files import write_whole
from gtp_engine.messages import run_program

run_program("gtp-engine", lambda words: write_whole(Path("/proc/games"), ""))
"""


def test_a_file_that_cannot_be_written_is_named() -> None:
    found = subprocess.run([sys.executable, "-c", WRITER], capture_output=True, text=True)
    assert re.fullmatch(r"gtp-engine: /proc/games: [A-Z][a-z ]+\n", found.stderr)


def test_a_lack_of_memory_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program("gtp-engine", lambda words: len(bytearray(1 << 60))) == 1
    assert capsys.readouterr().err == "gtp-engine: memory is exhausted\n"


def test_a_library_that_cannot_be_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    def run(words: list[str]) -> int:
        raise ImportError("\nNumba needs NumPy 2.4 or less.\nGot NumPy 2.9.")

    def run_with_a_mistake(words: list[str]) -> int:
        from gtp_engine import nothing_like_it  # noqa: F401

        return 0

    with pytest.raises(ImportError):
        run_program("gtp-engine", run_with_a_mistake)
    assert run_program("gtp-engine", run) == 1
    assert re.fullmatch(
        r"gtp-engine: a library cannot be loaded \(Numba needs .*\): install .*\n",
        capsys.readouterr().err,
    )
