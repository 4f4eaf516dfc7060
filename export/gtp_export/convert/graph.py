"""A small typed builder of ONNX graphs, and the writing of the finished file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from gtp_engine.evaluators.nets.net_info import (
    GLOBAL_INPUT,
    META_INPUT,
    OUTPUT_NAMES,
    SPATIAL_INPUT,
)
from gtp_engine.evaluators.runtimes.onnx_runtime import LARGEST_FILE
from gtp_engine.files import write_whole
from gtp_export.convert.onnx_file import remove_smaller

OPSET = 17
"""Old enough for every ONNX Runtime this project supports, new enough for all that is used."""
IR_VERSION = 8


Attribute = int | float | str | Sequence[int] | Sequence[float]


class GraphError(ValueError):
    """A net that reads well but cannot be made into a graph; the message says why."""


class Graph:
    """Collect nodes, constants, inputs and outputs; tensors are named by strings."""

    def __init__(self, name: str, opset: int = OPSET) -> None:
        self._name = name
        self._opset = opset
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._known: dict[tuple[object, ...], list[str]] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        # A foreign net may call its layers what `net_info` calls its inputs and outputs.
        self._names = dict.fromkeys((*OUTPUT_NAMES, SPATIAL_INPUT, GLOBAL_INPUT, META_INPUT), 1)

    def input(self, name: str, dtype: int, shape: Sequence[int | str]) -> str:
        """Declare an input; strings in the shape are dynamic sizes."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def output(self, name: str, tensor: str, shape: Sequence[int | str]) -> None:
        """Declare a float32 output that holds `tensor`."""
        self._nodes.append(helper.make_node("Identity", [tensor], [name], name=f"{name}/out"))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def node(self, op: str, *inputs: str, name: str = "", **attributes: Attribute) -> str:
        """Append a node with one output and return the name of that output."""
        return self.nodes(op, *inputs, outputs=1, name=name, **attributes)[0]

    def nodes(
        self, op: str, *inputs: str, outputs: int, name: str = "", **attributes: Attribute
    ) -> list[str]:
        """Append a node, equal ones without a name once; return the names of its outputs."""
        key = (op, inputs, outputs, str(attributes))
        if name or key not in self._known:
            base = self.fresh(name or op.lower())
            names = [base] if outputs == 1 else [f"{base}_{index}" for index in range(outputs)]
            self._nodes.append(helper.make_node(op, list(inputs), names, name=base, **attributes))
            self._known[key] = names
        return self._known[key]

    def floats(self, values: Any, name: str = "const") -> str:
        """Return a float32 constant; equal ones are stored once.

        Raises:
            GraphError: a value is beyond what float32 holds.
        """
        with np.errstate(over="ignore"):
            array = np.ascontiguousarray(values, np.float32)
        if not np.isfinite(array).all():
            raise GraphError(f"{name} grows beyond what float32 holds once norms are folded in")
        return self._constant(array, name)

    def ints(self, values: Any, name: str = "const") -> str:
        """Return an int64 constant; equal ones are stored once."""
        return self._constant(np.ascontiguousarray(values, np.int64), name)

    def signed_bytes(self, values: Any, name: str = "const") -> str:
        """Return an int8 constant; equal ones are stored once."""
        return self._constant(np.ascontiguousarray(values, np.int8), name)

    def fresh(self, name: str) -> str:
        """Return `name`, numbered if it is taken."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self.fresh(f"{name}.{count}")

    def _constant(self, array: NDArray[Any], name: str) -> str:
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.fresh(name)
            self._initializers.append(numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    def model(self, metadata: Mapping[str, str]) -> onnx.ModelProto:
        """Return the finished model with these entries of metadata."""
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, self._initializers
        )
        opset = helper.make_opsetid("", self._opset)
        model = helper.make_model(
            graph, opset_imports=[opset], producer_name="gtp-export", ir_version=IR_VERSION
        )
        helper.set_model_props(model, dict(metadata))
        return model


def write_model(model: onnx.ModelProto, path: Path) -> None:
    """Write a model so that `path` holds either all of it or what it held before.

    Files in lower precision that were made of a net that it held are removed.

    Raises:
        GraphError: the model is larger than an ONNX file can be.
        OSError: the file cannot be written; nothing is left behind.
    """
    if model.ByteSize() > LARGEST_FILE:
        raise GraphError("the net is larger than the 2 GiB an ONNX file can hold")
    content = model.SerializeToString()
    if path.exists():
        remove_smaller(path)
    write_whole(path, content)
