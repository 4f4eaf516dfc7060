"""Rows of reference files: positions with the inputs and outputs of the original programs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gtp_engine.coords import parse_color, parse_vertex
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a reference file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def position_of(row: Row) -> Position:
    """Replay a row's moves; two passes of a territory game lead into its encores."""
    rules = replace(Rules.from_kata(row["rules"]), komi=row["komi"])
    position = Position(row["width"], row["height"], rules, encores=True)
    for color, vertex in row["moves"]:
        position.play(parse_color(color), parse_vertex(vertex, position.width, position.height))
    assert position.to_play == parse_color(row["to_play"])
    return position


def planes_of(row: Row) -> np.ndarray:
    """Return [C, H, W] the planes that the original program filled, before any symmetry."""
    height, width = row["height"], row["width"]
    planes = []
    for text in row["input"]["spatial"]:
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(text + "0" * (len(text) % 2)), np.uint8))
        planes.append(bits[: height * width].reshape(height, width))
    return np.stack(planes)
