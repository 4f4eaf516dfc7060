"""What the README shows is true."""

import doctest
import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def test_python_examples_give_what_they_show() -> None:
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 5 and failures == 0


def test_every_option_named_exists() -> None:
    from gtp_engine.commands.arguments import Parser
    from gtp_engine.commands.options import add_options

    parser = Parser(prog="gtp-engine gtp")
    add_options(parser)
    known = set(re.findall(r"--[a-z][a-z-]*", parser.format_help()))
    table = README.read_text().split("## Playing")[1].split("##")[0]
    for option in re.findall(r"--[a-z][a-z-]*", table):
        assert option in known, option
