"""What tests of several areas share."""

import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from gtp_engine.kernels import CACHE, HotKernel
from gtp_engine.messages import collected

# The first example compiles, and machines stall; the same examples everywhere.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")

REFERENCE_DATA = "GTP_ENGINE_REFERENCE_DATA"

IS_CI = os.environ.get("CI") == "true"

CI_MAY_LACK = (
    REFERENCE_DATA,
    "NVIDIA driver",
    "CUDA_VISIBLE_DEVICES",
    "Windows",
    "needs /proc",
    "the folder is named otherwise",
    "kernels run as plain Python",
)
"""Parts of the reasons for which tests are left out even where `.ci/run` installs what it can."""


def _fail_if_ci_lacks_a_tool(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure, where every tool is to be there."""
    if not IS_CI or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(part in reason for part in CI_MAY_LACK):
        report.outcome = "failed"
        report.longrepr = f"under CI=true this is no reason to leave a test out: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Look at why a test is left out."""
    report = yield
    _fail_if_ci_lacks_a_tool(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Look at why all tests of a file are left out."""
    report = yield
    _fail_if_ci_lacks_a_tool(report)
    return report


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of foreign nets and records; without one the test is left out."""
    folder = os.environ.get(REFERENCE_DATA)
    if not folder:
        pytest.skip(f"{REFERENCE_DATA} names no folder of reference data")
    path = Path(folder)
    assert path.is_dir(), f"{REFERENCE_DATA} names a folder that does not exist: {folder}"
    return path


@pytest.fixture
def homeless() -> Callable[[], Path]:
    """What is put in the place of a function that finds a folder of the user's: there is none."""

    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    return fail


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What the program tells people meanwhile."""
    with collected() as lines:
        yield lines


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_found_that_a_user_left_behind(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Begin without a user's own nets and measurements; compiled kernels alone are shared.

    No net is timed to find the runtime that suits it, unless a test says so.
    """
    cache = tmp_path_factory.mktemp("cache") / "gtp-engine"
    cache.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GTP_ENGINE_NETS", str(cache / "nets"))
        patch.setenv("GTP_ENGINE_RUNTIME", "onnxruntime")
        if sys.platform == "linux" and CACHE.folder is not None:
            (cache / "kernels").symlink_to(CACHE.folder.parent)
            patch.setenv("XDG_CACHE_HOME", str(cache.parent))
        yield


@pytest.fixture(scope="session", autouse=True)
def _hot_kernels_are_handed_the_same_kinds() -> None:
    """Look at what hot kernels take for granted: that arrays are as those of the first call."""
    call = HotKernel.__call__
    first: dict[HotKernel, tuple[Any, ...]] = {}

    def look_and_call(self: HotKernel, *args: Any) -> Any:
        kinds = kinds_of(args)
        assert kinds == first.setdefault(self, kinds)
        return call(self, *args)

    HotKernel.__call__ = look_and_call


def kinds_of(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return all that tells arrays apart for a kernel; numbers are taken as annotations say."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            flags = value.flags
            found.append((value.dtype, value.ndim, flags.c_contiguous, flags.writeable))
        else:
            found.append(kinds_of(value) if isinstance(value, tuple) else None)
    return (type(values), *found)
