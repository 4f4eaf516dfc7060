"""What tests of several areas share."""

import os
from pathlib import Path

import pytest

REFERENCE_DATA = "GTP_ENGINE_REFERENCE_DATA"


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of foreign nets and records; without one the test is left out."""
    folder = os.environ.get(REFERENCE_DATA)
    if not folder:
        pytest.skip(f"{REFERENCE_DATA} names no folder of reference data")
    path = Path(folder)
    assert path.is_dir(), f"{REFERENCE_DATA} names a folder that does not exist: {folder}"
    return path
