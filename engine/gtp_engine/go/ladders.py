"""Reading ladders: which chains of one or two liberties cannot get away.

The side that flees extends or captures, the side that chases gives atari, and nothing else is
read. A chain in atari is laddered if no move of its own gets it out; a chain of two liberties if
the other side, moving first, can chase it down. Whose turn it is does not matter.

The reading is a depth-first search with an explicit stack on a scratch board. A simple ko left
by the chasing side counts as an escape, because ladders that hang on a ko are not to be trusted.
What a search has found is kept by the stones, so that the ladders of the previous positions,
which encoders want too, are not read again.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, MAX_SIZE, WALL
from gtp_engine.go.board import (
    BOARD,
    MAX_POINTS,
    BoardRecord,
    collect_liberties,
    has_few_liberties,
    has_plain_liberties,
    is_head,
    ko_target,
    neighbors,
)
from gtp_engine.go.trial_moves import UNDO_ROW, Work, may_try, take_back, try_move
from gtp_engine.kernels import inline_kernel, int64, kernel, uint64

NODE_BUDGET = 25_000
"""Moves tried in one reading before the chain is taken to escape."""

WORDS = (MAX_POINTS + 63) // 64

LADDERS = np.dtype(
    [
        ("key", np.uint64),  # names the stones and the ko ban; 0 is no position
        ("chains", np.uint64, (WORDS,)),  # bit set of the points of laddered chains
        ("working", np.uint64, (3, WORDS)),  # by color of the chased: moves that capture it
    ]
)
"""The ladders of one position. `working` holds chases of chains that have two liberties."""

_MAX_DEPTH = MAX_SIZE * MAX_SIZE * 3 // 2 + 2
_MAX_MOVES = 8 * _MAX_DEPTH

# A list row: where the moves of a depth begin, how many they are, which one is being tried.
_BEGIN, _LENGTH, _TRIED = 0, 1, 2
_LIST_ROW = 3

# One array holds it all, because every array handed to a kernel costs time.
_LISTS_AT = _MAX_MOVES  # the moves themselves come first
_UNDO_AT = _LISTS_AT + _LIST_ROW * _MAX_DEPTH
_SPARE_UNDO_AT = _UNDO_AT + UNDO_ROW * _MAX_DEPTH
_ROOT_UNDO_AT = _SPARE_UNDO_AT + UNDO_ROW
_LIBERTIES_AT = _ROOT_UNDO_AT + UNDO_ROW
_MAX_LIBERTIES = 16
_WORK_SIZE = _LIBERTIES_AT + _MAX_LIBERTIES

_UNDECIDED, _ESCAPES, _CAPTURED_NOW = 0, 1, 2


class Reader(NamedTuple):
    """Working memory for reading ladders, and the ladders read so far. One for each thread."""

    memory: npt.NDArray[Any]
    """[slots] of LADDERS, by the low bits of the key."""
    board: npt.NDArray[Any]
    """[1] of BOARD: where moves are tried."""
    work: Work
    """Everything else: moves, lists, undo rows."""


def new_reader(slots: int = 8192) -> Reader:
    """Return a reader that remembers up to this many positions (a power of two, 0.4 KB each)."""
    return Reader(np.zeros(slots, LADDERS), np.zeros(1, BOARD), np.zeros(_WORK_SIZE, np.int16))


# What can be seen without playing on -----------------------------------------------------------


@inline_kernel
def _two_liberties(board: BoardRecord, chain: int) -> tuple[int, int, int]:
    """Return how many liberties a chain has, counted up to three, and the first two."""
    if not has_few_liberties(board, int64(board["head"][chain]), 2):
        return 3, 0, 0
    n = 0
    first = 0
    second = 0
    stone = chain
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == EMPTY and near != first and near != second:
                n += 1
                if n == 1:
                    first = near
                elif n == 2:
                    second = near
                else:
                    return n, first, second
        stone = int64(board["next"][stone])
        if stone == chain:
            return n, first, second


@inline_kernel
def _lone_liberty(board: BoardRecord, chain: int) -> int:
    """Return the liberty of a chain in atari; 0 for any other chain."""
    if not has_few_liberties(board, int64(board["head"][chain]), 1):
        return 0
    n, first, _ = _two_liberties(board, chain)
    return first if n == 1 else 0


@kernel
def _count_liberties(board: BoardRecord, chain: int, limit: int, work: Work) -> int:
    """Return the liberties of a chain, counted up to a limit of at most 16."""
    head = int64(board["head"][chain])
    if has_plain_liberties(board, head):
        return min(limit, int64(board["pseudo"][head]))
    return collect_liberties(board, chain, limit, work[_LIBERTIES_AT:])


@inline_kernel
def _count_empty_neighbors(board: BoardRecord, point: int) -> int:
    n = 0
    for near in neighbors(board, point):
        if board["color"][near] == EMPTY:
            n += 1
    return n


@inline_kernel
def add_move(work: Work, begin: int, n: int, move: int) -> int:
    """Add a move to a list unless it is there already; return how many were added."""
    for i in range(begin, begin + n):
        if work[i] == move:
            return 0
    work[begin + n] = move
    return 1


@kernel
def find_captures(board: BoardRecord, chain: int, work: Work, begin: int) -> int:
    """List the moves that capture an enemy chain in atari around a chain; return how many."""
    enemy = 3 - int64(board["color"][chain])
    n = 0
    seen = 0
    stone = chain
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == enemy:
                head = int64(board["head"][near])
                if head != seen:
                    seen = head
                    lone = _lone_liberty(board, head)
                    if lone != 0:
                        n += add_move(work, begin, n, lone)
        stone = int64(board["next"][stone])
        if stone == chain:
            return n


@kernel
def _bound_liberties(board: BoardRecord, point: int, color: int, work: Work) -> tuple[int, int]:
    """Return a lower and an upper bound of the liberties of a stone played here."""
    empty = 0
    captures = 0
    captured_stones = 0
    joined = 0
    best_joined = 0
    for near in neighbors(board, point):
        at = board["color"][near]
        if at == EMPTY:
            empty += 1
        elif at == color:
            others = _count_liberties(board, near, int64(5), work) - 1
            joined += others
            best_joined = max(best_joined, others)
        elif at != WALL and _lone_liberty(board, near) != 0:
            captures += 1
            captured_stones += int64(board["size"][board["head"][near]])
    return captures + max(empty, best_joined), empty + captured_stones + joined


@kernel
def _liberties_after(board: BoardRecord, point: int, color: int, work: Work) -> int:
    """Return the liberties of a stone played here, counted up to three."""
    try_move(board, point, color, work, int64(_SPARE_UNDO_AT))
    n, _, _ = _two_liberties(board, point)
    take_back(board, work, int64(_SPARE_UNDO_AT))
    return n


@kernel
def _is_double_ko_death(
    board: BoardRecord, chain: int, first: int, second: int, work: Work, begin: int
) -> bool:
    """Whether both liberties are kos that the chaser takes and the fleeing side cannot use."""
    color = int64(board["color"][chain])
    return (
        ko_target(board, first, 3 - color) != 0
        and ko_target(board, second, 3 - color) != 0
        and _liberties_after(board, first, color, work) <= 2
        and _liberties_after(board, second, color, work) <= 2
        and find_captures(board, chain, work, begin) == 0
    )


@kernel
def _connection_weight(board: BoardRecord, point: int, color: int, work: Work) -> int:
    """Rate how much a stone here would gain by joining; for the order of moves only."""
    weight = 0
    for near in neighbors(board, point):
        if board["color"][near] == color:
            n = _count_liberties(board, near, int64(_MAX_LIBERTIES), work)
            if n > 1:
                weight += 2 * n - 3
    return weight


# Reading -----------------------------------------------------------------------------------------


@kernel
def _list_escapes(board: BoardRecord, chain: int, work: Work, begin: int) -> tuple[int, int]:
    """List the fleeing side's moves; return a verdict, and how many there are."""
    lone = _lone_liberty(board, chain)
    if lone == 0 or board["ko_point"] != 0:
        return _ESCAPES, 0
    n = find_captures(board, chain, work, begin)
    n += add_move(work, begin, n, lone)
    last = int64(work[begin + n - 1])
    lower, upper = _bound_liberties(board, last, int64(board["color"][chain]), work)
    if lower >= 3:
        return _ESCAPES, n
    if n == 1 and upper <= 1:
        return _CAPTURED_NOW, n
    return _UNDECIDED, n


@kernel
def _list_chases(board: BoardRecord, chain: int, work: Work, begin: int) -> tuple[int, int]:
    """List the chasing side's moves; return a verdict, and how many there are."""
    n, first, second = _two_liberties(board, chain)
    if n != 2:
        return (_CAPTURED_NOW if n < 2 else _ESCAPES), 0
    room = _count_empty_neighbors(board, first)
    other_room = _count_empty_neighbors(board, second)
    if room + other_room == 0 and _is_double_ko_death(board, chain, first, second, work, begin):
        return _CAPTURED_NOW, 0
    if not _are_adjacent(board, first, second):
        # Filling one does not narrow the other: with three free points beside it the chain is
        # out, so that liberty must be filled first.
        if room >= 3 and other_room >= 3:
            return _ESCAPES, 0
        if room >= 3 or other_room >= 3:
            work[begin] = first if room >= 3 else second
            return _UNDECIDED, 1
    color = int64(board["color"][chain])
    room = 2 * room + _connection_weight(board, first, color, work)
    other_room = 2 * other_room + _connection_weight(board, second, color, work)
    work[begin] = second if other_room > room else first
    work[begin + 1] = first if other_room > room else second
    return _UNDECIDED, 2


@inline_kernel
def _are_adjacent(board: BoardRecord, point: int, other: int) -> bool:
    distance = abs(point - other)
    return bool(distance == 1 or distance == board["stride"])


@kernel
def _next_move(board: BoardRecord, color: int, work: Work, row: int) -> int:
    """Return the next move of a list that may be tried, from the one at hand on; 0 for none."""
    begin = int64(work[row + _BEGIN])
    length = int64(work[row + _LENGTH])
    for i in range(int64(work[row + _TRIED]), length):
        move = int64(work[begin + i])
        if may_try(board, move, color):
            work[row + _TRIED] = i
            return move
    return 0


@kernel
def _cannot_flee(board: BoardRecord, chain: int, work: Work) -> bool:
    """Read out whether a chain in atari is lost, its own side moving first.

    Even depths belong to the fleeing side. `lost` is what the last finished depth found.
    """
    color = int64(board["color"][chain])
    depth = 0
    entering = True
    lost = False
    nodes = 0
    work[_LISTS_AT + _BEGIN] = 0
    while True:
        fleeing = depth % 2 == 0
        row = _LISTS_AT + _LIST_ROW * depth
        move = 0
        # 1. A position not seen before: list its moves, unless it is decided at sight.
        if entering:
            begin = int64(work[row + _BEGIN])
            if fleeing:
                verdict, n = _list_escapes(board, chain, work, begin)
            else:
                verdict, n = _list_chases(board, chain, work, begin)
            if depth >= _MAX_DEPTH - 2:
                verdict = _CAPTURED_NOW
            work[row + _LENGTH] = n
            work[row + _TRIED] = 0
            lost = verdict == _CAPTURED_NOW
            looks_on = verdict == _UNDECIDED
        # 2. Back from a reply: unless the mover is content with it, look at the next move.
        else:
            work[row + _TRIED] += 1
            looks_on = lost == fleeing
        # 3. Find a move; without one the mover has failed.
        if looks_on:
            move = _next_move(board, color if fleeing else 3 - color, work, row)
            if move == 0:
                lost = fleeing
        # 4. Back up.
        if move == 0:
            if depth == 0:
                return lost
            depth -= 1
            take_back(board, work, _UNDO_AT + UNDO_ROW * depth)
            entering = False
            continue
        # 5. Or down one move.
        undo = _UNDO_AT + UNDO_ROW * depth
        try_move(board, move, color if fleeing else 3 - color, work, undo)
        end = int64(work[row + _BEGIN]) + int64(work[row + _LENGTH])
        work[row + _LIST_ROW + _BEGIN] = end
        entering = True
        depth += 1
        nodes += 1
        if nodes >= NODE_BUDGET or end >= _MAX_MOVES - _MAX_DEPTH:
            _take_all_back(board, work, depth)
            return False


@kernel
def _take_all_back(board: BoardRecord, work: Work, depth: int) -> None:
    for tried in range(depth - 1, -1, -1):
        take_back(board, work, _UNDO_AT + UNDO_ROW * tried)


@kernel
def _flees_at_once(board: BoardRecord, chain: int, filled: int, last: int, work: Work) -> bool:
    """Whether extending at `last`, after the chaser filled the other liberty, surely escapes.

    Three liberties are counted without playing a stone, which saves most of the reading.
    """
    room = _count_empty_neighbors(board, last)
    if _are_adjacent(board, filled, last):
        room -= 1
    if room >= 3:
        return True
    head = board["head"][chain]
    for near in neighbors(board, last):
        is_other = board["color"][near] == board["color"][chain] and board["head"][near] != head
        # Another chain brings all its liberties but `last` and perhaps the filled one.
        if is_other and _count_liberties(board, near, int64(5), work) >= 5:
            return True
    return False


@kernel
def _captures_by(board: BoardRecord, chain: int, filled: int, last: int, work: Work) -> bool:
    """Whether filling one of a chain's two liberties captures it in a ladder."""
    chaser = 3 - int64(board["color"][chain])
    if _flees_at_once(board, chain, filled, last, work) or not may_try(board, filled, chaser):
        return False
    try_move(board, filled, chaser, work, int64(_ROOT_UNDO_AT))
    board["ko_point"] = 0  # at the root kos are taken to work for the fleeing side
    lost = _cannot_flee(board, chain, work)
    take_back(board, work, int64(_ROOT_UNDO_AT))
    return lost


# Whole boards ------------------------------------------------------------------------------------


@inline_kernel
def _set_bit(words: npt.NDArray[np.uint64], point: int) -> None:
    words[point >> 6] |= uint64(1) << uint64(point & 63)


@kernel
def has_bit(words: npt.NDArray[np.uint64], point: int) -> bool:
    """Whether a point is in a bit set, [WORDS] of 64 points each."""
    return bool((words[point >> 6] >> uint64(point & 63)) & uint64(1))


@kernel
def _set_chain(board: BoardRecord, head: int, words: npt.NDArray[np.uint64]) -> None:
    stone = head
    while True:
        _set_bit(words, stone)
        stone = int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _read_board(board: BoardRecord, work: Work, found: Any) -> None:
    """Read all ladders of a board into a LADDERS record; the board is left as it was."""
    found["chains"][:] = uint64(0)
    found["working"][:] = uint64(0)
    ko_point = board["ko_point"]
    for head in range(int64(board["n_points"])):
        if not is_head(board, head):
            continue
        n, first, second = _two_liberties(board, head)
        lost = False
        if n == 1:
            board["ko_point"] = 0
            lost = _cannot_flee(board, head, work)
            board["ko_point"] = ko_point
        elif n == 2:
            color = board["color"][head]
            if _captures_by(board, head, first, second, work):
                _set_bit(found["working"][color], first)
                lost = True
            if _captures_by(board, head, second, first, work):
                _set_bit(found["working"][color], second)
                lost = True
        if lost:
            _set_chain(board, head, found["chains"])


@kernel
def find_ladders(reader: Reader, board: BoardRecord) -> int:
    """Return the index in `reader.memory` of a board's ladders, reading them if need be.

    The record stays valid until the next call.
    """
    key = uint64(board["hash"])
    key ^= uint64(board["ko_point"]) * uint64(0x9E3779B97F4A7C15)
    key ^= uint64(board["stride"]) * uint64(0xC2B2AE3D27D4EB4F)
    key ^= uint64(board["n_points"]) * uint64(0x165667B19E3779F9)
    slot = int64(key & uint64(len(reader.memory) - 1))
    if reader.memory[slot]["key"] != key:
        reader.board[0] = board
        _read_board(reader.board[0], reader.work, reader.memory[slot])
        reader.memory[slot]["key"] = key
    return slot


@kernel
def can_be_captured(reader: Reader, board: BoardRecord, point: int) -> bool:
    """Whether the other side, to move, takes the chain at a stone at once or in a ladder."""
    reader.board[0] = board
    scratch = reader.board[0]
    n, first, second = _two_liberties(scratch, point)
    if n < 2:
        return True
    head = int64(scratch["head"][point])
    return n == 2 and (
        _captures_by(scratch, head, first, second, reader.work)
        or _captures_by(scratch, head, second, first, reader.work)
    )
