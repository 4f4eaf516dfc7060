"""Write a description into an ONNX file of your own, so that `gtp-engine --net` plays with it.

Inputs and outputs get the names that net files have: say `--rename YOURS=spatial_in`,
`--rename YOURS=policy` and so on where yours have other names. Planes may be float in your file;
the engine hands over bytes and a cast is put in. What the outputs mean is for you to say.
"""

import argparse
import sys
from pathlib import Path

from gtp_engine.evaluators.net_info import (
    ENCODERS,
    SCORE_COLUMNS,
    VALUE_KINDS,
    VALUE_WIN_LOSS_NORESULT,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export describe` takes."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="the ONNX file to describe")
    add("--output", type=Path, metavar="OUT.onnx", help="write there instead of into FILE")
    add("--encoder", required=True, choices=sorted(ENCODERS), help="what fills the planes")
    add("--rename", action="append", default=[], metavar="YOURS=NAME", help="may be repeated")
    add("--has-pass", action=argparse.BooleanOptionalAction, default=True)
    add("--policy", choices=("logits", "probabilities"), default="logits", help="what it holds")
    add("--value-kind", choices=VALUE_KINDS, default=VALUE_WIN_LOSS_NORESULT)
    add(
        "--value-range",
        choices=("-1..1", "0..1"),
        default="-1..1",
        help="of a scalar value; 0..1 is stretched",
    )
    add(
        "--ownership-range",
        choices=("-1..1", "0..1"),
        default="-1..1",
        help="1 is the own point of whoever is to move; 0..1 is stretched",
    )
    add("--score-columns", default="", metavar="LIST", help=", ".join(SCORE_COLUMNS))
    add("--board-sizes", metavar="LIST", help="the only sizes it takes, such as 9,13,19")
    for name in ("name", "architecture", "source", "trained-on", "licence", "strength", "rules"):
        add(f"--{name}", default="", help="for `gtp-engine net info`")
    add("--komi-min", type=float)
    add("--komi-max", type=float)


def run(arguments: argparse.Namespace) -> int:
    """Describe the file and say on stderr what was written."""
    from gtp_export.convert.description import Wishes, describe_file

    wishes = Wishes(
        encoder=arguments.encoder,
        renames=tuple(arguments.rename),
        has_pass=arguments.has_pass,
        policy_is_probabilities=arguments.policy == "probabilities",
        value_kind=arguments.value_kind,
        value_from_zero=arguments.value_range == "0..1",
        ownership_from_zero=arguments.ownership_range == "0..1",
        score_columns=_split(arguments.score_columns),
        board_sizes=_split(arguments.board_sizes or ""),
        texts={
            "name": arguments.name or arguments.file.stem,
            "architecture": arguments.architecture,
            "source": arguments.source or arguments.file.name,
            "trained_on": arguments.trained_on,
            "licence": arguments.licence,
            "strength": arguments.strength,
            "rules": arguments.rules or "any",
        },
        komi=(arguments.komi_min, arguments.komi_max),
    )
    target = arguments.output or arguments.file
    info = describe_file(arguments.file, target, wishes)
    print(f"{target}: {info.name}, {info.encoder}, {', '.join(info.heads)}", file=sys.stderr)
    return 0


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
