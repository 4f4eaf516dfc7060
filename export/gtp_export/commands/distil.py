"""Make a net that judges positions as a teacher net does: label, train, measure.

A run ends after a number of samples, core-hours or minutes; core-hours and minutes include the
labelling. Give the same command again to resume a run that was killed. A file PAUSE in the run's
folder halts it.
"""

from gtp_export.plans import DistilRun

PLAN = DistilRun


def run(plan: DistilRun) -> int:
    """Label, train, measure and export; the net's path goes to stderr at the end."""
    from gtp_export.learning.distillation import distil

    distil(plan)
    return 0
