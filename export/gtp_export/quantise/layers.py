"""The layers of a graph that can be quantised, and the groups in which people think of them.

A layer is a convolution, or a matrix product that every point of the board goes through. The first
convolution is the `stem`. A layer that leads to every output belongs to the trunk and to the group
that its name begins with, such as a block. The others are `heads`, each with a group of its own
name.
"""

import re
from dataclasses import dataclass

import numpy as np
import onnx

from gtp_engine.evaluators.nets.net_info import META_INPUT, SPATIAL_INPUT, NetFileError
from gtp_export.quantise.folding import Floats, conv_weights, is_plain_conv
from gtp_export.quantise.graph_edit import GraphEdit

STEM, HEADS, NONE = "stem", "heads", "none"


@dataclass(frozen=True)
class Layer:
    """A convolution or a matrix product."""

    name: str
    group: str
    is_head: bool
    multiplications: int
    """A board point."""


def list_layers(edit: GraphEdit) -> list[Layer]:
    """Return the layers of a graph without changes, in the order in which they run."""
    reached = _reached_outputs(edit)
    stems = _stems(edit)
    tokens = _token_tensors(edit)
    layers = []
    for node in edit.nodes:
        weights = layer_weights(edit, node)
        if node.output[0] not in reached:
            continue  # nobody reads it
        if weights is None or not (is_plain_conv(edit, node) or node.input[0] in tokens):
            continue
        is_head = len(reached[node.output[0]]) < len(edit.outputs)
        group = _group(node.name, is_head)
        layers.append(
            Layer(node.name, STEM if node.name in stems else group, is_head, int(weights.size))
        )
    return layers


def layer_weights(edit: GraphEdit, node: onnx.NodeProto) -> Floats | None:
    """Return the weights [out, ...] of a convolution or a product with a constant matrix."""
    if node.op_type != "MatMul":
        return conv_weights(edit, node)
    weights = edit.constant(node.input[1])
    is_matrix = weights is not None and weights.ndim == 2 and weights.dtype == np.float32
    return weights.T if is_matrix and weights is not None else None


def is_planes(edit: GraphEdit, tensor: str) -> bool:
    """Whether a tensor is nothing but the uint8 planes as floats."""
    node = edit.producer(tensor)
    return node is not None and node.op_type == "Cast" and node.input[0] == SPATIAL_INPUT


def _token_tensors(edit: GraphEdit) -> set[str]:
    """Return the tensors [B, S, C]; what goes through a matrix once a board is [B, C]."""
    inferred = onnx.shape_inference.infer_shapes(edit.model).graph.value_info
    return {value.name for value in inferred if len(value.type.tensor_type.shape.dim) == 3}


def group_names(layers: list[Layer]) -> list[str]:
    """Return the groups in the order in which they run."""
    return list(dict.fromkeys(layer.group for layer in layers))


def choose_layers(layers: list[Layer], keep_fp32: tuple[str, ...]) -> set[str]:
    """Return the names of the layers to quantise.

    Args:
        keep_fp32: `stem`, `heads`, groups, layers, or what their names begin with before a slash
            or a dot; `none` alone quantises everything.

    Raises:
        NetFileError: A word that names nothing.
    """
    chosen = {layer.name for layer in layers}
    for word in keep_fp32:
        kept = {layer.name for layer in layers if _is_meant(layer, word)}
        if not kept and word not in (NONE, STEM, HEADS):
            known = ", ".join(dict.fromkeys([STEM, HEADS, NONE, *group_names(layers)]))
            raise NetFileError(f"no layer is called {word!r}; groups are {known}")
        chosen -= kept
    return chosen


def _is_meant(layer: Layer, word: str) -> bool:
    if word == HEADS:
        return layer.is_head
    return (
        layer.group == word or layer.name == word or layer.name.startswith((f"{word}/", f"{word}."))
    )


def _group(name: str, is_head: bool) -> str:
    """Return the part of a layer's name that its neighbours in a block share."""
    if is_head:
        return name
    parts = re.split(r"([/.])", name)
    return "".join(parts[:-2]) or name


def _reached_outputs(edit: GraphEdit) -> dict[str, set[str]]:
    """Return by tensor the graph outputs that depend on it."""
    reached: dict[str, set[str]] = {name: {name} for name in edit.outputs}
    for node in reversed(edit.nodes):
        onward = set().union(*(reached.get(name, set()) for name in node.output))
        for name in node.input:
            reached.setdefault(name, set()).update(onward)
    return reached


def _stems(edit: GraphEdit) -> set[str]:
    """Return the names of the convolutions over the input planes, before any other."""
    sources: dict[str, bool] = {value.name: value.name != META_INPUT for value in edit.graph.input}
    stems = set()
    for node in edit.nodes:
        from_planes = bool(node.input) and sources.get(node.input[0], False)
        if is_plain_conv(edit, node):
            if from_planes:
                stems.add(node.name)
            continue
        if node.op_type in ("Cast", "Sub", "Split", "Identity", "Transpose", "Mul", "Div"):
            sources.update(dict.fromkeys(node.output, from_planes))
    return stems


def name_nodes(model: onnx.ModelProto) -> None:
    """Give every node a name of its own, where it has none or shares one."""
    taken: set[str] = set()
    for number, node in enumerate(model.graph.node):
        if not node.name or node.name in taken:
            node.name = f"{node.name or node.op_type.lower()}.{number}"
        taken.add(node.name)


def share(layers: list[Layer], names: set[str]) -> float:
    """Return the share of all multiplications that these layers make."""
    total = sum(layer.multiplications for layer in layers)
    return float(np.sum([one.multiplications for one in layers if one.name in names]) / total)
