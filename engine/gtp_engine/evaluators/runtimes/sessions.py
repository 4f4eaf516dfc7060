"""Which runtime opens a net on a processor, and what all of them give: an open session."""

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes import onnx_runtime, openvino_runtime
from gtp_engine.evaluators.runtimes.devices import RUNTIMES
from gtp_engine.evaluators.runtimes.onnx_runtime import Array
from gtp_engine.platforms import usable_cores

logger = logging.getLogger(__name__)

AUTO, ONNX_RUNTIME, OPENVINO = RUNTIMES
OPENVINO_BF16 = "openvino-bf16"
"""OpenVINO that computes a file in fp32 in bfloat16: `auto` and `openvino` may mean that."""

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

    def prepare(self, feed: Mapping[str, Array], largest: int) -> threading.Thread | None:
        """Get ready in the background for batches of up to `largest` rows like these.

        Returns:
            The thread that does so, which ends when all is ready; None if there is nothing to do.
        """

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Return outputs [B, ...] by name for inputs [B, ...] by name; for any number of threads.

        Raises:
            BeyondUseError: It does not run here; another runtime may do.
            Exception: Whatever else the runtime raises.
        """


NAMES = {ONNX_RUNTIME: "", OPENVINO: " by OpenVINO", OPENVINO_BF16: " by OpenVINO, in bfloat16"}
"""What is added to the device's name for people."""


def open_on_cpu(path: Path, runtime: str, streams: int | None = None) -> tuple[Session, str]:
    """Open a net on the processor; return it and the runtime that took it.

    Args:
        runtime: ONNX_RUNTIME, OPENVINO or OPENVINO_BF16. Where one of these fails, that is said
            and ONNX Runtime takes its place.
        streams: Runs under way at once at most; as many as there are processors when None.

    Raises:
        NetFileError: The file cannot be loaded.
    """
    if runtime != ONNX_RUNTIME:
        if not openvino_runtime.INSTALLED:
            say_it_is_missing()
            return open_on_cpu(path, ONNX_RUNTIME)
        try:
            count = streams or usable_cores()
            kind = openvino_runtime.BF16 if runtime == OPENVINO_BF16 else openvino_runtime.FP32
            return openvino_runtime.OpenVinoSession(path, "CPU", count, kind), runtime
        except (NetFileError, ImportError) as error:
            say_instead(str(error))
    session = onnx_runtime.open_session(path, [onnx_runtime.CPU])
    return onnx_runtime.OnnxSession(session), ONNX_RUNTIME


def open_on_intel_gpu(path: Path) -> Session | None:
    """Open a net on one of Intel's GPUs; None, having said why, where that cannot be.

    Raises:
        NetFileError: The file cannot be loaded.
    """
    devices = openvino_runtime.list_devices() if openvino_runtime.INSTALLED else []
    if "GPU" in devices:
        return openvino_runtime.OpenVinoSession(path, "GPU", 1, openvino_runtime.FP16)
    reason = f"OpenVINO finds {', '.join(devices)}" if devices else NEEDS_OPENVINO
    logger.warning(f"using the CPU instead of an Intel GPU: {reason}")
    return None


@cache
def say_it_is_missing() -> None:
    """Say that OpenVINO is not installed: once, though many files are opened."""
    say_instead(NEEDS_OPENVINO)


def say_instead(reason: str) -> None:
    """Say that ONNX Runtime takes OpenVINO's place, and why."""
    logger.warning(f"using ONNX Runtime instead of OpenVINO: {reason}")
