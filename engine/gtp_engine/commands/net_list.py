"""`gtp-engine net list`: the nets that `--net NAME` finds."""

import argparse
import json
import sys
from pathlib import Path

from gtp_engine.evaluators.nets import DEFAULT_NET, PART_HEADS, known_nets, user_folder
from gtp_engine.text_table import align


def run(args: argparse.Namespace) -> int:
    """Print a line a net."""
    nets = known_nets()
    if args.json:
        print(json.dumps({name: str(path) for name, path in sorted(nets.items())}, indent=1))
        return 0
    if nets:
        rows = [_row(name, path) for name, path in sorted(nets.items())]
        print(align([["name", "MB", "what", "gives", "file"], *rows], left=(0, 2, 3, 4)))
    else:
        print(f"no net came along, and there is none in {user_folder()}", file=sys.stderr)
    return 0


def _row(name: str, path: Path) -> list[str]:
    shown = f"{name} (the default)" if name == DEFAULT_NET else name
    try:
        megabytes = f"{path.stat().st_size / 1e6:.1f}"
    except OSError:  # a link to a file that is gone
        megabytes = "?"
    return [shown, megabytes, *_what(path), str(path)]


def _what(path: Path) -> tuple[str, str]:
    """Return a net's architecture and precision in a few words, and its heads."""
    from gtp_engine.evaluators.net_info import NetFileError
    from gtp_engine.evaluators.onnx_net import OnnxNet

    try:
        info = OnnxNet(path, "cpu").info
    except NetFileError:
        return "cannot be used", ""
    heads = ", ".join(head for head in PART_HEADS if head in info.heads)
    return f"{info.architecture or info.name}, {info.precision}", heads
