"""Let a net with a policy win more often without search: REINFORCE against its past selves.

Give the same command again to resume a run that was killed. A file PAUSE in the run's folder halts
it.
"""

import argparse

from gtp_engine.evaluators.net_info import NetFileError
from gtp_export.commands import say
from gtp_export.options import add_options, read_options
from gtp_export.plans import ReinforceRun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ("net", "size", "komi", "out", "span", "games", "learning_rate", "licence", "seed")
    add_options(parser, ReinforceRun, *names)


def run(arguments: argparse.Namespace) -> int:
    """Reinforce; all that is told goes to stderr."""
    plan = read_options(ReinforceRun, arguments)
    if plan.games < 2:
        raise NetFileError("--games must be 2 or more")
    from gtp_export.learning.reinforcement import Reinforcement

    Reinforcement(plan, say).learn()
    return 0
