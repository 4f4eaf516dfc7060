"""How kernels are compiled: three decorators.

    kernel          called from Python and from other kernels
    hot_kernel      called from Python for every leaf: it looks at types but once
    inline_kernel   small, and copied into the kernels that call it

With NUMBA_DISABLE_JIT=1 all of them run as plain Python. `kernel_cache.py` keeps what is compiled.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import options
from numba.extending import typeof_impl

from gtp_engine.kernel_cache import KernelCache

Result = TypeVar("Result")

JIT_ENABLED = not numba.config.DISABLE_JIT
"""False under NUMBA_DISABLE_JIT=1, when kernels run as plain Python."""

CACHE = KernelCache()
"""Where compiled kernels are kept between processes."""

INLINING = {"forceinline": True} if hasattr(options.DefaultOptions, "forceinline") else {}
"""Numba's option that inlines; it is not documented. Without it all runs, slower."""

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
        keep: Whether to keep the compiled code for other processes. A function made at run time
            around another kernel must not: the cache tells functions apart by their place in a
            file.
    """
    return _compile(function, keep=keep)


def inline_kernel(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compile a small function that is always inlined into the kernels that call it."""
    return _compile(function, **INLINING)


def hot_kernel(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compile a function that Python calls for every leaf; see `HotKernel` for what it trusts."""
    return cast("Callable[..., Result]", HotKernel(function)) if JIT_ENABLED else kernel(function)


def _compile(
    function: Callable[..., Result], *, keep: bool = True, **how: Any
) -> Callable[..., Result]:
    if not JIT_ENABLED:
        # Integers wrap round and NaN arises without a warning, as in compiled code.
        wrapped: Callable[..., Result] = np.errstate(over="ignore", invalid="ignore")(function)
        return wrapped
    compiled = numba.njit(nogil=True, **how)(function)
    if keep:
        CACHE.attach(compiled)
    return cast("Callable[..., Result]", compiled)


class HotKernel:
    """A compiled function that takes the types of its arguments for granted.

    Numba asks every argument of every call for its type, which for named tuples of arrays takes
    2 to 3 microseconds, as long as many a kernel runs. A hot kernel is compiled for the types of
    its first call and takes those of later ones for granted: arrays of other numbers, dimensions
    or layout it would misread. Tests look at all that is handed over in their own process. Which
    numbers are floats is said by annotations, the kernel's own and those of named tuples.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.compiled: Any = _compile(function)
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        """Run it, compiled for the types of the first call."""
        entry = self._entry
        if entry is None:
            entry = self._entry = self._find_entry(args)
        return entry(*args)

    def _find_entry(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return Numba's function behind the look at types, or all of it where there is none."""
        try:
            entry = self.compiled.compile(_types_by(self.compiled.py_func.__annotations__, args))
        except Exception:  # what is wrong with the kernel itself, its call says again
            return cast("Callable[..., Any]", self.compiled)
        return entry if callable(entry) else cast("Callable[..., Any]", self.compiled)


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


# Kernels call hot ones as they call others.
typeof_impl.register(HotKernel)(lambda hot, context: typeof_impl(hot.compiled, context))
