"""What tests of this folder share."""

from pathlib import Path

import pytest


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """Write a net of ours that is begun with random weights."""
    torch = pytest.importorskip("torch")
    from gtp_export.architectures.net_file import describe_net
    from gtp_export.architectures.presets import find_preset
    from gtp_export.learning.net_export import NetExport
    from gtp_export.learning.torch_layers import Net

    torch.manual_seed(1)
    shape = find_preset("tiny").shape
    NetExport(tmp_path, describe_net(shape, "begun", licence="CC0"))(Net(shape).eval(), "begun")
    return tmp_path / "begun.onnx"
