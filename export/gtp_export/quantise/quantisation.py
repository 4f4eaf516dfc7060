"""From a net in fp32 to one in lower precision: calibrate, quantise, judge, write."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gtp_engine.evaluators.accuracy import Accuracy
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.runtimes.devices import int8_may_overflow
from gtp_export.convert.golden import add_golden
from gtp_export.convert.graph import GraphError, write_model
from gtp_export.convert.onnx_file import check_target, replace_info
from gtp_export.plans import AUTO, CALIBRATIONS, FP16, INT8, QuantisePlan
from gtp_export.quantise.half import to_half
from gtp_export.quantise.int8 import Int8Settings
from gtp_export.quantise.laboratory import Laboratory
from gtp_export.quantise.layers import HEADS, Layer, choose_layers
from gtp_export.quantise.sensitivity import loss_of, measure_sensitivity, mixed_precision

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    info: NetInfo
    accuracy: dict[str, Accuracy]
    """By board size, and "all"."""
    broken: list[str]
    """Bounds that do not hold; only with force."""


def quantise_file(
    source: Path,
    target: Path,
    plan: QuantisePlan,
    table: Callable[[str], None] | None = None,
    called: str | None = None,
) -> Outcome:
    """Write a net in lower precision to `target`, all of it or nothing.

    Args:
        table: Given the table of what each group of layers costs; measured only if asked for.
        called: What messages call the source; its path if None.

    Raises:
        NetFileError: The source cannot be quantised, or the result breaks the bounds.
        OSError: The target cannot be written.
    """
    check_target(source, target)
    if not target.parent.is_dir():
        raise NetFileError(f"{target}: there is no folder {target.parent}")
    judged = max(plan.judged, 2 * plan.positions)
    laboratory = Laboratory(source, plan.positions, judged, called or str(source))
    if table is not None:
        table(measure_sensitivity(laboratory, plan.weight_bits).text())
    try:
        return _quantise(laboratory, target, plan)
    except GraphError as error:
        raise NetFileError(f"{laboratory.called}: {error}") from None


def _quantise(laboratory: Laboratory, target: Path, plan: QuantisePlan) -> Outcome:
    broken = list[str]()
    if plan.precision == FP16:
        model, what = to_half(laboratory.model), "fp16"
        broken = laboratory.beyond_half()
    else:
        settings = choose_settings(laboratory, plan)
        model, what = laboratory.int8_model(settings), describe(laboratory.layers, settings)
    info = replace(laboratory.info, precision=what)
    replace_info(model, info)
    accuracy = laboratory.judge(model)
    broken += plan.bounds.for_heads(laboratory.info.heads).broken(accuracy["all"])
    if broken and not plan.force:
        problem = "; ".join(broken)
        ways = "--force writes it all the same"
        if plan.precision == INT8:
            ways = f"--keep-fp32 keeps more layers, {ways}"
            if plan.weight_bits == 8 and int8_may_overflow():
                ways = f"--seven-bit weights do not overflow on this processor, {ways}"
        raise NetFileError(
            f"{laboratory.called}: not written as {plan.precision}: {problem} ({ways})"
        )
    add_golden(model, info)
    write_model(model, target)
    return Outcome(info, accuracy, broken)


def choose_settings(laboratory: Laboratory, plan: QuantisePlan) -> Int8Settings:
    """Return the layers and the calibration for a plan.

    Raises:
        NetFileError: It names layers that there are not, or leaves none.
    """
    bits = plan.weight_bits
    if plan.keep_fp32 == (AUTO,):
        layers = mixed_precision(laboratory, plan.bounds, bits)
    else:
        layers = frozenset(choose_layers(laboratory.layers, plan.keep_fp32))
    if not layers:
        problem = "no convolution or matrix product over points is left to put in int8"
        raise NetFileError(f"{laboratory.called}: {problem}")
    if plan.calibration != AUTO:
        return Int8Settings(layers, plan.calibration, bits)
    tried = {name: Int8Settings(layers, name, bits) for name in CALIBRATIONS}
    loss = {name: _loss(laboratory, settings) for name, settings in tried.items()}
    best = min(tried, key=lambda name: loss[name])
    logger.info(f"calibration: {best} ({', '.join(f'{n} {v:.4f}' for n, v in loss.items())})")
    return tried[best]


def _loss(laboratory: Laboratory, settings: Int8Settings) -> float:
    return loss_of(laboratory.judge_on_calibration(settings), laboratory.info)


def describe(layers: list[Layer], settings: Int8Settings) -> str:
    """Return the precision for the net's description."""
    kept = [layer for layer in layers if layer.name not in settings.layers]
    text = "int8"
    if settings.weight_bits != 8:
        text += f" ({settings.weight_bits}-bit weights)"
    if kept:
        heads = [layer for layer in layers if layer.is_head]
        whole = all(layer in kept for layer in heads)
        groups = dict.fromkeys(HEADS if layer.is_head and whole else layer.group for layer in kept)
        text += f", fp32: {', '.join(groups)}"
    return text
