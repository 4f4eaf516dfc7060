"""Exact counts from published tables and independent counters: if they agree, the board is right.

The deeper ones run with `-m slow`.
"""

import argparse
from typing import Any

import numpy as np
import pytest

from gtp_engine.commands import perft as perft_command
from gtp_engine.commands.registry import run
from gtp_engine.coords import BLACK, EMPTY, WHITE, point_at
from gtp_engine.go.board import (
    BOARD,
    BoardRecord,
    clear_board,
    is_suicide,
    place_stone,
)
from gtp_engine.go.perft import count_sequences, perft
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules

# fmt: off
TWO_BY_TWO = [1, 5, 21, 68, 156, 316, 604, 1088, 2184, 4184, 8024, 13800, 23560, 42784, 80000,
              146904, 257848]
WITH_PASSES = [
    # size, rules, depth of the quick run, counts from depth 0
    ("2x2", "tromp-taylor", 16, TWO_BY_TWO),
    ("2x2", "chinese-ogs", 16, TWO_BY_TWO),
    ("2x2", "aga", 10, [1, 5, 21, 68, 156, 316, 604, 1112, 2312, 4544, 8800]),
    ("3x3", "tromp-taylor", 8,
     [1, 10, 91, 738, 5281, 33384, 180768, 857576, 3474312, 12912040]),
    ("3x3", "chinese-ogs", 8,
     [1, 10, 91, 738, 5281, 33384, 179712, 842696, 3271208, 11279096]),
    ("3x3", "aga", 8,
     [1, 10, 91, 738, 5281, 33384, 179712, 842728, 3271784, 11285528]),
    ("2x3", "chinese-ogs", 11,
     [1, 7, 43, 222, 934, 3242, 8666, 20760, 45332, 97284, 222624, 534372]),
    ("3x2", "tromp-taylor", 11,
     [1, 7, 43, 222, 942, 3378, 9834, 26504, 64116, 147764, 348088, 824848]),
    ("4x4", "chinese-ogs", 6, [1, 17, 273, 4112, 57984, 764016, 9323872, 105466408]),
    ("4x4", "tromp-taylor", 6, [1, 17, 273, 4112, 57984, 764016, 9326320, 105541048]),
    ("5x5", "tromp-taylor", 5,
     [1, 26, 651, 15650, 361041, 7984104, 168759376, 3407616216]),
    ("5x5", "chinese-ogs", 5,
     [1, 26, 651, 15650, 361041, 7984104, 168755200, 3407394696]),
    ("7x7", "tromp-taylor", 4, [1, 50, 2451, 117698, 5536281, 254997864]),
    ("7x7", "chinese-ogs", 4, [1, 50, 2451, 117698, 5536281, 254997864]),
    ("9x9", "tromp-taylor", 4, [1, 82, 6643, 531522, 42002809]),
    ("13x13", "tromp-taylor", 3, [1, 170, 28731, 4826978, 806161281]),
    ("19x19", "tromp-taylor", 3, [1, 362, 130683, 47046242, 16889859009]),
]
WITHOUT_PASSES = [
    ("2x2", "chinese", 8, [1, 4, 12, 24, 16, 32, 32, 32, 96]),
    ("3x3", "chinese", 9, [1, 9, 72, 504, 2976, 14720, 56176, 168144, 343008, 700096]),
    ("4x4", "chinese", 6, [1, 16, 240, 3360, 43576, 521800, 5695072, 56585312]),
    ("5x5", "chinese", 5, [1, 25, 600, 13800, 303424, 6368416, 127124176]),
    ("9x9", "chinese", 3, [1, 81, 6480, 511920, 39929136]),
    ("19x19", "chinese", 3, [1, 361, 129960, 46655640]),
]
LEGAL_POSITIONS = {
    "2x2": 57, "3x3": 12675, "4x4": 24318165, "5x5": 414295148741, "2x3": 489, "2x4": 4125,
    "2x5": 35117, "2x6": 299681, "3x4": 321689, "3x5": 8180343, "5x3": 8180343,
}
# fmt: on


def size_of(name: str) -> tuple[int, int]:
    width, height = name.split("x")
    return int(width), int(height)


def check(name: str, rules: str, counts: list[int], depth: int, with_passes: bool) -> None:
    counted = perft(Position(*size_of(name), Rules.parse(rules)), depth, with_passes=with_passes)
    assert list(counted) == counts[: depth + 1]


@pytest.mark.parametrize(("size", "rules", "depth", "counts"), WITH_PASSES)
def test_perft_with_passes(size: str, rules: str, depth: int, counts: list[int]) -> None:
    check(size, rules, counts, depth, with_passes=True)


@pytest.mark.parametrize(("size", "rules", "depth", "counts"), WITHOUT_PASSES)
def test_perft_without_passes(size: str, rules: str, depth: int, counts: list[int]) -> None:
    check(size, rules, counts, depth, with_passes=False)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "rules", "depth", "counts"), WITH_PASSES)
def test_deep_perft_with_passes(size: str, rules: str, depth: int, counts: list[int]) -> None:
    check(size, rules, counts, len(counts) - 1, with_passes=True)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "rules", "depth", "counts"), WITHOUT_PASSES)
def test_deep_perft_without_passes(size: str, rules: str, depth: int, counts: list[int]) -> None:
    check(size, rules, counts, len(counts) - 1, with_passes=False)


def test_one_stone_suicide_would_be_seen() -> None:
    # With suicide of one stone 5x5 has 361233 sequences of four moves instead of 361041.
    assert count_sequences(Position(5, 5, Rules.parse("tromp-taylor")), 4) == 361041


def test_counting_goes_on_from_a_game() -> None:
    position = Position(3, 3, Rules.parse("tromp-taylor"))
    total = 0
    for move in position.legal_moves():
        position.play(BLACK, move)
        total += count_sequences(position, 5)
        position.undo()
    assert total == 180768
    position.play(BLACK, 0)
    position.play(WHITE, 0)
    assert count_sequences(position, 1) == 0 and count_sequences(position, 0) == 1
    assert position.ply == 2


# Legal positions -------------------------------------------------------------------------------


def frontier_key(board: BoardRecord, decided: list[int], width: int) -> tuple[Any, ...]:
    """Return all that the points still to be decided can tell about those decided so far.

    That is, for each of the latest `width` points, its color, which of these points it is
    chained to, and whether its chain has a liberty that nobody will fill any more.
    """
    labels: dict[int, int] = {}
    key: list[tuple[int, int, bool]] = []
    settled = set(decided)
    for point in decided[-width:]:
        color = int(board["color"][point])
        if color == EMPTY:
            key.append((EMPTY, 0, False))
            continue
        head = int(board["head"][point])
        is_safe = False
        stone = head
        while True:
            near = (stone - width - 1, stone - 1, stone + 1, stone + width + 1)
            is_safe |= any(p in settled and board["color"][p] == EMPTY for p in near)
            stone = int(board["next"][stone])
            if stone == head:
                break
        key.append((color, labels.setdefault(head, len(labels)), is_safe))
    return tuple(key)


def count_legal_positions(width: int, height: int) -> int:
    """Count the positions in which every chain has a liberty.

    The points are decided row by row, each to be empty, black or white. Taking a stone from such
    a position never takes a liberty from another chain, so a stone that captures or is captured
    can be given up at once. Boards with the same frontier have the same future: one of them
    stands for all.
    """
    start = np.zeros(1, BOARD)
    clear_board(start[0], width, height)
    classes: dict[tuple[Any, ...], tuple[Any, int]] = {(): (start, 1)}
    points = [point_at(row, col, width) for row in range(height) for col in range(width)]
    for index, point in enumerate(points):
        following: dict[tuple[Any, ...], tuple[Any, int]] = {}
        for boards, n in classes.values():
            for color in (EMPTY, BLACK, WHITE):
                after = np.zeros(1, BOARD)
                after[0] = boards[0]
                if color != EMPTY and (
                    is_suicide(boards[0], point, color) or place_stone(after[0], point, color)
                ):
                    continue
                key = frontier_key(after[0], points[: index + 1], width)
                known, m = following.get(key, (after, 0))
                following[key] = (known, m + n)
        classes = following
    return sum(n for _, n in classes.values())


@pytest.mark.parametrize(("size", "count"), LEGAL_POSITIONS.items())
def test_legal_positions(size: str, count: int) -> None:
    assert count_legal_positions(*size_of(size)) == count


# The subcommand --------------------------------------------------------------------------------


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gtp-engine perft")
    perft_command.add_arguments(parser)
    return parser.parse_args(words)


def test_the_command_prints_a_line_per_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert perft_command.run(parse("--size", "2x3", "--depth", "4", "--rules", "Tromp_Taylor")) == 0
    assert capsys.readouterr().out == "0 1\n1 7\n2 43\n3 222\n4 942\n"
    perft_command.run(parse("--size", "3", "--depth", "2", "--rules", "chinese", "--no-passes"))
    assert capsys.readouterr().out == "0 1\n1 9\n2 72\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--size", "0"), "board size"),
        (("--size", "26"), "board size"),
        (("--size", "-1"), "size"),
        (("--size", "abc"), "board size"),
        (("--size", "9x"), "board size"),
        (("--size", "9x9x9"), "board size"),
        (("--depth", "x"), "not a depth"),
        (("--depth", "1.5"), "not a depth"),
        (("--rules", "nonsense"), "unknown rules"),
    ],
)
def test_wrong_options_are_named(
    words: tuple[str, str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        run(["perft", *words])
    output = capsys.readouterr()
    assert raised.value.code == 2 and problem in output.err and not output.out
