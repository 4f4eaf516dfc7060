"""The one place that talks to OpenVINO: nets compiled for a processor, or for one of Intel's GPUs.

OpenVINO is fastest with shapes that are fixed. So a graph is compiled for each board and for each
of a few batch sizes, which takes some tenths of a second. A batch of another size is padded to the
next one if it nearly fills it, 7 to 8, or else run in parts, 6 as 4 and 2. Which it is depends on
the size alone, never on what is compiled already: a search with one thread stays reproducible.
"""

import contextlib
import importlib.util
import sys
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.onnx_runtime import Array, check_file, first_line
from gtp_engine.evaluators.runtimes.streams import (
    BUCKETS,
    Bound,
    Feed,
    Stream,
    StreamPool,
)

INSTALLED = importlib.util.find_spec("openvino") is not None
"""Whether the extra `openvino` is there."""

LARGEST_BATCH = 32
"""Larger ones are run in parts, for they would be no faster on a processor."""

LARGEST_EXPORTED = 4 << 20
"""Bytes of a file whose graphs are compiled once for all streams."""
MOST_EXPORTED = BUCKETS.index(LARGEST_BATCH) + 1
"""Graphs that are kept for streams that have not asked for them yet."""

FP32, BF16, FP16 = "f32", "bf16", "f16"
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
    return version("openvino")


def list_devices() -> list[str]:
    """Return what it could compute on here, such as CPU and GPU; nothing if it does not start."""
    with contextlib.suppress(ImportError, RuntimeError):
        return list(_openvino().Core().available_devices)
    return []


def has_bf16() -> bool:
    """Whether the processor computes in bfloat16, about twice as fast as in fp32."""
    return "CPU" in list_devices() and "BF16" in _openvino().Core().get_property(
        "CPU", "OPTIMIZATION_CAPABILITIES"
    )


class OpenVinoSession:
    """An open net file, compiled for each shape when it first comes; see `sessions.Session`."""

    def __init__(self, path: Path, device: str, streams: int, computes_in: str) -> None:
        """Open a file.

        Args:
            streams: Runs under way at once, each on one thread of a processor.
            computes_in: FP32, BF16 or FP16. What is int8 in the file stays int8.

        Raises:
            NetFileError: The file cannot be loaded.
        """
        check_file(path)
        openvino = _openvino()
        try:
            self._core = openvino.Core()
            self._model = self._core.read_model(path)
            facts = dict(self._model.get_rt_info().items()).get("framework", {})
            self.metadata = {name: str(fact.value) for name, fact in facts.items()}
            self.inputs = [item.get_any_name() for item in self._model.inputs]
            self.outputs = [item.get_any_name() for item in self._model.outputs]
        except Exception as error:  # the runtime raises RuntimeError, and others of its own
            reason = first_line(error)
            raise NetFileError(f"{path}: OpenVINO cannot load it: {reason}") from None
        self._device = device
        self._options: dict[str, str | int | bool] = {"INFERENCE_PRECISION_HINT": computes_in}
        if device == "CPU":
            # A graph of one thread runs in the caller's; pinned, all callers would share a core.
            self._options |= {"NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": 1}
            self._options["ENABLE_CPU_PINNING"] = False
        self._exported: dict[tuple[tuple[int, ...], ...], tuple[bytes, int]] = {}
        """Graphs as they were compiled, by shapes, and how many streams have not got them yet."""
        self._is_exported = device == "CPU" and path.stat().st_size <= LARGEST_EXPORTED
        self._guard = threading.Lock()
        self._streams = [_Stream(self) for _ in range(streams)]
        self._pool = StreamPool(self._streams, LARGEST_BATCH, pads=False, named="OpenVINO")

    def run(self, feed: Feed) -> dict[str, Array]:
        """Return the outputs [B, ...] of a batch of any size.

        Raises:
            BeyondUseError: The net does not run here.
        """
        return self._pool.run(feed)

    def prepare(self, feed: Feed, largest: int) -> threading.Thread:
        """Compile in the background; see `StreamPool.prepare`."""
        return self._pool.prepare(feed, largest)

    def request_for(self, staging: Mapping[str, Array]) -> Any:
        """Compile a graph, and return what runs it on arrays [B, ...], by name, that stay in use.

        One thread at a time is in here, for the first run too: the runtime's own first steps wait
        for each other in vain where several threads make them at once. And it is a thread of its
        own: the runtime gives the one that compiles another stack for signals, and takes that
        away with the graph, so that the next Ctrl-C would end the process.
        """
        with self._guard, ThreadPoolExecutor(1) as compiler:
            return compiler.submit(self._compile, staging).result()

    def _compile(self, staging: Mapping[str, Array]) -> Any:
        openvino = _openvino()
        compiled = self._compiled({name: array.shape for name, array in staging.items()})
        request = compiled.create_infer_request()
        for name, array in staging.items():
            request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        request.infer(share_outputs=True)
        return request

    def _compiled(self, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        """Return a graph for a stream alone: compiled, or what another one's was exported to.

        To import a small int8 net takes a fifth of the time that it takes to compile it. An
        imported graph has weights of its own, so large nets are compiled for each stream.
        """
        key = tuple(shapes.values())
        exported, lacking = self._exported.pop(key, (b"", len(self._streams)))
        if exported:
            with contextlib.suppress(Exception):
                found = self._core.import_model(exported, self._device, self._options)
                if lacking > 1:
                    self._exported[key] = exported, lacking - 1
                return found
        model = self._model.clone()
        model.reshape(shapes)
        compiled = self._core.compile_model(model, self._device, self._options)
        if lacking > 1 and self._is_exported:
            with contextlib.suppress(Exception):
                self._exported[key] = _bytes_of(compiled.export_model()), lacking - 1
            while len(self._exported) > MOST_EXPORTED:
                del self._exported[next(iter(self._exported))]
        return compiled


def _bytes_of(exported: Any) -> bytes:
    """Return an exported graph's bytes, which some versions hand out as a stream."""
    return exported if isinstance(exported, bytes) else bytes(exported.getvalue())


class _Stream(Stream):
    """For each shape a graph, and a request whose inputs are memory here."""

    kept_shapes = 2 * (BUCKETS.index(LARGEST_BATCH) + 1)

    def __init__(self, session: OpenVinoSession) -> None:
        super().__init__()
        # Weakly: the session has its streams, and a net's memory would wait for the collector.
        self._session = weakref.proxy(session)

    def _bind(self, feed: Feed, bucket: int) -> Bound:
        staging = {
            name: np.zeros((bucket, *rows.shape[1:]), rows.dtype) for name, rows in feed.items()
        }
        request, outputs = self._session.request_for(staging), self._session.outputs

        def run() -> dict[str, Array]:
            found = request.infer(share_outputs=True).values()
            copies = [np.array(array) for array in found]
            return dict(zip(outputs, copies, strict=True))

        return run, staging
