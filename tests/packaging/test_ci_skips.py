"""Where every tool is to be installed, a test that is left out for want of one fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"

TESTS = """
import pytest

def test_that_wants_a_tool():
    pytest.skip("there is no such tool")

def test_that_wants_data(reference_data):
    pass

@pytest.mark.skipif(True, reason="Windows has no such thing")
def test_of_another_platform():
    pass
"""

FILE_OF_TESTS = """
import pytest

pytest.importorskip("a_module_that_nobody_has")
"""


@pytest.mark.parametrize("is_ci", [True, False])
def test_a_skip_for_want_of_a_tool_fails(is_ci: bool, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_file.py").write_text(FILE_OF_TESTS)
    environment = {**os.environ, "CI": "true" if is_ci else ""}
    environment.pop("GTP_ENGINE_REFERENCE_DATA", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "."]
    command += ["--continue-on-collection-errors"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    if is_ci:
        assert "FAILED test_some.py::test_that_wants_a_tool" in done.stdout
        assert "ERROR test_file.py" in done.stdout
        assert "1 failed, 2 skipped, 1 error" in done.stdout
    else:
        assert done.returncode == 0 and "4 skipped" in done.stdout
