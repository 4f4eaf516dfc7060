"""Add a net to those that `gtp-engine --net NAME` finds: another program's, or one of ours.

It is converted if need be and checked. Give the address of a file to download it; a download that
was broken off goes on where it was when the same command is given again.
"""

import argparse
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export add` takes."""
    add = parser.add_argument
    add("source", metavar="FILE|URL", help="a net file of any format, or its http(s) address")
    add("--name", help="what `--net` will call it; its own name if left out")
    add("--sha256", metavar="HASH", help="hash that the file must have")
    add("--replace", action="store_true", help="replace a net of that name")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--int8", action="store_true", help="make it faster on processors")
    kinds.add_argument("--fp16", action="store_true", help="make it faster on GPUs")


def run(arguments: argparse.Namespace) -> int:
    """Add the net, and say on stderr what it is called."""
    from gtp_engine.evaluators.nets import user_folder
    from gtp_export.install import Request, add_net
    from gtp_export.quantise.quantisation import FP16, INT8, QuantisePlan

    plan = None
    if arguments.int8 or arguments.fp16:
        plan = QuantisePlan(precision=INT8 if arguments.int8 else FP16)
    sha256 = _checked_hash(arguments.sha256)
    request = Request(arguments.source, arguments.name, sha256, plan, arguments.replace)
    bar = _bar()
    task = bar.add_task("download", total=None)

    def progress(done: int, total: int | None) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)
        if done == total:
            bar.stop()

    try:
        added = add_net(request, user_folder(), progress)
    finally:
        if bar.live.is_started:
            bar.stop()
    logger.info(f"added {added.path}")
    logger.info(f"`gtp-engine --net {added.name}` plays with it")
    return 0


def _checked_hash(text: str | None) -> str | None:
    from gtp_engine.evaluators.net_info import NetFileError

    if text is None:
        return None
    if len(text) != 64 or not set(text.lower()) <= set("0123456789abcdef"):
        raise NetFileError(f"--sha256 takes 64 hexadecimal digits, not {text[:70]!r}")
    return text.lower()


def _bar() -> "Bar":
    """Return a bar with size, speed and time left, on stderr."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=False,
    )
