"""Where compiled kernels are kept between processes: a file each, that begins with its checksum.

Numba has a cache of its own. It does not notice an edit in a callee that lives in another file, it
loads damaged files, and a full disk stops it. Here the folder is named by a hash of every file with
kernels, of the versions in play, of how Numba is told to compile and of the processor; a damaged
file is compiled anew, and what cannot be kept runs all the same. What the folder holds is executed,
so it must be one that nobody else can write.
"""

import contextlib
import hashlib
import os
import pickle
import platform
import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from gtp_engine.messages import describe_os_error
from gtp_engine.platforms import who_else_can_write
from gtp_engine.user_cache import user_cache_folder

KERNEL_FILES = (
    *("coords.py", "kernels.py", "random_numbers.py"),
    *("go/**/*.py", "five/**/*.py", "evaluators/**/*.py", "search/**/*.py"),
)
"""Where kernels and the constants that they freeze live; tests/test_imports.py makes sure."""

STALE_AFTER_DAYS = 30
SUFFIX = ".kernel"
WARM_MARK = "complete"
"""The file with the names of those that a start once needed for all that a game does."""
ADVICE = "set NUMBA_CACHE_DIR to a folder that can be written"
"""Where kernels cannot be kept."""
_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
"""What of Numba's configuration changes the code that it makes."""
_CHECKSUM_BYTES = hashlib.sha256().digest_size


class UnsafeFolderError(Exception):
    """Somebody else can write the cache folder; the message says why."""


class KernelCache:
    """A folder of compiled kernels, or nothing where there is none to be used."""

    def __init__(self) -> None:
        """Choose the folder, and make it if need be."""
        self.folder: Path | None = None
        self.obstacle = ""
        """Why kernels are not kept; empty where they are."""
        self.compiled = 0
        """Kernels that this process has compiled."""
        self.used: set[str] = set()
        """Names of the files that this process has asked for and read, or ought to have written."""
        try:
            self.folder = _open_folder()
        except OSError as error:
            self.obstacle = describe_os_error(error)
        except (RuntimeError, UnsafeFolderError) as error:  # RuntimeError: no home folder
            self.obstacle = str(error)

    @property
    def is_warm(self) -> bool:
        """Whether all is here, and undamaged, that a start once needed for a game."""
        needed = self.read(WARM_MARK)
        return needed is not None and all(map(self.read, needed.decode().split("\n")))

    def mark_warm(self) -> None:
        """Remember that what this process has used so far is all that a game needs."""
        self.write(WARM_MARK, "\n".join(sorted(self.used)).encode())

    @property
    def files(self) -> int:
        """How many compiled kernels are kept."""
        return 0 if self.folder is None else len(list(self.folder.glob(f"*{SUFFIX}")))

    def damaged_files(self) -> list[str]:
        """Return the names of the files that are not as they were written."""
        files = [] if self.folder is None else sorted(self.folder.glob(f"*{SUFFIX}"))
        return [path.name for path in files if self.read(path.name) is None]

    def attach(self, compiled: Any) -> None:
        """Let a function that Numba compiles keep its code here."""
        compiled._cache = _FunctionCache(self, compiled.py_func)

    def read(self, name: str) -> bytes | None:
        """Return what a file keeps; None where it is not there, damaged, or somebody else's."""
        if self.folder is None:
            return None
        try:
            with (self.folder / name).open("rb") as file:
                _check_owner(name, os.fstat(file.fileno()))
                stored = file.read()
        except (OSError, UnsafeFolderError):
            return None
        content = stored[_CHECKSUM_BYTES:]
        return content if hashlib.sha256(content).digest() == stored[:_CHECKSUM_BYTES] else None

    def write(self, name: str, content: bytes) -> None:
        """Keep something, whole or not at all: another process never reads half of it."""
        if self.folder is None:
            return
        part = self.folder / f"{name}.{os.getpid()}"
        try:
            with open(part, "wb", opener=_open_for_the_user) as file:
                file.write(hashlib.sha256(content).digest() + content)
            part.replace(self.folder / name)
        except OSError as error:  # a full disk, or one that is read-only
            if self.read(name) is None:  # nor does Windows replace what another process reads
                self.obstacle = f"{self.folder}: {error.strerror}"
            with contextlib.suppress(OSError):
                part.unlink()


class _FunctionCache:
    """What Numba asks before it compiles a function for some types, and tells afterwards.

    How compiled code is taken apart and put together is Numba's own affair. A version that does it
    otherwise keeps nothing, and compiles at each start.
    """

    def __init__(self, kept: KernelCache, function: Callable[..., Any]) -> None:
        self._kept = kept
        self._function = function

    def load_overload(self, types: tuple[Any, ...], context: Any) -> Any:
        """Return what was compiled for these types; None where that has to be done."""
        with contextlib.suppress(Exception):  # whatever fails to load is compiled
            from numba.core.compiler import CompileResult

            name = self._name(types)
            content = self._kept.read(name)
            if content is not None:
                context.refresh()
                result = CompileResult._rebuild(context, *pickle.loads(content))
                self._kept.used.add(name)
                return result
        return None

    def save_overload(self, types: tuple[Any, ...], result: Any) -> None:
        """Keep what was compiled for these types."""
        self._kept.compiled += 1
        try:
            from numba.core.serialize import dumps

            if not result.library.has_dynamic_globals:  # addresses of this process
                name = self._name(types)
                self._kept.used.add(name)
                self._kept.write(name, dumps(result._reduce()))
        except Exception as error:  # whatever cannot be kept runs all the same
            self._kept.obstacle = f"what this Numba compiles cannot be kept: {error}"

    def _name(self, types: tuple[Any, ...]) -> str:
        """Return the name of the file for a function and its types."""
        code = self._function.__code__
        key = (_hash_of_file(code.co_filename), code.co_firstlineno, str(types))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return f"{Path(code.co_filename).stem}.{code.co_name}-{digest[:24]}{SUFFIX}"


@cache
def _hash_of_file(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _open_for_the_user(path: str, flags: int) -> int:
    """Open a new file that nobody else can write, whatever the umask."""
    return os.open(path, flags, 0o644)


def _open_folder() -> Path:
    """Return the folder for this version of the kernels, made if need be.

    Raises:
        OSError: It cannot be made.
        RuntimeError: The user has no home folder.
        UnsafeFolderError: Somebody else can write it.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    root = Path(named, "gtp-engine") if named else user_cache_folder() / "kernels"
    if not root.is_absolute():
        raise UnsafeFolderError(f"{root} is not an absolute path")
    folder = root / _version_hash()
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o755, exist_ok=True)  # whatever the umask lets others write
    _check_owner(str(folder), folder.stat())
    with contextlib.suppress(OSError):  # one that is read-only is used all the same
        os.utime(folder)
        _drop_stale(root, folder)
    return folder


def _check_owner(name: str, status: os.stat_result) -> None:
    """Raise UnsafeFolderError if others than user and administrator can write a file or folder."""
    danger = who_else_can_write(status)
    if danger:
        raise UnsafeFolderError(f"{name} {danger}")


def _version_hash() -> str:
    """Return a hash of all that compiled code depends on, the processor included."""
    digest = hashlib.sha256()
    told = [str(getattr(numba.config, name, "")) for name in _SETTINGS]
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    wanted = (numba.config.CPU_NAME, numba.config.CPU_FEATURES)
    processor = (binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), *wanted)
    digest.update(repr((versions, told, platform.system(), processor)).encode())
    package = Path(__file__).resolve().parent
    files = [path for pattern in KERNEL_FILES for path in package.glob(pattern)]
    for path in sorted(files):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _drop_stale(root: Path, keep: Path) -> None:
    """Remove the caches of code that nobody has run for a month."""
    oldest = time.time() - STALE_AFTER_DAYS * 86400
    for folder in root.iterdir():
        if folder != keep and folder.is_dir() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)
