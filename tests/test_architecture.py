"""docs/architecture.md shows the code as it is."""

import re
import subprocess
import sys

from tests.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_rooms_and_arrows_are_drawn_as_they_are() -> None:
    """`scripts/draw_architecture --write` brings the page up to date."""
    script = ROOT / "scripts" / "draw_architecture"
    run = subprocess.run([sys.executable, str(script)], capture_output=True, check=True)
    drawing = run.stdout.decode().replace("\r\n", "\n")
    assert "gtp_engine.commands --> " in drawing and drawing in PAGE


def test_every_file_and_folder_named_is_there() -> None:
    named = set(re.findall(r"`(gtp_\w+/[\w/.]+)`", PAGE))
    assert len(named) > 40
    roots = [ROOT / "engine", ROOT / "export"]
    assert not [name for name in named if not any((root / name).exists() for root in roots)]


def test_every_name_of_code_is_there() -> None:
    """Such as `Engine.genmove`, or `decide`, in one of the files."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "engine").rglob("*.py")]
    sources += [path.read_text(encoding="utf-8") for path in (ROOT / "export").rglob("*.py")]
    text = "\n".join(sources)
    story = PAGE.split("## The life of a genmove")[1]
    names = {name.split(".")[-1] for name in re.findall(r"`([A-Za-z_.]+)`", story)}
    defined = set(re.findall(r"(?:def|class) (\w+)", text))
    assert names - {"resign"} <= defined
