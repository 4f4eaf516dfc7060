"""Where what can be made anew is kept."""

import contextlib
import sys
from pathlib import Path

import pytest

from gtp_engine.user_cache import user_cache_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no variable")


def test_the_folder_is_the_one_of_the_desktop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache_folder() == tmp_path / "gtp-engine"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache_folder() == tmp_path / ".cache" / "gtp-engine"


def test_a_folder_in_whatever_folder_one_is_in_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    with contextlib.suppress(RuntimeError):  # older versions do not pass it over
        assert user_cache_folder().is_absolute()
