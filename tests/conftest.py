"""What tests of several areas share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtp_engine.go.jit import HotKernel

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


@pytest.fixture(scope="session", autouse=True)
def trusting_call() -> Callable[..., Any]:
    """Let hot kernels look at the types of their arguments here, which must not change.

    Returns:
        How they are called otherwise.
    """
    trusting: Callable[..., Any] = HotKernel.__call__
    called: set[HotKernel] = set()

    def call(self: HotKernel, *args: Any) -> Any:
        kinds = list(self.py_func.__annotations__.values())[: len(args)]
        numbers = [
            kind(one) if kind in (int, float) else one
            for kind, one in zip(kinds, args, strict=True)
        ]
        known = list(self.signatures)
        answer = super(HotKernel, self).__call__(*numbers)
        assert self not in called or self.signatures == known
        called.add(self)
        return answer

    HotKernel.__call__ = call
    return trusting
