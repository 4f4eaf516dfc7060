"""The one place that talks to ONNX Runtime: open a session on a provider."""

import os
import warnings
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.contract import NetFileError

# The runtime's own builds report their use to its vendor unless they are told not to.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def runtime_version() -> str:
    """Return the version of the installed runtime."""
    import onnxruntime

    return str(onnxruntime.__version__)


def is_built_with(provider: str) -> bool:
    """Whether the installed runtime knows a provider; its libraries may be missing all the same."""
    import onnxruntime

    return provider in onnxruntime.get_available_providers()


def preload_cuda() -> None:
    """Load the CUDA libraries that pip installed, if there are any."""
    import onnxruntime

    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()


def open_session(path: Path, providers: list[str]) -> Any:
    """Return a session that uses one thread of its own, the caller's.

    `run` releases the GIL, and callers that bring their threads are faster on a CPU than letting
    the runtime spin several.

    Raises:
        NetFileError: The file cannot be loaded.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # the runtime's own exception classes are not public
        reason = first_line(error)
        raise NetFileError(f"{path}: is not a net that can be loaded: {reason}") from None


def first_line(error: Exception) -> str:
    """Return the gist of a runtime error: its first line, without the code in front."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return text.split(" : ", 3)[-1][:200]
