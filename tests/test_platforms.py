"""What Linux, macOS and Windows do not share is asked for in one module."""

import ast
import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.paths import ROOT, TINY

from gtp_engine import platforms

SOURCES = sorted(path for root in ("engine", "export") for path in (ROOT / root).rglob("*.py"))
THE_ONE = ROOT / "engine" / "gtp_engine" / "platforms.py"

MODULES = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "select", "termios", "tty"}
"""What one of the platforms lacks; `select` is there, but takes no files on Windows."""

NAMES = {
    "os": {"fork", "geteuid", "getuid", "killpg", "mkfifo", "name", "setsid", "sysconf", "uname"},
    "signal": {"SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGWINCH", "pthread_kill", "setitimer"},
    "sys": {"platform"},
}
"""Attributes of modules that one of the platforms lacks, and what tells platforms apart.

`scripts/lint` knows the others: mypy looks at the sources as on each platform.
"""

ARGUMENTS = {"preexec_fn", "start_new_session", "process_group", "pass_fds", "creationflags"}

FOLDERS = ("/proc/", "/dev/", "/tmp/", "/etc/", "/sys/")


def foreign(path: Path) -> Iterator[str]:
    """Yield what a file asks for that not every platform has."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module or "").split(".")[0]} & MODULES
            names |= {alias.name for alias in node.names} & NAMES.get(node.module or "", set())
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = {node.attr} & NAMES.get(node.value.id, set())
        elif isinstance(node, ast.Call) and ast.unparse(node).startswith(
            ("getattr(os,", "hasattr(os,")
        ):
            names = {ast.unparse(node)}
        elif isinstance(node, ast.keyword):
            names = {node.arg or ""} & ARGUMENTS
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = {node.value} if node.value.startswith(FOLDERS) else set()
        else:
            continue
        for name in names:
            yield f"line {getattr(node, 'lineno', 0)}: {name}"


def test_one_module_asks_for_what_not_every_platform_has() -> None:
    found = {
        path.relative_to(ROOT / "engine" / "gtp_engine").as_posix()
        if path.is_relative_to(ROOT / "engine")
        else path.relative_to(ROOT).as_posix(): list(foreign(path))
        for path in SOURCES
        if path != THE_ONE
    }
    assert {path: what for path, what in found.items() if what} == {}
    assert list(foreign(THE_ONE))


def without_encoding(path: Path) -> Iterator[str]:
    """Yield where a file reads or writes text in whatever encoding the system likes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or any(one.arg == "encoding" for one in node.keywords):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            is_text = not re.search("b", mode_of(node, 1))
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "open":
            is_text = bool(re.fullmatch("[rwax]t?[+]?", mode_of(node, 0)))
        elif isinstance(node.func, ast.Attribute):
            texts = {"read_text": 0, "write_text": 1}
            is_text = len(node.args) <= texts.get(node.func.attr, -1)
        else:
            continue
        if is_text:
            yield f"{path.name}, line {node.lineno}"


def mode_of(call: ast.Call, place: int) -> str:
    """Return how a file is opened; empty where that is computed."""
    mode = call.args[place] if place < len(call.args) else ast.Constant("r")
    return str(mode.value) if isinstance(mode, ast.Constant) else ""


def test_text_on_file_is_the_same_on_every_platform() -> None:
    assert [where for path in SOURCES for where in without_encoding(path)] == []


def test_names_that_a_console_cannot_show_are_shown_as_well_as_can_be(tmp_path: Path) -> None:
    """As on Windows, whose consoles and pipes often know 200 letters and no more."""
    shutil.copy(TINY, tmp_path / "r\u0151kaland.onnx")
    environment = {"GTP_ENGINE_NETS": str(tmp_path), "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(
        [sys.executable, "-m", "gtp_engine", "net", "list"],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"r?kaland" in done.stdout


def test_words_of_a_command_are_held_together_by_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert platforms.split_command_line(r"""gnu\ go 'a b' "c d" #1""") == [
        "gnu go",
        "a b",
        "c d",
        "#1",
    ]
    monkeypatch.setattr(sys, "platform", "win32")
    line = r'"C:\Program Files\gnugo.exe" --mode gtp C:\new\net.onnx'
    words = [r"C:\Program Files\gnugo.exe", "--mode", "gtp", r"C:\new\net.onnx"]
    assert platforms.split_command_line(line) == words
    assert platforms.join_command_line(words) == line
    with pytest.raises(ValueError):
        platforms.split_command_line('gnugo "')


@pytest.mark.parametrize("group", [platforms.OWN_GROUP, platforms.OWN_SESSION])
def test_a_program_is_ended_with_all_that_it_started(group: dict[str, Any]) -> None:
    """The child's child keeps the pipe open for as long as it lives."""
    child = "import time; time.sleep(600)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, **group)
    platforms.kill_group(process)
    assert process.communicate(timeout=60)[0] == b""
    platforms.kill_group(process)  # nobody is left


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions of this kind")
def test_a_group_of_its_own_stays_in_the_session_whose_priority_it_has() -> None:
    command = [sys.executable, "-c", "import os; print(os.getpgid(0), os.getsid(0))"]
    printed = subprocess.run(command, capture_output=True, check=True, **platforms.OWN_GROUP).stdout
    group, session = map(int, printed.split())
    assert session == os.getsid(0)
    assert group != os.getpgid(0)


def test_a_file_is_locked_once(tmp_path: Path) -> None:
    name = tmp_path / "lock"
    with name.open("ab") as first, name.open("ab") as second:
        assert platforms.lock_file(first) and not platforms.lock_file(second)
    with name.open("ab") as third:
        assert platforms.lock_file(third)


@pytest.mark.skipif(sys.platform == "win32", reason="the module is of other systems")
def test_a_drive_that_knows_no_locks_keeps_nobody_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with (tmp_path / "lock").open("ab") as file:
        assert platforms.lock_file(file)


def test_memory_is_known_here_or_said_not_to_be() -> None:
    total = platforms.memory_bytes()
    assert total is None or total > platforms.peak_memory_bytes() >= 0
    assert platforms.peak_memory_bytes() > 1 << 20


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only some systems have such sets")
def test_only_the_processors_that_may_be_used_are_counted() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert platforms.usable_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert platforms.usable_cores() == len(allowed)


@pytest.mark.parametrize(
    ("files", "cores", "memory"),
    [
        ({}, 8, None),
        ({"cpu.max": "max 100000\n", "memory.max": "max\n"}, 8, None),
        ({"cpu.max": "150000 100000\n", "memory.max": "1048576\n"}, 2, 1 << 20),
        ({"cpu.max": "9900000 100000\n", "memory.max": f"{1 << 60}\n"}, 8, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1, None),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8, None),
        ({"memory/memory.limit_in_bytes": "2097152\n"}, 8, 2 << 20),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say")
def test_a_container_may_have_a_part_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    files: dict[str, str],
    cores: int,
    memory: int | None,
) -> None:
    monkeypatch.setattr(platforms, "_CONTAINER", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    machine = platforms.memory_bytes()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert platforms.usable_cores() == cores
    assert platforms.memory_bytes() == (machine if memory is None else memory)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such variables")
def test_no_folder_of_the_user_depends_on_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert platforms.user_data_base() == tmp_path / ".local" / "share"
    monkeypatch.setenv("HOME", "here")
    with pytest.raises(RuntimeError, match="no home folder"):
        platforms.user_data_base()
