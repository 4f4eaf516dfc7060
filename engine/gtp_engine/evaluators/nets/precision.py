"""Which of a net's files a device runs, and in what: the fastest way that is right.

A net called `name` may come in several files: `name.onnx` in fp32, `name-int8.onnx` and
`name-fp16.onnx`. Asked for by name, a GPU runs fp16 where there is such a file. On a processor
there are several ways, and which is the fastest depends on it: int8 overflows without VNNI, and may
lose to bfloat16 with AMX. So each file in each runtime is checked: it has to reproduce its recorded
outputs, and is timed beside fp32 in ONNX Runtime. A check takes a second or two and is remembered.

A net asked for by file is that file, in one runtime or the other.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.nets.measurements import describe_files, recall, remember
from gtp_engine.evaluators.nets.net_files import NetFiles, find_parts
from gtp_engine.evaluators.nets.net_info import SPATIAL_INPUT, GoldenCase, NetFileError
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.evaluators.nets.self_check import differences_of, verdict
from gtp_engine.evaluators.runtimes import openvino_runtime
from gtp_engine.evaluators.runtimes.devices import RUNTIMES, cpu_name, cuda_obstacle
from gtp_engine.evaluators.runtimes.onnx_runtime import runtime_version
from gtp_engine.evaluators.runtimes.sessions import (
    AUTO,
    NAMES,
    ONNX_RUNTIME,
    OPENVINO,
    OPENVINO_BF16,
)
from gtp_engine.messages import collected
from gtp_engine.platforms import cpu_clock

logger = logging.getLogger(__name__)

MIN_SPEED_UP = 1.1
"""How much faster a way must be than those before it to be taken."""
ROUNDS = 5
"""Turns that each net gets; its fastest counts, for other programs only ever slow one down."""
RUNS = 3
"""Of a turn, after one that brings the net's weights back into the processor's cache: nets that
take turns drive each other out, as nobody does in a search."""
BATCHES = (1, 8)
"""Rows that ways are timed with."""
MEASURED = f"the fastest of turns of {RUNS} runs, after one"
"""How; what was remembered of measurements of another kind is not taken."""
RUNTIME_VARIABLE = "GTP_ENGINE_RUNTIME"
"""Names the runtime that is taken where none is asked for."""
MAX_SECONDS = 1.0
"""After so long no further round is begun: large nets need fewer."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A file to run, in what, and why."""

    path: Path
    precision: str
    """int8, fp16 or fp32; empty where the user named the file."""
    why: str
    """A phrase for people."""
    runtime: str = ONNX_RUNTIME
    """What runs it on a processor, one of `runtimes.sessions`."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a processor makes of one of a net's files in one runtime."""

    is_right: bool
    """Whether it computes what it computed when it was made."""
    speed_up: float
    """Speed over that of fp32 in ONNX Runtime; 0 if that was not measured."""
    finding: str
    """What was found, as a phrase for people."""


def choose(files: NetFiles, on_gpu: bool, runtime: str = AUTO) -> Choice:
    """Return which file to run, and in what.

    Args:
        runtime: What is to run it on a processor: any, or this one alone.

    Raises:
        NetFileError: The file in fp32 is needed to decide, and cannot be used; or the environment
            names no runtime.
    """
    if not on_gpu:
        return _choose_on_cpu(files, _wanted_runtime(runtime), _check)
    if files.is_exact:
        return Choice(files.fp32, "", "the file that was asked for")
    if files.fp16 is not None:
        return Choice(files.fp16, "fp16", "GPUs compute fp16 fastest")
    return Choice(files.fp32, "fp32", "the net has no fp16 file")


def _choose_on_cpu(
    files: NetFiles, wanted: str, check: Callable[[NetFiles, Path, str], Check]
) -> Choice:
    """Return the first of the ways to run a net that no later one beats clearly.

    Args:
        wanted: The one runtime to choose among, or AUTO.
        check: Returns what is found of a file in a runtime.
    """
    why = "the file that was asked for" if files.is_exact else "the net has no int8 file"
    best = Choice(files.fp32, "" if files.is_exact else "fp32", why)
    fastest = 0.0 if wanted == OPENVINO else 1.0
    refused = []
    for path, runtime in _ways(files, wanted):
        is_plain = best.runtime == ONNX_RUNTIME and best.path == files.fp32
        if runtime == OPENVINO and path == files.fp32 and not is_plain:
            continue  # the same in bfloat16, or int8, is faster wherever it is right
        found = check(files, path, runtime)
        if found.is_right and found.speed_up >= MIN_SPEED_UP * fastest:
            precision = "int8" if path == files.int8 else best.precision and "fp32"
            best, fastest = Choice(path, precision, found.finding, runtime), found.speed_up
        elif found.finding:
            refused.append(found.finding)
    if best.runtime == ONNX_RUNTIME and wanted not in (AUTO, ONNX_RUNTIME):
        # Whatever opens it there says what it needs.
        return replace(_choose_on_cpu(files, ONNX_RUNTIME, check), runtime=wanted)
    if refused and best.path == files.fp32 and best.runtime == ONNX_RUNTIME:
        return replace(best, why="; ".join(refused))
    return best


def _ways(files: NetFiles, wanted: str) -> Iterator[tuple[Path, str]]:
    """Yield files and runtimes besides fp32 in ONNX Runtime, the likeliest to be right first."""
    int8 = None if files.is_exact else files.int8
    if int8 is not None and wanted in (AUTO, ONNX_RUNTIME):
        yield int8, ONNX_RUNTIME
    if wanted not in (AUTO, OPENVINO) or not openvino_runtime.INSTALLED:
        return
    if int8 is not None:
        yield int8, OPENVINO
    yield files.fp32, OPENVINO_BF16
    yield files.fp32, OPENVINO


def _wanted_runtime(wanted: str) -> str:
    """Return the runtime asked for, by an option or else by the environment.

    Raises:
        NetFileError: The environment names none.
    """
    if wanted != AUTO:
        return wanted
    named = os.environ.get(RUNTIME_VARIABLE) or AUTO
    if named not in RUNTIMES:
        known = ", ".join(RUNTIMES)
        raise NetFileError(f"{RUNTIME_VARIABLE}: unknown runtime {named[:40]!r}; known are {known}")
    return named


def open_best(
    files: NetFiles, device: str, runtime: str = AUTO, threads: int | None = None
) -> OnnxNet:
    """Open the one of a net's files that suits a device, in the runtime that suits it there.

    Args:
        device: One of DEVICES.
        runtime: What is to run it on a processor, see `choose`.
        threads: Runs under way at once on a processor at most; None: as many as it has cores.

    Raises:
        NetFileError: It cannot be used.
    """
    if _may_use_gpu(device):
        path = choose(files, on_gpu=True).path

        def spare(wanted: str) -> tuple[Path, str]:
            best = choose(files, on_gpu=False, runtime=wanted)
            return best.path, best.runtime

        net = OnnxNet(path, device, spare, runtime, threads)
    else:
        best = choose(files, on_gpu=False, runtime=runtime)
        net = OnnxNet(best.path, device, runtime=best.runtime, streams=threads)
    if net.device == "cuda":
        found = differences_of(net)
        if not all(one.is_right for one in found):
            net.leave_gpu(f"{net.path}: self-check: {verdict(found)}")
    # All other ways on the CPU have been checked.
    is_as_it_is = net.path == files.fp32 and net.runtime == ONNX_RUNTIME
    if net.device == "cpu" and (files.is_exact or _wanted_runtime(runtime) != AUTO or is_as_it_is):
        _warn_if_wrong(net)
    return net


def _warn_if_wrong(net: OnnxNet) -> None:
    """Say so where a net that was asked for as it is computes something else than it should."""
    if net.runtime == ONNX_RUNTIME and not net.info.precision.startswith("int8"):
        return
    found = differences_of(net)
    if not all(one.is_right for one in found):
        logger.warning(f"{net.path}{NAMES[net.runtime]}: self-check: {verdict(found)}")


def has_to_measure(wanted: str | None, device: str, runtime: str = AUTO) -> bool:
    """Whether opening what `--net` names measures speeds, which other work would distort.

    Raises:
        NetFileError: A file cannot be found, or the environment names no runtime.
    """
    if _may_use_gpu(device):
        return False
    return any(_is_unknown(part.files, runtime) for part in find_parts(wanted))


def _is_unknown(files: NetFiles, runtime: str) -> bool:
    """Whether a check is needed that has not been made yet."""

    def known(files: NetFiles, path: Path, runtime: str) -> Check:
        found = _known_check(_subject(files, path, runtime))
        if found is None:
            raise LookupError
        return found

    try:
        _choose_on_cpu(files, _wanted_runtime(runtime), known)
    except LookupError:
        return True
    return False


def _may_use_gpu(device: str) -> bool:
    """Whether a net asked for on a device may run on a GPU."""
    return device == "gpu" or (device != "cpu" and cuda_obstacle() is None)


# Checks -------------------------------------------------------------------------------------------


def _check(files: NetFiles, path: Path, runtime: str) -> Check:
    """Return what is found of a file in a runtime, measured once and then remembered.

    Raises:
        NetFileError: The file in fp32 cannot be used.
    """
    subject = _subject(files, path, runtime)
    found = _known_check(subject)
    if found is None:
        found = _measure(files, path, runtime)
        remember(subject, asdict(found))
    return found


def _measure(files: NetFiles, path: Path, runtime: str) -> Check:
    original = OnnxNet(files.fp32, "cpu")
    kind = original.info.precision.split(",")[0]  # what follows is kept in fp32
    if runtime == OPENVINO_BF16 and not (kind == "fp32" and openvino_runtime.has_bf16()):
        return Check(False, 0.0, "")  # no way at all: of that nothing need be said
    what = f"{kind if path == files.fp32 else 'int8'}{NAMES[runtime]}"
    other, refusal = _open_other(path, runtime, what)
    if other is None:
        return Check(False, 0.0, refusal)
    found = _speed_ups(original, other)
    if other.runtime != runtime:
        return Check(False, 0.0, "OpenVINO does not run it")
    if not found:
        return Check(False, 0.0, f"{what} was not timed: {files.fp32.name} holds no inputs")
    mean = float(np.exp(np.mean(np.log(list(found.values())))))
    each = ", ".join(f"{ratio:.2f} on {on}" for on, ratio in found.items())
    than = kind if runtime == ONNX_RUNTIME else f"{kind} by ONNX Runtime"
    return Check(True, mean, f"{what} is {mean:.2f} times as fast as {than} here ({each})")


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


def _subject(files: NetFiles, path: Path, runtime: str) -> str:
    """Return what a check holds for: versions and files on this machine."""
    versions = [MEASURED, runtime_version()]
    if runtime != ONNX_RUNTIME:
        versions.append(openvino_runtime.runtime_version())
    return "\n".join([runtime, cpu_name(), *versions, describe_files([files.fp32, path])])


def _open_other(path: Path, runtime: str, what: str) -> tuple[OnnxNet | None, str]:
    """Return a net that computes what it should; None, and why, if it does not."""
    with collected(own_thread=True) as said:
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
    for net in (original, other):  # the first run compiles
        net.run_feed(feed)
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + MAX_SECONDS
    for _ in range(ROUNDS):
        for i, net in enumerate((original, other)):
            best[i] = min(best[i], _turn(net, feed))
        if time.perf_counter() > end:
            break
    return best[0] / max(best[1], 1e-9)


def _turn(net: OnnxNet, feed: Mapping[str, npt.NDArray[Any]]) -> float:
    """Return the processor's seconds, which other programs disturb less, for RUNS of a batch."""
    net.run_feed(feed)
    start = cpu_clock()
    for _ in range(RUNS):
        net.run_feed(feed)
    return cpu_clock() - start
