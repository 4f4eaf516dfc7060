"""The documentation as a site: `sphinx-build -W -c docs . build/site` (extra `docs`).

Its sources are the pages as they lie in the project, so that links are the same here and there.
"""

import shutil
from pathlib import Path

from sphinx.application import Sphinx

from gtp_engine import __version__

project = "gtp-engine"
release = __version__
extensions = ["myst_parser", "sphinxcontrib.mermaid"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md", "models/*.md"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
html_theme = "furo"
html_title = f"gtp-engine {release}"
html_copy_source = False
linkcheck_ignore = [r"https?://(10\.|127\.|localhost|example\.)"]

CHAPTERS = {
    "Play": ["docs/play", "docs/web", "docs/clients/*", "docs/gtp", "docs/time", "docs/manners"],
    "Study": ["docs/review", "docs/analysis", "docs/five"],
    "Nets": ["docs/nets", "docs/training", "docs/learning", "models/*"],
    "Program": ["docs/python", "docs/extending", "docs/architecture", "CONTRIBUTING", "CHANGELOG"],
    "Measured": ["docs/experiments/*"],
}


def _add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Give README the table of contents that a site has at its side."""
    if page != root_doc:
        return
    for caption, pages in CHAPTERS.items():
        lines = [
            "",
            "```{toctree}",
            ":hidden:",
            ":glob:",
            f":caption: {caption}",
            "",
            *pages,
            "```",
        ]
        source[0] += "\n".join(lines) + "\n"


def _make_first_page(app: Sphinx, error: Exception | None) -> None:
    """Let README be what a visitor of the folder sees."""
    readme = Path(app.outdir) / "README.html"
    if error is None and readme.exists():
        shutil.copy(readme, readme.with_name("index.html"))


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _make_first_page)
