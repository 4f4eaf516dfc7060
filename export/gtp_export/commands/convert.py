"""Make a self-describing ONNX file of another program's net."""

import argparse
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.messages import show
from gtp_export.commands.quantise import add_settings, plan_of, report
from gtp_export.options import add_options, read_options
from gtp_export.plans import NetTexts, QuantisePlan

if TYPE_CHECKING:
    from gtp_export.convert.conversion import Conversion


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, metavar="IN", help="a KataGo, Leela Zero or Keras net")
    parser.add_argument("target", type=Path, metavar="OUT.onnx", help="the file to write")
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        help="of a Keras file that does not say it: oneplane, sevenplane, betago, simple",
    )
    add_options(parser, NetTexts)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Convert, and say on stderr what came of it."""
    from gtp_export.convert.conversion import convert_file

    texts = {key: text for key, text in asdict(read_options(NetTexts, arguments)).items() if text}
    plan = plan_of(arguments)
    if not (arguments.int8 or arguments.fp16):
        if plan != QuantisePlan():
            raise NetFileError("the options of quantising need --int8 or --fp16")
        conversion = convert_file(arguments.source, arguments.target, texts, arguments.encoder)
        show(summary(conversion))
        megabytes = arguments.target.stat().st_size / 1e6
        size = f"{megabytes:.1f} MB, {conversion.info.precision}"
        show(f"{'written':<11}{arguments.target} ({size})")
        return 0
    from gtp_export.convert.onnx_file import check_target
    from gtp_export.quantise.quantisation import quantise_file

    check_target(arguments.source, arguments.target)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.onnx"
        conversion = convert_file(arguments.source, whole, texts, arguments.encoder)
        show(summary(conversion))
        called = str(arguments.source)
        report(arguments.target, quantise_file(whole, arguments.target, plan, called=called))
    return 0


def summary(conversion: "Conversion") -> str:
    """Return a small table for people of what was converted."""
    info = conversion.info
    sizes = f"{info.board_min} to {info.board_max}"
    if info.square_only:
        sizes += ", square"
    rows = {
        "net": info.name,
        "format": conversion.format.value,
        "what": info.architecture,
        "parameters": f"{info.parameters:,}",
        "encoder": f"{info.encoder} ({info.spatial_planes} planes, {info.global_features} globals)",
        "heads": ", ".join(info.heads),
        "boards": sizes,
        "time": f"{conversion.seconds:.1f} s",
    }
    return "\n".join(f"{key:<11}{value}" for key, value in rows.items())
