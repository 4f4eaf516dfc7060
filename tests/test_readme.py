"""What the README and other pages show is true."""

import ast
import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.paths import ROOT

import gtp_engine

README = ROOT / "README.md"
PAGES = [
    README,
    *(p for d in ("docs", "docs/clients", "models") for p in sorted(ROOT.glob(f"{d}/*.md"))),
]
REGISTRIES = {"gtp_engine": "gtp_engine.commands.registry", "gtp_export": "gtp_export.commands"}
"""What runs a program's command, by its package."""


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_python_examples_give_what_they_show(page: str) -> None:
    failures, tried = doctest.testfile(
        str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert tried > 5 and failures == 0


def test_the_names_for_programs_are_those_that_type_checkers_see() -> None:
    source = ast.parse(Path(gtp_engine.__file__).read_text())
    seen = {
        alias.name: node.module
        for check in source.body
        if isinstance(check, ast.If)
        for node in check.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module or "").startswith("gtp_engine.")
    }
    assert seen == gtp_engine._HOMES
    assert sorted(seen) == gtp_engine.__all__
    for name in gtp_engine.__all__:
        assert getattr(gtp_engine, name) is getattr(sys.modules[seen[name]], name)
        assert name in dir(gtp_engine)
    with pytest.raises(AttributeError, match="'gtp_engine' has no attribute 'Borad'"):
        gtp_engine.Borad  # noqa: B018  (asking is the test)


def test_importing_the_package_loads_nothing_more() -> None:
    program = "import sys, gtp_engine; sys.exit('numpy' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_option_named_exists() -> None:
    from gtp_engine.arguments import Parser
    from gtp_engine.commands.options import add_options

    parser = Parser(prog="gtp-engine gtp")
    add_options(parser)
    known = set(re.findall(r"--[a-z][a-z-]*", parser.format_help()))
    table = README.read_text().split("## Playing")[1].split("##")[0]
    for option in re.findall(r"--[a-z][a-z-]*", table):
        assert option in known, option


def commands_of(page: Path) -> Iterator[list[str]]:
    """Yield the words of the command lines on a page that call the programs."""
    for block in re.findall(r"(?m)^(?: {4}.*\n)+", page.read_text()):
        for line in re.sub(r"\\\n\s*", "", block).split("\n"):
            if "gtp-e" not in line:
                continue
            for part in re.split(r"\||&&", line.replace("HASH", "0" * 64)):
                words = shlex.split(part, comments=True)
                if words and re.search(r"(^|/)gtp-(engine|export)$", words[0]):
                    yield words[: words.index(">")] if ">" in words else words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_programs_understand_the_commands_shown(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in commands_of(page):
        package = Path(words[0]).name.replace("-", "_")
        registry = import_module(REGISTRIES[package])
        name = words[1] if len(words) > 1 and not words[1].startswith("-") else "gtp"
        command = import_module(f"{package}.commands.{name.replace('-', '_')}")
        monkeypatch.setattr(command, "run", lambda given: 0)
        try:
            assert registry.run(words[1:]) == 0
        except SystemExit:
            pytest.fail(f"{shlex.join(words)}: {capsys.readouterr().err}")
