"""How kernels are compiled, and where the compiled code is kept.

Numba's on-disk cache does not notice an edit in a *callee* that lives in another file: a cached
caller would silently go on running the old code. The cache therefore lives in a per-user folder
named by a hash of every source file of this package and of the versions in play, chosen before
numba is imported. Where no such folder can be written, kernels compile anew in each process.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

from gtp_engine.user_cache import user_cache_folder

Result = TypeVar("Result")

STALE_AFTER_DAYS = 30

KERNEL_FOLDERS = ("go", "evaluators", "search")
"""Where kernels and the constants that they freeze live; tests/test_imports.py makes sure."""


def _source_hash() -> str:
    digest = hashlib.sha256()
    for name in ("numba", "numpy"):
        digest.update(version(name).encode())
    digest.update(platform.python_version().encode())
    root = Path(__file__).resolve().parent
    digest.update(str(root).encode())  # Numba's index knows a source by its path too
    paths = [path for folder in KERNEL_FOLDERS for path in (root / folder).rglob("*.py")]
    paths.append(root / "coords.py")  # kernels freeze its constants
    for path in sorted(paths):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _drop_stale(root: Path, keep: Path) -> None:
    """Remove the caches of code that nobody has run for a month."""
    oldest = time.time() - STALE_AFTER_DAYS * 86400
    for folder in root.iterdir():
        if folder != keep and folder.is_dir() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _choose_cache_folder() -> Path | None:
    """Return a writable cache folder, made if need be; None where there is none."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    try:
        root = user_cache_folder() / "kernels"
        folder = root / _source_hash()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)
        _drop_stale(root, folder)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home folder
        return None
    return folder


CACHE_FOLDER = _choose_cache_folder()
"""Where compiled kernels are kept between processes; None when they are not kept."""

if CACHE_FOLDER is not None:
    os.environ["NUMBA_CACHE_DIR"] = str(CACHE_FOLDER)

# LLVM's third level of optimisation compiles an eighth longer, and nothing here runs faster.
os.environ.setdefault("NUMBA_OPT", "2")

import numba  # noqa: E402  (the cache folder and the level must be set first)
import numpy as np  # noqa: E402
from numba.core.registry import CPUDispatcher  # noqa: E402

JIT_ENABLED = not numba.config.DISABLE_JIT
"""False under NUMBA_DISABLE_JIT=1, when kernels run as plain Python."""


WARM_MARK = "complete"
"""Name of the file in the cache folder that says that a start once went all the way."""


def cache_is_warm() -> bool:
    """Whether the kernels that a game needs are there to be loaded.

    Some of them may be there without: other commands compile what they need, and a first start
    may have been killed half-way.
    """
    return CACHE_FOLDER is not None and (CACHE_FOLDER / WARM_MARK).exists()


def mark_cache_warm() -> None:
    """Remember that all kernels that a game needs are in the cache folder, if there is one."""
    if CACHE_FOLDER is not None:
        with contextlib.suppress(OSError):
            (CACHE_FOLDER / WARM_MARK).touch()


def _interpreted(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let integers wrap round and NaN arise without a warning, as they do in compiled code."""
    wrapped: Callable[..., Result] = np.errstate(over="ignore", invalid="ignore")(function)
    return wrapped


int64 = cast("Callable[[Any], int]", np.int64)
"""What kernels call to widen a record's small integer; np.int64 that type checkers take for int.

Constants handed from kernel to kernel want it too: Numba compiles a callee anew for each literal.
"""

uint64 = cast("Callable[[Any], int]", np.uint64)
"""The same for unsigned 64-bit integers."""


def kernel(function: Callable[..., Result], *, keep: bool = True) -> Callable[..., Result]:
    """Compile a function for use from Python and from other kernels, without the GIL.

    To type checkers a kernel takes anything: its integers may be Python's or numpy's, which are
    one to the compiler but not to them.

    Args:
        function: Numbers, numpy arrays and records, tuples of them; no Python objects.
        keep: Whether compiled code may come from the cache folder and go there. A function made at
            run time around another kernel must not: the cache tells functions apart by their place
            in a file.
    """
    return _compile(function, cache=keep and CACHE_FOLDER is not None)


def _compile(
    function: Callable[..., Result], cache: bool = CACHE_FOLDER is not None, **how: Any
) -> Callable[..., Result]:
    if not JIT_ENABLED:
        return _interpreted(function)
    # Nobody hands kernels to C: without that entry a kernel compiles some 5 % sooner.
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, cache=cache, **how)(function)
    return cast("Callable[..., Result]", compiled)


def hot_kernel(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compile a function that Python calls for every leaf, and that looks at types but once.

    Numba asks every argument of every call for its type, which for named tuples of arrays takes
    2 to 3 microseconds, as long as many a kernel runs. A hot kernel is compiled for the types of
    its first call and takes those of later ones for granted: arrays of other numbers, dimensions
    or layout it would misread. Tests look at all that is handed over in their own process. Which
    numbers are floats is said by annotations, the kernel's own and those of named tuples.
    """
    compiled = kernel(function)
    if JIT_ENABLED:
        compiled.__class__ = HotKernel
    return compiled


class HotKernel(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A compiled function that takes the types of its arguments for granted."""

    _entry: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        """Run it, compiled for the types of the first call."""
        try:
            entry = self._entry
        except AttributeError:
            types = _types_by(self.py_func.__annotations__, args)
            entry = self._entry = self.compile(types)
        return entry(*args)


def _types_by(annotations: dict[str, Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types of values in the order of their annotations."""
    found = []
    for kind, value in zip(annotations.values(), values, strict=False):  # a result comes last
        if kind is float:
            found.append(numba.float64)
        elif kind is int:
            found.append(numba.int64)
        elif isinstance(value, tuple):
            fields = _types_by(type(value).__annotations__, value)
            found.append(numba.types.BaseTuple.from_types(fields, type(value)))
        else:
            found.append(numba.typeof(value))
    return tuple(found)


def inline_kernel(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compile a small function that is always inlined into the kernels that call it."""
    return _compile(function, forceinline=True)
