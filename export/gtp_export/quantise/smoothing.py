"""Channels of what matrix products read made alike in width, for all of them share one scale.

Xiao et al. 2022, "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language
Models": a channel's width is moved from the activations to the weights that read it,

    W (c * x) = W s (c / s * x),

where c is a norm's factor a channel, or the matrix that makes a feed-forward block's gate.
"""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_export.quantise.graph_edit import GraphEdit
from gtp_export.quantise.layers import layer_weights
from gtp_export.quantise.positions import Positions
from gtp_export.quantise.ranges import watch_tensors

STRENGTH = 0.75
"""Share of a channel's width that goes to the weights; tuned by hand on an attention net."""
SMALLEST_WIDTH = 1e-6


def smooth_products(model: onnx.ModelProto, info: NetInfo, positions: Positions) -> onnx.ModelProto:
    """Return a model, which is changed, with widths moved; it computes what it did."""
    edit = GraphEdit(model)
    sources = {
        tensor: source
        for node in edit.nodes
        for tensor in node.output
        if (source := _source_of(edit, node, edit.consumers(tensor)))
    }
    for tensor, seen in watch_tensors(model, info, list(sources), positions).items():
        if not seen.channel_high.size:  # once a board, no points
            continue
        readers = edit.consumers(tensor)
        wide = np.maximum(seen.channel_high, -seen.channel_low) + SMALLEST_WIDTH
        read = np.max([np.abs(_constant(edit, node, 1)).max(axis=1) for node in readers], axis=0)
        factors = wide**STRENGTH / (read + SMALLEST_WIDTH) ** (1.0 - STRENGTH)
        factors /= np.exp(np.log(factors).mean())
        for node in readers:
            weights = _constant(edit, node, 1) * factors[:, None]
            node.input[1] = edit.add_constant(weights, f"{node.name}/smooth")
        maker, place = sources[tensor]
        divided = _constant(edit, maker, place) / factors
        maker.input[place] = edit.add_constant(divided, f"{maker.name}/smooth")
    return edit.finish()


def _source_of(
    edit: GraphEdit, node: onnx.NodeProto, readers: Sequence[onnx.NodeProto]
) -> tuple[onnx.NodeProto, int] | None:
    """Return whose constant [..., C], and which, may scale what matrix products alone read."""
    if node.op_type != "Mul" or not readers or node.output[0] in edit.outputs:
        return None
    if any(one.op_type != "MatMul" or layer_weights(edit, one) is None for one in readers):
        return None
    for place, name in enumerate(node.input):
        constant, gate = edit.constant(name), edit.producer(name)
        if constant is not None and constant.ndim == 1 and constant.size > 1:
            return node, place
        if gate is not None and gate.op_type == "MatMul" and layer_weights(edit, gate) is not None:
            return (gate, 1) if edit.only_consumer(name, "Mul") is not None else None
    return None


def _constant(edit: GraphEdit, node: onnx.NodeProto, place: int) -> NDArray[np.float32]:
    found = edit.constant(node.input[place])
    assert found is not None
    return found
