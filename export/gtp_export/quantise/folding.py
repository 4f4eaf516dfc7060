"""Make norms disappear into convolutions, so that int8 kernels meet nothing but each other.

Pre-activation residual nets (He et al. 2016, "Identity Mappings in Deep Residual Networks") put a
norm y = s x + b and a relu between the residual stream and every block. For s > 0

    relu(s x + b) = s relu(x + b / s),

so s goes into the weights of the convolutions that follow. The shift c = b / s that is left is
moved to where the stream comes from: x + c = other + (conv + c), and whoever else adds to x takes
c off again in the bias of what it adds. In the end no norm is left in the trunk.
"""

import numpy as np
import onnx
from numpy.typing import NDArray

from gtp_export.quantise.graph_edit import GraphEdit, attribute

SMALLEST_SCALE = 1e-3
"""A norm's scale below which the shift would grow beyond reason."""

Floats = NDArray[np.float32]


def fold_norms(edit: GraphEdit) -> None:
    """Fold what can be folded, without changing what the graph computes."""
    for norm in [node for node in edit.nodes if node.op_type == "BatchNormalization"]:
        factors = _scale_and_shift(edit, norm)
        if factors is None:
            continue
        scale, shift = factors
        if not _fold_backwards(edit, norm, scale, shift):
            _fold_forwards(edit, norm, scale, shift)
    for node in [node for node in edit.nodes if node.op_type == "Add"]:
        _move_shift(edit, node)


def _scale_and_shift(edit: GraphEdit, norm: onnx.NodeProto) -> tuple[Floats, Floats] | None:
    """Return what a norm multiplies by and adds, [C] each; None if that is computed."""
    gamma, beta, mean, variance = (edit.constant(name) for name in norm.input[1:5])
    if gamma is None or beta is None or mean is None or variance is None:
        return None
    epsilon = float(attribute(norm, "epsilon", 1e-5))
    scale = gamma.astype(np.float64) / np.sqrt(variance.astype(np.float64) + epsilon)
    return scale.astype(np.float32), (beta - mean * scale).astype(np.float32)


def _fold_backwards(edit: GraphEdit, norm: onnx.NodeProto, scale: Floats, shift: Floats) -> bool:
    """Fold a norm into the convolution before it, if nobody else reads that."""
    conv = edit.producer(norm.input[0])
    if conv is None or conv.op_type != "Conv":
        return False
    if edit.only_consumer(norm.input[0], "BatchNormalization") is None:
        return False
    weights = conv_weights(edit, conv)
    if weights is None:
        return False
    bias = conv_bias(edit, conv)
    _set_weights(edit, conv, weights * scale[:, None, None, None])
    set_conv_bias(edit, conv, bias * scale + shift)
    _bypass(edit, norm)
    return True


def _fold_forwards(edit: GraphEdit, norm: onnx.NodeProto, scale: Floats, shift: Floats) -> None:
    """Turn a norm before a relu into a shift, its scale into the weights after the relu."""
    relu = edit.only_consumer(norm.output[0], "Relu")
    if relu is None or relu.output[0] in edit.outputs or scale.min() < SMALLEST_SCALE:
        return
    convs = edit.consumers(relu.output[0])
    if not all(is_plain_conv(edit, conv) for conv in convs):
        return
    for conv in convs:
        weights = conv_weights(edit, conv)
        assert weights is not None
        _set_weights(edit, conv, weights * scale[None, :, None, None])
    values = (shift / scale).reshape(1, -1, 1, 1)
    constant = edit.add_constant(values.astype(np.float32), f"{norm.name}/shift")
    add = edit.node("Add", [norm.input[0], constant], norm.output[0])
    edit.set_nodes([add if node is norm else node for node in edit.nodes])


def _move_shift(edit: GraphEdit, shift: onnx.NodeProto) -> None:
    """Move a shift a channel of the residual stream into the biases of what is added to it."""
    values = edit.constant(shift.input[1])
    stream = shift.input[0]
    made_by = edit.producer(stream)
    if values is None or values.ndim != 4 or values.shape[1] != values.size:
        return
    if made_by is None or made_by.op_type != "Add" or stream in edit.outputs:
        return
    source = _added_conv(edit, made_by, stream="")
    later = [node for node in edit.consumers(stream) if node is not shift]
    corrected = [_added_conv(edit, node, stream) for node in later if node.op_type == "Add"]
    if source is None or len(corrected) != len(later) or None in corrected:
        return
    vector = values.ravel()
    set_conv_bias(edit, source, conv_bias(edit, source) + vector)
    for conv in corrected:
        assert conv is not None
        set_conv_bias(edit, conv, conv_bias(edit, conv) - vector)
    _bypass(edit, shift)


def _added_conv(edit: GraphEdit, add: onnx.NodeProto, stream: str) -> onnx.NodeProto | None:
    """Return a convolution that is added to the stream and read by nobody else."""
    for name in reversed(add.input):
        conv = edit.producer(name)
        is_conv = name != stream and conv is not None and is_plain_conv(edit, conv)
        if is_conv and edit.only_consumer(name, "Add") is not None:
            return conv
    return None


def is_plain_conv(edit: GraphEdit, node: onnx.NodeProto) -> bool:
    """Whether a node is a convolution over maps with constant weights and a single group."""
    return conv_weights(edit, node) is not None and attribute(node, "group", 1) == 1


def conv_weights(edit: GraphEdit, node: onnx.NodeProto) -> Floats | None:
    """Return a convolution's weights [out, in, kh, kw]; None for other nodes.

    One whose bias is computed is such another node.
    """
    bias = "".join(node.input[2:])
    if node.op_type != "Conv" or (bias and edit.constant(bias) is None):
        return None
    weights = edit.constant(node.input[1])
    is_map = weights is not None and weights.ndim == 4 and weights.dtype == np.float32
    return weights if is_map else None


def conv_bias(edit: GraphEdit, conv: onnx.NodeProto) -> Floats:
    """Return a convolution's bias [out], zeros where it has none."""
    weights = conv_weights(edit, conv)
    assert weights is not None
    given = edit.constant(conv.input[2]) if len(conv.input) > 2 else None
    return np.zeros(len(weights), np.float32) if given is None else given.astype(np.float32)


def set_conv_bias(edit: GraphEdit, conv: onnx.NodeProto, bias: Floats) -> None:
    """Give a convolution another bias [out]."""
    name = edit.add_constant(bias.astype(np.float32), f"{conv.name}/bias")
    if len(conv.input) > 2:
        conv.input[2] = name
    else:
        conv.input.append(name)


def _set_weights(edit: GraphEdit, conv: onnx.NodeProto, weights: Floats) -> None:
    conv.input[1] = edit.add_constant(weights.astype(np.float32), f"{conv.name}/weights")


def _bypass(edit: GraphEdit, node: onnx.NodeProto) -> None:
    """Take a node out; its readers read its input."""
    for reader in edit.consumers(node.output[0]):
        edit.replace_input(reader, node.output[0], node.input[0])
    if node.output[0] in edit.outputs:
        same = edit.node("Identity", [node.input[0]], node.output[0])
        edit.set_nodes([same if other is node else other for other in edit.nodes])
    else:
        edit.set_nodes([other for other in edit.nodes if other is not node])
