"""Describe an ONNX file of your own, so that `gtp-engine --net` plays with it.

Inputs and outputs must have the names that net files have: rename yours with
`--rename YOURS=spatial_in`, `--rename YOURS=policy` and so on. Your planes may be floats: the
engine gives bytes, and a cast is added. You say what the outputs mean.
"""

import logging

from gtp_export.plans import DescribePlan

logger = logging.getLogger(__name__)

PLAN = DescribePlan


def run(plan: DescribePlan) -> int:
    """Describe the file and say on stderr what was written."""
    from gtp_export.convert.description import describe_file

    info = describe_file(plan)
    logger.info(f"{plan.out or plan.file}: {info.name}, {info.encoder}, {', '.join(info.heads)}")
    return 0
