"""Make a net that judges positions as a teacher net does: label, train, measure.

A run ends after a number of samples, core-hours or minutes; core-hours and minutes include the
labelling. Give the same command again to resume a run that was killed. A file PAUSE in the run's
folder halts it.
"""

import argparse

from gtp_export.commands import say
from gtp_export.options import add_options, read_options
from gtp_export.plans import DistilRun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, DistilRun)


def run(arguments: argparse.Namespace) -> int:
    """Label, train, measure and export; the net's path goes to stderr at the end."""
    from gtp_export.learning.distillation import distil

    say(f"gtp-export: wrote {distil(read_options(DistilRun, arguments), say)}")
    return 0
