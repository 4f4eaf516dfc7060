"""Finished net files of every architecture here."""

from pathlib import Path
from typing import Any

from gtp_engine.coords import MAX_SIZE, MIN_SIZE
from gtp_engine.evaluators.nets.net_info import (
    ENCODERS,
    NO_RESULT_BY_RULES,
    NO_RESULT_NEVER,
    VALUE_WIN_LOSS_NORESULT,
    NetInfo,
)
from gtp_export.architectures.onnx_layers import write_graph
from gtp_export.architectures.shape import Shape, Weights, count_parameters
from gtp_export.architectures.tower import SCORE_COLUMNS
from gtp_export.convert.golden import add_golden
from gtp_export.convert.graph import write_model


def describe_net(shape: Shape, name: str, **told: Any) -> NetInfo:
    """Return the description of a net.

    Args:
        told: What its shape does not say, such as where it comes from, by field of `NetInfo`.
    """
    version, planes, features = ENCODERS[shape.encoder]
    size = shape.board_size
    knows_no_result = shape.value_kind == VALUE_WIN_LOSS_NORESULT
    return NetInfo(
        name=name,
        encoder=shape.encoder,
        encoder_version=version,
        spatial_planes=planes,
        global_features=features,
        heads=dict(shape.heads),
        has_pass=shape.has_pass,
        value_kind=shape.value_kind,
        no_result=NO_RESULT_BY_RULES if knows_no_result else NO_RESULT_NEVER,
        score_columns=SCORE_COLUMNS if "score" in shape.heads else (),
        board_min=size or MIN_SIZE,
        board_max=size or MAX_SIZE,
        square_only=size is not None,
        architecture=shape.describe(),
        parameters=count_parameters(shape),
        **told,
    )


def write_net(path: Path, shape: Shape, weights: Weights, info: NetInfo) -> None:
    """Write a net with its description and golden outputs, all of it or nothing.

    Raises:
        ValueError: The weights do not fit the shape, or are no longer finite.
        OSError: The file cannot be written.
    """
    model = write_graph(shape, weights, info.to_metadata())
    add_golden(model, info)
    write_model(model, path)
