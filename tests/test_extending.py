"""The guide to extending the engine: each change made in a copy of the source, and tried there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import ROOT, TINY_NET

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
CHAPTERS = {text.partition("\n")[0]: text for text in PAGE.split("\n## ")[1:]}

WHERE = r"At the end of|In a new file|After `(?P<after>[^`]+)` in|In place of `(?P<old>[^`]+)` in"
PATCH = re.compile(
    rf"^(?P<how>{WHERE}) `(?P<path>[^`]+)`:\n\n```python\n(?P<code>.*?)```$",
    re.DOTALL | re.MULTILINE,
)
TRIED = re.compile(r"^```console\n\$ ([^\n]*)\n(.*?)```$", re.DOTALL | re.MULTILINE)
TALK = re.compile(r"^```pycon\n(.*?)```$", re.DOTALL | re.MULTILINE)


def change(root: Path, patch: re.Match[str]) -> None:
    """Make one of the guide's changes in a copy of the source."""
    file = root / patch["path"]
    code = patch["code"]
    if patch["how"] == "In a new file":
        assert not file.exists()
        file.write_text(code, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    line = patch["after"] or patch["old"]
    if patch["how"] == "At the end of":
        text += code
    else:
        assert text.count(line) == 1, f"{line} stands in {file} {text.count(line)} times"
        new = f"{line}\n{code.removesuffix(chr(10))}" if patch["after"] else code.removesuffix("\n")
        text = text.replace(line, new)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The source, with a net beside it."""
    for folder in ("engine", "export"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(TINY_NET, tmp_path / "tiny.onnx")
    (tmp_path / "models").symlink_to(ROOT / "models")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="the examples are typed into a POSIX shell")
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_guide_works(chapter: str, copy: Path) -> None:
    text = CHAPTERS[chapter]
    for patch in PATCH.finditer(text):
        change(copy, patch)
    paths = os.pathsep.join(str(copy / folder) for folder in ("engine", "export"))
    # Interpreted: what was changed would be compiled anew, with all that calls it.
    settings = {**os.environ, "PYTHONPATH": paths, "NUMBA_DISABLE_JIT": "1"}
    tried = 0

    def output(command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=copy,
            env=settings,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for command, said in TRIED.findall(text):
        engine = f"{shlex.quote(sys.executable)} -m gtp_engine"
        assert output(command.replace("| gtp-engine", f"| {engine}")) == said
        tried += 1
    for talk in TALK.findall(text):
        (copy / "talk.txt").write_text(talk, encoding="utf-8")
        assert output(f"{shlex.quote(sys.executable)} -m doctest talk.txt") == ""
        tried += 1
    assert tried


def test_every_change_of_the_guide_is_made() -> None:
    assert len(CHAPTERS) == 5
    code = sum(len(PATCH.findall(text)) for text in CHAPTERS.values())
    assert code == PAGE.count("```python")
