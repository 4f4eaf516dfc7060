"""fp16 inside, the types of `net_info` outside: for GPUs.

Sums of squares, logarithms of what is hardly above 0, and everything computed from the board's
size stay in fp32, where fp16 would overflow or lose what matters; so does what ONNX Runtime does
not do in fp16. They are small.
"""

import copy

import numpy as np
import onnx
from onnx import TensorProto

from gtp_engine.evaluators.nets.net_info import SPATIAL_INPUT
from gtp_export.convert.graph import GraphError
from gtp_export.quantise.graph_edit import GraphEdit, attribute

FP32_OPS = (
    *("Pow", "ReduceMean", "ReduceSum", "ReduceProd", "ReduceL2", "Softplus", "Range"),
    *("Max", "Log", "ScatterElements"),
)
"""Kinds of nodes that work in fp32 whatever stands around them."""
PASSIVE_OPS = ("Shape", "Size")
"""Kinds of nodes that do not care about the type."""
LARGEST_HALF = 65504.0


def to_half(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a model that computes in fp16.

    Raises:
        GraphError: A weight is beyond what fp16 holds.
    """
    return _Halver(GraphEdit(copy.deepcopy(model))).run()


def tensors_in_half(model: onnx.ModelProto) -> list[str]:
    """Return the tensors of a model that `to_half` computes in fp16."""
    halver = _Halver(GraphEdit(copy.deepcopy(model)))
    halver.run()
    inferred = onnx.shape_inference.infer_shapes(model).graph
    floats = dict.fromkeys(
        value.name
        for value in (*inferred.value_info, *inferred.output)
        if value.type.tensor_type.elem_type == TensorProto.FLOAT
    )
    return [name for name in floats if halver.kinds.get(name) == TensorProto.FLOAT16]


class _Halver:
    """Goes through the nodes in order and knows the precision of every float tensor."""

    def __init__(self, edit: GraphEdit) -> None:
        self._edit = edit
        self._nodes: list[onnx.NodeProto] = []
        self.kinds = {value.name: value.type.tensor_type.elem_type for value in edit.graph.input}
        for tensor in edit.graph.initializer:
            self.kinds[tensor.name] = tensor.data_type
        self._means: set[str] = set()
        """Means of squares and what norms make of them."""
        self._casts: dict[tuple[str, int], str] = {}
        self._sizes = self._tensors_of_size()

    def _tensors_of_size(self) -> set[str]:
        """Return the tensors that depend on the board's size alone."""
        found: set[str] = set()
        for node in self._edit.nodes:
            constant = all(
                name in found or self._edit.constant(name) is not None for name in node.input
            )
            if node.op_type == "Shape" or (node.input and constant):
                found.update(node.output)
        return found

    def run(self) -> onnx.ModelProto:
        for node in self._edit.nodes:
            self._add(node)
        for name in self._edit.outputs:
            self._restore(name)
        self._edit.set_nodes(self._nodes)
        return self._edit.finish()

    def _add(self, node: onnx.NodeProto) -> None:
        if node.op_type == "Cast":
            self._add_cast(node)
            return
        if node.op_type in PASSIVE_OPS:
            self._nodes.append(node)
            self.kinds.update(dict.fromkeys(node.output, TensorProto.INT64))
            return
        is_norm = node.op_type in ("Add", "Sqrt") and not self._means.isdisjoint(node.input)
        if is_norm or node.op_type == "ReduceMean":
            self._means.update(node.output)
        single = is_norm or node.op_type in FP32_OPS or node.output[0] in self._sizes
        wanted = TensorProto.FLOAT if single else TensorProto.FLOAT16
        floats = False
        for place, name in enumerate(node.input):
            if name and self.kinds.get(name) in (TensorProto.FLOAT, TensorProto.FLOAT16):
                node.input[place] = self._as(name, wanted)
                floats = True
        self._nodes.append(node)
        known = self.kinds.get(node.input[0], wanted) if node.input else wanted
        self.kinds.update(dict.fromkeys(node.output, wanted if floats else known))

    def _add_cast(self, node: onnx.NodeProto) -> None:
        """Let casts of the planes to float go to fp16 at once."""
        kind = int(attribute(node, "to", TensorProto.FLOAT))
        if kind == TensorProto.FLOAT and node.input[0] == SPATIAL_INPUT:
            kind = TensorProto.FLOAT16
            for item in node.attribute:
                if item.name == "to":
                    item.i = kind
        self._nodes.append(node)
        self.kinds[node.output[0]] = kind

    def _as(self, name: str, kind: int) -> str:
        """Return a tensor with the same values in a precision."""
        if self.kinds[name] == kind:
            return name
        if (name, kind) not in self._casts:
            self._casts[name, kind] = self._converted(name, kind)
        return self._casts[name, kind]

    def _converted(self, name: str, kind: int) -> str:
        edit = self._edit
        suffix = "half" if kind == TensorProto.FLOAT16 else "single"
        constant = edit.constant(name)
        if constant is None:
            found = edit.fresh(f"{name}/{suffix}")
            self._nodes.append(edit.node("Cast", [name], found, to=kind))
        else:
            if np.abs(constant).max(initial=0.0) > LARGEST_HALF:
                raise GraphError(f"{name} holds a value that fp16 does not")
            dtype = np.float16 if kind == TensorProto.FLOAT16 else np.float32
            found = edit.add_constant(constant.astype(dtype), f"{name}/{suffix}")
        self.kinds[found] = kind
        return found

    def _restore(self, name: str) -> None:
        """Give a graph output back its type."""
        if self.kinds[name] != TensorProto.FLOAT16:
            return
        inner = self._edit.fresh(f"{name}/inner")
        for node in self._nodes:
            for place, made in enumerate(node.output):
                if made == name:
                    node.output[place] = inner
            self._edit.replace_input(node, name, inner)
        self._nodes.append(self._edit.node("Cast", [inner], name, to=TensorProto.FLOAT))
