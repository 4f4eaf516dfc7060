"""`gtp-engine net info`: what a net file says about itself."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from gtp_engine.evaluators.composition import ComposedNet, members_of, open_exactly
from gtp_engine.evaluators.net_info import NetInfo
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_engine.evaluators.self_check import Difference, differences_of, verdict

UNKNOWN = "unknown"


def run(args: argparse.Namespace) -> int:
    """Print the description; return 1 if the net computes something else than it should."""
    net = open_exactly(args.net, "cpu")
    found = [(member, differences_of(member)) for member in members_of(net)]
    if args.json:
        documents = [_document(*one) for one in found]
        document = documents[0] if isinstance(net, OnnxNet) else _whole(net, documents)
        print(json.dumps(document, indent=1))
    else:
        texts = [describe(member.info, member.path, differences) for member, differences in found]
        if isinstance(net, ComposedNet):
            texts.insert(0, _roles(net))
        print("\n\n".join(texts))
    return 0 if all(one.is_right for _, differences in found for one in differences) else 1


def _document(net: OnnxNet, found: list[Difference]) -> dict[str, object]:
    worst = {one.output: one.relative for one in found}
    return {**asdict(net.info), "file": str(net.path), "differences": worst}


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
    if info.policy_optimism_root or info.policy_optimism_tree:
        lines["optimism"] = f"{info.policy_optimism_root:g} at the root, "
        lines["optimism"] += f"{info.policy_optimism_tree:g} in the tree"
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
