"""The one place that talks to ONNX Runtime: sessions on a provider, and batches bound to them."""

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.external_data import names_other_files
from gtp_engine.files import read_file

# The runtime's own builds report their use to its vendor unless they are told not to.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

Array = npt.NDArray[Any]
Provider = str | tuple[str, dict[str, str]]

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"

LARGEST_FILE = (1 << 31) - 1
"""Bytes; an ONNX file of one piece holds no more."""

_OUT_OF_MEMORY = (
    "out of memory",
    "failed to allocate memory",
    "smaller than requested bytes",
    "alloc_failed",
    "memoryallocation",
)
"""What the errors of the runtime's arena, of CUDA, cuBLAS and cuDNN have in common, lower case."""


def _onnxruntime() -> ModuleType:
    """Return the runtime.

    Raises:
        NetFileError: It is not installed, lacks a library of the system, or was overwritten.
    """
    try:
        import onnxruntime

        # Of a package that was removed a folder can stay, which is imported as an empty module.
        _ = onnxruntime.InferenceSession
    except (ImportError, AttributeError) as error:
        installed = packages()
        advice = f"`pip uninstall {' '.join(installed)}`, then install gtp-engine again"
        # Windows comes without the one that it is built for.
        if "DLL" in str(error) and len(installed) == 1:
            advice = "install Microsoft's latest Visual C++ runtime (vc_redist.x64.exe)"
        raise NetFileError(f"ONNX Runtime cannot be loaded ({error}): {advice}") from None
    return onnxruntime


def packages() -> list[str]:
    """Return the names of the runtime's installed packages, or of that for most PCs.

    They share a folder: each overwrites the files of another, and takes them along when it goes.
    """
    return sorted({*packages_distributions().get("onnxruntime", ["onnxruntime-gpu"])})


def runtime_version() -> str:
    """Return the version of the installed runtime."""
    return str(_onnxruntime().__version__)


def is_built_with(provider: str) -> bool:
    """Whether the installed runtime knows a provider; its libraries may be missing all the same."""
    return provider in _onnxruntime().get_available_providers()


def preload_cuda() -> None:
    """Load the CUDA libraries that pip installed, if there are any."""
    runtime = _onnxruntime()
    if hasattr(runtime, "preload_dlls"):
        runtime.preload_dlls()


def cuda_providers(gpu: int, *, memory_limit: int | None = None) -> list[Provider]:
    """Return the providers of a session on a GPU.

    Args:
        gpu: Its number among those that CUDA sees.
        memory_limit: Most bytes that the session takes; the GPU's memory when None.
    """
    options = {
        "device_id": str(gpu),
        # What a batch size needs is known after its first run; doubling would only waste.
        "arena_extend_strategy": "kSameAsRequested",
        # Trying every algorithm takes seconds for each batch size.
        "cudnn_conv_algo_search": "HEURISTIC",
    }
    if memory_limit is not None:
        options["gpu_mem_limit"] = str(memory_limit)
    return [(CUDA, options), CPU]


def tensorrt_providers(gpu: int, engines: Path) -> list[Provider]:
    """Return the providers of a session that NVIDIA's compiler builds, minutes the first time.

    Args:
        gpu: Its number among those that CUDA sees.
        engines: Folder that keeps what was built.
    """
    options = {
        "device_id": str(gpu),
        "trt_fp16_enable": "True",
        "trt_engine_cache_enable": "True",
        "trt_engine_cache_path": str(engines),
        "trt_timing_cache_enable": "True",
        "trt_timing_cache_path": str(engines),
    }
    return [(TENSORRT, options), *cuda_providers(gpu)]


def check_file(path: Path) -> None:
    """Make sure that a file can be read, and brings its weights along.

    Raises:
        NetFileError: It cannot, or does not.
    """
    try:
        is_in_pieces = names_other_files(memoryview(read_file(path, LARGEST_FILE)))
    except OSError as error:
        raise NetFileError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise NetFileError(
            f"{path}: is no ONNX file, or damaged ({error}); `gtp-export convert` reads other nets"
        ) from None
    if is_in_pieces:
        raise NetFileError(f"{path}: keeps its weights in another file; save it as one file")


def open_session(path: Path, providers: Sequence[Provider]) -> Any:
    """Return a session that uses one thread of its own, the caller's.

    `run` releases the GIL, and callers that bring their threads are faster on a CPU than letting
    the runtime spin several.

    Raises:
        NetFileError: The file cannot be loaded.
    """
    check_file(path)
    try:
        session = _new_session(str(path), providers)
        # Asked for now, because the runtime fails here where they are no text.
        _ = [item.name for item in (*session.get_inputs(), *session.get_outputs())]
        _ = session.get_modelmeta().custom_metadata_map
        return session
    except NetFileError:  # about the runtime, not this file
        raise
    except UnicodeDecodeError:
        raise NetFileError(f"{path}: its names or its metadata are not text") from None
    except Exception as error:  # the runtime's own exception classes are not public
        reason = first_line(error)
        raise NetFileError(f"{path}: is not a net that can be loaded: {reason}") from None


class OnnxSession:
    """See `sessions.Session`."""

    def __init__(self, session: Any) -> None:
        """Take over what `open_session` gave."""
        self.metadata: Mapping[str, str] = session.get_modelmeta().custom_metadata_map
        self.inputs = [item.name for item in session.get_inputs()]
        self.outputs = [item.name for item in session.get_outputs()]
        self._session = session

    def prepare(self, feed: Mapping[str, Array], largest: int) -> None:
        """See `sessions.Session.prepare`."""

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """See `sessions.Session.run`."""
        return dict(zip(self.outputs, self._session.run(None, feed), strict=True))


def open_model(content: bytes, *, is_exact: bool = False) -> Any:
    """Return a session on the CPU of a model that is not in a file.

    Args:
        is_exact: Whether sums of 8-bit products may not overflow, on processors without VNNI too.

    Raises:
        Exception: One of the runtime's own; `first_line` says why.
    """
    return _new_session(content, [CPU], is_exact=is_exact)


def _new_session(
    model: str | bytes, providers: Sequence[Provider], *, is_exact: bool = False
) -> Any:
    runtime = _onnxruntime()
    runtime.set_default_logger_severity(_FATAL)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _FATAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.x64quantprecision", str(int(is_exact)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What fails on the CPU would be tried there once more, with lines about it on stdout.
        retries = int(providers[0] != CPU)
        make = runtime.InferenceSession
        return make(model, options, providers=list(providers), enable_fallback=retries)


def run_plain(session: Any, feed: Mapping[str, Array]) -> dict[str, Array]:
    """Return outputs [B, ...] by name, without bound memory."""
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


class BoundBatch:
    """Inputs and outputs of one shape, at addresses on the device that stay what they are.

    That spares a run the search for memory. Not for use from two threads at once.
    """

    def __init__(
        self,
        session: Any,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        device: str,
        gpu: int,
    ) -> None:
        """Take memory on the device.

        Args:
            inputs: By name, arrays [B, ...] of the shape and type of the inputs.
            device: "cuda", or "cpu" where the same path is to run on a processor.
        """
        runtime = _onnxruntime()

        def place(array: Array) -> Any:
            kind = array.dtype.type
            make = runtime.OrtValue.ortvalue_from_shape_and_type
            return make(list(array.shape), kind, device, gpu)

        self._session = session
        self._inputs = {name: place(array) for name, array in inputs.items()}
        self._outputs = {name: place(array) for name, array in outputs.items()}
        self._binding = session.io_binding()
        for name, value in self._inputs.items():
            self._binding.bind_ortvalue_input(name, value)
        for name, value in self._outputs.items():
            self._binding.bind_ortvalue_output(name, value)

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Copy the inputs [B, ...] over, run, and return copies of the outputs [B, ...]."""
        for name, value in self._inputs.items():
            value.update_inplace(feed[name])
        self._session.run_with_iobinding(self._binding)
        return {name: np.array(value.numpy()) for name, value in self._outputs.items()}


def is_out_of_memory(error: Exception) -> bool:
    """Whether a run failed for want of the device's memory."""
    text = str(error).lower()
    return any(phrase in text for phrase in _OUT_OF_MEMORY)


_FATAL = 4
"""Severity from which on the runtime writes to stderr: what fails is raised as well, and a GPU's
memory may run out without harm."""
_LONGEST_GIST = 240
_SOURCE_PLACE = re.compile(
    r"(Load model from .* failed:)?(/|\w:\\)\S*onnxruntime\S*:\d+ (.*\)|\S+) (?=[A-Z])"
)
"""A file, a line and a function of the runtime's source, with what may stand before them; those of
Windows have a drive before and no arguments behind."""


def first_line(error: Exception) -> str:
    """Return the gist of a runtime error, without codes and places in the runtime's source."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    gist = _SOURCE_PLACE.sub("", text.split(" : ", 3)[-1])
    if len(gist) <= _LONGEST_GIST:
        return gist
    return gist[:_LONGEST_GIST].rpartition(". ")[0] or gist[:_LONGEST_GIST]
