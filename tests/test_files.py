"""Files that people name: what is refused, what is bounded, what is written whole."""

import bz2
import errno
import gzip
import lzma
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from gtp_engine import files
from gtp_engine.files import open_packed, read_file, whole_file, write_whole

has_pipes = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")


def full_disk(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@has_pipes
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError) as caught:
            read_file(path)
        assert str(caught.value) == f"[Errno 22] not a regular file: '{path}'"
        with pytest.raises(OSError, match="not a regular file"):
            write_whole(path, "text")
    assert pipe.is_fifo() and sorted(tmp_path.iterdir()) == [pipe]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
def test_what_is_refused_is_closed(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(OSError):
            read_file(tmp_path)
    assert os.listdir("/proc/self/fd") == before


def test_a_name_that_no_file_has_is_refused(tmp_path: Path) -> None:
    for name in ("a\0b", "\ud800"):
        with pytest.raises(OSError):
            read_file(tmp_path / name)
    for pipes in (False, True):
        with pytest.raises(OSError, match="no name"):
            write_whole(Path("a\0b"), "text", pipes=pipes)


def test_a_file_is_read_up_to_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"12345")
    assert read_file(path, 5) == b"12345"
    with pytest.raises(OSError) as caught:
        read_file(path, 4)
    assert caught.value.strerror == "larger than 0 MiB"


def test_a_small_file_takes_little_memory_whatever_the_bound(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"12345")
    tracemalloc.start()
    try:
        read_file(tmp_path / "text", 1 << 31)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_what_unpacks_to_too_much_is_left_half_way(
    suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"games{suffix}"
    path.write_bytes(pack(bytes(10**6)))
    with open_packed(path) as file:
        assert file.read() == bytes(10**6)
    monkeypatch.setattr(files, "MOST_FOR_NOTHING", 1000)
    monkeypatch.setattr(files, "MOST_RATIO", 10)
    with open_packed(path) as file, pytest.raises(OSError, match="unpacks to more than"):
        file.read()


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "game.sgf"
    write_whole(path, "old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space") as caught:
        write_whole(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read_again_does_not_take_its_place(tmp_path: Path) -> None:
    path = tmp_path / "pack"

    def refuse(part: Path) -> None:
        assert part.read_bytes() == b"new"
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"), whole_file(path, check=refuse) as file:
        file.write(b"new")
    assert list(tmp_path.iterdir()) == []


@has_pipes
def test_a_link_stays_a_link_and_rights_stay_as_they_were(tmp_path: Path) -> None:
    path, link = tmp_path / "game.sgf", tmp_path / "link.sgf"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path.name)
    write_whole(link, "new")
    assert link.is_symlink() and path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_who_reads_a_file_keeps_nobody_from_writing_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with path.open("rb") as file:
        threading.Timer(0.3, file.close).start()
        write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_what_a_killed_process_of_the_same_number_left_is_in_nobodys_way(tmp_path: Path) -> None:
    program = """
import os, pathlib, sys
from gtp_engine import files
os.getpid = lambda: 1  # as in a container
with files.whole_file(pathlib.Path("a")) as file:
    file.write(b"new")
    if "killed" in sys.argv:
        file.flush()
        os._exit(1)
"""
    command = [sys.executable, "-c", program]
    subprocess.run([*command, "killed"], cwd=tmp_path)
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "a").read_bytes() == b"new"
