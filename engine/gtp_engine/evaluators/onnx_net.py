"""A net file that is open on a device: what it says about itself, and what it makes of inputs.

CUDA is only asked for where a driver and a device are found, because asking in vain prints errors.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.contract import (
    GLOBAL_INPUT,
    META_INPUT,
    OUTPUT_NAMES,
    SPATIAL_INPUT,
    GoldenCase,
    MetadataError,
    NetFileError,
    NetInfo,
    golden_from_metadata,
)
from gtp_engine.evaluators.devices import DEVICES, cuda_obstacle
from gtp_engine.evaluators.onnx_runtime import (
    CPU,
    CUDA,
    first_line,
    is_built_with,
    open_session,
    preload_cuda,
)

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RawOutputs:
    """Outputs of a batch in the net contract's units; None where the net has no such head."""

    policy: FloatArray | None
    """[B, A + 1] logits, pass last ([B, A] if the net has no pass)."""
    policy_optimistic: FloatArray | None
    value: FloatArray | None
    """[B, 3] logits or [B, 1]."""
    score: FloatArray | None
    """[B, K]."""
    ownership: FloatArray | None
    """[B, H, W]."""


class OnnxNet:
    """An open net file on a device."""

    def __init__(
        self, path: Path, device: str = "auto", say: Callable[[str], None] = print
    ) -> None:
        """Open a net.

        Args:
            path: A self-describing ONNX file.
            device: "auto", "cuda" or "cpu"; a CUDA that fails falls back to the CPU.
            say: Called with one line when the device is not the one asked for.

        Raises:
            NetFileError: The file is missing, is no ONNX file, or does not describe itself.
        """
        self.path = path
        self._say = say
        if not path.is_file():
            raise NetFileError(f"{path}: there is no such net file")
        self._session, self.device = self._open(device)
        metadata: Mapping[str, str] = self._session.get_modelmeta().custom_metadata_map
        try:
            self.info = NetInfo.from_metadata(metadata)
        except MetadataError as error:
            raise MetadataError(f"{path}: {error}") from None
        self._metadata = metadata
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._check_graph()

    def run(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        """Evaluate a batch.

        Args:
            spatial: [B, C, H, W] planes.
            features: [B, G + M] globals, then the player profile of nets that take one.

        Raises:
            NetFileError: The net cannot be run on this input.
        """
        feed: dict[str, npt.NDArray[Any]] = {SPATIAL_INPUT: spatial}
        split = self.info.global_features
        if split:
            feed[GLOBAL_INPUT] = np.ascontiguousarray(features[:, :split])
        if self.info.meta_features:
            feed[META_INPUT] = np.ascontiguousarray(features[:, split:])
        found = self.run_feed(feed)
        return RawOutputs(
            policy=found.get("policy"),
            policy_optimistic=found.get("policy_optimistic"),
            value=found.get("value"),
            score=found.get("score"),
            ownership=found.get("ownership"),
        )

    def run_feed(self, feed: Mapping[str, npt.NDArray[Any]]) -> dict[str, FloatArray]:
        """Evaluate named inputs and return every output by name.

        Raises:
            NetFileError: The net cannot be run on this input.
        """
        try:
            outputs = self._session.run(None, feed)
        except Exception as error:  # the runtime's own exception classes are not public
            reason = first_line(error)
            raise NetFileError(f"{self.path}: the net failed to run: {reason}") from None
        return dict(zip(self._outputs, outputs, strict=True))

    def golden_cases(self) -> list[GoldenCase]:
        """Return the inputs and outputs the file carries for checking a machine."""
        return golden_from_metadata(self._metadata)

    def _open(self, device: str) -> tuple[Any, str]:
        """Return a session and the device it runs on."""
        if device not in DEVICES:
            raise ValueError(f"unknown device {device!r}; known are {', '.join(DEVICES)}")
        if device != "cpu":
            obstacle = cuda_obstacle()
            if obstacle is None:
                session = self._open_cuda()
                if session is not None:
                    return session, "cuda"
            elif device == "cuda":
                self._say(f"using the CPU instead of CUDA: {obstacle}")
        return open_session(self.path, [CPU]), "cpu"

    def _open_cuda(self) -> Any | None:
        """Return a CUDA session; None, having said why, if there can be none."""
        if not is_built_with(CUDA):
            self._say("using the CPU instead of CUDA: this ONNX Runtime is built without CUDA")
            return None
        try:
            preload_cuda()
            session = open_session(self.path, [CUDA, CPU])
        except NetFileError as error:
            self._say(f"using the CPU instead of CUDA: {error}")
            return None
        if session.get_providers()[0] != CUDA:
            self._say(
                "using the CPU instead of CUDA: its libraries do not load; "
                "'pip install gtp-engine[cuda]' brings them"
            )
            return None
        return session

    def _check_graph(self) -> None:
        """Make sure that the graph has the inputs and outputs its description promises."""
        inputs = {item.name for item in self._session.get_inputs()}
        wanted = {SPATIAL_INPUT}
        wanted |= {GLOBAL_INPUT} if self.info.global_features else set()
        wanted |= {META_INPUT} if self.info.meta_features else set()
        heads = set(self.info.heads) & set(OUTPUT_NAMES)
        if not heads:
            raise NetFileError(f"{self.path}: its description names no output that is known")
        missing = sorted(wanted - inputs) or sorted(heads - set(self._outputs))
        if missing:
            raise NetFileError(f"{self.path}: the graph has no {missing[0]!r}")
