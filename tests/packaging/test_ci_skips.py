"""Where every tool is to be installed, one that is missing fails the tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import ROOT

CONFTEST = ROOT / "tests" / "conftest.py"

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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such shell")
@pytest.mark.parametrize("is_ci", [True, False])
def test_what_cannot_be_installed_ends_the_check(is_ci: bool, tmp_path: Path) -> None:
    """Nothing can be installed here; without CI=true the check goes on to make an environment."""
    tools = tmp_path / "bin"
    for name, does in (
        ("apt-get", "echo no mirror; exit 1"),
        ("npm", "echo no registry; exit 1"),
        ("sleep", "exit 0"),
        ("python3", "echo made >&2; exit 7"),
    ):
        tools.mkdir(exist_ok=True)
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    check = tmp_path / "project" / ".ci" / "run"
    check.parent.mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", check)
    done = subprocess.run(
        ["bash", str(check)],
        env={"PATH": f"{tools}:/usr/bin:/bin", "CI": "true" if is_ci else ""},
        capture_output=True,
        text=True,
    )
    assert "could not be installed" in done.stderr
    assert (done.returncode, "made" in done.stderr) == ((1, False) if is_ci else (7, True))
    if not is_ci:
        assert "no registry" in done.stderr and "@sabaki/gtp could not" in done.stderr
