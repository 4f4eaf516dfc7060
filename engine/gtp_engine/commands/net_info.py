"""`gtp-engine net list`, `info` and `check`: which nets there are, what they are, and if right."""

import argparse
import contextlib
import json
import logging
import math
import re
import sys
from dataclasses import asdict
from pathlib import Path

from gtp_engine.evaluators.accuracy import Accuracy, compare_nets
from gtp_engine.evaluators.nets.composition import (
    ComposedNet,
    Net,
    SizedNet,
    members_of,
    open_whole,
)
from gtp_engine.evaluators.nets.net_files import (
    NO_NET,
    PART_HEADS,
    ROLLOUTS_PART,
    find_net,
    known_nets,
    user_folder,
)
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.nets.self_check import Difference, differences_of, verdict
from gtp_engine.evaluators.runtimes.sessions import ONNX_RUNTIME
from gtp_engine.text_table import align

logger = logging.getLogger(__name__)

UNKNOWN = "unknown"

# Which nets there are -----------------------------------------------------------------------------


def run_list(args: argparse.Namespace) -> int:
    """Print a line a net, folder by folder."""
    nets = known_nets()
    if args.json:
        print(json.dumps({name: str(path) for name, path in sorted(nets.items())}, indent=1))
        return 0
    if not nets:
        print("no net came along, and you have added none", file=sys.stderr)
        return 0
    head = ["name", "MB", "precision", "gives"]
    lines = align([head, *(_row(*net) for net in sorted(nets.items()))], left=(0, 2, 3))
    heading, *rows = lines.splitlines()
    folders = [path.parent for _, path in sorted(nets.items())]
    print(f"{NO_NET}, or +{ROLLOUTS_PART} behind a net: games played out by patterns")
    for folder in dict.fromkeys(folders):
        print(f"{folder}:\n{heading}")
        print("\n".join(row for row, place in zip(rows, folders, strict=True) if place == folder))
    with contextlib.suppress(RuntimeError):  # no home folder
        if user_folder() not in folders:
            print(f"{user_folder()}: none yet")
    return 0


def _row(name: str, path: Path) -> list[str]:
    try:
        megabytes = f"{path.stat().st_size / 1e6:.1f}"
    except OSError:  # a link to a file that is gone
        megabytes = "?"
    return [name, megabytes, *_in_short(path)]


def _in_short(path: Path) -> tuple[str, str]:
    """Return a net's precision and its heads in a few words."""
    try:
        info = OnnxNet(path, "cpu").info
    except NetFileError:
        return "", "cannot be used"
    heads = ", ".join(head for head in PART_HEADS if head in info.heads)
    return re.split("[, ]", info.precision)[0], heads


# What they say of themselves ----------------------------------------------------------------------


def run_info(args: argparse.Namespace) -> int:
    """Print the description; return 1 if the net computes something else than it should."""
    net = open_whole(args.net, "cpu", ONNX_RUNTIME, exactly=True)  # which measures nothing
    found = [(member, differences_of(member)) for member in members_of(net)]
    if args.json:
        documents = [_info_document(*one) for one in found]
        document = documents[-1]
        if isinstance(net, ComposedNet):
            document = _whole(net, documents)
        elif isinstance(net, SizedNet):
            document = {**document, "small_boards": documents[:-1]}
        print(json.dumps(document, indent=1))
    else:
        texts = [describe(member.info, member.path, differences) for member, differences in found]
        if isinstance(net, ComposedNet):
            texts.insert(0, _roles(net))
        print("\n\n".join(texts))
    return 0 if all(one.is_right for _, differences in found for one in differences) else 1


def _info_document(net: OnnxNet, found: list[Difference]) -> dict[str, object]:
    worst = {one.output: _finite(one.relative) for one in found}
    return {**asdict(net.info), "file": str(net.path), "differences": worst}


def _finite(difference: float) -> float | None:
    """Return a difference for JSON, which has no infinity."""
    return difference if math.isfinite(difference) else None


def _whole(net: ComposedNet, parts: list[dict[str, object]]) -> dict[str, object]:
    heads = {head: net.members[number].info.name for head, number in net.givers.items()}
    return {"name": net.info.name, "heads_from": heads, "parts": parts}


def _roles(net: ComposedNet) -> str:
    """Return which head comes from which net, a line each."""
    return "\n".join(
        f"{head + ':':<11}from {net.members[number].info.name}"
        for head, number in net.givers.items()
    )


def describe(info: NetInfo, path: Path, found: list[Difference]) -> str:
    """Return everything worth knowing about a net, a line each."""
    lines = {
        "file": f"{path} ({path.stat().st_size / 1e6:.1f} MB)",
        "name": info.name,
        "architecture": info.architecture or UNKNOWN,
        "parameters": f"{info.parameters:,}" if info.parameters else UNKNOWN,
        "precision": info.precision,
        "strength": info.strength or UNKNOWN,
        "licence": info.licence or UNKNOWN,
        "trained on": info.trained_on or UNKNOWN,
        "made from": info.source or UNKNOWN,
        "created by": info.created_by or UNKNOWN,
        "sizes": _sizes(info),
        "rules": info.rules,
        "komi": _komi(info),
        "input": _inputs(info),
        **_policy(info),
    }
    for name, meaning in info.heads.items():
        columns = f": {', '.join(info.score_columns)}" if name == "score" else ""
        lines[f"output {name}"] = f"{meaning}{columns}"
    lines["self-check"] = verdict(found)
    width = max(len(label) for label in lines) + 1
    return "\n".join(f"{label + ':':<{width}} {text}" for label, text in lines.items())


def _policy(info: NetInfo) -> dict[str, str]:
    """Return the line about the pass, for nets with a policy."""
    if "policy" not in info.heads:
        return {}
    return {"policy": "with pass" if info.has_pass else "without pass"}


def _sizes(info: NetInfo) -> str:
    shape = "square boards" if info.square_only else "boards"
    if info.board_sizes:
        text = f"{shape} of {', '.join(str(size) for size in info.board_sizes)}"
    elif info.board_min == info.board_max:
        text = f"{shape} of {info.board_min}"
    else:
        text = f"{shape} of {info.board_min} to {info.board_max}"
    if info.trained_sizes is not None:
        text += f", trained on {info.trained_sizes[0]} to {info.trained_sizes[1]}"
    return text


def _komi(info: NetInfo) -> str:
    low, high = info.komi_min, info.komi_max
    if low is None and high is None:
        return "any"
    if low == high:
        return f"{low:g}"
    return f"{'any' if low is None else f'{low:g}'} to {'any' if high is None else f'{high:g}'}"


def _inputs(info: NetInfo) -> str:
    text = f"{info.encoder} version {info.encoder_version}, {info.spatial_planes} planes, "
    text += f"{info.global_features} globals"
    if info.meta_features:
        text += f", {info.meta_features} numbers about the players (--human-profile)"
    return text


# Whether they compute what they should ------------------------------------------------------------


def run_check(args: argparse.Namespace) -> int:
    """Print the differences; return 1 if one is too large, or the device asked for is not here."""
    wanted = args.net if args.original is None else _own_file(args.net)
    whole = open_whole(wanted, args.device, args.runtime)
    found = [(member, differences_of(member)) for member in members_of(whole)]
    compared = None if args.original is None else _compare_with_original(whole, args)
    if args.json:
        documents = [_check_document(*one, compared) for one in found]
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=1))
    else:
        print("\n\n".join(_check_text(*one, compared) for one in found))
    right = [bool(some) and all(one.is_right for one in some) for _, some in found]
    is_elsewhere = whole.device == "cpu" and args.device not in ("auto", "cpu")
    if is_elsewhere:
        logger.error(f"the CPU was checked, not {args.device}")
    return 0 if all(right) and not is_elsewhere else 1


def _check_text(net: OnnxNet, found: list[Difference], compared: Accuracy | None) -> str:
    info = net.info
    lines = [f"{info.name} ({info.precision}) on {net.device}: {verdict(found)}"]
    rows = [["output", "largest error", "of the range", "allowed", ""]]
    for one in found:
        word = "right" if one.is_right else "WRONG"
        errors = [f"{one.absolute:.2g}", f"{one.relative:.1e}", f"{one.tolerance:g}"]
        rows.append([one.output, *errors, word])
    lines.append(align(rows))
    if info.precision.startswith("int8") and not all(one.is_right for one in found):
        lines.append(
            "products of 8-bit weights may overflow on this processor; "
            "`gtp-export quantise --seven-bit` makes a net whose do not"
        )
    if compared is not None:
        lines.append("against the original:")
        told = compared.figures(info.heads)
        lines += [f"  {name}: {_number(value)}" for name, value in told.items()]
    return "\n".join(lines)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def _check_document(
    net: OnnxNet, found: list[Difference], compared: Accuracy | None
) -> dict[str, object]:
    return {
        "net": net.info.name,
        "file": str(net.path),
        "precision": net.info.precision,
        "device": net.device,
        "passed": bool(found) and all(one.is_right for one in found),
        "outputs": [
            {name: _finite(x) if isinstance(x, float) else x for name, x in asdict(one).items()}
            for one in found
        ],
        "against_original": None if compared is None else compared.figures(net.info.heads),
    }


def _own_file(wanted: str) -> str:
    """Return the file that a name stands for, without weights for small boards beside it."""
    with contextlib.suppress(NetFileError):  # several nets that are joined
        return str(find_net(wanted))
    return wanted


def _compare_with_original(net: Net, args: argparse.Namespace) -> Accuracy:
    """Return how far a net is from its original on positions that the original plays.

    Raises:
        NetFileError: The two do not take and give the same, or there are more than two.
    """
    original = open_whole(_own_file(args.original), args.device, args.runtime)
    if not (isinstance(net, OnnxNet) and isinstance(original, OnnxNet)):
        raise NetFileError("only a single file is compared with another")
    return compare_nets(net, original, args.positions)
