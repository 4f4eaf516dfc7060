"""Inputs and outputs a net carries along, so that any machine can check what it computes.

The planes come from a hash of the position in the tensor, so they are the same everywhere:
with i the index within a case, h = (i * 2654435761 + seed) mod 2^32 and then h = h xor (h >> 15)
times 2246822519 mod 2^32, a plane's point is set where (h >> 24) < 64; plane 0 is all ones. The
globals are ((h >> 16) mod 201 - 100) / 100.
"""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import (
    GLOBAL_INPUT,
    META_INPUT,
    SPATIAL_INPUT,
    GoldenCase,
    NetInfo,
    golden_to_metadata,
)
from gtp_engine.evaluators.runtimes.onnx_runtime import first_line, open_model
from gtp_export.convert.graph import GraphError

_SEED = 20_261_120


def golden_inputs(info: NetInfo, size: int) -> dict[str, NDArray[np.uint8 | np.float32]]:
    """Return the inputs of one case: planes [1, C, size, size], globals [1, G], profile [1, M]."""
    count = info.spatial_planes * size * size
    planes = ((_hash(count, size) >> 24) < 64).astype(np.uint8)
    planes = planes.reshape(1, info.spatial_planes, size, size)
    planes[:, 0] = 1
    inputs: dict[str, NDArray[np.uint8 | np.float32]] = {SPATIAL_INPUT: planes}
    widths = ((GLOBAL_INPUT, info.global_features), (META_INPUT, info.meta_features))
    for name, width in widths:
        if width:
            raw = (_hash(width, size + len(name)) >> 16) % 201
            inputs[name] = ((raw.astype(np.float64) - 100) / 100).astype(np.float32)[None]
    return inputs


def _hash(count: int, seed: int) -> NDArray[np.uint64]:
    mask = np.uint64(0xFFFFFFFF)
    mixed = np.arange(count, dtype=np.uint64) * np.uint64(2654435761)
    mixed = (mixed + np.uint64(_SEED + seed)) & mask
    return ((mixed ^ (mixed >> np.uint64(15))) * np.uint64(2246822519)) & mask


def add_golden(model: onnx.ModelProto, info: NetInfo) -> list[GoldenCase]:
    """Run the finished model on its golden inputs and add the outcome to its metadata.

    Raises:
        GraphError: the model cannot be run, or computes something that is not finite.
    """
    sizes = info.squares_among((9, 19))
    inputs = [golden_inputs(info, size) for size in sizes]
    names = [output.name for output in model.graph.output]
    cases = [
        GoldenCase(case, dict(zip(names, outputs, strict=True)))
        for case, outputs in zip(inputs, _run(model, inputs), strict=True)
    ]
    for case in cases:
        for name, values in case.outputs.items():
            if not np.isfinite(values).all():
                raise GraphError(f"the net's {name} is not finite on a plain position")
    for key, value in golden_to_metadata(cases).items():
        model.metadata_props.add(key=key, value=value)
    return cases


def _run(
    model: onnx.ModelProto, cases: Sequence[dict[str, NDArray[np.uint8 | np.float32]]]
) -> list[list[NDArray[np.float32]]]:
    try:
        session = open_model(model.SerializeToString(), is_exact=True)
        return [session.run(None, dict(inputs)) for inputs in cases]
    except Exception as error:
        # ONNX Runtime raises a class of its own per status code, with nothing in common.
        raise GraphError(f"ONNX Runtime cannot run the net: {first_line(error)}") from None
