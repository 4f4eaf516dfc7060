"""The documentation makes a site, and no link of it leads nowhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import ROOT


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """All that the site is made of, in a folder that a test may change."""
    pytest.importorskip("myst_parser")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / "models", tmp_path / "models", ignore=shutil.ignore_patterns("*.onnx"))
    for page in ROOT.glob("*.md"):
        shutil.copy(page, tmp_path)
    return tmp_path


def build(pages: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs",
        ".",
        "site",
    ]
    return subprocess.run(command, cwd=pages, capture_output=True, text=True)


def test_every_page_is_in_the_site_and_every_link_leads_somewhere(pages: Path) -> None:
    done = build(pages)
    assert (done.returncode, done.stderr) == (0, "")
    made = {page.relative_to(pages / "site") for page in pages.glob("site/**/*.html")}
    written = {page.relative_to(pages) for page in pages.glob("**/*.md")}
    assert {page.with_suffix(".html") for page in written} <= made
    first = (pages / "site" / "index.html").read_text()
    assert 'href="docs/nets.html"' in first and 'href="models/default.html"' in first


def test_links_that_lead_nowhere_are_named(pages: Path) -> None:
    links = ("docs/nowhere.md", "docs/nets.md#nothing", "docs/none.png")
    text = "".join(f"See [this]({link}).\n" for link in links)
    (pages / "README.md").write_text(f"# A page\n\n{text}")
    done = build(pages)
    assert done.returncode != 0
    for link in links:
        assert link.split("#")[-1] in done.stderr
