"""From a foreign net file to a self-describing ONNX file."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_export.convert.container import NetFormat, read_net_file
from gtp_export.convert.golden import add_golden
from gtp_export.convert.graph import Graph, GraphError, write_model
from gtp_export.convert.katago_file import read_katago
from gtp_export.convert.katago_graph import katago_graph, katago_info
from gtp_export.convert.keras_file import read_keras
from gtp_export.convert.keras_graph import keras_graph, keras_info
from gtp_export.convert.leela_zero_file import read_leela_zero
from gtp_export.convert.leela_zero_graph import leela_zero_graph, leela_zero_info
from gtp_export.convert.onnx_file import check_target


@dataclass(frozen=True)
class Conversion:
    """What a conversion did."""

    format: NetFormat
    info: NetInfo
    seconds: float


def convert_file(
    source: Path,
    target: Path,
    texts: Mapping[str, str] | None = None,
    encoder: str | None = None,
) -> Conversion:
    """Convert a foreign net and write it to `target`, all of it or nothing.

    Args:
        texts: Fields of the description that the foreign file does not know, such as `licence`.
        encoder: The book's name of the encoder, for a Keras file that does not say it.

    Raises:
        NetFileError: the source is no net that can be converted.
        OSError: the target cannot be written.
    """
    start = time.perf_counter()
    check_target(source, target)
    try:
        net_format, graph, info = load_net(source, encoder)
        given: dict[str, Any] = dict(texts or {})
        info = replace(info, **given)
        model = graph.model(info.to_metadata())
        add_golden(model, info)
        write_model(model, target)
    except GraphError as error:
        raise NetFileError(f"{source}: {error}") from None
    return Conversion(net_format, info, time.perf_counter() - start)


def load_net(source: Path, encoder: str | None = None) -> tuple[NetFormat, Graph, NetInfo]:
    """Read a foreign net of any format and build its graph and description.

    Raises:
        NetFileError: See `convert_file`.
        GraphError: The net reads well but cannot be made into a graph.
    """
    net_format, data = read_net_file(source)
    if encoder is not None and net_format is not NetFormat.KERAS:
        raise NetFileError(f"{source}: is a {net_format.value} net, which needs no --encoder")
    if net_format is NetFormat.KATAGO:
        net = read_katago(source, data)
        return net_format, katago_graph(net), katago_info(net, source.name)
    name = _plain_name(source)
    if net_format is NetFormat.LEELA_ZERO:
        leela = read_leela_zero(source, data)
        return net_format, leela_zero_graph(leela), leela_zero_info(leela, name, source.name)
    keras = read_keras(source, data)
    if encoder is not None:
        if keras.encoder not in (None, encoder):
            raise NetFileError(f"{source}: names its own encoder: {keras.encoder!r}")
        keras = replace(keras, encoder=encoder)
    return net_format, keras_graph(keras), keras_info(keras, name, source.name)


def _plain_name(source: Path) -> str:
    """Return a file's name without the endings nets have, for nets that have no name inside."""
    name = source.name
    for ending in (".gz", ".txt", ".h5"):
        name = name.removesuffix(ending)
    return name or source.name
