"""A net as large as people's strongest: what it costs to convert."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.export.convert.katago_writer import ORDINARY, POOLING, Nested, NetPlan, write_net

BLOCKS = 18
PLAN = NetPlan(
    version=15,
    channels=384,
    mid=192,
    pooled=64,
    head=48,
    blocks=tuple(
        Nested((ORDINARY, ORDINARY)) if number % 3 else Nested((POOLING, ORDINARY))
        for number in range(BLOCKS)
    ),
)
LARGEST_MEMORY = 4 << 30
"""Bytes of address space, of which only a part is used."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no process's memory so")
def test_eighteen_nested_blocks_of_384_channels(tmp_path: Path) -> None:
    import resource  # Windows has none

    source, target = tmp_path / "big.bin", tmp_path / "big.onnx"
    source.write_bytes(write_net(PLAN))
    assert source.stat().st_size > 100e6
    run = subprocess.run(
        [sys.executable, "-m", "gtp_export", "convert", str(source), str(target)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY, LARGEST_MEMORY)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert f"{BLOCKS} blocks x 384 channels" in run.stderr
    assert target.stat().st_size > 100e6
