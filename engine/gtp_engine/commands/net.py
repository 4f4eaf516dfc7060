"""`gtp-engine net`: which nets there are, and what a net file says about itself."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gtp_engine.commands.arguments import UsageError

if TYPE_CHECKING:
    from gtp_engine.evaluators.contract import NetInfo
    from gtp_engine.evaluators.onnx_runtime import OnnxNet

_LABELS = {
    "name": "name",
    "architecture": "architecture",
    "parameters": "parameters",
    "precision": "precision",
    "rules": "rules",
    "strength": "strength",
    "trained_on": "trained on",
    "source": "made from",
    "created_by": "created by",
    "licence": "licence",
}
"""What is shown as it stands, if it is known."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's options."""
    parser.description = "Say which nets there are, or what a net file says about itself."
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="describe a net and check that it computes right")
    info.description = "Describe a net, and check its outputs against those recorded in it."
    info.add_argument("net", metavar="FILE|NAME", nargs="?", help="the default net if left out")
    info.add_argument("--json", action="store_true", help="print one JSON object instead")
    listing = actions.add_parser("list", help="list the nets that are known by name")
    listing.description = "List the nets that `--net NAME` finds, and where they are."


def run(args: argparse.Namespace) -> int:
    """Print what was asked for; return 0, or 1 if a net cannot be used or computes wrongly.

    Raises:
        UsageError: No action was named.
    """
    from gtp_engine.evaluators.contract import NetFileError

    if args.action == "list":
        return _list()
    if args.action != "info":
        raise UsageError("choose info or list")
    from gtp_engine.evaluators.nets import find_net
    from gtp_engine.evaluators.onnx_runtime import OnnxNet

    try:
        path = find_net(args.net)
        net = OnnxNet(path, "cpu", lambda line: print(line, file=sys.stderr))
        differences = _check(net)
    except NetFileError as error:
        print(f"gtp-engine net: {error}", file=sys.stderr)
        return 1
    is_right = all(difference <= TOLERANCE for difference in differences.values())
    if args.json:
        document = {**asdict(net.info), "file": str(path), "differences": differences}
        print(json.dumps(document, indent=1))
    else:
        print("\n".join([f"file: {path}", *_describe(net.info), *_judge(differences)]))
    return 0 if is_right else 1


def _list() -> int:
    from gtp_engine.evaluators.nets import known_nets, user_folder

    nets = known_nets()
    for name, path in sorted(nets.items()):
        print(f"{name}: {path}")
    if not nets:
        print(f"no net came along, and there is none in {user_folder()}", file=sys.stderr)
    return 0


def _describe(info: "NetInfo") -> list[str]:
    lines = [
        f"{label}: {getattr(info, field)}" for field, label in _LABELS.items()
        if getattr(info, field)
    ]  # fmt: skip
    shape = "square boards" if info.square_only else "boards"
    if info.board_sizes:
        sizes = f"{shape} of {', '.join(str(size) for size in info.board_sizes)}"
    else:
        sizes = f"{shape} of {info.board_min} to {info.board_max}"
    if info.trained_sizes is not None:
        sizes += f", trained on {info.trained_sizes[0]} to {info.trained_sizes[1]}"
    lines.append(f"sizes: {sizes}")
    if info.komi_min is not None and info.komi_max is not None:
        lines.append(f"komi: {info.komi_min:g} to {info.komi_max:g}")
    lines.append(
        f"input: {info.encoder} version {info.encoder_version}, {info.spatial_planes} planes,"
        f" {info.global_features} globals"
    )
    lines += [f"output {name}: {meaning}" for name, meaning in info.heads.items()]
    return lines


TOLERANCE = 0.05
"""Largest difference from a recorded output that rounding can explain, nets of 8 bits included."""


def _check(net: "OnnxNet") -> dict[str, float]:
    """Return how far each output is from the recorded one, at most, relative to its range.

    Raises:
        NetFileError: The recorded data cannot be read, or the net fails on them.
    """
    found: dict[str, float] = {}
    for case in net.golden_cases():
        outputs = net.run_feed(case.inputs)
        for name, expected in case.outputs.items():
            found[name] = max(found.get(name, 0.0), _difference(outputs.get(name), expected))
    return found


def _difference(output: Any, expected: Any) -> float:
    import numpy as np

    if output is None or output.shape != expected.shape:
        return float("inf")
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return float(np.abs(output - expected).max(initial=0.0)) / scale


def _judge(differences: dict[str, float]) -> list[str]:
    if not differences:
        return ["self-check: the file holds no outputs to compare with"]
    worst = max(differences, key=lambda name: differences[name])
    verdict = "passed" if differences[worst] <= TOLERANCE else "FAILED"
    return [
        f"self-check: {verdict}, largest difference {differences[worst]:.1e} of the range ({worst})"
    ]
