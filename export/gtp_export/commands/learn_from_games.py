"""Tune a net on your own games, and say whether it predicts such games better.

Games are those that `gtp-engine --keep-games` kept, or any others. Some are set aside: the net
before and the net after are compared on them. Give the same command again to resume a run that was
killed.
"""

import argparse

from gtp_engine.evaluators.net_info import NetFileError
from gtp_export.commands import say
from gtp_export.options import add_options, read_options
from gtp_export.plans import OwnGamesRun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ("games", "player", "net", "target", "valid", "others", "span", "freeze", "licence")
    more = ("device", "processes", "learning_rate", "positions", "int8", "fp16", "seed")
    add_options(parser, OwnGamesRun, *names, *more)


def run(arguments: argparse.Namespace) -> int:
    """Tune; all that is told goes to stderr."""
    plan = read_options(OwnGamesRun, arguments)
    if plan.target.suffix != ".onnx":
        raise NetFileError(f"{plan.target}: --out names the net to write, as in mine.onnx")
    from gtp_export.learning.own_games import learn_from_games

    learn_from_games(plan, say)
    return 0
