"""`gtp-engine net check`: whether a net computes on this machine what it should."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.evaluators.composition import Net, members_of, open_exactly
from gtp_engine.evaluators.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_engine.evaluators.self_check import Difference, differences_of, verdict
from gtp_engine.text_table import align

if TYPE_CHECKING:
    from gtp_engine.evaluators.accuracy import Accuracy
    from gtp_engine.evaluators.eval_batch import EvalBatch
    from gtp_engine.evaluators.net_evaluator import NetEvaluator

COMPARED_SIZES = (9, 13, 19)
COMPARED_MOVES = 60
"""Longest of the games that nets are compared on, in moves."""
KEEP_EVERY = 3


def run(args: argparse.Namespace) -> int:
    """Print the differences; return 1 if one is too large."""
    whole = open_exactly(args.net, args.device)
    found = [(member, differences_of(member)) for member in members_of(whole)]
    compared = None if args.original is None else _compare(whole, args)
    if args.json:
        documents = [_document(*one, compared) for one in found]
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=1))
    else:
        print("\n\n".join(_text(*one, compared) for one in found))
    right = [bool(some) and all(one.is_right for one in some) for _, some in found]
    return 0 if all(right) else 1


def _text(net: OnnxNet, found: list[Difference], compared: "Accuracy | None") -> str:
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
        lines += [f"  {name}: {_number(value)}" for name, value in asdict(compared).items()]
    return "\n".join(lines)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def _document(
    net: OnnxNet, found: list[Difference], compared: "Accuracy | None"
) -> dict[str, object]:
    return {
        "net": net.info.name,
        "file": str(net.path),
        "precision": net.info.precision,
        "device": net.device,
        "passed": bool(found) and all(one.is_right for one in found),
        "outputs": [asdict(one) for one in found],
        "against_original": None if compared is None else asdict(compared),
    }


def _compare(net: Net, args: argparse.Namespace) -> "Accuracy":
    """Return how far a net is from its original on positions that the original plays.

    Raises:
        NetFileError: The two do not take and give the same, or there are more than two.
    """
    original = open_exactly(args.original, args.device)
    if not (isinstance(net, OnnxNet) and isinstance(original, OnnxNet)):
        raise NetFileError("only a single file is compared with another")
    return compare_nets(net, original, args.positions)


def compare_files(path: Path, original: Path, positions: int) -> "Accuracy":
    """Return how far one net's file is from another's on the CPU; see `compare_nets`."""
    return compare_nets(OnnxNet(path, "cpu"), OnnxNet(original, "cpu"), positions)


def compare_nets(net: OnnxNet, original: OnnxNet, positions: int) -> "Accuracy":
    """Return how far a net is from its original on positions that the original plays.

    Raises:
        NetFileError: The two do not take and give the same.
    """
    from gtp_engine.evaluators.accuracy import compare, opinions
    from gtp_engine.evaluators.net_evaluator import NetEvaluator

    _check_same_kind(net.path, net.info, original.info)
    mine = NetEvaluator(net, streams=1, max_batch=64, cache_mb=0)
    theirs = NetEvaluator(original, streams=1, max_batch=64, cache_mb=0)
    batches = list(_positions(theirs, positions))
    return compare(opinions(theirs, batches), opinions(mine, batches))


def _check_same_kind(path: Path, info: NetInfo, original: NetInfo) -> None:
    same_heads = ("ownership" in info.heads) == ("ownership" in original.heads)
    if info.encoder != original.encoder or info.meta_features != original.meta_features:
        raise NetFileError(f"{path}: takes other inputs than {original.name}")
    if not same_heads:
        raise NetFileError(f"{path}: has other outputs than {original.name}")


def _positions(net: "NetEvaluator", count: int) -> "Iterator[EvalBatch]":
    """Yield positions of games drawn from a net's policy, one a batch, the sizes in turn."""
    from gtp_engine.evaluators.policy_play import draw_opening
    from gtp_engine.go.position import Position
    from gtp_engine.go.rules import Rules

    info = net.net.info
    sizes = [size for size in COMPARED_SIZES if info.accepts(size, size)] or [info.board_max]
    made = game = 0
    while made < count:
        size = sizes[game % len(sizes)]
        moves = min(COMPARED_MOVES, size * size * 2 // 3)
        played = draw_opening(net, size, size, Rules(), moves, seed=game)
        position = Position(size, size, Rules())
        for number, move in enumerate(played.moves):
            if number % KEEP_EVERY == game % KEEP_EVERY and made < count:
                batch = net.new_batch(1, size, size)
                rules = position.rules.flags
                net.encode(batch, 0, position.history, position.ply, rules, game % 8, 0.0)
                made += 1
                yield batch
            position.play(move.color, move.point)
        game += 1
