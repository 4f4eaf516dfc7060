"""Write the mean of the weights of nets that learned from one start.

The mean of a net and of what became of it by more training can have a better policy than both. A
net that is given twice counts twice. The nets are in fp32; quantise the mean afterwards.
"""

import logging

from gtp_export.plans import AveragePlan

logger = logging.getLogger(__name__)

PLAN = AveragePlan


def run(plan: AveragePlan) -> int:
    """Write the file and say on stderr what it is."""
    from gtp_export.learning.averaging import average_files

    info = average_files(plan)
    logger.info(f"{plan.out}: {info.name}, {info.source}")
    return 0
