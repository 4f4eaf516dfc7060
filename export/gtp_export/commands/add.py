"""Add a net to those that `gtp-engine --net NAME` finds: another program's, or one of ours.

Give a file or the address of one. The net is converted if need be, and checked. Give the same
command again to resume a download that broke off.
"""

import argparse
import logging
from typing import TYPE_CHECKING

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.options import add_options, read_options
from gtp_export.plans import FP16, INT8, AddPlan, QuantisePlan

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, AddPlan)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--int8", action="store_true", help="make it faster on processors")
    kinds.add_argument("--fp16", action="store_true", help="make it faster on GPUs")


def run(arguments: argparse.Namespace) -> int:
    """Add the net, and say on stderr what it is called."""
    from gtp_engine.evaluators.nets.net_files import user_folder
    from gtp_engine.evaluators.runtimes.devices import int8_may_overflow
    from gtp_export.install import add_net

    quantise = None
    if arguments.int8 or arguments.fp16:
        # A net for this machine, so in a way that is right on it.
        seven_bit = arguments.int8 and int8_may_overflow()
        kind = INT8 if arguments.int8 else FP16
        quantise = QuantisePlan(precision=kind, seven_bit=seven_bit)
    plan = read_options(AddPlan, arguments, quantise=quantise)
    try:
        folder = user_folder()
    except RuntimeError:
        raise NetFileError("there is no home folder; GTP_ENGINE_NETS names one for nets") from None
    bar = _bar()
    task = bar.add_task("download", total=None)

    def progress(done: int, total: int | None) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)
        if done == total:
            bar.stop()

    try:
        added = add_net(plan, folder, progress)
    finally:
        if bar.live.is_started:
            bar.stop()
    logger.info(f"added {added}")
    logger.info(f"`gtp-engine --net {added.stem}` plays with it")
    return 0


def _bar() -> "Bar":
    """Return a bar with size, speed and time left, on stderr."""
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TransferSpeedColumn

    columns = *Progress.get_default_columns(), DownloadColumn(), TransferSpeedColumn()
    return Progress(*columns, console=Console(stderr=True))
