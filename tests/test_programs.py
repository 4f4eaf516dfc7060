"""The programs as processes: what happens where nobody can read what they print."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
