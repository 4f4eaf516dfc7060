"""What each group of layers costs in accuracy and brings in speed when it is put in int8."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.accuracy import Accuracy
from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_engine.text_table import align
from gtp_export.plans import Bounds
from gtp_export.quantise.int8 import Int8Settings
from gtp_export.quantise.laboratory import Laboratory
from gtp_export.quantise.layers import group_names, share
from gtp_export.quantise.positions import Positions

logger = logging.getLogger(__name__)


MARGIN = 0.8
"""A mixture is chosen to stay this far inside its bounds, for other positions are harder."""

NEGLIGIBLE = 0.001
"""A group with a smaller share of the multiplications saves no time that could be measured."""

ROUNDS = 5
SECONDS_PER_ROUND = 0.25
"""Processor time."""

Inputs = tuple[NDArray[np.uint8], NDArray[np.float32]]


@dataclass(frozen=True)
class GroupEffect:
    """What putting one group in int8 does."""

    group: str
    multiplications: float
    """Share of all."""
    alone: Accuracy
    """With nothing but this group in int8."""
    saved: dict[int, float]
    """By board size: microseconds an evaluation that are lost if, with all else in int8, this
    group stays in fp32."""


@dataclass(frozen=True)
class Sensitivity:
    """The table, with everything in int8 for comparison."""

    groups: list[GroupEffect]
    whole: Accuracy
    whole_speedup: dict[int, float]
    """By board size: evaluations a CPU-second with everything in int8, over those in fp32."""

    def text(self) -> str:
        """Return the table for people."""
        sizes = sorted(self.whole_speedup)
        titles = ["in int8", "multiplications", "policy KL", "top-1", "win error"]
        titles += [f"us saved {size}x{size}" for size in sizes]
        rows = [titles]
        for one in self.groups:
            row = [one.group, f"{one.multiplications:.1%}", *_accuracy_cells(one.alone)]
            rows.append(row + [f"{one.saved[size]:.0f}" for size in sizes])
        whole = ["everything", "100.0%", *_accuracy_cells(self.whole)]
        rows.append(whole + [f"{self.whole_speedup[size]:.2f} times" for size in sizes])
        return align(rows)


def _accuracy_cells(found: Accuracy) -> list[str]:
    return [f"{found.policy_kl:.4f}", f"{found.top1:.1%}", f"{found.win_error:.2%}"]


@lru_cache(maxsize=1)
def measure_sensitivity(laboratory: Laboratory, weight_bits: int) -> Sensitivity:
    """Quantise every group alone, and everything but every group, and measure."""
    layers = laboratory.layers
    everything = frozenset(layer.name for layer in layers)
    groups = {
        name: frozenset(layer.name for layer in layers if layer.group == name)
        for name in group_names(layers)
    }
    alone = {
        name: laboratory.judge_on_calibration(Int8Settings(members, weight_bits=weight_bits))
        for name, members in groups.items()
    }
    nets = {"": OnnxNet(laboratory.source, "cpu")}
    variants = {"everything": everything}
    variants |= {name: everything - members for name, members in groups.items()}
    for name, kept in variants.items():
        settings = Int8Settings(kept, weight_bits=weight_bits)
        nets[name] = laboratory.open_model(laboratory.int8_model(settings))
    sizes = measured_sizes(laboratory.calibration)
    found = speeds(nets, laboratory.calibration, sizes)
    effects = [
        GroupEffect(
            name,
            share(layers, set(members)),
            alone[name],
            {n: 1e6 / found[name][n] - 1e6 / found["everything"][n] for n in sizes},
        )
        for name, members in groups.items()
    ]
    whole = laboratory.judge_on_calibration(Int8Settings(everything, weight_bits=weight_bits))
    ratios = {n: found["everything"][n] / found[""][n] for n in sizes}
    return Sensitivity(effects, whole, ratios)


def mixed_precision(laboratory: Laboratory, bounds: Bounds, weight_bits: int) -> frozenset[str]:
    """Return the layers to put in int8 so that the net keeps to its bounds and loses little speed.

    All layers at first, but for groups that would cost accuracy and save no time; as long as the
    bounds do not hold with a margin, the group goes back to fp32 that costs most accuracy for the
    time it saves.
    """
    table = measure_sensitivity(laboratory, weight_bits)
    logger.info(f"what each group of layers costs and brings:\n{table.text()}")
    strict = bounds.tightened(MARGIN).for_heads(laboratory.info.heads)
    worth = [effect for effect in table.groups if effect.multiplications >= NEGLIGIBLE]
    order = sorted(worth, key=lambda effect: _price(effect, laboratory.info), reverse=True)
    kept = {effect.group for effect in worth}
    chosen = {layer.name for layer in laboratory.layers if layer.group in kept}
    for effect in order:
        settings = Int8Settings(frozenset(chosen), weight_bits=weight_bits)
        broken = strict.broken(laboratory.judge_on_calibration(settings))
        if not broken:
            break
        logger.info(f"{effect.group} stays in fp32: {'; '.join(broken)}")
        chosen -= {layer.name for layer in laboratory.layers if layer.group == effect.group}
    return frozenset(chosen)


def loss_of(found: Accuracy, info: NetInfo) -> float:
    """Return one number for two errors: of the winning chances, and of what else the net is for.

    That is the policy's KL in nats or, in nets that have no policy, ownership.
    """
    other = found.policy_kl if "policy" in info.heads else found.ownership_error
    return other + found.win_error


def _price(effect: GroupEffect, info: NetInfo) -> float:
    """Return what a group costs in accuracy for each microsecond that it saves."""
    cost = loss_of(effect.alone, info)
    return cost / max(1.0, sum(effect.saved.values()) / max(1, len(effect.saved)))


# Speed -------------------------------------------------------------------------------------------


def speeds(
    nets: Mapping[str, OnnxNet], positions: Positions, sizes: Sequence[int]
) -> dict[str, dict[int, float]]:
    """Return by net and board size the evaluations a second of processor time, at batch 1.

    The nets take turns; the fastest round of each counts, because other programs only ever slow
    one down.
    """
    found: dict[str, dict[int, float]] = {name: {} for name in nets}
    for size in sizes:
        inputs = _inputs(positions, size)
        for name, net in nets.items():
            net.run(*inputs[0])
            found[name][size] = 0.0
        for _ in range(ROUNDS):
            for name, net in nets.items():
                found[name][size] = max(found[name][size], _round(net, inputs))
    return found


def _inputs(positions: Positions, size: int) -> list[Inputs]:
    """Return single positions of a size."""
    singles = [
        (batch.spatial[i : i + 1], batch.features[i : i + 1])
        for batch in positions
        for i in range(len(batch.features))
        if batch.spatial.shape[2:] == (size, size)
    ]
    return singles[:64]


def _round(net: OnnxNet, inputs: Sequence[Inputs]) -> float:
    count = 0
    start = time.process_time()
    while True:
        net.run(*inputs[count % len(inputs)])
        count += 1
        spent = time.process_time() - start
        if spent >= SECONDS_PER_ROUND:
            return count / spent


def measured_sizes(positions: Positions) -> list[int]:
    """Return the smallest and the largest of the sizes that are there."""
    sizes = sorted({h for h, w in (batch.spatial.shape[2:] for batch in positions) if h == w})
    return sizes if len(sizes) < 3 else [sizes[0], sizes[-1]]
