"""Leela Zero's net files, formats 1 and 2: text with one tensor a line."""

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.convert.token_stream import FloatArray, parse_numbers

SIZE = 19
POINTS = SIZE * SIZE
PLANES = 18

_NORM_EPSILON = 1e-5
_UNIT_LINES = 4
_HEAD_LINES = 14
_MOST_LINES = 10_000
_MOST_FILTERS = 4096
_WORDS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class ConvUnit:
    """A convolution with its batch norm folded in."""

    weights: NDArray[np.float64]
    """[out, in, ky, kx]"""
    bias: NDArray[np.float64]
    """[out]"""


@dataclass(frozen=True)
class Dense:
    """A fully connected layer."""

    weights: FloatArray
    """[out, in]"""
    bias: FloatArray
    """[out]"""


@dataclass(frozen=True)
class LeelaZeroNet:
    """One Leela Zero net; points count from the bottom left, row by row."""

    value_is_blacks: bool
    """Format 2: the value speaks for Black; otherwise for the side to move."""
    filters: int
    stem: ConvUnit
    blocks: tuple[tuple[ConvUnit, ConvUnit], ...]
    policy_conv: ConvUnit
    policy: Dense
    value_conv: ConvUnit
    value_hidden: Dense
    value: Dense
    parameters: int


def read_leela_zero(path: Path, data: bytes) -> LeelaZeroNet:
    """Parse a Leela Zero net, already unpacked.

    Raises:
        NetFileError: the file is truncated, has lines too many, its lines do not fit together,
            or it holds a weight that is not finite.
    """
    return _Reader(path, data).net()


def _count_words(line: bytes) -> int:
    """Return how many there are, without a place in memory for each."""
    is_space = np.frombuffer(b" " + line, np.uint8) <= ord(" ")
    return int(np.count_nonzero(is_space[:-1] & ~is_space[1:]))


def _numbers(line: bytes) -> FloatArray:
    """Return a line's numbers, taking room for the words of a part of it at a time."""
    parts = [np.empty(0, np.float32)]
    while line:
        words = line.split(None, _WORDS_AT_ONCE)
        line = words.pop() if len(words) > _WORDS_AT_ONCE else b""
        parts.append(parse_numbers(words))
    return np.concatenate(parts)


class _Reader:
    """Read line after line; every error names the file and the line."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        if data.count(b"\n") > _MOST_LINES:
            self.fail(f"has more than {_MOST_LINES} lines, which no Leela Zero net has")
        self.lines = data.rstrip().split(b"\n")
        self.next = 0
        self.parameters = 0

    def fail(self, problem: str) -> NoReturn:
        raise NetFileError(f"{self.path}: {problem}")

    def net(self) -> LeelaZeroNet:
        version = self.lines[0].strip()
        if version not in (b"1", b"2"):
            self.fail("is of an unknown Leela Zero format; 1 and 2 are known")
        blocks = self.count_blocks()
        self.next = 1
        filters = _count_words(self.lines[2])
        if not 1 <= filters <= _MOST_FILTERS:
            self.fail(f"has {filters} filters, which no Leela Zero net has")
        stem = self.unit(PLANES, 3, filters)
        tower = tuple(
            (self.unit(filters, 3, filters), self.unit(filters, 3, filters)) for _ in range(blocks)
        )
        policy_conv = self.unit(filters, 1)
        policy = self.dense(len(policy_conv.bias) * POINTS, POINTS + 1)
        value_conv = self.unit(filters, 1)
        value_hidden = self.dense(len(value_conv.bias) * POINTS)
        value = self.dense(len(value_hidden.bias), 1)
        return LeelaZeroNet(
            value_is_blacks=version == b"2",
            filters=filters,
            stem=stem,
            blocks=tower,
            policy_conv=policy_conv,
            policy=policy,
            value_conv=value_conv,
            value_hidden=value_hidden,
            value=value,
            parameters=self.parameters,
        )

    def count_blocks(self) -> int:
        """Return the number of residual blocks, which follows from the number of lines."""
        lines = len(self.lines) - 1 - _UNIT_LINES - _HEAD_LINES
        if lines < 2 * _UNIT_LINES or lines % (2 * _UNIT_LINES):
            self.fail(
                f"has {len(self.lines)} lines, which no Leela Zero net has; it is truncated "
                "or something follows its end"
            )
        return lines // (2 * _UNIT_LINES)

    def tensor(self, expected: int) -> FloatArray:
        line = self.lines[self.next]
        self.next += 1
        found = _count_words(line)
        if found != expected:
            self.fail(f"line {self.next} has {found} numbers instead of {expected}")
        try:
            values = _numbers(line)
        except ValueError:
            self.fail(f"line {self.next} has weights that are not numbers")
        if not np.isfinite(values).all():
            self.fail(f"line {self.next} has weights that are NaN or infinite")
        return values

    def unit(self, channels_in: int, kernel: int, channels_out: int | None = None) -> ConvUnit:
        """Read weights, bias, means and variances, and fold them."""
        found = _count_words(self.lines[self.next + 1])
        outputs = found if channels_out is None else channels_out
        if outputs < 1:
            self.fail(f"line {self.next + 2} is empty")
        weights = self.tensor(outputs * channels_in * kernel * kernel).astype(np.float64)
        bias, mean, variance = (self.tensor(outputs).astype(np.float64) for _ in range(3))
        if (variance + _NORM_EPSILON <= 0).any():
            self.fail(f"line {self.next} has a variance that is not positive")
        self.parameters += weights.size + outputs
        scale = 1 / np.sqrt(variance + _NORM_EPSILON)
        shaped = weights.reshape(outputs, channels_in, kernel, kernel)
        return ConvUnit(shaped * scale[:, None, None, None], (bias - mean) * scale)

    def dense(self, inputs: int, outputs: int | None = None) -> Dense:
        found = _count_words(self.lines[self.next + 1]) if outputs is None else outputs
        if found < 1:
            self.fail(f"line {self.next + 2} is empty")
        weights = self.tensor(found * inputs)
        bias = self.tensor(found)
        self.parameters += weights.size + bias.size
        return Dense(weights.reshape(found, inputs), bias)
