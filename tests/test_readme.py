"""What the README and the page on Python show is true."""

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import ROOT

import gtp_engine

README = ROOT / "README.md"


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
