"""Make a net of our own that judges positions as a teacher net does: label, train, measure.

A run ends after so many samples, core-hours or minutes; core-hours and minutes are for labels and
training together. One that was killed goes on where it was when the same command is given again;
while a file PAUSE lies in its folder it stands still.
"""

import argparse

from gtp_export.commands import say
from gtp_export.options import add_options, read_options
from gtp_export.plans import DistilRun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export distil` takes."""
    add_options(parser, DistilRun)


def run(arguments: argparse.Namespace) -> int:
    """Label, train, measure and export; the net's path goes to stderr at the end."""
    from gtp_export.learning.distillation import distil

    say(f"gtp-export: wrote {distil(read_options(DistilRun, arguments), say)}")
    return 0
