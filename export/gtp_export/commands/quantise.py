"""Make a net smaller and faster: int8 for processors, fp16 for GPUs.

The net plays positions against itself to calibrate, and the result is judged on others; one that
is too far from the original is not written.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gtp_export.quantise.quantisation import Outcome, QuantisePlan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export quantise` takes."""
    add = parser.add_argument
    add("source", type=Path, metavar="IN.onnx", help="a net in fp32 that describes itself")
    add("target", type=Path, metavar="OUT.onnx", help="the file to write")
    add(
        "--sensitivity",
        action="store_true",
        help="print first what each group of layers costs in accuracy and brings in speed",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--int8", action="store_true", help="for processors (the default)")
    kinds.add_argument("--fp16", action="store_true", help="for GPUs")
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Declare the settings that `quantise` and `convert` share."""
    add = parser.add_argument
    add("--seven-bit", action="store_true", help="7-bit weights, for processors without VNNI")
    add(
        "--keep-fp32",
        default="stem,heads",
        metavar="LAYERS",
        help="what stays as it is: groups, layers, `none`, or `auto` to choose by measurement "
        "(stem,heads)",
    )
    add("--calibration", choices=("auto", "minmax", "percentile"), default="auto")
    add("--positions", type=int, default=400, help="positions that calibrate (400)")
    add("--max-kl", type=float, default=0.03, help="largest mean policy KL in nats (0.03)")
    add("--min-top1", type=float, default=0.87, help="smallest share of same best moves (0.87)")
    add("--max-win-error", type=float, default=0.01, help="largest mean win-rate error (0.01)")
    add(
        "--max-ownership-error",
        type=float,
        default=0.02,
        help="largest mean ownership error, of a range from -1 to 1 (0.02)",
    )
    add("--force", action="store_true", help="write the net even if it breaks these bounds")


def run(arguments: argparse.Namespace) -> int:
    """Quantise, and say on stderr what came of it."""
    from gtp_export.quantise.quantisation import quantise_file

    plan = plan_of(arguments)
    table = print if arguments.sensitivity else None
    report(arguments.target, quantise_file(arguments.source, arguments.target, plan, table))
    return 0


def plan_of(arguments: argparse.Namespace) -> "QuantisePlan":
    """Return the plan that the options describe.

    Raises:
        NetFileError: A number makes no sense.
    """
    from gtp_engine.evaluators.net_info import NetFileError
    from gtp_export.quantise.accuracy import Bounds
    from gtp_export.quantise.quantisation import FP16, INT8, QuantisePlan

    if arguments.positions < 1:
        raise NetFileError("--positions must be 1 or more")
    words = tuple(word.strip() for word in arguments.keep_fp32.split(",") if word.strip())
    return QuantisePlan(
        precision=FP16 if arguments.fp16 else INT8,
        seven_bit=arguments.seven_bit,
        keep_fp32=words or ("none",),
        calibration=arguments.calibration,
        positions=arguments.positions,
        bounds=Bounds(
            arguments.max_kl,
            arguments.min_top1,
            arguments.max_win_error,
            arguments.max_ownership_error,
        ),
        force=arguments.force,
    )


def report(target: Path, outcome: "Outcome") -> None:
    """Print what came of it on stderr."""
    from gtp_export.quantise.accuracy import accuracy_table

    say(accuracy_table(outcome.accuracy))
    for complaint in outcome.broken:
        say(f"gtp-export: {complaint}; written all the same")
    size = target.stat().st_size / 1e6
    say(f"wrote {target} ({size:.1f} MB, {outcome.info.precision})")


def say(line: str) -> None:
    """Write a line to stderr."""
    print(line, file=sys.stderr)
