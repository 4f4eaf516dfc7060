"""Whether a net computes on this machine what it should.

A net file carries inputs and the outputs they gave when it was made. Rounding explains small
differences; large ones mean that this machine computes something else, as processors without VNNI
do where products of uint8 and int8 weights overflow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet, difference
from gtp_engine.evaluators.runtimes.sessions import ONNX_RUNTIME, OPENVINO_BF16

FP32_ON_CPU, OTHERWISE = 1e-3, 0.05
"""Largest difference from a recorded output that rounding can explain, relative to the largest
value; 8 bits, 16 bits and a GPU's shortened fp32 round more."""
SPARED = 0.01
"""Share of an output's numbers that may be further off where these round: with other kernels, one
owner of 361 may be 0.09 off where all others keep to 0.04. Values, being few, spare none."""


@dataclass(frozen=True)
class Difference:
    """How far an output is from the recorded one, over all recorded cases."""

    output: str
    absolute: float
    """Largest difference, but for those spared; infinite where shapes differ or something is no
    number."""
    relative: float
    """The same over the largest recorded value, or over 1 if that is smaller."""
    tolerance: float
    """What `relative` may be."""

    @property
    def is_right(self) -> bool:
        """Whether rounding can explain it."""
        return self.relative <= self.tolerance


def differences_of(net: OnnxNet) -> list[Difference]:
    """Return how far each output is from the recorded one; nothing if none is recorded.

    Raises:
        NetFileError: The recorded data cannot be read, or the net fails on them.
    """
    allowed = tolerance(net.info, net.device, net.runtime)
    spared = SPARED if allowed == OTHERWISE else 0.0
    largest: dict[str, tuple[float, float]] = {}
    for case in net.golden_cases():
        outputs = net.run_feed(case.inputs)
        for name, expected in case.outputs.items():
            absolute, relative = difference(outputs.get(name), expected, spared)
            before = largest.get(name, (0.0, 0.0))
            largest[name] = (max(before[0], absolute), max(before[1], relative))
    return [Difference(name, *pair, allowed) for name, pair in largest.items()]


def tolerance(info: NetInfo, device: str, runtime: str = ONNX_RUNTIME) -> float:
    """Return what rounding can explain."""
    rounds = info.precision != "fp32" or device != "cpu" or runtime == OPENVINO_BF16
    return OTHERWISE if rounds else FP32_ON_CPU


def verdict(found: Sequence[Difference]) -> str:
    """Return in one line whether all is well."""
    if not found:
        return "the file holds no outputs to compare with"
    worst = max(found, key=lambda one: one.relative)
    word = "passed" if worst.is_right else "FAILED"
    return f"{word}, largest difference {worst.relative:.1e} of the range ({worst.output})"
