"""Where Linux, macOS and Windows differ. No other module asks for what one of them lacks.

Only the standard library is imported.
"""

import contextlib
import errno
import mmap
import os
import platform
import select
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any, TextIO

LEAVE_SIGNALS: tuple[signal.Signals, ...] = (signal.SIGTERM,)
"""What asks a program to end: a service manager, a window that is closed."""

INTERRUPTED_BY = 128
"""Exit status after a signal, less the signal's number, as shells have it."""

RESIZE_SIGNALS: tuple[signal.Signals, ...] = ()
"""What says that the terminal has another size; Windows says nothing."""

OWN_GROUP: dict[str, Any]
"""How `subprocess.Popen` starts a program that `kill_group` can end with all that it starts.

Ctrl-C in the terminal does not reach it. It stays in the session, among whose processes alone Linux
heeds `nice`.
"""

OWN_SESSION: dict[str, Any]
"""The same for a program of somebody else's, which then has no terminal that it could wait for."""

CUDA_DRIVER: str
"""The driver's library."""

cpu_clock = time.process_time
"""Returns the seconds of the processor that this process has used; on Windows, where those move in
steps of a 64th, seconds on the wall."""

READ_FLAGS: int
"""How `os.open` reads a file: bytes as they are, and no waiting for a pipe's writer."""

if sys.platform == "win32":
    LEAVE_SIGNALS += (signal.SIGBREAK,)  # the console is closed
    OWN_GROUP = OWN_SESSION = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    CUDA_DRIVER = "nvcuda.dll"
    READ_FLAGS = os.O_RDONLY | os.O_BINARY
    cpu_clock = time.perf_counter
else:
    LEAVE_SIGNALS += (signal.SIGHUP,)
    RESIZE_SIGNALS += (signal.SIGWINCH,)
    OWN_GROUP = {"process_group": 0}
    OWN_SESSION = {"start_new_session": True}
    CUDA_DRIVER = "libcuda.so.1"
    READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK


PIPE_BYTES: int = getattr(select, "PIPE_BUF", 512)
"""What a pipe that is not full takes at least without waiting."""

_LONGEST_READ = 2.0
"""Seconds for which a file that is to be replaced may be open elsewhere."""

_CONTAINER = Path("/sys/fs/cgroup")
"""Where Linux says what a container may have of the machine."""


def usable_cores() -> int:
    """Return how many processors this process may keep busy; a container may have fewer."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    for names in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        match _limits(*names):
            case [quota, period] if quota and period:
                return min(cores, -(-quota // period))
    return cores


def _limits(*names: str) -> list[int]:
    """Return the numbers in files of a container; "max", and others that are no limit, left out."""
    words: list[str] = []
    for name in names:
        with contextlib.suppress(OSError):
            words += (_CONTAINER / name).read_text(encoding="utf-8").split()
    return [int(word) for word in words if word.isdecimal()]


def end_by(number: signal.Signals) -> None:
    """Have a signal end the process at once, as it does by itself unless somebody sees to it.

    A container's first process has to see to it: the system keeps from it what it does not heed.
    """
    signal.signal(number, _end if os.getpid() == 1 else signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED_BY + number)


def fresh_memory(size: int) -> mmap.mmap:
    """Return so many bytes of zeros that are taken from the machine where they are written to.

    Raises:
        OSError: The system has not so many.
        OverflowError: No system has.
    """
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    # Python's own choice is memory that is shared with children.
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def replace_file(part: Path, path: Path) -> None:
    """Give a file the name of another, which goes.

    Windows refuses that while somebody has the other open; who reads it will soon be done.

    Raises:
        OSError: The system does not allow it.
    """
    end = time.perf_counter() + _LONGEST_READ
    while True:
        try:
            part.replace(path)
            return
        except PermissionError:
            if sys.platform != "win32" or time.perf_counter() > end:
                raise
            time.sleep(0.01)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's list of names is on the disk; Windows sees to it by itself."""
    if sys.platform == "win32":
        return
    # Some folders may not be read, and some file systems know no such thing.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def kill_group(process: "subprocess.Popen[Any]") -> None:
    """End a program that was started with OWN_GROUP or OWN_SESSION, and all that it has started.

    Windows forgets whom a program has started once that has ended by itself.
    """
    if sys.platform == "win32":
        # By its whole name: Windows looks for programs in the current folder first.
        folder = os.path.join(os.environ["SYSTEMROOT"], "System32")
        command = [os.path.join(folder, "taskkill.exe"), "/F", "/T", "/PID", str(process.pid)]
        with contextlib.suppress(OSError):
            if process.poll() is None:
                subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left
            os.killpg(process.pid, signal.SIGKILL)


def split_command_line(text: str) -> list[str]:
    """Return the words of a command; quotes hold words together.

    Raises:
        ValueError: A quotation has no end.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if sys.platform == "win32":
        lexer.escape = ""  # a backslash parts the folders of a path
    return list(lexer)


def join_command_line(words: Sequence[str]) -> str:
    """Return a command that the system's shell takes apart into these words again."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def wait_for_input(stream: TextIO, other: socket.socket) -> bool:
    """Wait until a terminal has a line or a socket has something to read.

    Returns:
        Whether it is the terminal. Windows cannot wait for both: there it is True at once.
    """
    if sys.platform == "win32":
        return True
    terminal = stream.fileno()
    return terminal in select.select([terminal, other.fileno()], [], [])[0]


@contextlib.contextmanager
def keys_at_once(terminal: TextIO) -> Iterator[bool]:
    """Have a terminal hand over each key as it is pressed, unseen; afterwards all is as before.

    Yields whether it does so; not on Windows.
    """
    if sys.platform == "win32":
        yield False
        return
    import termios
    import tty

    try:
        before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal, termios.TCSADRAIN)
    except (termios.error, ValueError):
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def would_block(file: TextIO | int, seconds: float = 0.0) -> bool:
    """Whether a file is a full pipe, and stays one so long.

    No where the system cannot tell, as Windows. A pipe that is not full takes PIPE_BYTES at once.
    """
    try:
        return not select.select([], [file], [], seconds)[1]
    except (OSError, ValueError):
        return False


def make_blocking(descriptor: int) -> None:
    """Let reads and writes wait, as those of Windows do; some programs leave pipes that do not.

    One that does not wait would be taken for one that is closed.
    """
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # it is closed
            os.set_blocking(descriptor, True)


def nobody_reads(error: OSError) -> bool:
    """Whether a write failed because nobody reads the pipe any more."""
    # https://github.com/python/cpython/issues/79935
    is_of_windows = sys.platform == "win32" and error.errno == errno.EINVAL
    return isinstance(error, BrokenPipeError) or (is_of_windows and error.filename is None)


def fail_when_full(descriptor: int) -> None:
    """Let writes to a pipe fail while it is full: on Windows, where `would_block` cannot tell."""
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        pipe = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        mode = ctypes.c_ulong(1)  # PIPE_NOWAIT
        ctypes.windll.kernel32.SetNamedPipeHandleState(pipe, ctypes.byref(mode), None, None)


def claim_stdin() -> int:
    """Return a file descriptor of what comes on stdin; others find that empty from now on.

    Many libraries ask what stdin is as they are loaded. On Windows such a question waits for who
    reads the same pipe, so for the client's next line: https://github.com/numpy/numpy/issues/24290
    """
    claimed = os.dup(0)
    make_blocking(claimed)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return claimed


def who_else_can_write(status: os.stat_result) -> str:
    """Return in a phrase who can write a file or folder beside the user and the administrator.

    Empty where nobody can; so it is on Windows, which closes a user's folders to others.
    """
    if sys.platform == "win32":
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by other users"
    return ""


def user_data_base() -> Path:
    """Return the folder in which programs keep what is the user's; macOS is treated as Linux is.

    Raises:
        RuntimeError: The user has no home folder.
    """
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or "")
        if not base.is_absolute():  # the standard says to pass it over
            base = Path.home() / ".local" / "share"
    if not base.is_absolute():  # a folder in whatever folder a program runs in
        raise RuntimeError("there is no home folder")
    return base


def lock_file(file: IO[bytes]) -> bool:
    """Lock an open file until it is closed or this process ends; return False if another has it.

    On a drive that knows no locks, as some of a network do, nobody can have it.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return sys.platform != "win32" and error.errno != errno.EWOULDBLOCK
    return True


def memory_bytes() -> int | None:
    """Return how much memory the machine or the container has; None where nobody says."""
    if sys.platform == "win32":
        import ctypes

        status = (ctypes.c_uint64 * 8)(64)  # MEMORYSTATUSEX begins with its own length
        known = ctypes.windll.kernel32.GlobalMemoryStatusEx(status)
        return status[1] if known else None
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    return min([machine, *_limits("memory.max", "memory/memory.limit_in_bytes")])


def peak_memory_bytes() -> int:
    """Return the largest memory this process has had."""
    if sys.platform == "win32":
        import ctypes

        counters = (ctypes.c_uint64 * 9)()  # PROCESS_MEMORY_COUNTERS
        this_process = ctypes.c_void_p(-1)
        size = ctypes.sizeof(counters)
        ctypes.windll.kernel32.K32GetProcessMemoryInfo(this_process, counters, size)
        return counters[1]
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_model() -> str:
    """Return the processor's name, as its maker has it where the system tells."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            import winreg

            where = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, where) as processor:
                return str(winreg.QueryValueEx(processor, "ProcessorNameString")[0]).strip()
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
