"""Kernels kept between processes: damaged files, full disks, folders that others can write."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core.compiler import CompileResult

from gtp_engine import kernel_cache
from gtp_engine.kernel_cache import KernelCache

NOBODY = 65534

posix_only = pytest.mark.skipif(os.name != "posix", reason="folders have no owner's bits there")


def add_seven(number: int) -> int:
    return number + 7


def call(cache: KernelCache) -> int:
    """Call a kernel as a new process would; return how many were compiled, not loaded."""
    before = cache.compiled
    kernel = numba.njit(add_seven)
    cache.attach(kernel)
    assert kernel(5) == 12
    return cache.compiled - before


LOADED, COMPILED = 0, 1


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder named for the cache, which every user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def kept(root: Path) -> Path:
    """The file of a kernel."""
    assert call(KernelCache()) == COMPILED
    (file,) = root.rglob("*.kernel")
    return file


def test_what_was_compiled_is_loaded(kept: Path) -> None:
    cache = KernelCache()
    assert call(cache) == LOADED and cache.folder == kept.parent
    assert cache.obstacle == "" and cache.damaged_files() == []


def test_a_file_of_any_other_length_is_compiled_anew(kept: Path) -> None:
    whole = kept.read_bytes()
    cache = KernelCache()
    for length in (0, 1, 31, 32, 33, len(whole) // 2, len(whole) - 1):
        kept.write_bytes(whole[:length])
        assert cache.damaged_files() == [kept.name]
        assert call(cache) == COMPILED
        assert call(cache) == LOADED, "and then it is whole again"
    kept.write_bytes(whole + b"\0")
    assert call(cache) == COMPILED


def test_a_file_with_any_other_bit_is_compiled_anew(kept: Path) -> None:
    whole = kept.read_bytes()
    cache = KernelCache()
    for place in range(0, len(whole), 97):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        kept.write_bytes(changed)
        assert cache.read(kept.name) is None
    assert call(cache) == COMPILED


def failing(number: int) -> Callable[..., Any]:
    def fail(*args: object, **named: object) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_what_cannot_be_written_is_compiled_at_each_start(
    number: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = KernelCache()
    monkeypatch.setattr(kernel_cache, "open", failing(number), raising=False)
    assert [call(cache), call(cache)] == [COMPILED, COMPILED]
    assert list(root.rglob("*.kernel*")) == []
    assert cache.obstacle == f"{cache.folder}: {os.strerror(number)}"


def test_nobody_takes_a_start_for_warm_whose_kernels_are_not_there(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = KernelCache()
    cache.mark_warm()
    assert not cache.is_warm, "nothing was compiled in this process"
    call(cache)
    cache.mark_warm()
    assert cache.is_warm and KernelCache().is_warm
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1])
    assert not KernelCache().is_warm
    kept.unlink()
    assert not KernelCache().is_warm
    full = KernelCache()
    with monkeypatch.context() as patch:
        patch.setattr(kernel_cache, "open", failing(errno.ENOSPC), raising=False)
        assert call(full) == COMPILED
    full.mark_warm()
    assert not KernelCache().is_warm


def test_another_processor_has_kernels_of_its_own(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = KernelCache()
    call(cache)
    cache.mark_warm()
    monkeypatch.setattr(kernel_cache.binding, "get_host_cpu_name", lambda: "another")
    other = KernelCache()
    assert other.folder != cache.folder and not other.is_warm and call(other) == COMPILED


def test_code_with_checks_of_bounds_is_kept_apart(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    cache = KernelCache()
    assert cache.folder != kept.parent
    assert call(cache) == COMPILED


def test_a_disk_that_is_full_half_way_leaves_nothing_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = KernelCache()
    monkeypatch.setattr(Path, "replace", failing(errno.ENOSPC))
    assert call(cache) == COMPILED
    assert cache.folder is not None and list(cache.folder.iterdir()) == []
    assert cache.obstacle


def test_a_numba_whose_code_cannot_be_kept_is_an_obstacle(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(CompileResult, "_reduce")
    cache = KernelCache()
    assert call(cache) == COMPILED and "_reduce" in cache.obstacle


def test_a_file_that_another_process_reads_on_windows_is_no_obstacle(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = KernelCache()
    monkeypatch.setattr(Path, "replace", failing(errno.EACCES))
    cache.write(kept.name, b"compiled by another process too")
    assert cache.obstacle == ""


def test_a_folder_that_cannot_be_made_is_no_obstacle(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "mkdir", failing(errno.ENOSPC))
    cache = KernelCache()
    assert cache.folder is None and cache.obstacle == os.strerror(errno.ENOSPC)
    assert call(cache) == COMPILED


@posix_only
def test_a_folder_that_is_read_only_is_used(kept: Path) -> None:
    kept.parent.chmod(0o555)
    user = os.geteuid()
    if user == 0:  # for whom nothing is read-only
        os.seteuid(NOBODY)
    try:
        assert call(KernelCache()) == LOADED
        kept_before = kept.read_bytes()
        other = KernelCache()
        other.write(kept.name, b"")
        assert kept.read_bytes() == kept_before
    finally:
        os.seteuid(user)
        kept.parent.chmod(0o755)


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file or folder belong to somebody else."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)


@posix_only
def test_a_folder_of_somebody_else_is_not_used(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_away(kept.parent, monkeypatch)
    cache = KernelCache()
    assert cache.folder is None and "another user" in cache.obstacle
    assert call(cache) == COMPILED


@posix_only
def test_a_file_of_somebody_else_is_not_loaded(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = KernelCache()
    give_away(kept, monkeypatch)
    assert cache.damaged_files() == [kept.name] and call(cache) == COMPILED


@posix_only
@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_what_others_can_write_is_not_used(mode: int, kept: Path) -> None:
    kept.parent.chmod(mode)
    cache = KernelCache()
    assert cache.folder is None and "can be written by other users" in cache.obstacle
    assert call(cache) == COMPILED
    kept.parent.chmod(0o755)
    kept.chmod(mode)
    assert call(KernelCache()) == COMPILED


@posix_only
def test_a_lenient_umask_lets_nobody_else_write(root: Path) -> None:
    before = os.umask(0)
    try:
        assert call(KernelCache()) == COMPILED
        assert call(KernelCache()) == LOADED
    finally:
        os.umask(before)


def test_a_relative_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "kernels")
    cache = KernelCache()
    assert cache.folder is None and "is not an absolute path" in cache.obstacle
    assert call(cache) == COMPILED and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lost", ["_reduce", "_rebuild"])
def test_a_numba_that_takes_compiled_code_apart_otherwise_keeps_nothing(
    lost: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(CompileResult, lost)
    cache = KernelCache()
    assert [call(cache), call(cache)] == [COMPILED, COMPILED]


def test_folders_of_old_versions_go_and_others_stay(root: Path) -> None:
    for name in ("old", "young"):
        (root / "gtp-engine" / name).mkdir(parents=True)
    (root / "of another program").mkdir()
    for folder in (root / "gtp-engine" / "old", root / "of another program"):
        os.utime(folder, (0, 0))
    cache = KernelCache()
    assert cache.folder is not None
    assert {path.name for path in cache.folder.parent.iterdir()} == {"young", cache.folder.name}
    assert (root / "of another program").is_dir()
