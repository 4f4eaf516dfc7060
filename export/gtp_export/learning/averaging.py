"""The mean of the weights of nets that learned from one start, "Model soups", Wortsman et al. 2022.

Steps of training leave noise in the weights, and what they bring lies on the way from the start to
the end, so the policy of the mean can be better than both. Nets of other starts have no such mean.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_export.convert.golden import add_golden
from gtp_export.convert.graph import GraphError, write_model
from gtp_export.convert.onnx_file import check_target, load_model, read_info, replace_info
from gtp_export.plans import AveragePlan


def average_files(plan: AveragePlan) -> NetInfo:
    """Write the mean of some nets' weights as a net, and return its description.

    Raises:
        NetFileError: There is one net alone, one is not in fp32 or cannot be read, or they differ
            in more than their weights.
        OSError: The file cannot be written.
    """
    if len(plan.nets) < 2:
        raise NetFileError("a mean takes two nets or more")
    for path in plan.nets:
        check_target(path, plan.out)
    models = [load_model(path) for path in plan.nets]
    infos = [read_info(*pair) for pair in zip(plan.nets, models, strict=True)]
    for path, info in zip(plan.nets, infos, strict=True):
        if info.precision != "fp32":
            raise NetFileError(f"{path}: is in {info.precision}; give the net in fp32")
        if (info.encoder, info.heads) != (infos[0].encoder, infos[0].heads):
            raise NetFileError(f"{path}: has not the encoder and the outputs of {plan.nets[0]}")
    mean = _average(models, plan.nets)
    info = replace(
        infos[0],
        name=plan.name or plan.out.stem,
        source=f"mean of the weights of {_joined(info.name for info in infos)}",
        trained_on=plan.trained_on or _joined(info.trained_on for info in infos),
        licence=plan.licence or _joined(info.licence for info in infos),
        strength=plan.strength,
        created_by="gtp-export average",
    )
    replace_info(mean, info)
    try:
        add_golden(mean, info)
        write_model(mean, plan.out)
    except GraphError as error:
        raise NetFileError(f"{plan.out}: {error}") from None
    return info


def _average(models: Sequence[onnx.ModelProto], paths: Sequence[Path]) -> onnx.ModelProto:
    """Return the first of some models, with the mean of the floats of all."""
    mean = models[0]
    arrays = [{item.name: item for item in model.graph.initializer} for model in models]
    for path, model, held in zip(paths, models, arrays, strict=True):
        same = held.keys() == arrays[0].keys() and all(
            (item.dims, item.data_type) == (arrays[0][name].dims, arrays[0][name].data_type)
            for name, item in held.items()
        )
        if not same or list(model.graph.node) != list(mean.graph.node):
            raise NetFileError(f"{path}: is not of the architecture of {paths[0]}")
    for item in mean.graph.initializer:
        rows = [numpy_helper.to_array(held[item.name]) for held in arrays]
        if rows[0].dtype == np.float32:
            exact = np.mean(rows, axis=0, dtype=np.float64).astype(np.float32)
            item.CopyFrom(numpy_helper.from_array(exact, item.name))
        elif any((row != rows[0]).any() for row in rows):
            raise NetFileError(f"{paths[0]}: stores {item.name!r} as integers, which have no mean")
    return mean


def _joined(texts: Iterable[str]) -> str:
    """Return texts, each once, with semicolons between."""
    return "; ".join(dict.fromkeys(text for text in texts if text))
