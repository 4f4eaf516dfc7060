"""Evaluations a second of processor time, of several nets in turn so that they fare alike."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_export.quantise.positions import PositionSet

ROUNDS = 5
SECONDS_PER_ROUND = 0.25
"""Processor time."""

Inputs = tuple[NDArray[np.uint8], NDArray[np.float32]]


def open_cpu(path: Path) -> OnnxNet:
    """Open a net on the CPU.

    Raises:
        NetFileError: It cannot be used.
    """
    return OnnxNet(path, "cpu")


def speeds(
    nets: Mapping[str, OnnxNet], positions: PositionSet, sizes: Sequence[int]
) -> dict[str, dict[int, float]]:
    """Return by net and board size the evaluations a second of processor time, at batch 1.

    The nets take turns; the fastest round of each counts, because other programs only ever slow
    one down.
    """
    found: dict[str, dict[int, float]] = {name: {} for name in nets}
    for size in sizes:
        inputs = _inputs(positions, size)
        for name, net in nets.items():
            net.run(*inputs[0])
            found[name][size] = 0.0
        for _ in range(ROUNDS):
            for name, net in nets.items():
                found[name][size] = max(found[name][size], _round(net, inputs))
    return found


def _inputs(positions: PositionSet, size: int) -> list[Inputs]:
    """Return single positions of a size."""
    singles = [
        (batch.spatial[i : i + 1], batch.features[i : i + 1])
        for batch in positions.batches
        for i in range(len(batch.features))
        if batch.spatial.shape[2:] == (size, size)
    ]
    return singles[:64]


def _round(net: OnnxNet, inputs: Sequence[Inputs]) -> float:
    count = 0
    start = time.process_time()
    while True:
        net.run(*inputs[count % len(inputs)])
        count += 1
        spent = time.process_time() - start
        if spent >= SECONDS_PER_ROUND:
            return count / spent


def measured_sizes(positions: PositionSet) -> list[int]:
    """Return the smallest and the largest of the sizes that are there."""
    sizes = sorted({width for width, height in positions.by_size if width == height})
    return sizes if len(sizes) < 3 else [sizes[0], sizes[-1]]
