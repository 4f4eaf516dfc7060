"""The commands of `gtp-engine` by name. A command's module is imported once it is chosen.

Such a module has two functions: `add_arguments(parser)` defines its options, and `run(args)`
carries it out and returns the exit status, or raises UsageError.
"""

import sys
from importlib import import_module
from typing import NamedTuple

from gtp_engine.arguments import INTERRUPTED_STATUS, USAGE_STATUS, Parser, UsageError
from gtp_engine.version import __version__


class CommandEntry(NamedTuple):
    """Where a command is."""

    module: str
    summary: str


COMMANDS = {
    "gtp": CommandEntry("gtp_engine.commands.gtp", "speak GTP on stdin and stdout (the default)"),
    "play": CommandEntry("gtp_engine.commands.play", "play against it in this terminal"),
    "web": CommandEntry("gtp_engine.commands.web", "play, analyse and review in a browser"),
    "analysis": CommandEntry(
        "gtp_engine.commands.analysis", "analyse positions for programs in JSON, or game records"
    ),
    "review": CommandEntry(
        "gtp_engine.commands.review", "explain games to their players, as pages to read"
    ),
    "match": CommandEntry("gtp_engine.commands.match", "let two GTP engines play each other"),
    "regress": CommandEntry("gtp_engine.commands.regress", "ask an engine the questions of tests"),
    "benchmark": CommandEntry("gtp_engine.commands.benchmark", "measure speeds on this machine"),
    "doctor": CommandEntry(
        "gtp_engine.commands.doctor", "say what runs on this machine, and what it lacks"
    ),
    "net": CommandEntry(
        "gtp_engine.commands.net", "list, describe, check, measure and compare nets"
    ),
    "score": CommandEntry("gtp_engine.commands.score", "judge finished boards with known dead"),
    "manners": CommandEntry("gtp_engine.commands.manners", "measure how the engine ends games"),
    "levels": CommandEntry("gtp_engine.commands.levels", "measure how far apart the levels are"),
    "tune": CommandEntry(
        "gtp_engine.commands.tune", "find the search's best numbers for a net and a board"
    ),
    "five": CommandEntry(
        "gtp_engine.commands.five",
        "play five in a row for Piskvork and other managers",
    ),
    "perft": CommandEntry("gtp_engine.commands.perft", "count sequences of legal moves"),
}

_HELP = f"""usage: gtp-engine [COMMAND] [OPTION]...

A Go engine. Without a command it speaks GTP, so that `gtp-engine` or `gtp-engine --playouts 400`
is what to enter in GoGui, Sabaki and other programs.

commands:
{chr(10).join(f"  {name:10} {entry.summary}" for name, entry in COMMANDS.items())}

`gtp-engine COMMAND --help` lists a command's options; those of gtp can stand without the command.
`gtp-engine --version` prints the version.
"""


def run(arguments: list[str]) -> int:
    """Run the command that the first argument names, gtp without one; return the exit status."""
    first = arguments[0] if arguments else ""
    if first in COMMANDS:
        return _run(first, arguments[1:])
    if first in ("--help", "-h", "help"):
        print(_HELP, end="")
        return 0
    if first == "--version":
        print(f"gtp-engine {__version__}")
        return 0
    if first and not first.startswith("-"):
        known = ", ".join(COMMANDS)
        print(f"gtp-engine: there is no command {first!r}; known are {known}", file=sys.stderr)
        return USAGE_STATUS
    return _run("gtp", arguments)


def _run(name: str, arguments: list[str]) -> int:
    module = import_module(COMMANDS[name].module)
    parser = Parser(prog=f"gtp-engine {name}")
    module.add_arguments(parser)
    try:
        status: int = module.run(parser.parse_args(arguments))
    except UsageError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print(f"\n{parser.prog}: interrupted", file=sys.stderr)
        return INTERRUPTED_STATUS
    return status
