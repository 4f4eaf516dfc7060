"""A net for tests: all parts of the architecture, a few thousand weights."""

from pathlib import Path

from gtp_export.architectures.net_file import describe_net, write_net
from gtp_export.architectures.tower import TowerShape, random_weights

TINY_SHAPE = TowerShape(blocks=2, channels=8, head_channels=8, value_hidden=8)
TINY_SEED = 20161


def write_tiny_net(path: Path) -> None:
    """Write a seeded net: mild random opinions, every head, every size."""
    info = describe_net(
        TINY_SHAPE,
        "tiny",
        source=f"random weights, seed {TINY_SEED}",
        trained_on="nothing",
        licence="MIT",
        strength="none: it plays at random",
        created_by="gtp_export.architectures.net_file.write_tiny_net",  # as in tests/data/tiny.onnx
    )
    write_net(path, TINY_SHAPE, random_weights(TINY_SHAPE, TINY_SEED), info)
