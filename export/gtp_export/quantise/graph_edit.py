"""Changing a finished ONNX graph: who makes a tensor, who reads it, new constants and nodes."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper


class GraphEdit:
    """A model that is being changed in place.

    Constants are never changed, only added, because equal ones are shared; `finish` drops those
    that nobody reads any more. The model gets its nodes back in `finish` too: until then they are
    in a plain list, for protobuf's own lists hand out copies.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.graph = model.graph
        self.nodes = [copy.deepcopy(node) for node in model.graph.node]
        """In an order in which they can run; change it by `set_nodes`."""
        self.outputs = [value.name for value in model.graph.output]
        self._constants = {
            tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer
        }
        self._names = set(self._constants) | {value.name for value in self.graph.input}
        self._names |= {name for node in self.nodes for name in node.output}
        self.index()

    def index(self) -> None:
        """Find producers and consumers anew, after nodes or their inputs changed."""
        self._producers: dict[str, onnx.NodeProto] = {}
        self._consumers: dict[str, list[onnx.NodeProto]] = {}
        for node in self.nodes:
            for name in node.output:
                self._producers[name] = node
            for name in dict.fromkeys(node.input):
                self._consumers.setdefault(name, []).append(node)

    def producer(self, tensor: str) -> onnx.NodeProto | None:
        """Return the node that makes a tensor; None for inputs and constants."""
        return self._producers.get(tensor)

    def consumers(self, tensor: str) -> list[onnx.NodeProto]:
        """Return the nodes that read a tensor; a graph output counts as none."""
        return self._consumers.get(tensor, [])

    def only_consumer(self, tensor: str, op: str) -> onnx.NodeProto | None:
        """Return the one node that reads a tensor, if it is of this kind and nobody else does."""
        readers = self.consumers(tensor)
        alone = len(readers) == 1 and tensor not in self.outputs
        return readers[0] if alone and readers[0].op_type == op else None

    def constant(self, tensor: str) -> NDArray[Any] | None:
        """Return the value [...] of a constant; None for a computed tensor."""
        return self._constants.get(tensor)

    def fresh(self, name: str) -> str:
        """Return a tensor name that is not taken, like this one."""
        number, found = 1, name
        while found in self._names:
            number += 1
            found = f"{name}.{number}"
        self._names.add(found)
        return found

    def add_constant(self, values: NDArray[Any], name: str) -> str:
        """Add a constant [...] of any shape and return its name."""
        found = self.fresh(name)
        array = np.asarray(values, order="C")  # scalars stay scalars
        self.graph.initializer.append(numpy_helper.from_array(array, found))
        self._constants[found] = array
        return found

    def node(
        self, op: str, inputs: Sequence[str], output: str, **attributes: Any
    ) -> onnx.NodeProto:
        """Return a new node, which is not in the graph yet; it is named after its output."""
        return helper.make_node(op, list(inputs), [output], name=output, **attributes)

    def replace_input(self, node: onnx.NodeProto, old: str, new: str) -> None:
        for place, name in enumerate(node.input):
            if name == old:
                node.input[place] = new

    def set_nodes(self, nodes: Sequence[onnx.NodeProto]) -> None:
        """Put other nodes in the place of all, in an order in which they can run."""
        self.nodes = list(nodes)
        self.index()

    def take_constants(self) -> None:
        """Make constants of the nodes that only hold one, as other exporters write them."""
        held: dict[str, Any] = {}
        for node in self.nodes:
            value = attribute(node, "value", None) if node.op_type == "Constant" else None
            if value is not None:
                held[node.output[0]] = numpy_helper.to_array(value)
            elif node.op_type == "Identity" and node.output[0] not in self.outputs:
                given = held.get(node.input[0], self.constant(node.input[0]))
                if given is not None:
                    held[node.output[0]] = given
        for name, array in held.items():
            self.graph.initializer.append(numpy_helper.from_array(array, name))
        self._constants |= held
        self.set_nodes([node for node in self.nodes if node.output[0] not in held])

    def finish(self) -> onnx.ModelProto:
        """Write the nodes into the model, drop constants without a reader, and return the model."""
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        read = {name for node in self.nodes for name in node.input} | set(self.outputs)
        kept = [tensor for tensor in self.graph.initializer if tensor.name in read]
        del self.graph.initializer[:]
        self.graph.initializer.extend(kept)
        del self.graph.value_info[:]
        return self.model


def attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    for item in node.attribute:
        if item.name == name:
            return helper.get_attribute_value(item)
    return default
