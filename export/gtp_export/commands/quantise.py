"""Make a net smaller and faster: int8 for processors, fp16 for GPUs.

The net plays games against itself: some positions calibrate, others judge the result. A result that
is too far from the original is not written.
"""

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.messages import show
from gtp_engine.text_table import align
from gtp_export.options import add_options, read_options
from gtp_export.plans import FP16, INT8, Bounds, QuantisePlan

if TYPE_CHECKING:
    from gtp_export.quantise.quantisation import Outcome

logger = logging.getLogger(__name__)

_FORMATS = {
    "positions": "d",
    "policy_kl": ".4f",
    "top1": ".1%",
    "win_error": ".2%",
    "win_error_p99": ".1%",
    "lead_error": ".2f",
    "ownership_error": ".4f",
}
"""How each field of `Accuracy` is told."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", type=Path, metavar="IN.onnx", help="a net in fp32 that describes itself")
    add("target", type=Path, metavar="OUT.onnx", help="the file to write")
    add(
        "--sensitivity",
        action="store_true",
        help="print first what each group of layers costs in accuracy and brings in speed",
    )
    add_settings(parser, " (the default)")


def add_settings(parser: argparse.ArgumentParser, default: str = "") -> None:
    """Declare the options that `quantise` and `convert` share."""
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--int8", action="store_true", help=f"quantise it, for processors{default}")
    kinds.add_argument("--fp16", action="store_true", help="quantise it, for GPUs")
    add_options(parser, QuantisePlan)
    add_options(parser, Bounds)


def run(arguments: argparse.Namespace) -> int:
    """Quantise, and say on stderr what came of it."""
    from gtp_export.quantise.quantisation import quantise_file

    table = print if arguments.sensitivity else None
    if table and arguments.fp16:
        raise NetFileError("--sensitivity is for --int8 alone")
    plan = plan_of(arguments)
    report(arguments.target, quantise_file(arguments.source, arguments.target, plan, table))
    return 0


def plan_of(arguments: argparse.Namespace) -> QuantisePlan:
    """Return the plan that the options of `add_settings` describe.

    Raises:
        NetFileError: One of them is for int8 alone, and fp16 is asked for.
    """
    bounds, precision = read_options(Bounds, arguments), FP16 if arguments.fp16 else INT8
    plan = read_options(QuantisePlan, arguments, bounds=bounds, precision=precision)
    for name in ("seven_bit", "keep_fp32", "calibration"):
        if arguments.fp16 and getattr(plan, name) != getattr(QuantisePlan, name):
            raise NetFileError(f"--{name.replace('_', '-')} is for --int8 alone")
    return plan


def report(target: Path, outcome: "Outcome") -> None:
    """Print what came of it on stderr."""
    rows = [["board", *_FORMATS]]
    for board, found in outcome.accuracy.items():
        rows.append([board, *(format(getattr(found, n), kind) for n, kind in _FORMATS.items())])
    show(align(rows))
    for complaint in outcome.broken:
        logger.warning(f"{complaint}; written all the same")
    size = target.stat().st_size / 1e6
    logger.info(f"wrote {target} ({size:.1f} MB, {outcome.info.precision})")
