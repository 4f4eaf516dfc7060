"""`gtp-engine net list`: the nets that `--net NAME` finds."""

import argparse
import json
import re
import shutil
import sys
from pathlib import Path

from gtp_engine.evaluators.nets import PART_HEADS, known_nets, user_folder
from gtp_engine.text_table import align

CUT = "..."


def run(args: argparse.Namespace) -> int:
    """Print a line a net, folder by folder, none longer than the terminal is wide."""
    nets = known_nets()
    if args.json:
        print(json.dumps({name: str(path) for name, path in sorted(nets.items())}, indent=1))
        return 0
    if not nets:
        print(f"no net came along, and there is none in {user_folder()}", file=sys.stderr)
        return 0
    head = ["name", "MB", "precision", "gives", "architecture"]
    lines = align([head, *(_row(*net) for net in sorted(nets.items()))], left=(0, 2, 3, 4))
    heading, *rows = [_cut(line) for line in lines.splitlines()]
    folders = [path.parent for _, path in sorted(nets.items())]
    for folder in dict.fromkeys(folders):
        print(f"{folder}:\n{heading}")
        print("\n".join(row for row, place in zip(rows, folders, strict=True) if place == folder))
    return 0


def _cut(line: str) -> str:
    width = shutil.get_terminal_size().columns
    return line if len(line) <= width else line[: max(0, width - len(CUT))] + CUT


def _row(name: str, path: Path) -> list[str]:
    try:
        megabytes = f"{path.stat().st_size / 1e6:.1f}"
    except OSError:  # a link to a file that is gone
        megabytes = "?"
    return [name, megabytes, *_what(path)]


def _what(path: Path) -> tuple[str, str, str]:
    """Return a net's precision, its heads and its architecture in a few words."""
    from gtp_engine.evaluators.net_info import NetFileError
    from gtp_engine.evaluators.onnx_net import OnnxNet

    try:
        info = OnnxNet(path, "cpu").info
    except NetFileError:
        return "", "cannot be used", ""
    heads = ", ".join(head for head in PART_HEADS if head in info.heads)
    return re.split("[, ]", info.precision)[0], heads, info.architecture or info.name
