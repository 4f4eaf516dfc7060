"""The three kinds of kernels: compiled, called for every leaf, inlined."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from gtp_engine import kernels
from gtp_engine.kernels import JIT_ENABLED, HotKernel, hot_kernel, inline_kernel, kernel


@kernel
def twice(numbers: np.ndarray) -> int:
    numbers *= 2
    return len(numbers)


@inline_kernel
def thrice(numbers: np.ndarray) -> int:
    numbers *= 3
    return len(numbers)


@kernel
def negate(numbers: np.ndarray) -> int:
    numbers *= -1
    if numbers[0] < 0:
        return 0
    return len(numbers)


@kernel
def all_three(numbers: np.ndarray) -> int:
    return twice(numbers) + thrice(numbers) + negate(numbers)


def test_kernels_call_each_other() -> None:
    numbers = np.array([1, 5])
    assert all_three(numbers) == 4 and numbers.tolist() == [-6, -30]
    assert all_three(numbers) == 6 and numbers.tolist() == [36, 180]


def test_python_calls_every_kind() -> None:
    numbers = np.array([1.0, 5.0])
    assert [each(numbers) for each in (twice, thrice, negate, negate)] == [2, 2, 0, 2]
    assert numbers.tolist() == [6.0, 30.0]


class Line(NamedTuple):
    slope: float
    start: int
    points: np.ndarray


@hot_kernel
def add_line(numbers: np.ndarray, line: Line, scale: float, skipped: int) -> float:
    for i in range(skipped, len(numbers)):
        numbers[i] += scale * (line.start + line.slope * line.points[i])
    return numbers.sum()


def test_a_hot_kernel_takes_whole_numbers_for_floats_from_its_first_call_on() -> None:
    numbers, points = np.zeros(3), np.arange(3.0)
    assert add_line(numbers, Line(1, True, points), 2, False) == 12.0
    assert add_line(numbers, Line(0.5, np.int64(0), points), np.float32(0.5), 1) == 12.75
    assert numbers.tolist() == [2.0, 4.25, 6.5]


@pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python")
def test_tests_see_a_hot_kernel_that_is_handed_something_else() -> None:
    numbers, line = np.zeros(3), Line(1.0, 1, np.arange(3.0))
    assert add_line(numbers, line, 1.0, 0) == 6.0
    for wrong in (np.zeros(6)[::2], np.zeros(3, np.int64), np.zeros((1, 3)), [1.0]):
        with pytest.raises(AssertionError):
            add_line(wrong, line, 1.0, 0)
    with pytest.raises(AssertionError):
        add_line(numbers, line)


@kernel
def add_line_and_one(numbers: np.ndarray, line: Line) -> float:
    return add_line(numbers, line, 1.0, 0) + 1.0


def test_kernels_call_hot_ones() -> None:
    assert add_line_and_one(np.zeros(3), Line(1.0, 1, np.arange(3.0))) == 7.0


def fail(types: tuple[Any, ...]) -> None:
    raise AttributeError("Numba has no such thing any more")


@pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python")
@pytest.mark.parametrize("compile", [fail, lambda types: None])
def test_a_hot_kernel_without_numbas_entry_is_an_ordinary_one(
    compile: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hot = HotKernel(add_line.__wrapped__)
    plain = hot.compiled
    monkeypatch.setattr(hot, "compiled", Compiled(plain, compile))
    numbers = np.zeros(3)
    assert hot(numbers, Line(1.0, 1, np.arange(3.0)), 1.0, 0) == 6.0
    assert hot(numbers[1:], Line(1.0, 1, np.arange(3.0)), 1.0, 0) == 8.0


class Compiled:
    """A compiled function of a Numba that lets nobody at its entry."""

    def __init__(self, plain: Any, compile: Callable[..., None]) -> None:
        self.py_func = plain.py_func
        self.compile = compile
        self.plain = plain

    def __call__(self, *args: Any) -> Any:
        return self.plain(*args)


def test_without_numbas_inlining_the_results_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "INLINING", {})

    @inline_kernel
    def halve(numbers: np.ndarray) -> float:
        numbers /= 2
        return numbers.sum()

    assert halve(np.array([2.0, 4.0])) == 3.0
