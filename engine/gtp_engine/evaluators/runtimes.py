"""Which runtime opens a net on a processor, and what all of them give: an open session."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gtp_engine.evaluators import onnx_runtime, openvino_runtime
from gtp_engine.evaluators.net_info import NetFileError
from gtp_engine.evaluators.onnx_runtime import Array

logger = logging.getLogger(__name__)

AUTO, ONNX_RUNTIME, OPENVINO = RUNTIMES = "auto", "onnxruntime", "openvino"

NEEDS_OPENVINO = "needs pip install gtp-engine[openvino]"


class Session(Protocol):
    """A net file that is open in a runtime."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the file says about itself."""

    @property
    def inputs(self) -> Sequence[str]:
        """Their names."""

    @property
    def outputs(self) -> Sequence[str]:
        """Their names."""

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Return outputs [B, ...] by name for inputs [B, ...] by name; for any number of threads.

        Raises:
            NoGpuError: It is beyond use; another runtime may do.
            Exception: Whatever else the runtime raises.
        """


def open_on_cpu(path: Path, runtime: str, streams: int | None = None) -> tuple[Session, str]:
    """Open a net on the processor; return it and the runtime that took it.

    Args:
        path: An ONNX file of one piece.
        runtime: ONNX_RUNTIME or OPENVINO; one that fails is said and replaced by ONNX Runtime.
        streams: Runs under way at once at most; as many as there are processors when None.

    Raises:
        NetFileError: The file cannot be loaded.
    """
    if runtime == OPENVINO:
        try:
            if not openvino_runtime.INSTALLED:
                raise NetFileError(NEEDS_OPENVINO)
            count = streams or os.cpu_count() or 1
            opened = openvino_runtime.OpenVinoSession(path, "CPU", count, openvino_runtime.FP32)
            return opened, OPENVINO
        except (NetFileError, ImportError) as error:
            say_instead(str(error))
    session = onnx_runtime.open_session(path, [onnx_runtime.CPU])
    return onnx_runtime.OnnxSession(session), ONNX_RUNTIME


def say_instead(reason: str) -> None:
    """Say that ONNX Runtime takes OpenVINO's place, and why."""
    logger.warning(f"using ONNX Runtime instead of OpenVINO: {reason}")
