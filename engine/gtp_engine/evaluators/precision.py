"""Which of a net's files a device runs: 8 bits, 16 bits or 32.

A net called `name` may come in several files: `name.onnx` in fp32, `name-int8.onnx` and
`name-fp16.onnx`. Asked for by name, a GPU runs fp16 where there is such a file. A processor runs
int8 where a self-check finds it right and faster here: products of 8 bits overflow on processors
without VNNI, and some compute them slower than fp32. A net asked for by file is that file.

What runs the file on a processor is chosen in the same way: OpenVINO, in bfloat16 where the file
is in fp32, if it is there, right and faster. Each check takes a second or two and is remembered.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators import openvino_runtime
from gtp_engine.evaluators.devices import cpu_name, cuda_obstacle
from gtp_engine.evaluators.measurements import describe_files, recall, remember
from gtp_engine.evaluators.net_info import SPATIAL_INPUT, GoldenCase, NetFileError
from gtp_engine.evaluators.nets import NetFiles, Part, find_parts
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_engine.evaluators.onnx_runtime import runtime_version
from gtp_engine.evaluators.runtimes import AUTO, ONNX_RUNTIME, OPENVINO, OPENVINO_BF16
from gtp_engine.evaluators.self_check import differences_of, verdict
from gtp_engine.messages import collected

MIN_SPEED_UP = 1.1
"""How much faster int8 must be than fp32, or OpenVINO than ONNX Runtime, to be taken."""
ROUNDS = 8
"""Turns that each net gets; its fastest counts, for other programs only ever slow one down."""
BATCHES = (1, 8)
"""Rows that runtimes are timed with."""
RUNTIME_VARIABLE = "GTP_ENGINE_RUNTIME"
"""Names the runtime that is taken where none is asked for."""
MAX_SECONDS = 1.0
"""After so long no further round is begun: large nets need fewer."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A file to run, and why it was taken."""

    path: Path
    precision: str
    """int8, fp16 or fp32; empty where the user named the file."""
    why: str
    """A phrase for people."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a processor makes of a net's int8 file, or in another runtime."""

    is_right: bool
    """Whether it computes what it computed when it was made."""
    speed_up: float
    """Speed over that of fp32 or of ONNX Runtime; 0 if that was not measured."""
    finding: str
    """What was found, as a phrase for people."""

    @property
    def passed(self) -> bool:
        """Whether it is to be used."""
        return self.is_right and self.speed_up >= MIN_SPEED_UP


def choose(files: NetFiles, on_gpu: bool) -> Choice:
    """Return which file to run.

    Raises:
        NetFileError: The file in fp32 is needed to decide, and cannot be used.
    """
    if files.is_exact:
        return Choice(files.fp32, "", "the file that was asked for")
    if on_gpu:
        if files.fp16 is not None:
            return Choice(files.fp16, "fp16", "GPUs compute fp16 fastest")
        return Choice(files.fp32, "fp32", "the net has no fp16 file")
    if files.int8 is None:
        return Choice(files.fp32, "fp32", "the net has no int8 file")
    check = int8_check(files.fp32, files.int8)
    if check.passed:
        return Choice(files.int8, "int8", check.finding)
    return Choice(files.fp32, "fp32", check.finding)


def choose_runtime(path: Path, wanted: str = AUTO) -> tuple[str, str]:
    """Return what is to run a file on the processor, one of `runtimes`, and why.

    Raises:
        NetFileError: ONNX Runtime is needed to decide, and cannot use the file.
    """
    wanted = _wanted_runtime(wanted)
    if wanted not in (AUTO, OPENVINO):
        return wanted, "what was asked for"
    check = Check(False, 0.0, "OpenVINO is not installed")
    for runtime in _candidates():
        check = _runtime_check(path, runtime)
        if check.passed or (check.is_right and wanted == OPENVINO):
            return runtime, check.finding
    return (OPENVINO if wanted == OPENVINO else ONNX_RUNTIME), check.finding


def _wanted_runtime(wanted: str) -> str:
    return os.environ.get(RUNTIME_VARIABLE, AUTO) if wanted == AUTO else wanted


def _candidates() -> tuple[str, ...]:
    """Return what may take ONNX Runtime's place, the likeliest to be fast first."""
    return (OPENVINO_BF16, OPENVINO) if openvino_runtime.INSTALLED else ()


def open_best(
    files: NetFiles, device: str, runtime: str = AUTO, threads: int | None = None
) -> OnnxNet:
    """Open the one of a net's files that suits a device, in the runtime that suits it there.

    Args:
        device: One of DEVICES.
        runtime: What runs it on a processor, see `choose_runtime`.
        threads: Runs under way at once on a processor at most; None: as many as it has cores.

    Raises:
        NetFileError: It cannot be used.
    """
    if not _may_use_gpu(device):
        path = choose(files, on_gpu=False).path
        return OnnxNet(path, device, runtime=choose_runtime(path, runtime)[0], streams=threads)
    best = choose(files, on_gpu=True).path
    return OnnxNet(best, device, spare=lambda: choose(files, on_gpu=False).path)


class OpenPart(NamedTuple):
    """A `nets.Part` that is open."""

    net: OnnxNet
    heads: tuple[str, ...] = ()
    largest_board: int | None = None


def open_files(
    wanted: str | None, device: str, runtime: str = AUTO, threads: int | None = None
) -> list[OpenPart]:
    """Open the files of what `--net` names; see `open_best`.

    Raises:
        NetFileError: A file cannot be found or used.
    """
    return [open_part(part, device, runtime, threads) for part in find_parts(wanted)]


def open_part(part: Part, device: str, runtime: str = AUTO, threads: int | None = None) -> OpenPart:
    """Open the file of a part that suits a device; see `open_best`.

    Raises:
        NetFileError: It cannot be used.
    """
    return OpenPart(open_best(part.files, device, runtime, threads), part.heads, part.largest_board)


def has_to_measure(wanted: str | None, device: str, runtime: str = AUTO) -> bool:
    """Whether opening what `--net` names measures speeds, which other work would distort.

    Raises:
        NetFileError: A file cannot be found.
    """
    if _may_use_gpu(device):
        return False
    return any(_is_unknown(part.files, runtime) for part in find_parts(wanted))


def _is_unknown(files: NetFiles, runtime: str) -> bool:
    """Whether a file or a runtime is to be chosen and no check has been made that would tell."""
    int8 = None if files.is_exact else files.int8
    if int8 is not None and _known_check(_int8_subject(files.fp32, int8)) is None:
        return True
    if _wanted_runtime(runtime) == ONNX_RUNTIME:
        return False
    path = choose(files, on_gpu=False).path
    return any(_known_check(_runtime_subject(path, one)) is None for one in _candidates()[:1])


def _may_use_gpu(device: str) -> bool:
    """Whether a net asked for on a device may run on a GPU."""
    return device == "gpu" or (device != "cpu" and cuda_obstacle() is None)


# Checks -------------------------------------------------------------------------------------------


def int8_check(fp32: Path, int8: Path) -> Check:
    """Return whether int8 is right and faster here, measured once and then remembered.

    Raises:
        NetFileError: The file in fp32 cannot be used.
    """

    def measure() -> Check:
        original = OnnxNet(fp32, "cpu")
        what = "the int8 file"
        other, refusal = _open_other(int8, ONNX_RUNTIME, what)
        if other is None:
            return Check(False, 0.0, refusal)
        cases = sorted(other.golden_cases(), key=_size)
        speed_up = _speed_up(original, other, cases[-1].inputs)
        judged = "is" if speed_up >= MIN_SPEED_UP else "is only"
        return Check(True, speed_up, f"int8 {judged} {speed_up:.2f} times as fast as fp32 here")

    return _once(_int8_subject(fp32, int8), measure)


def _runtime_check(path: Path, runtime: str) -> Check:
    """Return whether a runtime is right and faster than ONNX Runtime, measured once."""

    def measure() -> Check:
        original = OnnxNet(path, "cpu")
        if runtime == OPENVINO_BF16 and not (
            original.info.precision == "fp32" and openvino_runtime.has_bf16()
        ):
            return Check(False, 0.0, "bfloat16 is for files in fp32, where the processor has it")
        other, refusal = _open_other(path, runtime, "OpenVINO")
        if other is None:
            return Check(False, 0.0, refusal)
        found = _speed_ups(original, other)
        if other.runtime != runtime:
            return Check(False, 0.0, "OpenVINO does not run it")
        mean = float(np.exp(np.mean(np.log(list(found.values())))))
        kind = "OpenVINO, in bfloat16," if runtime == OPENVINO_BF16 else "OpenVINO"
        each = ", ".join(f"{ratio:.2f} on {what}" for what, ratio in found.items())
        return Check(
            True, mean, f"{kind} is {mean:.2f} times as fast as ONNX Runtime here ({each})"
        )

    return _once(_runtime_subject(path, runtime), measure)


def _once(subject: str, measure: Callable[[], Check]) -> Check:
    """Return what was found before, or measure and remember it."""
    found = _known_check(subject)
    if found is None:
        found = measure()
        remember(subject, asdict(found))
    return found


def _known_check(subject: str) -> Check | None:
    """Return what an earlier check found; None if there was none."""
    known = recall(subject)
    if known is None:
        return None
    try:
        speed_up = float(str(known["speed_up"]))
        return Check(bool(known["is_right"]), speed_up, str(known["finding"]))
    except (KeyError, ValueError):
        return None  # a file that something else has written


def _int8_subject(fp32: Path, int8: Path) -> str:
    return _subject("int8 against fp32", runtime_version(), describe_files([fp32, int8]))


def _runtime_subject(path: Path, runtime: str) -> str:
    versions = runtime_version(), openvino_runtime.runtime_version()
    return _subject(f"{runtime} against ONNX Runtime", *versions, describe_files([path]))


def _subject(what: str, *facts: str) -> str:
    """Return what a check holds for: versions and files on this machine."""
    return "\n".join([what, cpu_name(), *facts])


def _open_other(path: Path, runtime: str, what: str) -> tuple[OnnxNet | None, str]:
    """Return a net that computes what it should; None, and why, if it does not."""
    with collected() as said:
        try:
            net = OnnxNet(path, "cpu", runtime=runtime, streams=1)
            found = differences_of(net)
        except NetFileError as error:
            return None, f"{what} does not work: {error}"
    if net.runtime != runtime:
        return None, said[0]
    if not found or not all(one.is_right for one in found):
        return None, f"{what}'s self-check: {verdict(found)}"
    return net, ""


def _size(case: GoldenCase) -> int:
    return sum(array.size for array in case.inputs.values())


def _speed_ups(original: OnnxNet, other: OnnxNet) -> dict[str, float]:
    """Return by board and batch how often one net runs while the other runs once."""
    found: dict[str, float] = {}
    end = time.perf_counter() + MAX_SECONDS
    for case in sorted(original.golden_cases(), key=_size):
        for batch in BATCHES:
            if found and time.perf_counter() > end:
                break  # a large net, which has been timed on smaller boards
            feed = {name: np.repeat(rows[:1], batch, axis=0) for name, rows in case.inputs.items()}
            height, width = feed[SPATIAL_INPUT].shape[2:]
            found[f"{width}x{height} by {batch}"] = _speed_up(original, other, feed)
    return found


def _speed_up(original: OnnxNet, other: OnnxNet, feed: Mapping[str, npt.NDArray[Any]]) -> float:
    """Return how often the other net runs a batch while the original runs it once."""
    other.run_feed(feed)  # the first run compiles
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + MAX_SECONDS
    for _ in range(ROUNDS):
        for i, net in enumerate((original, other)):
            best[i] = min(best[i], _seconds(lambda net=net: net.run_feed(feed)))  # type: ignore[misc]
        if time.perf_counter() > end:
            break
    return best[0] / max(best[1], 1e-9)


def _seconds(work: Callable[[], object]) -> float:
    """Return what it takes of the processor, which other programs disturb less than the clock."""
    start = time.process_time()
    work()
    return time.process_time() - start
