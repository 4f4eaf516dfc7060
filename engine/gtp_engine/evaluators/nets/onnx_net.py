"""A net file that is open on a device: what it says about itself, and what it makes of inputs.

CUDA is only asked for where a driver and a device are found, because asking in vain prints errors.
On GPUs, batches go through a `StreamPool`. Where the net is beyond use, on GPUs or in OpenVINO,
ONNX Runtime goes on with it on the CPU.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.nets.net_info import (
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
from gtp_engine.evaluators.runtimes.devices import DEVICES, cuda_obstacle, gpu_names
from gtp_engine.evaluators.runtimes.onnx_runtime import (
    CPU,
    CUDA,
    TENSORRT,
    OnnxSession,
    Provider,
    cuda_providers,
    first_line,
    is_built_with,
    open_session,
    preload_cuda,
    tensorrt_providers,
)
from gtp_engine.evaluators.runtimes.sessions import (
    ONNX_RUNTIME,
    OPENVINO,
    Session,
    open_on_cpu,
    open_on_intel_gpu,
    say_instead,
)
from gtp_engine.evaluators.runtimes.streams import BeyondUseError, SessionStream, StreamPool
from gtp_engine.user_cache import user_cache_folder

logger = logging.getLogger(__name__)


FloatArray = npt.NDArray[np.float32]
Run = Callable[[Mapping[str, npt.NDArray[Any]]], dict[str, npt.NDArray[Any]]]
"""Outputs [B, ...] by name of inputs [B, ...] by name."""


STREAMS_PER_GPU = 3
"""Batches in flight on a GPU: one computes while another is copied and a third is put together."""

_INSTEAD = "using the CPU instead of CUDA"


class RawOutputs(NamedTuple):
    """Outputs of a batch in the units of `net_info`; None where the net has no such head."""

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
        self,
        path: Path,
        device: str = "auto",
        spare: Callable[[str], tuple[Path, str]] | None = None,
        runtime: str = ONNX_RUNTIME,
        streams: int | None = None,
    ) -> None:
        """Open a net.

        Args:
            device: One of DEVICES; a CUDA that fails, now or later, falls back to the CPU.
            spare: Says of a runtime that is wanted which file is to run on the CPU then, and in
                what; the same file, in that runtime, when None.
            runtime: What runs it on the CPU; see `sessions.open_on_cpu`. With a spare, what is
                wanted. When a GPU fails later, ONNX Runtime takes its place.
            streams: Runs under way at once on a CPU at most; as many as it has cores when None.

        Raises:
            NetFileError: The file is missing, is no ONNX file, or does not describe itself.
        """
        if device not in DEVICES:
            raise ValueError(f"unknown device {device!r}; known are {', '.join(DEVICES)}")
        self.path = path
        self._spare = spare
        self._streams = streams
        self._guard = threading.Lock()
        if not path.is_file():
            raise NetFileError(f"{path}: there is no such net file")
        self.device = "cpu"
        """Where the net runs now, "cuda", "gpu" (Intel's) or "cpu"."""
        self.runtime = ONNX_RUNTIME
        """What runs it, one of `runtimes.sessions`."""
        if device == "gpu":
            opened = open_on_intel_gpu(path)
            if opened is not None:
                self.device, self.runtime = device, OPENVINO
                self._take_over(opened, path, opened.run)
                return
        on_gpus = self._open_gpus(device) if device not in ("cpu", "gpu") else None
        if on_gpus is None:
            self._open_cpu(runtime)
        else:
            self.device = "cuda"
            self._take_over(OnnxSession(on_gpus[0]), path, on_gpus[1])

    def _open_cpu(self, runtime: str = ONNX_RUNTIME) -> None:
        """Run on the CPU from now on."""
        path = self.path
        if self._spare is not None:
            path, runtime = self._spare(runtime)
        session, self.runtime = open_on_cpu(path, runtime, self._streams)
        self.device = "cpu"
        self._take_over(session, path, session.run)

    def _take_over(self, session: Session, path: Path, run: Run) -> None:
        """Read what a file says about itself, check that its graph agrees, and run it."""
        try:
            info = NetInfo.from_metadata(session.metadata)
        except MetadataError as error:
            raise MetadataError(f"{path}: {error}") from None
        _check_graph(path, info, session)
        self.path, self.info, self._session = path, info, session
        self.file_bytes = path.stat().st_size  # of the file that is open: it may be gone later
        self._run = run  # at the very last: other threads go by it

    def prepare(self, batch: int, width: int, height: int) -> list[threading.Thread]:
        """Get ready in the background for batches of up to so many positions of a board.

        Returns:
            The threads that do so; whoever cannot wait later on joins them.
        """
        info = self.info
        spatial = np.zeros((1, info.spatial_planes, height, width), np.uint8)
        features = np.zeros((1, info.global_features + info.meta_features), np.float32)
        thread = self._session.prepare(name_inputs(info, spatial, features), batch)
        return [] if thread is None else [thread]

    def run(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        """Evaluate a batch.

        Args:
            spatial: [B, C, H, W] planes.
            features: [B, G + M] globals, then the player profile of nets that take one.

        Raises:
            NetFileError: The net cannot be run on this input, or gives something else than
                numbers for each position.
        """
        found = self.run_feed(name_inputs(self.info, spatial, features))
        outputs = RawOutputs(*map(found.get, RawOutputs._fields))
        for name, array in zip(RawOutputs._fields, outputs, strict=True):
            if array is not None and not _has_rows(array, len(spatial)):
                raise NetFileError(f"{self.path}: its output {name!r} has an unexpected shape")
        return outputs

    def run_feed(self, feed: Mapping[str, npt.NDArray[Any]]) -> dict[str, FloatArray]:
        """Evaluate named inputs, each [B, ...], and return every output by name, [B, ...].

        Raises:
            NetFileError: The net cannot be run on this input.
        """
        run = self._run
        try:
            found = run(feed)
            if self.device == "cpu" or all(np.isfinite(array).all() for array in found.values()):
                return found
            self._fall_back(run, "it computes what are no numbers")
        except BeyondUseError as error:
            self._fall_back(run, str(error))
        except Exception as error:  # the runtime's own exception classes are not public
            reason = first_line(error)
            raise NetFileError(f"{self.path}: the net failed to run: {reason}") from None
        return self.run_feed(feed)

    def _fall_back(self, failed: Run, reason: str) -> None:
        """Go on with the CPU; the first of the threads that come here does it for all."""
        with self._guard:
            if self._run is failed:
                if self.device == "cpu":
                    say_instead(reason)
                else:
                    name = "CUDA" if self.device == "cuda" else "an Intel GPU"
                    logger.warning(f"using the CPU instead of {name} from now on: {reason}")
                self._open_cpu()

    def leave_gpu(self, reason: str) -> None:
        """Go on with the CPU, because what the GPU computes is wrong."""
        self._fall_back(self._run, reason)

    def golden_cases(self) -> list[GoldenCase]:
        """Return the inputs and outputs the file carries for checking a machine."""
        return golden_from_metadata(self._session.metadata)

    def _open_gpus(self, device: str) -> tuple[Any, Run] | None:
        """Return the first session on GPUs and what runs batches on all of them.

        None, having said why, if there can be none.
        """
        obstacle = cuda_obstacle()
        if obstacle is not None:
            if device != "auto":
                logger.warning(f"{_INSTEAD}: {obstacle}")
            return None
        if not is_built_with(CUDA):
            logger.warning(f"{_INSTEAD}: this ONNX Runtime is built without CUDA")
            return None
        try:
            preload_cuda()
            sessions = self._open_streams(device == "tensorrt")
        except NetFileError as error:
            logger.warning(f"{_INSTEAD}: {error}")
            return None
        first = sessions[0][1]
        if first.get_providers()[0] == CPU:
            logger.warning(
                f"{_INSTEAD}: its libraries do not load; 'pip install gtp-engine[cuda]' brings them"
            )
            return None
        pool = StreamPool([SessionStream(session, gpu) for gpu, session in sessions])
        return first, pool.run

    def _open_streams(self, tensorrt: bool) -> list[tuple[int, Any]]:
        """Return sessions, each with the number of its GPU; the first decides for all how."""
        gpus = range(max(1, len(gpu_names())))
        providers = self._choose_providers(tensorrt)
        sessions = [(0, open_session(self.path, providers(0)))]
        if sessions[0][1].get_providers()[0] == CPU:
            return sessions
        for gpu in [gpu for gpu in gpus for _ in range(STREAMS_PER_GPU)][1:]:
            try:
                sessions.append((gpu, open_session(self.path, providers(gpu))))
            except NetFileError as error:  # such as want of memory, where others are at work
                logger.warning(f"GPU {gpu} cannot have another batch in flight: {error}")
        return sessions

    def _choose_providers(self, tensorrt: bool) -> Callable[[int], list[Provider]]:
        """Return what makes a GPU's providers: TensorRT or CUDA."""
        if tensorrt:
            obstacle = "its libraries do not load"
            if is_built_with(TENSORRT):
                try:
                    engines = user_cache_folder() / "tensorrt"
                    engines.mkdir(parents=True, exist_ok=True)
                    session = open_session(self.path, tensorrt_providers(0, engines))
                    if session.get_providers()[0] == TENSORRT:
                        return lambda gpu: tensorrt_providers(gpu, engines)
                except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
                    obstacle = f"no folder for what it builds: {error}"
            logger.warning(f"using CUDA instead of TensorRT: {obstacle}")
        return cuda_providers


def name_inputs(
    info: NetInfo, spatial: npt.NDArray[np.uint8], features: FloatArray
) -> dict[str, npt.NDArray[Any]]:
    """Return [B, C, H, W] planes and [B, G + M] features by the names of a net's inputs."""
    feed: dict[str, npt.NDArray[Any]] = {SPATIAL_INPUT: spatial}
    split = info.global_features
    if split:
        feed[GLOBAL_INPUT] = np.ascontiguousarray(features[:, :split])
    if info.meta_features:
        feed[META_INPUT] = np.ascontiguousarray(features[:, split:])
    return feed


def _check_graph(path: Path, info: NetInfo, session: Session) -> None:
    """Make sure that a graph has the inputs and outputs its description promises."""
    wanted = {SPATIAL_INPUT}
    wanted |= {GLOBAL_INPUT} if info.global_features else set()
    wanted |= {META_INPUT} if info.meta_features else set()
    heads = set(info.heads) & set(OUTPUT_NAMES)
    if not heads:
        raise NetFileError(f"{path}: its description names no output that is known")
    missing = sorted(wanted - {*session.inputs}) or sorted(heads - {*session.outputs})
    if missing:
        raise NetFileError(f"{path}: the graph has no {missing[0]!r}")


def _has_rows(array: Any, count: int) -> bool:
    """Whether an output holds one row or more dimensions of float32 for each of some positions."""
    is_plain = isinstance(array, np.ndarray) and array.dtype == np.float32
    return is_plain and array.ndim > 1 and len(array) == count


def difference(output: Any, expected: Any, spared: float = 0.0) -> tuple[float, float]:
    """Return the largest difference of two arrays, and the same over the largest expected value.

    Both are infinite where shapes differ or something is no number.

    Args:
        spared: Share of the numbers, rounded down, that may be further off.
    """
    if output is None or output.shape != expected.shape:
        return float("inf"), float("inf")
    if not (np.isfinite(output).all() and np.isfinite(expected).all()):
        return float("inf"), float("inf")
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    gaps = np.sort(np.abs(output - expected), axis=None)
    absolute = float(gaps[-1 - int(spared * gaps.size)]) if gaps.size else 0.0
    return absolute, absolute / scale
