"""The one place that talks to OpenVINO: nets compiled for a processor, or for one of Intel's GPUs.

OpenVINO is fastest with shapes that are fixed. So a graph is compiled for each board and for each
of a few batch sizes, which takes some tenths of a second, and batches are padded to the next of
them. Which one a batch goes through depends on its size alone, never on what is compiled already:
a search with one thread stays reproducible.
"""

import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gtp_engine.evaluators.net_info import NetFileError
from gtp_engine.evaluators.onnx_runtime import Array, check_file, first_line
from gtp_engine.evaluators.streams import BUCKETS, Feed, StreamPool

INSTALLED = importlib.util.find_spec("openvino") is not None
"""Whether the extra `openvino` is there."""

LARGEST_BATCH = 32
"""Larger ones are run in parts, for they would be no faster on a processor."""

KEPT_SHAPES = 2 * (BUCKETS.index(LARGEST_BATCH) + 1)
"""Compiled graphs that are kept: those of two boards."""

FP32, BF16 = "f32", "bf16"
"""In what a graph computes where its file does not say int8."""

_REPORTING_PART = "openvino.tools.ovc"
"""A converter of other formats, and the only part that reports its use to its vendor."""


def _openvino() -> ModuleType:
    """Return the runtime, without what would report its use."""
    if "openvino" not in sys.modules:
        sys.modules[_REPORTING_PART] = None  # type: ignore[assignment]  # an import of it fails
    import openvino

    return openvino


def runtime_version() -> str:
    """Return the version of the installed runtime."""
    return str(_openvino().__version__).split("-")[0]


def list_devices() -> list[str]:
    """Return what it could compute on here, such as CPU and GPU."""
    return list(_openvino().Core().available_devices)


def has_bf16(device: str = "CPU") -> bool:
    """Whether a device computes in bfloat16, about twice as fast as in fp32."""
    return BF16.upper() in _openvino().Core().get_property(device, "OPTIMIZATION_CAPABILITIES")


class OpenVinoSession:
    """An open net file, compiled for each shape when it first comes; see `runtimes.Session`."""

    def __init__(self, path: Path, device: str, streams: int, computes_in: str) -> None:
        """Open a file.

        Args:
            path: An ONNX file of one piece.
            device: One of `list_devices`.
            streams: Runs under way at once, each on one thread of a processor.
            computes_in: FP32 or BF16. What is int8 in the file stays int8.

        Raises:
            NetFileError: The file cannot be loaded.
        """
        check_file(path)
        openvino = _openvino()
        self._core = openvino.Core()
        try:
            self._model = self._core.read_model(path)
            facts = dict(self._model.get_rt_info().items()).get("framework", {})
            self.metadata = {name: str(fact.value) for name, fact in facts.items()}
            self.inputs = [item.get_any_name() for item in self._model.inputs]
            self.outputs = [item.get_any_name() for item in self._model.outputs]
        except Exception as error:  # the runtime raises RuntimeError, and others of its own
            reason = first_line(error)
            raise NetFileError(f"{path}: OpenVINO cannot load it: {reason}") from None
        self._device = device
        self._options: dict[str, str | int] = {"INFERENCE_PRECISION_HINT": computes_in}
        if device == "CPU":
            self._options |= {"NUM_STREAMS": streams, "INFERENCE_NUM_THREADS": streams}
        self._compiled: dict[tuple[tuple[int, ...], ...], Any] = {}
        self._guard = threading.Lock()
        self._pool = StreamPool([_Stream(self) for _ in range(streams)], LARGEST_BATCH)

    def run(self, feed: Feed) -> dict[str, Array]:
        """Return the outputs [B, ...] of a batch of any size.

        Raises:
            NoGpuError: The net does not run here.
        """
        return self._pool.run(feed)

    def bind(self, feed: Feed, bucket: int) -> "_BoundBatch":
        """Return memory for batches of a shape, compiling its graph if none has come before.

        One thread at a time is in here. That goes for the first run of a graph too: the runtime's
        own first steps wait for each other in vain where several threads make them at once.
        """
        shapes = {name: (bucket, *rows.shape[1:]) for name, rows in feed.items()}
        key = tuple(shapes.values())
        with self._guard:
            if key not in self._compiled:
                while len(self._compiled) >= KEPT_SHAPES:
                    del self._compiled[next(iter(self._compiled))]
                model = self._model.clone()
                model.reshape(shapes)
                self._compiled[key] = self._core.compile_model(model, self._device, self._options)
            staging = {name: np.zeros(shapes[name], rows.dtype) for name, rows in feed.items()}
            batch = _BoundBatch(self._compiled[key], staging, self.outputs)
            batch.run()
            return batch


class _BoundBatch:
    """A request whose inputs are memory on this side; for one thread at a time."""

    def __init__(self, compiled: Any, staging: dict[str, Array], outputs: list[str]) -> None:
        self.staging = staging
        self._request = compiled.create_infer_request()
        for name, array in staging.items():
            self._request.set_tensor(name, _openvino().Tensor(array, shared_memory=True))
        self._outputs = outputs

    def run(self) -> dict[str, Array]:
        """Return copies of the outputs [B, ...] of what lies in the memory."""
        found = self._request.infer(share_outputs=True)
        return {
            name: np.array(array) for name, array in zip(self._outputs, found.values(), strict=True)
        }


class _Stream:
    """See `streams.Stream`."""

    gpu = 0

    def __init__(self, session: OpenVinoSession) -> None:
        self._session = session
        self._bound: dict[tuple[object, ...], _BoundBatch] = {}

    def run(self, feed: Feed, bucket: int) -> dict[str, Array]:
        """See `streams.Stream.run`; padding holds what an earlier batch left there."""
        key = (bucket, *(rows.shape[1:] for rows in feed.values()))
        if key not in self._bound:
            while len(self._bound) >= KEPT_SHAPES:
                del self._bound[next(iter(self._bound))]
            self._bound[key] = self._session.bind(feed, bucket)
        batch = self._bound[key]
        for name, rows in feed.items():
            batch.staging[name][: len(rows)] = rows
        return batch.run()
