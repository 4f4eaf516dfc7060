"""Weights as integers, each rounded so as to make good what others were rounded by.

Frantar et al. 2022, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
Transformers": what a layer gives is to stay the same for the inputs that it meets, not each weight.
So an input's weights are rounded one after the other, and what is lost by one goes into those that
follow, by as much as their inputs are alike.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_export.quantise.graph_edit import GraphEdit, attribute
from gtp_export.quantise.layers import is_planes, layer_weights
from gtp_export.quantise.positions import Positions
from gtp_export.quantise.ranges import tensor_values

WEIGHT_LIMIT = {7: 63, 8: 127}
"""Largest integer weight by bits."""
SMALLEST_STEP = 1e-8
DAMPING = 0.01
"""Share of the inputs' mean square that is added to each, so that none follows from the others."""
GRAMS_AT_ONCE = 1 << 25
"""Numbers in the products of inputs that are gathered in one pass over the positions: 256 MB."""
SAMPLED = 5
"""Of so many points one is looked at; their neighbours would say little more."""


class Integers(NamedTuple):
    """A layer's weights, as integers times a scale."""

    values: NDArray[np.int8]
    """[out, ...]."""
    scales: NDArray[np.float32]
    """[out]."""


def round_weights(
    model: onnx.ModelProto,
    info: NetInfo,
    names: Collection[str],
    weight_bits: int,
    positions: Positions,
) -> dict[str, Integers]:
    """Return the weights of some layers, by name, rounded for the inputs of these positions.

    Args:
        weight_bits: 7 or 8; a layer that reads the planes has 8 in any case.
    """
    edit = GraphEdit(model)
    layers = [
        (node, weights)
        for node in edit.nodes
        if node.name in names and (weights := layer_weights(edit, node)) is not None
    ]
    found: dict[str, Integers] = {}
    while layers:
        room, part = GRAMS_AT_ONCE, layers[:0]
        while layers and (not part or layers[0][1][0].size ** 2 <= room):
            room -= layers[0][1][0].size ** 2
            part.append(layers.pop(0))
        grams = {node.name: np.zeros((weights[0].size,) * 2) for node, weights in part}
        inputs = list(dict.fromkeys(node.input[0] for node, _ in part))
        for tensor, values in tensor_values(model, info, inputs, positions):
            for node, weights in part:
                if node.input[0] == tensor:
                    met = inputs_met(values, weights, attribute(node, "dilations", (1, 1)))
                    grams[node.name] += met[::SAMPLED].T @ met[::SAMPLED]
        for node, weights in part:
            bits = 8 if is_planes(edit, node.input[0]) else weight_bits
            found[node.name] = round_matrix(weights, grams[node.name], WEIGHT_LIMIT[bits])
    return found


def inputs_met(
    values: NDArray[np.float32], weights: NDArray[np.float32], dilations: tuple[int, int]
) -> NDArray[np.float32]:
    """Return [samples, in * kh * kw] what the weights [out, in, kh, kw] of an output are put to.

    Args:
        values: [B, in, H, W], or [B, S, in] for weights [out, in].
    """
    if weights.ndim == 2:
        return values.reshape(-1, values.shape[-1])
    reach = [d * (k - 1) for d, k in zip(dilations, weights.shape[2:], strict=True)]
    padded = np.pad(values, [(0, 0), (0, 0), *((r // 2, r - r // 2) for r in reach)])
    windows = sliding_window_view(padded, [r + 1 for r in reach], axis=(2, 3))
    windows = windows[..., :: dilations[0], :: dilations[1]]
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, weights[0].size)


def round_matrix(weights: NDArray[np.float32], gram: NDArray[np.float64], limit: int) -> Integers:
    """Return weights [out, ...] as integers up to a limit.

    Args:
        gram: [n, n] the inputs' products, summed over samples; n weights make one output.
    """
    left = weights.reshape(len(weights), -1).astype(np.float64)
    scales = np.maximum(np.abs(left).max(axis=1) / limit, SMALLEST_STEP).astype(np.float32)
    order = np.argsort(-np.diag(gram))  # the inputs that matter most while others can follow
    left, gram = left[:, order], gram[order][:, order]
    gram = gram + np.eye(len(gram)) * (DAMPING * np.trace(gram) / len(gram) + SMALLEST_STEP)
    follow = np.linalg.cholesky(np.linalg.inv(gram)).T
    values = np.zeros(left.shape, np.int8)
    for i, place in enumerate(order):
        rounded = np.clip(np.rint(left[:, i] / scales), -limit, limit)
        values[:, place] = rounded
        lost = (left[:, i] - rounded * scales) / follow[i, i]
        left[:, i:] -= lost[:, None] * follow[i, i:]
    return Integers(values.reshape(weights.shape), scales)
