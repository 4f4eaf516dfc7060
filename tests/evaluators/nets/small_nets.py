"""Net files small enough to work out by hand, each with some of the heads."""

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tests.paths import TINY

from gtp_engine.evaluators.nets.net_info import ENCODERS, SPATIAL_INPUT, NetInfo


def write_with_heads(path: Path, *heads: str, name: str = "part") -> Path:
    """Write the tiny net with these heads alone."""
    model = onnx.load(TINY)
    kept = [output for output in model.graph.output if output.name in heads]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    old = NetInfo.from_metadata({item.key: item.value for item in model.metadata_props})
    fields = {field: getattr(old, field) for field in old.__dataclass_fields__}
    fields |= {"name": name, "heads": {head: old.heads[head] for head in heads}}
    del model.metadata_props[:]
    helper.set_model_props(model, NetInfo(**fields).to_metadata())
    onnx.save(model, path)
    return path


def write_owner(path: Path, share: float = 0.9, **changes: object) -> Path:
    """Write a net, of GoCNN's planes, that gives each color a share of the points of its stones."""
    kernel = np.zeros((1, 8, 1, 1), np.float32)
    kernel[0, :3], kernel[0, 3:6] = share, -share
    axis = numpy_helper.from_array(np.array([1], np.int64), "axis")
    last = helper.make_node("Squeeze", ["map", "axis"], ["ownership"])
    return _write(path, "gocnn8", "ownership", kernel, last, [axis], changes)


def write_chooser(path: Path, **changes: object) -> Path:
    """Write a net, of the book's plane, with logits of 2 for each of the opponent's stones within
    a step; it knows no pass."""
    kernel = np.zeros((1, 2, 3, 3), np.float32)
    kernel[0, 1, [0, 1, 1, 1, 2], [1, 0, 1, 2, 1]] = 2.0
    last = helper.make_node("Flatten", ["map"], ["policy"])
    return _write(path, "dlgo1", "policy", kernel, last, [], changes)


def _write(
    path: Path,
    encoder: str,
    head: str,
    kernel: NDArray[np.float32],
    last: onnx.NodeProto,
    constants: list[onnx.TensorProto],
    changes: dict[str, object],
) -> Path:
    """Write a net of one convolution."""
    version, planes, _ = ENCODERS[encoder]
    side = kernel.shape[2] // 2
    nodes = [
        helper.make_node("Cast", [SPATIAL_INPUT], ["planes"], to=TensorProto.FLOAT),
        helper.make_node("Conv", ["planes", "kernel"], ["map"], pads=[side] * 4),
        last,
    ]
    spatial = helper.make_tensor_value_info(
        SPATIAL_INPUT, TensorProto.UINT8, ["batch", planes, "height", "width"]
    )
    output = helper.make_tensor_value_info(head, TensorProto.FLOAT, None)
    constants = [numpy_helper.from_array(kernel, "kernel"), *constants]
    graph = helper.make_graph(nodes, "small", [spatial], [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    described: dict[str, object] = {
        "name": path.stem,
        "encoder": encoder,
        "encoder_version": version,
        "spatial_planes": planes,
        "heads": {head: "of a small net"},
        "has_pass": False,
        "no_result": "never",
    }
    info = NetInfo(**{**described, **changes})  # type: ignore[arg-type]
    helper.set_model_props(model, info.to_metadata())
    onnx.save(model, path)
    return path
