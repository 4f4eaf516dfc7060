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

from gtp_engine.go.board import (
    BOARD,
    MAX_POINTS,
    BoardRecord,
    collect_liberties,
    count_liberties,
    is_head,
    is_suicide,
    neighbors,
)
from gtp_engine.go.coords import EMPTY, MAX_SIZE, WALL
from gtp_engine.go.jit import inline_kernel, kernel

NODE_BUDGET = 25_000
"""Moves tried in one reading before the chain is taken to escape."""

WORDS = (MAX_POINTS + 63) // 64

LADDERS = np.dtype(
    [
        ("key", np.uint64),  # names the stones and the ko ban; 0 is no position
        ("chains", np.uint64, (WORDS,)),  # bit set of the points of laddered chains
        ("working", np.uint64, (3, WORDS)),  # by colour of the chased: moves that capture it
    ]
)
"""The ladders of one position. `working` holds chases of chains that have two liberties."""

_MAX_DEPTH = MAX_SIZE * MAX_SIZE * 3 // 2 + 2
_MAX_MOVES = 8 * _MAX_DEPTH

# Columns of an undo row. Up to four chains are captured and four joined by one move.
_POINT, _HEAD, _NEXT, _SIZE, _PSEUDO, _KO = 0, 1, 2, 3, 4, 5
_N_CAPTURED, _CAPTURED = 6, 7
_N_JOINED, _JOINED = 11, 12
_UNDO_COLUMNS = 20

_UNDECIDED, _ESCAPES, _CAPTURED_NOW = 0, 1, 2

Moves = npt.NDArray[np.int16]


class Reader(NamedTuple):
    """Working memory for reading ladders, and the ladders read so far. One for each thread."""

    memory: npt.NDArray[Any]
    """[slots] of LADDERS, by the low bits of the key."""
    board: npt.NDArray[Any]
    """[1] of BOARD: where moves are tried."""
    undo: npt.NDArray[np.int16]
    """[depth, columns] how to take back the move tried at each depth."""
    moves: Moves
    """The candidate moves of all depths, one list behind the other."""
    lists: npt.NDArray[np.int32]
    """[depth, 3] where the list begins, its length, and the move being tried."""


def new_reader(slots: int = 2048) -> Reader:
    """Return a reader that remembers up to this many positions (a power of two, 0.4 KB each)."""
    return Reader(
        np.zeros(slots, LADDERS),
        np.zeros(1, BOARD),
        np.zeros((_MAX_DEPTH, _UNDO_COLUMNS), np.int16),
        np.zeros(_MAX_MOVES, np.int16),
        np.zeros((_MAX_DEPTH, 3), np.int32),
    )


# Trying moves ------------------------------------------------------------------------------------


@kernel
def _copy_stones(target: BoardRecord, source: BoardRecord) -> None:
    """Copy what reading needs of a board: neither its hash nor its list of empty points."""
    n_points = source["n_points"]
    target["stride"] = source["stride"]
    target["n_points"] = n_points
    target["ko_point"] = source["ko_point"]
    target["color"][:n_points] = source["color"][:n_points]
    target["head"][:n_points] = source["head"][:n_points]
    target["next"][:n_points] = source["next"][:n_points]
    target["size"][:n_points] = source["size"][:n_points]
    target["pseudo"][:n_points] = source["pseudo"][:n_points]


@inline_kernel
def _lift_chain(board: BoardRecord, head: int, captor: int) -> None:
    """Take a chain off; its own records stay as they were, for `_put_back`."""
    stone = head
    while True:
        board["color"][stone] = EMPTY
        for near in neighbors(board, stone):
            if board["color"][near] == captor:
                board["pseudo"][board["head"][near]] += 1
        stone = np.int64(board["next"][stone])
        if stone == head:
            return


@inline_kernel
def _put_back(board: BoardRecord, head: int, captor: int) -> None:
    stone = head
    while True:
        board["color"][stone] = 3 - captor
        for near in neighbors(board, stone):
            if board["color"][near] == captor:
                board["pseudo"][board["head"][near]] -= 1
        stone = np.int64(board["next"][stone])
        if stone == head:
            return


@inline_kernel
def _join(board: BoardRecord, keep: int, lose: int) -> None:
    board["size"][keep] += board["size"][lose]
    board["pseudo"][keep] += board["pseudo"][lose]
    stone = lose
    while True:
        board["head"][stone] = keep
        stone = np.int64(board["next"][stone])
        if stone == lose:
            break
    after = board["next"][keep]
    board["next"][keep] = board["next"][lose]
    board["next"][lose] = after


@inline_kernel
def _part(board: BoardRecord, keep: int, lose: int) -> None:
    after = board["next"][keep]
    board["next"][keep] = board["next"][lose]
    board["next"][lose] = after
    board["size"][keep] -= board["size"][lose]
    board["pseudo"][keep] -= board["pseudo"][lose]
    stone = lose
    while True:
        board["head"][stone] = lose
        stone = np.int64(board["next"][stone])
        if stone == lose:
            return


@kernel
def _try_move(board: BoardRecord, point: int, color: int, undo: Moves) -> None:
    """Play a move that is not suicide, noting in a row of `undo` how to take it back."""
    # 1. The stone, a chain of its own that takes away its neighbours' pseudo-liberties.
    undo[_POINT] = point
    undo[_HEAD] = board["head"][point]
    undo[_NEXT] = board["next"][point]
    undo[_SIZE] = board["size"][point]
    undo[_PSEUDO] = board["pseudo"][point]
    undo[_KO] = board["ko_point"]
    board["color"][point] = color
    board["head"][point] = point
    board["next"][point] = point
    board["size"][point] = 1
    free = 0
    for near in neighbors(board, point):
        if board["color"][near] == EMPTY:
            free += 1
        elif board["color"][near] != EMPTY and board["color"][near] != WALL:
            board["pseudo"][board["head"][near]] -= 1
    board["pseudo"][point] = free

    # 2. Captures, all of them before the joins: taking back goes the other way round.
    n_captured = 0
    stones = 0
    taken = 0
    for near in neighbors(board, point):
        if board["color"][near] == 3 - color:
            head = np.int64(board["head"][near])
            if board["pseudo"][head] == 0:
                undo[_CAPTURED + n_captured] = head
                n_captured += 1
                stones += board["size"][head]
                taken = near
                _lift_chain(board, head, color)
    undo[_N_CAPTURED] = n_captured

    # 3. Joins.
    n_joined = 0
    own = point
    for near in neighbors(board, point):
        if board["color"][near] == color:
            head = np.int64(board["head"][near])
            if head != own:
                keep, lose = own, head
                if board["size"][own] < board["size"][head]:
                    keep, lose = head, own
                undo[_JOINED + 2 * n_joined] = keep
                undo[_JOINED + 2 * n_joined + 1] = lose
                n_joined += 1
                _join(board, keep, lose)
                own = keep
    undo[_N_JOINED] = n_joined

    # 4. The ko ban.
    board["ko_point"] = 0
    if stones == 1 and board["size"][own] == 1 and board["pseudo"][own] == 1:
        board["ko_point"] = taken


@kernel
def _take_back(board: BoardRecord, undo: Moves) -> None:
    """Undo the latest `_try_move`, from its row."""
    point = np.int64(undo[_POINT])
    color = np.int64(board["color"][point])
    for i in range(undo[_N_JOINED] - 1, -1, -1):
        _part(board, np.int64(undo[_JOINED + 2 * i]), np.int64(undo[_JOINED + 2 * i + 1]))
    for i in range(undo[_N_CAPTURED]):
        _put_back(board, np.int64(undo[_CAPTURED + i]), color)
    for near in neighbors(board, point):
        if board["color"][near] != EMPTY and board["color"][near] != WALL:
            board["pseudo"][board["head"][near]] += 1
    board["color"][point] = EMPTY
    board["head"][point] = undo[_HEAD]
    board["next"][point] = undo[_NEXT]
    board["size"][point] = undo[_SIZE]
    board["pseudo"][point] = undo[_PSEUDO]
    board["ko_point"] = undo[_KO]


@inline_kernel
def _may_try(board: BoardRecord, point: int, color: int) -> bool:
    """Whether a move on an empty point is allowed in a ladder: no suicide, no simple ko."""
    return point != board["ko_point"] and not is_suicide(board, point, color)


# What can be seen without playing on -----------------------------------------------------------


@kernel
def _lone_liberty(board: BoardRecord, head: int) -> int:
    """Return the liberty of a chain in atari; 0 for any other chain."""
    if board["pseudo"][head] > 4:
        return 0
    lone = 0
    stone = np.int64(head)
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == EMPTY and near != lone:
                if lone != 0:
                    return 0
                lone = near
        stone = np.int64(board["next"][stone])
        if stone == head:
            return lone


@inline_kernel
def _count_empty_neighbors(board: BoardRecord, point: int) -> int:
    n = 0
    for near in neighbors(board, point):
        if board["color"][near] == EMPTY:
            n += 1
    return n


@kernel
def _find_captures(board: BoardRecord, chain: int, moves: Moves, begin: int) -> int:
    """List the moves that capture an enemy chain in atari around a chain; return how many."""
    enemy = 3 - np.int64(board["color"][chain])
    n = 0
    seen = 0
    stone = np.int64(chain)
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == enemy:
                head = np.int64(board["head"][near])
                if head != seen:
                    seen = head
                    lone = _lone_liberty(board, head)
                    if lone != 0:
                        n += _add_move(moves, begin, n, lone)
        stone = np.int64(board["next"][stone])
        if stone == chain:
            return n


@inline_kernel
def _add_move(moves: Moves, begin: int, n: int, move: int) -> int:
    """Add a move to a list unless it is there already; return how many were added."""
    for i in range(begin, begin + n):
        if moves[i] == move:
            return 0
    moves[begin + n] = move
    return 1


@kernel
def _bound_liberties(board: BoardRecord, point: int, color: int) -> tuple[int, int]:
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
        elif at == 3 - color:
            head = np.int64(board["head"][near])
            if _lone_liberty(board, head) != 0:
                captures += 1
                captured_stones += board["size"][head]
        elif at == color:
            others = count_liberties(board, near, 5) - 1
            joined += others
            best_joined = max(best_joined, others)
    return captures + max(empty, best_joined), empty + captured_stones + joined


@kernel
def _is_ko_capture(board: BoardRecord, point: int, color: int) -> bool:
    """Whether a move among enemy stones alone would capture exactly one of them."""
    target = 0
    for near in neighbors(board, point):
        at = board["color"][near]
        if at != 3 - color and at != WALL:
            return False
        if at != WALL and _lone_liberty(board, np.int64(board["head"][near])) != 0:
            if target != 0 or board["size"][board["head"][near]] != 1:
                return False
            target = near
    return target != 0


@kernel
def _liberties_after(board: BoardRecord, point: int, color: int, limit: int) -> int:
    """Return the liberties of a stone played here, counted up to limit at most."""
    undo = np.empty(_UNDO_COLUMNS, np.int16)
    _try_move(board, point, color, undo)
    n = count_liberties(board, point, limit)
    _take_back(board, undo)
    return n


@kernel
def _is_double_ko_death(
    board: BoardRecord, chain: int, first: int, second: int, moves: Moves, begin: int
) -> bool:
    """Whether both liberties are kos that the chaser takes and the fleeing side cannot use."""
    color = np.int64(board["color"][chain])
    return (
        _is_ko_capture(board, first, 3 - color)
        and _is_ko_capture(board, second, 3 - color)
        and _liberties_after(board, first, color, 3) <= 2
        and _liberties_after(board, second, color, 3) <= 2
        and _find_captures(board, chain, moves, begin) == 0
    )


@kernel
def _connection_weight(board: BoardRecord, point: int, color: int) -> int:
    """Rate how much a stone here would gain by joining; for the order of moves only."""
    weight = 0
    for near in neighbors(board, point):
        if board["color"][near] == color:
            n = count_liberties(board, near, 16)
            if n > 1:
                weight += 2 * n - 3
    return weight


# Reading -----------------------------------------------------------------------------------------


@kernel
def _list_escapes(board: BoardRecord, chain: int, moves: Moves, begin: int) -> tuple[int, int]:
    """List the fleeing side's moves; return a verdict if there is one, and how many."""
    color = np.int64(board["color"][chain])
    head = np.int64(board["head"][chain])
    lone = _lone_liberty(board, head)
    if lone == 0 or board["ko_point"] != 0:
        return _ESCAPES, 0
    n = _find_captures(board, chain, moves, begin)
    n += _add_move(moves, begin, n, lone)
    lower, upper = _bound_liberties(board, np.int64(moves[begin + n - 1]), color)
    if lower >= 3:
        return _ESCAPES, n
    if n == 1 and upper <= 1:
        return _CAPTURED_NOW, n
    return _UNDECIDED, n


@kernel
def _list_chases(board: BoardRecord, chain: int, moves: Moves, begin: int) -> tuple[int, int]:
    """List the chasing side's moves; return a verdict if there is one, and how many."""
    color = np.int64(board["color"][chain])
    liberties = np.empty(3, np.int16)
    n = collect_liberties(board, chain, 3, liberties)
    if n != 2:
        return (_CAPTURED_NOW if n < 2 else _ESCAPES), 0
    first, second = np.int64(liberties[0]), np.int64(liberties[1])
    room = _count_empty_neighbors(board, first)
    other_room = _count_empty_neighbors(board, second)
    if (
        room == 0
        and other_room == 0
        and _is_double_ko_death(board, chain, first, second, moves, begin)
    ):
        return _CAPTURED_NOW, 0
    distance = abs(second - first)
    if distance != 1 and distance != board["stride"]:
        # Filling one does not narrow the other: with three free points beside it the chain is
        # out, so that liberty must be filled first.
        if room >= 3 and other_room >= 3:
            return _ESCAPES, 0
        if room >= 3 or other_room >= 3:
            moves[begin] = first if room >= 3 else second
            return _UNDECIDED, 1
    room = 2 * room + _connection_weight(board, first, color)
    other_room = 2 * other_room + _connection_weight(board, second, color)
    if other_room > room:
        first, second = second, first
    moves[begin] = first
    moves[begin + 1] = second
    return _UNDECIDED, 2


@kernel
def _cannot_flee(reader: Reader, chain: int) -> bool:
    """Read out whether a chain in atari is lost, its own side moving first.

    Even depths belong to the fleeing side. `lost` is what the last finished depth found.
    """
    board = reader.board[0]
    moves = reader.moves
    lists = reader.lists
    runner = np.int64(board["color"][chain])
    lists[0, 0] = 0
    depth = 0
    entering = True
    lost = False
    nodes = 0
    while depth >= 0:
        fleeing = depth % 2 == 0
        decided = False
        # 1. A position not seen before: list its moves, unless it is decided at sight.
        if entering:
            begin = np.int64(lists[depth, 0])
            if fleeing:
                verdict, n = _list_escapes(board, chain, moves, begin)
            else:
                verdict, n = _list_chases(board, chain, moves, begin)
            if depth >= _MAX_DEPTH - 2:
                verdict = _CAPTURED_NOW
            lists[depth, 1] = n
            lists[depth, 2] = 0
            decided = verdict != _UNDECIDED
            lost = verdict == _CAPTURED_NOW
        # 2. Back from a reply: the mover is content, or tries the next move.
        elif lost != fleeing:
            decided = True
        else:
            lists[depth, 2] += 1
        # 3. Find the next move that may be tried; without one the mover has failed.
        mover = runner if fleeing else 3 - runner
        if not decided:
            n = np.int64(lists[depth, 1])
            at = np.int64(lists[depth, 2])
            begin = np.int64(lists[depth, 0])
            while at < n and not _may_try(board, np.int64(moves[begin + at]), mover):
                at += 1
            lists[depth, 2] = at
            if at == n:
                decided = True
                lost = fleeing
        # 4. Go back up, or down one move.
        if decided:
            depth -= 1
            entering = False
            if depth >= 0:
                _take_back(board, reader.undo[depth])
            continue
        _try_move(board, np.int64(moves[begin + at]), mover, reader.undo[depth])
        nodes += 1
        depth += 1
        if nodes >= NODE_BUDGET or begin + n > _MAX_MOVES - 2 * MAX_SIZE * MAX_SIZE:
            while depth > 0:
                depth -= 1
                _take_back(board, reader.undo[depth])
            return False
        lists[depth, 0] = begin + n
        entering = True
    return lost


@kernel
def _flees_at_once(board: BoardRecord, chain: int, filled: int, last: int) -> bool:
    """Whether extending at `last` after the chaser filled the other liberty clearly escapes.

    This only saves the reading: three liberties are counted without playing a stone.
    """
    stride = board["stride"]
    room = _count_empty_neighbors(board, last)
    if abs(last - filled) == 1 or abs(last - filled) == stride:
        room -= 1
    return room >= 3


@kernel
def _read_two_liberties(reader: Reader, chain: int, first: int, second: int) -> tuple[bool, bool]:
    """Return for both liberties of a chain whether filling it captures the chain in a ladder."""
    board = reader.board[0]
    chaser = 3 - np.int64(board["color"][chain])
    undo = np.empty(_UNDO_COLUMNS, np.int16)
    works = False
    other_works = False
    if not _flees_at_once(board, chain, first, second) and _may_try(board, first, chaser):
        _try_move(board, first, chaser, undo)
        board["ko_point"] = 0  # kos are taken to work for the fleeing side
        works = _cannot_flee(reader, chain)
        _take_back(board, undo)
    if not _flees_at_once(board, chain, second, first) and _may_try(board, second, chaser):
        _try_move(board, second, chaser, undo)
        board["ko_point"] = 0
        other_works = _cannot_flee(reader, chain)
        _take_back(board, undo)
    return works, other_works


@inline_kernel
def _set_bit(words: npt.NDArray[np.uint64], point: int) -> None:
    words[point >> 6] |= np.uint64(1) << np.uint64(point & 63)


@kernel
def has_bit(words: npt.NDArray[np.uint64], point: int) -> bool:
    """Whether a point is in a bit set."""
    return (words[point >> 6] >> np.uint64(point & 63)) & np.uint64(1) != np.uint64(0)


@kernel
def _set_chain(board: BoardRecord, head: int, words: npt.NDArray[np.uint64]) -> None:
    stone = np.int64(head)
    while True:
        _set_bit(words, stone)
        stone = np.int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _read_board(reader: Reader, board: BoardRecord, found: Any) -> None:
    """Read all ladders of a board into a LADDERS record."""
    found["chains"][:] = np.uint64(0)
    found["working"][:] = np.uint64(0)
    scratch = reader.board[0]
    _copy_stones(scratch, board)
    liberties = np.empty(3, np.int16)
    for head in range(board["n_points"]):
        # Two liberties make at most eight contacts.
        if not is_head(board, head) or board["pseudo"][head] > 8:
            continue
        color = np.int64(board["color"][head])
        n = collect_liberties(board, head, 3, liberties)
        if n == 1:
            scratch["ko_point"] = 0
            if _cannot_flee(reader, head):
                _set_chain(board, head, found["chains"])
            scratch["ko_point"] = board["ko_point"]
        elif n == 2:
            first, second = np.int64(liberties[0]), np.int64(liberties[1])
            works, other_works = _read_two_liberties(reader, head, first, second)
            if works:
                _set_bit(found["working"][color], first)
            if other_works:
                _set_bit(found["working"][color], second)
            if works or other_works:
                _set_chain(board, head, found["chains"])


@kernel
def find_ladders(reader: Reader, board: BoardRecord) -> int:
    """Return the index in `reader.memory` of a board's ladders, reading them if need be.

    The record stays valid until the next call.
    """
    key = np.uint64(board["hash"])
    key ^= np.uint64(board["ko_point"]) * np.uint64(0x9E3779B97F4A7C15)
    key ^= np.uint64(board["stride"]) * np.uint64(0xC2B2AE3D27D4EB4F)
    key ^= np.uint64(board["n_points"]) * np.uint64(0x165667B19E3779F9)
    slot = np.int64(key & np.uint64(len(reader.memory) - 1))
    if reader.memory[slot]["key"] != key:
        _read_board(reader, board, reader.memory[slot])
        reader.memory[slot]["key"] = key
    return slot
