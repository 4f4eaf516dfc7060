"""Which of a net's files a device runs: 8 bits, 16 bits or 32.

A net called `name` may come in several files: `name.onnx` in fp32, `name-int8.onnx` and
`name-fp16.onnx`. Asked for by name, a GPU runs fp16 where there is such a file. A processor runs
int8 where a self-check finds it right and faster here: products of 8 bits overflow on processors
without VNNI, and some compute them slower than fp32. The check takes a fraction of a second and
is remembered. A net asked for by file is that file.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gtp_engine.evaluators.devices import cpu_name, cuda_obstacle
from gtp_engine.evaluators.measurements import describe_files, recall, remember
from gtp_engine.evaluators.net_info import GoldenCase, NetFileError
from gtp_engine.evaluators.nets import NetFiles, find_parts
from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_engine.evaluators.onnx_runtime import runtime_version
from gtp_engine.evaluators.runtimes import AUTO
from gtp_engine.evaluators.self_check import differences_of, verdict

MIN_SPEED_UP = 1.1
"""How much faster int8 must be than fp32 to be worth its rounding."""
ROUNDS = 8
"""Turns that each file gets; its fastest counts, for other programs only ever slow one down."""
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
class Int8Check:
    """What a processor makes of a net's int8 file."""

    is_right: bool
    """Whether it computes what it computed when it was made."""
    speed_up: float
    """Speed over that of fp32; 0 if that was not measured."""
    finding: str
    """What was found, as a phrase for people."""

    @property
    def passed(self) -> bool:
        """Whether int8 is to be used."""
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


def open_best(
    files: NetFiles, device: str, runtime: str = AUTO, threads: int | None = None
) -> OnnxNet:
    """Open the one of a net's files that suits a device; see `choose` and `OnnxNet`.

    Raises:
        NetFileError: It cannot be used.
    """
    if not _may_use_gpu(device):
        return OnnxNet(choose(files, on_gpu=False).path, device, runtime=runtime, streams=threads)
    best = choose(files, on_gpu=True).path
    return OnnxNet(
        best,
        device,
        spare=lambda: choose(files, on_gpu=False).path,
        runtime=runtime,
        streams=threads,
    )


def open_files(
    wanted: str | None, device: str, runtime: str = AUTO, threads: int | None = None
) -> list[tuple[OnnxNet, tuple[str, ...]]]:
    """Open the files of what `--net` names, each with the heads it is asked for.

    Raises:
        NetFileError: A file cannot be found or used.
    """
    return [
        (open_best(part.files, device, runtime, threads), part.heads) for part in find_parts(wanted)
    ]


def has_to_measure(wanted: str | None, device: str) -> bool:
    """Whether opening what `--net` names measures speeds, which other work would distort.

    Raises:
        NetFileError: A file cannot be found.
    """
    if _may_use_gpu(device):
        return False
    candidates = [part.files for part in find_parts(wanted) if not part.files.is_exact]
    return any(
        files.int8 is not None and _known_check(files.fp32, files.int8) is None
        for files in candidates
    )


def _may_use_gpu(device: str) -> bool:
    """Whether a net asked for on a device may run on a GPU."""
    return device != "cpu" and cuda_obstacle() is None


def int8_check(fp32: Path, int8: Path) -> Int8Check:
    """Return whether int8 is right and faster here, measured once and then remembered.

    Raises:
        NetFileError: The file in fp32 cannot be used.
    """
    known = _known_check(fp32, int8)
    if known is not None:
        return known
    found = _measure(fp32, int8)
    remember(_subject(fp32, int8), asdict(found))
    return found


def _known_check(fp32: Path, int8: Path) -> Int8Check | None:
    """Return what an earlier check found; None if there was none."""
    known = recall(_subject(fp32, int8))
    if known is None:
        return None
    try:
        speed_up = float(str(known["speed_up"]))
        return Int8Check(bool(known["is_right"]), speed_up, str(known["finding"]))
    except (KeyError, ValueError):
        return None  # a file that something else has written


def _subject(fp32: Path, int8: Path) -> str:
    """Return what a check holds for: these files on this machine."""
    return "\n".join(
        ["int8 against fp32", cpu_name(), runtime_version(), describe_files([fp32, int8])]
    )


def _measure(fp32: Path, int8: Path) -> Int8Check:
    original = OnnxNet(fp32, "cpu")
    try:
        other = OnnxNet(int8, "cpu")
        found = differences_of(other)
    except NetFileError as error:
        return Int8Check(False, 0.0, f"the int8 file does not work: {error}")
    if not found or not all(one.is_right for one in found):
        return Int8Check(False, 0.0, f"the int8 file's self-check: {verdict(found)}")
    speed_up = _speed_up(original, other, other.golden_cases())
    judged = "is" if speed_up >= MIN_SPEED_UP else "is only"
    return Int8Check(True, speed_up, f"int8 {judged} {speed_up:.2f} times as fast as fp32 here")


def _speed_up(original: OnnxNet, other: OnnxNet, cases: Sequence[GoldenCase]) -> float:
    """Return how often the other net runs the largest case while the original runs it once."""
    feed = max((case.inputs for case in cases), key=lambda one: sum(a.size for a in one.values()))
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + MAX_SECONDS
    for _ in range(ROUNDS):
        for i, net in enumerate((original, other)):
            best[i] = min(best[i], _seconds(lambda net=net: net.run_feed(feed)))  # type: ignore[misc]
        if time.perf_counter() > end:
            break
    return best[0] / max(best[1], 1e-9)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
