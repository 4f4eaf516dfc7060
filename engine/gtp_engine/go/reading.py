"""Reading out whether a chain can be captured: proof-number search with explicit stacks.

One side attacks a chain, the other defends it. The attack has worked when the chain is off the
board; the defence when the chain has so many liberties that it counts as out. Moves are those near
the fight: liberties and what lies behind them, captures, the liberties of chains in danger.

The search is depth-first proof-number search (A. Nagai, "Df-pn algorithm for searching AND/OR
trees", 2002): each position has the number of positions that would have to be decided for a proof
that the chain is captured, and for a proof that it is not; the search works where least is missing.

A ko is read three times, each time with another answer to who may take kos: the defender alone,
both, each when the ban on retaking allows it, or the attacker alone.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, PASS, WALL
from gtp_engine.go.board import (
    BOARD,
    BoardRecord,
    collect_liberties,
    count_liberties,
    hash_after,
    is_suicide,
    neighbors,
)
from gtp_engine.go.ladders import add_move, find_captures, is_ko_capture
from gtp_engine.go.trial_moves import UNDO_ROW, Work, take_back, try_move
from gtp_engine.kernels import int64, kernel, uint64

OUT = 5
"""So many liberties, and a chain counts as out."""

NEVER = 1 << 20
"""A proof number: no proof is possible."""

NODES = np.dtype(
    [
        ("key", np.uint64),
        ("search", np.int32),  # which search it belongs to; an older one's slot is free
        ("proof", np.int32),  # 0: the chain is captured
        ("disproof", np.int32),  # 0: it is not
        ("move", np.int16),  # once decided, the move that decides or resists longest
        ("plies", np.int16),  # once decided, how many moves that takes
        ("is_open", np.int16),  # whether the search is at work below this node
    ],
    align=True,
)

MAX_DEPTH = 240
_MAX_MOVES = 48
"""Moves looked at in one position."""
_BEGIN, _COUNT, _PROOF, _DISPROOF, _CHOSEN, _SECOND, _SLOT, _KO = 0, 1, 2, 3, 4, 5, 6, 7
_FRAME = 8

_SEARCH, _USED, _MET_KO, _CUT = 0, 1, 2, 3


class Memory(NamedTuple):
    """Working memory of a search. One for each thread."""

    nodes: npt.NDArray[Any]
    """[slots] of NODES; slots are a power of two."""
    board: npt.NDArray[Any]
    """[1] of BOARD: where moves are tried."""
    work: Work
    """[MAX_DEPTH + 1, UNDO_ROW], flat: how to take moves back."""
    moves: npt.NDArray[np.int16]
    """[MAX_DEPTH, _MAX_MOVES], flat: the moves of each depth."""
    slots: npt.NDArray[np.int32]
    """[MAX_DEPTH, _MAX_MOVES], flat: where the positions after them are kept."""
    frames: npt.NDArray[np.int64]
    """[MAX_DEPTH, _FRAME]: where the search stands at each depth."""
    hashes: npt.NDArray[np.uint64]
    """[MAX_DEPTH]: hash of the stones at each depth."""
    counts: npt.NDArray[np.int64]
    """[4]: number of the search, slots used, whether a ko was met, whether it was too deep."""


def new_memory(slots: int = 1 << 16) -> Memory:
    """Return memory for searches of half as many positions as there are slots."""
    return Memory(
        np.zeros(slots, NODES),
        np.zeros(1, BOARD),
        np.zeros((MAX_DEPTH + 1) * UNDO_ROW, np.int16),
        np.zeros(MAX_DEPTH * _MAX_MOVES, np.int16),
        np.zeros(MAX_DEPTH * _MAX_MOVES, np.int32),
        np.zeros((MAX_DEPTH, _FRAME), np.int64),
        np.zeros(MAX_DEPTH, np.uint64),
        np.zeros(4, np.int64),
    )


# Which moves ------------------------------------------------------------------------------------


@kernel
def _may_play(memory: Memory, board: BoardRecord, point: int, color: int, ko_master: int) -> bool:
    """Whether a move is allowed: no suicide, and no ko that this side may not take."""
    if is_suicide(board, point, color):
        return False
    if not is_ko_capture(board, point, color):
        return True
    memory.counts[_MET_KO] = 1
    if ko_master == 0:
        return bool(point != board["ko_point"])
    return bool(color == ko_master)


@kernel
def _add_liberties(
    board: BoardRecord, chain: int, most: int, moves: Work, begin: int, n: int
) -> int:
    """Add the liberties of a chain that has no more than so many; return how many moves now."""
    found = np.empty(8, np.int16)
    count = collect_liberties(board, chain, most + 1, found)
    if count <= most:
        for i in range(count):
            n += add_move(moves, begin, n, int64(found[i]))
    return n


@kernel
def _add_captures(board: BoardRecord, chain: int, moves: Work, begin: int, n: int) -> int:
    """Add the captures of chains in atari around a chain; return how many moves there are now."""
    found = np.empty(64, np.int16)
    for i in range(find_captures(board, chain, found, int64(0))):
        n += add_move(moves, begin, n, int64(found[i]))
    return n


@kernel
def _add_around(
    board: BoardRecord, chain: int, most: int, moves: Work, begin: int, n: int, captures: bool
) -> int:
    """Add the liberties of enemy chains around a chain that have no more than so many.

    With `captures` what captures a chain in atari around those is added too.
    """
    enemy = 3 - int64(board["color"][chain])
    seen = np.empty(32, np.int16)
    n_seen = 0
    stone = chain
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == enemy and n_seen < 32:
                head = int64(board["head"][near])
                known = n_seen
                n_seen += add_move(seen, int64(0), n_seen, head)
                if n_seen > known and n < _MAX_MOVES - 16:
                    n = _add_liberties(board, head, most, moves, begin, n)
                    if captures and count_liberties(board, head, most + 1) <= most:
                        n = _add_captures(board, head, moves, begin, n)
        stone = int64(board["next"][stone])
        if stone == chain:
            return n


@kernel
def _add_near_liberties(
    board: BoardRecord, chain: int, attacking: bool, moves: Work, begin: int, n: int
) -> int:
    """Add what lies behind the liberties of a chain: empty points, and friends in danger."""
    color = int64(board["color"][chain])
    found = np.empty(8, np.int16)
    count = collect_liberties(board, chain, int64(OUT), found)
    for i in range(count):
        for near in neighbors(board, int64(found[i])):
            if board["color"][near] == EMPTY and n < _MAX_MOVES - 16:
                n += add_move(moves, begin, n, near)
    for i in range(count):
        for near in neighbors(board, int64(found[i])):
            if board["color"][near] == WALL or n >= _MAX_MOVES - 16:
                continue
            head = int64(board["head"][near])
            if board["color"][near] == color and head != board["head"][chain]:
                n = _add_liberties(board, head, int64(2), moves, begin, n)
                if not attacking:
                    n = _add_captures(board, head, moves, begin, n)
            elif board["color"][near] == 3 - color:
                n = _add_liberties(board, head, int64(2), moves, begin, n)
    return n


@kernel
def _list_moves(board: BoardRecord, chain: int, attacking: bool, moves: Work, begin: int) -> int:
    """List the moves of a side that may be worth reading, the likely ones first."""
    n = 0
    if not attacking and count_liberties(board, chain, int64(2)) == 1:
        n = _add_captures(board, chain, moves, begin, n)
        return _add_liberties(board, chain, int64(1), moves, begin, n)
    if attacking:
        n = _add_liberties(board, chain, int64(OUT), moves, begin, n)
        n = _add_around(board, chain, int64(2), moves, begin, n, True)
    else:
        n = _add_captures(board, chain, moves, begin, n)
        n = _add_liberties(board, chain, int64(OUT), moves, begin, n)
        n = _add_around(board, chain, int64(3), moves, begin, n, False)
    return _add_near_liberties(board, chain, attacking, moves, begin, n)


# The tree ---------------------------------------------------------------------------------------


@kernel
def _slot_of(memory: Memory, key: int) -> int:
    """Return the slot of a position; one that is free if it is not there yet."""
    mask = len(memory.nodes) - 1
    slot = int64(uint64(key) & uint64(mask))
    while True:
        node = memory.nodes[slot]
        if node["search"] != memory.counts[_SEARCH] or node["key"] == key:
            return slot
        slot = (slot + 1) & mask


@kernel
def _key(board: BoardRecord, move: int, color: int, ko_master: int) -> int:
    """Return the key of the position after a move."""
    key = uint64(board["hash"])
    if move != PASS:
        key = uint64(hash_after(board, move, color))
        if ko_master == 0 and is_ko_capture(board, move, color):
            key ^= uint64(move) * uint64(0x9E3779B97F4A7C15)
    if color == 1:
        key ^= uint64(0xC2B2AE3D27D4EB4F)
    return key


@kernel
def _judge(
    memory: Memory,
    board: BoardRecord,
    slot: int,
    chain: int,
    color: int,
    attacking: bool,
    k: int,
    ko_master: int,
) -> None:
    """Write down what can be seen of a position without reading on; `attacking` side to move."""
    node = memory.nodes[slot]
    node["move"] = PASS
    node["plies"] = 0
    node["is_open"] = 0
    if board["color"][chain] != color:
        node["proof"], node["disproof"] = 0, NEVER
        return
    found = np.empty(8, np.int16)
    n = collect_liberties(board, chain, k, found)
    if n >= k:
        node["proof"], node["disproof"] = NEVER, 0
    elif attacking:
        if n == 1 and _may_play(memory, board, int64(found[0]), 3 - color, ko_master):
            node["proof"], node["disproof"] = 0, NEVER
            node["move"], node["plies"] = found[0], 1
        else:
            node["proof"], node["disproof"] = 2 * n * n, max(1, 8 - 2 * n)
    else:
        node["proof"], node["disproof"] = 2 * n * n, max(1, 6 - 2 * n)


@kernel
def _play(memory: Memory, board: BoardRecord, move: int, color: int, depth: int) -> None:
    memory.hashes[depth] = board["hash"]
    memory.frames[depth, _KO] = board["ko_point"]
    if move == PASS:
        board["ko_point"] = 0
    else:
        after = hash_after(board, move, color)
        try_move(board, move, color, memory.work, UNDO_ROW * depth)
        board["hash"] = after


@kernel
def _unplay(memory: Memory, board: BoardRecord, move: int, depth: int) -> None:
    if move == PASS:
        board["ko_point"] = memory.frames[depth, _KO]
    else:
        take_back(board, memory.work, UNDO_ROW * depth)
    board["hash"] = memory.hashes[depth]


@kernel
def _expand(
    memory: Memory,
    board: BoardRecord,
    depth: int,
    chain: int,
    color: int,
    mover: int,
    k: int,
    ko_master: int,
) -> None:
    """List the moves of a position and find or make the nodes behind them."""
    attacking = mover != color
    begin = depth * _MAX_MOVES
    moves = memory.moves
    listed = _list_moves(board, chain, attacking, moves, begin)
    n = 0
    for i in range(listed):
        move = int64(moves[begin + i])
        if _may_play(memory, board, move, mover, ko_master):
            moves[begin + n] = move
            n += 1
    # Who is not threatened may look on, and whom a ko bans must.
    in_atari = count_liberties(board, chain, int64(2)) == 1
    may_pass = board["ko_point"] != 0 if attacking else not in_atari
    if may_pass or (in_atari and not attacking and ko_master != 3 - color):
        moves[begin + n] = PASS
        n += 1
    for i in range(n):
        move = int64(moves[begin + i])
        key = _key(board, move, mover, ko_master)
        slot = _slot_of(memory, key)
        memory.slots[begin + i] = slot
        node = memory.nodes[slot]
        if node["search"] != memory.counts[_SEARCH]:
            node["search"] = memory.counts[_SEARCH]
            node["key"] = key
            memory.counts[_USED] += 1
            _play(memory, board, move, mover, depth)
            _judge(memory, board, slot, chain, color, not attacking, k, ko_master)
            _unplay(memory, board, move, depth)
    memory.frames[depth, _BEGIN] = begin
    memory.frames[depth, _COUNT] = n


@kernel
def _weigh(memory: Memory, depth: int, attacking: bool) -> tuple[int, int]:
    """Return a position's proof and disproof numbers; note the child to read, and the next best.

    The attacker needs one child proved, the defender one disproved.
    """
    frame = memory.frames[depth]
    best, second, total = NEVER, NEVER, 0
    chosen = 0
    shortest, longest = 10_000, -1
    quick, slow = 0, 0
    for i in range(frame[_COUNT]):
        node = memory.nodes[memory.slots[frame[_BEGIN] + i]]
        proof, disproof = int64(node["proof"]), int64(node["disproof"])
        if node["is_open"]:  # a position comes back: the attack makes no progress
            proof, disproof = NEVER, 0
        wanted, other = (proof, disproof) if attacking else (disproof, proof)
        if wanted < best:
            best, second, chosen = wanted, best, i
        elif wanted < second:
            second = wanted
        total = min(total + other, NEVER)
        if wanted == 0 and node["plies"] < shortest:
            shortest, quick = int64(node["plies"]), i
        if other == 0 and node["plies"] > longest:
            longest, slow = int64(node["plies"]), i
    frame[_CHOSEN] = chosen
    frame[_SECOND] = second
    if best == 0:
        _note(memory, depth, quick, shortest)
        total = NEVER
    elif best == NEVER:
        _note(memory, depth, slow, longest)
        total = 0
    return (best, total) if attacking else (total, best)


@kernel
def _note(memory: Memory, depth: int, index: int, plies: int) -> None:
    """Write down the move that decides a position."""
    frame = memory.frames[depth]
    node = memory.nodes[frame[_SLOT]]
    node["move"] = memory.moves[frame[_BEGIN] + index] if frame[_COUNT] else PASS
    node["plies"] = plies + 1


@kernel
def search(memory: Memory, chain: int, first: int, k: int, ko_master: int, budget: int) -> int:
    """Read out the chain at a stone of `memory.board`, which is left as it was.

    Args:
        memory: Working memory.
        chain: A stone of the chain.
        first: Who moves first.
        k: So many liberties are out.
        ko_master: The color that may take kos, or 0: both when not banned.
        budget: Positions to look at.

    Returns:
        1 if it is captured, 0 if not, -1 if that is not settled within the budget.
    """
    board = memory.board[0]
    color = int64(board["color"][chain])
    memory.counts[_SEARCH] += 1
    memory.counts[_USED] = 0
    memory.counts[_CUT] = 0
    key = uint64(board["hash"])
    if first == 2:
        key ^= uint64(0xC2B2AE3D27D4EB4F)
    if ko_master == 0 and board["ko_point"] != 0:
        key ^= uint64(1)
    slot = _slot_of(memory, key)
    root = memory.nodes[slot]
    root["key"] = key
    root["search"] = memory.counts[_SEARCH]
    _judge(memory, board, slot, chain, color, first != color, k, ko_master)
    if root["proof"] == 0 or root["disproof"] == 0:
        return int64(root["proof"] == 0)
    frames = memory.frames
    frames[0, _SLOT] = slot
    frames[0, _PROOF] = NEVER
    frames[0, _DISPROOF] = NEVER
    depth = 0
    entering = True
    while True:
        mover = first if depth % 2 == 0 else 3 - first
        attacking = mover != color
        node = memory.nodes[frames[depth, _SLOT]]
        # 1. A position come to from above: find its children.
        if entering:
            node["is_open"] = 1
            _expand(memory, board, depth, chain, color, mover, k, ko_master)
        # 2. What they say of it.
        proof, disproof = _weigh(memory, depth, attacking)
        node["proof"], node["disproof"] = proof, disproof
        stops = memory.counts[_USED] >= budget
        # 3. Back up when it is settled or another line has become more promising.
        if stops or proof >= frames[depth, _PROOF] or disproof >= frames[depth, _DISPROOF]:
            node["is_open"] = 0
            if depth == 0:
                if proof == 0:
                    return 1
                return -1 if disproof or memory.counts[_CUT] else 0
            depth -= 1
            chosen = frames[depth, _BEGIN] + frames[depth, _CHOSEN]
            _unplay(memory, board, int64(memory.moves[chosen]), depth)
            entering = False
            continue
        # 4. Or read on where least is missing.
        at = frames[depth, _BEGIN] + frames[depth, _CHOSEN]
        child = memory.nodes[memory.slots[at]]
        second = frames[depth, _SECOND]
        if depth >= MAX_DEPTH - 2:
            child["proof"], child["disproof"] = NEVER, 0
            memory.counts[_CUT] = 1
            entering = False
            continue
        if attacking:
            frames[depth + 1, _PROOF] = min(frames[depth, _PROOF], second + 1 + second // 4)
            frames[depth + 1, _DISPROOF] = frames[depth, _DISPROOF] - disproof + child["disproof"]
        else:
            frames[depth + 1, _DISPROOF] = min(frames[depth, _DISPROOF], second + 1 + second // 4)
            frames[depth + 1, _PROOF] = frames[depth, _PROOF] - proof + child["proof"]
        frames[depth + 1, _SLOT] = memory.slots[at]
        _play(memory, board, int64(memory.moves[at]), mover, depth)
        depth += 1
        entering = True


@kernel
def follow(memory: Memory, chain: int, first: int, ko_master: int, line: Work) -> int:
    """Write the moves of the line that the last search found, from its position; return how many.

    `memory.board` is played on.
    """
    board = memory.board[0]
    color = int64(board["color"][chain])
    mover = first
    key = uint64(board["hash"])
    if first == 2:
        key ^= uint64(0xC2B2AE3D27D4EB4F)
    if ko_master == 0 and board["ko_point"] != 0:
        key ^= uint64(1)
    n = 0
    while n < min(len(line), MAX_DEPTH) and board["color"][chain] == color:
        slot = _slot_of(memory, key)
        node = memory.nodes[slot]
        is_known = node["search"] == memory.counts[_SEARCH]
        if not is_known or node["plies"] == 0 or (node["proof"] and node["disproof"]):
            break
        move = int64(node["move"])
        line[n] = move
        n += 1
        key = _key(board, move, mover, ko_master)
        _play(memory, board, move, mover, int64(0))
        mover = 3 - mover
    return n
