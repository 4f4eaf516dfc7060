"""Play nets of a run against each other and a fixed opponent; plot strength over accuracy.

Moves are drawn from the policies, without search. Give the same command again to go on.
"""

import argparse

from gtp_export.commands import say
from gtp_export.options import add_options, read_options
from gtp_export.plans import StrengthPlan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, StrengthPlan)


def run(arguments: argparse.Namespace) -> int:
    """Print a table on stdout, with 95 % intervals."""
    from gtp_export.strength import measure_strength

    print(measure_strength(read_options(StrengthPlan, arguments), say))
    return 0
