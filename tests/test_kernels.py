"""Kernels without an entry from Python are called from kernels, which the sources show."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from tests.test_imports import SOURCES

from gtp_engine.go.jit import (
    JIT_ENABLED,
    hot_kernel,
    inline_kernel,
    inner_kernel,
    kernel,
    part_kernel,
)

WITHOUT_ENTRY = {"inner_kernel", "inline_kernel", "part_kernel"}
KERNELS = WITHOUT_ENTRY | {"kernel", "hot_kernel", "shared_inline_kernel"}


def decorators(function: ast.FunctionDef) -> set[str]:
    return {each.id for each in function.decorator_list if isinstance(each, ast.Name)}


TREES = {name: ast.parse(path.read_text()) for name, path in SOURCES.items()}

HIDDEN = {
    (module, each.name)
    for module, tree in TREES.items()
    for each in tree.body
    if isinstance(each, ast.FunctionDef) and decorators(each) & WITHOUT_ENTRY
}
"""Module and name of every kernel without an entry."""


def used_by_python(module: str) -> Iterator[str]:
    """Yield the hidden kernels that a module's plain functions and statements name."""
    tree = TREES[module]
    known = {name: name for where, name in HIDDEN if where == module}
    folders: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (node.module, alias.name) in HIDDEN:
                    known[alias.asname or alias.name] = alias.name
                folders[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef) and decorators(child) & KERNELS:
                continue
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                if child.id in known:
                    yield child.id
            elif (
                isinstance(child, ast.Attribute)
                and isinstance(child.value, ast.Name)
                and (folders.get(child.value.id), child.attr) in HIDDEN
            ):
                yield child.attr
            yield from visit(child)

    yield from visit(tree)


def test_the_program_calls_no_kernel_without_an_entry_from_python() -> None:
    assert len(HIDDEN) > 100
    found = {module: sorted(set(used_by_python(module))) for module in TREES}
    assert not {module: names for module, names in found.items() if names}


@inner_kernel
def twice(numbers: np.ndarray) -> int:
    numbers *= 2
    return len(numbers)


@inline_kernel
def thrice(numbers: np.ndarray) -> int:
    numbers *= 3
    return len(numbers)


@part_kernel
def negate(numbers: np.ndarray) -> int:
    numbers *= -1
    if numbers[0] < 0:
        return 0
    return len(numbers)


@kernel
def all_three(numbers: np.ndarray) -> int:
    return twice(numbers) + thrice(numbers) + negate(numbers)


def test_a_kernel_calls_what_has_no_entry() -> None:
    numbers = np.array([1, 5])
    assert all_three(numbers) == 4 and numbers.tolist() == [-6, -30]
    assert all_three(numbers) == 6 and numbers.tolist() == [36, 180]


@pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python")
def test_what_has_no_entry_gets_one_when_python_calls_it_all_the_same() -> None:
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
