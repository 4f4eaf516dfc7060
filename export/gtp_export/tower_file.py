"""Finished net files of this project's own architecture."""

from dataclasses import replace
from pathlib import Path

from gtp_engine.evaluators.contract import ENCODERS, NetInfo
from gtp_export.convert.golden import add_golden
from gtp_export.convert.graph import write_model
from gtp_export.tower import SCORE_COLUMNS, TowerShape, Weights, random_weights
from gtp_export.tower_graph import HEADS, build_model

ENCODER = "katago_v7"
TINY_SHAPE = TowerShape(blocks=2, channels=8, head_channels=8, value_hidden=8)
"""A net for tests: all parts of the architecture, a few thousand weights."""
TINY_SEED = 20161


def describe_tower(shape: TowerShape, name: str) -> NetInfo:
    """Return the description of a tower; where it comes from is left for the caller to add."""
    version, planes, features = ENCODERS[ENCODER]
    return NetInfo(
        name=name,
        encoder=ENCODER,
        encoder_version=version,
        spatial_planes=planes,
        global_features=features,
        heads=HEADS,
        score_columns=SCORE_COLUMNS,
        architecture=shape.describe(),
        parameters=shape.parameters(),
    )


def write_tower(path: Path, shape: TowerShape, weights: Weights, info: NetInfo) -> None:
    """Write a tower with its description and golden outputs, all of it or nothing.

    Raises:
        ValueError: The weights do not fit the shape, or are no longer finite.
        OSError: The file cannot be written.
    """
    model = build_model(shape, weights, info.to_metadata())
    add_golden(model, info)
    write_model(model, path)


def write_tiny_net(path: Path) -> None:
    """Write the seeded net that the tests use: mild random opinions, every head, every size."""
    info = replace(
        describe_tower(TINY_SHAPE, "tiny"),
        source=f"random weights, seed {TINY_SEED}",
        trained_on="nothing",
        licence="MIT",
        strength="none: it plays at random",
        created_by="gtp_export.tower_file.write_tiny_net",
    )
    write_tower(path, TINY_SHAPE, random_weights(TINY_SHAPE, TINY_SEED), info)
