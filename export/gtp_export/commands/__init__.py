"""The subcommands of `gtp-export`, one module each.

A module is named in `SUBCOMMANDS`, with _ for each hyphen. Its `PLAN` is the class of its options,
but for those in `LEFT_OUT`, and `run(plan)` does the work and returns the exit status; or it has
`add_arguments(parser)` and `run(arguments)`. At its top it imports neither numpy nor what comes
with an extra, so that `--help` needs no extra and answers at once.
"""

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from gtp_engine.arguments import Parser
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.messages import describe_os_error
from gtp_engine.platforms import nobody_reads
from gtp_export.cards import command_line
from gtp_export.options import add_options, read_options

SUBCOMMANDS = {
    "add": "add a net, or download one, so that `gtp-engine --net NAME` finds it",
    "average": "write the mean of the weights of nets that learned from one start",
    "convert": "convert a KataGo, Leela Zero or Keras net to ONNX",
    "describe": "describe an ONNX file of your own, so that the engine plays with it",
    "distil": "train a net to judge as a teacher net does",
    "evaluate": "measure how well a net predicts recorded games",
    "learn-from-games": "tune a net on your own games, and say what that brought and cost",
    "pack": "put the games of many files into one compact pack",
    "picture": "draw what a net makes of a position, or how nets do by move number",
    "quantise": "make a net faster: int8 for processors, fp16 for GPUs",
    "reinforce": "train a net without search, in games against its past selves",
    "strength": "play the nets of a run, and plot strength over accuracy",
    "train": "train a net on game records",
    "zero": "learn a game from nothing: play, train and judge in a loop",
}
"""Name of the subcommand, which is also its module's, to the line `--help` shows."""


def run(argv: Sequence[str]) -> int:
    """Run one subcommand; a user's mistake is one sentence on stderr.

    Returns:
        The exit status: 1 after a mistake; in the arguments, argparse leaves with 2.
    """
    arguments = _parser().parse_args(argv)
    arguments.command_line = command_line(argv)
    module = _module(arguments.command)
    try:
        plan = read_options(module.PLAN, arguments) if hasattr(module, "PLAN") else arguments
        status: int = module.run(plan)
        return status
    except OSError as error:
        if nobody_reads(error):
            raise
        problem = describe_os_error(error)
    except NetFileError as error:
        problem = str(error)
    except ModuleNotFoundError as error:
        problem = _missing(error, arguments.command)
    except ValueError as error:
        from gtp_engine.go.game_record import SgfError

        if not isinstance(error, SgfError):
            raise
        problem = str(error)
    except MemoryError:
        problem = "memory is exhausted; smaller batches or fewer games help"
    print(f"gtp-export: {problem}", file=sys.stderr)
    return 1


def _module(command: str) -> ModuleType:
    return importlib.import_module(f"gtp_export.commands.{command.replace('-', '_')}")


def _parser() -> Parser:
    parser = Parser(prog="gtp-export", description="Make and convert Go nets.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in SUBCOMMANDS.items():
        module = _module(name)
        command = commands.add_parser(name, help=summary, description=module.__doc__)
        if hasattr(module, "PLAN"):
            add_options(command, module.PLAN, getattr(module, "LEFT_OUT", ()))
        else:
            module.add_arguments(command)
    return parser


def _missing(error: ModuleNotFoundError, command: str) -> str:
    """Return what to install; what trains needs more than the package that was missed first."""
    trains = ("distil", "learn-from-games", "reinforce", "train", "zero")
    extras = {"onnx": "convert", "h5py": "keras", "torch": "train", "matplotlib": "plots"}
    extras |= {"ray": "ray"}
    package = (error.name or "").partition(".")[0]
    if package in extras:
        extra = "train" if package == "onnx" and command in trains else extras[package]
        return f"this needs {package}; `pip install 'gtp-engine[{extra}]'` brings it"
    return f"cannot import {error.name}"
