"""The commands of `gtp-engine` by name. A command's module is imported once it is chosen.

Such a module has two functions: `add_arguments(parser)` defines its options, and `run(args)`
carries it out and returns the exit status, or raises UsageError or NetFileError. Its docstring is
the description that `--help` shows.
"""

import sys
from importlib import import_module

from gtp_engine.arguments import USAGE_STATUS, Parser, UsageError
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.version import __version__

COMMANDS = {
    "gtp": "speak GTP on stdin and stdout (the default)",
    "play": "play against it in this terminal",
    "web": "play, analyse and review in a browser",
    "analysis": "analyse positions for programs in JSON, or game records",
    "review": "explain games to their players, as pages to read",
    "match": "let two GTP engines play each other",
    "regress": "ask an engine the questions of tests",
    "benchmark": "measure speeds on this machine",
    "doctor": "say what runs on this machine, and what it lacks",
    "net": "list, describe, check, measure and compare nets",
    "score": "judge finished boards with known dead",
    "manners": "measure how the engine ends games",
    "levels": "measure how far apart the levels are",
    "tune": "find the search's best numbers for a net and a board",
    "five": "play five in a row for Piskvork and other managers",
    "perft": "count sequences of legal moves",
}
"""Each names its module; the text is for the list of commands."""

_HELP = f"""usage: gtp-engine [COMMAND] [OPTION]...

A Go engine. Without a command it speaks GTP, so that `gtp-engine` or `gtp-engine --playouts 400`
is what to enter in GoGui, Sabaki and other programs.

commands:
{chr(10).join(f"  {name:10} {summary}" for name, summary in COMMANDS.items())}

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
    module = import_module(f"gtp_engine.commands.{name}")
    parser = Parser(prog=f"gtp-engine {name}", description=module.__doc__)
    module.add_arguments(parser)
    try:
        status: int = module.run(parser.parse_args(arguments))
    except (UsageError, NetFileError) as error:
        parser.error(str(error))
    return status
