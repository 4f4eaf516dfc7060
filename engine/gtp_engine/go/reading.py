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
    ko_target,
    neighbors,
    touches_color,
)
from gtp_engine.go.ladders import add_move
from gtp_engine.go.trial_moves import UNDO_ROW, Work, take_back, try_move
from gtp_engine.kernels import int64, kernel, uint64

OUT = 5
"""So many liberties, and a chain counts as out."""

FOUR_DEPTH, THREE_DEPTH = 9, 19
"""From so many moves on, a chain is out with a liberty less, and with two less."""

TIER_DEPTHS = (0, 300, 12, 4)
"""By tier, up to how many moves on its moves are looked at."""

LOOSE = 5
"""In the tree an attacker looks at moves of a tier only if it and the liberties are no more."""

KO_THREATS = 2
"""So many bans the master of kos may break on the way."""

NEVER = 1 << 20
"""A proof number: no proof is possible."""

NODES = np.dtype(
    [
        ("key", np.uint64),
        ("search", np.int64),  # which search it belongs to; an older one's slot is free
        ("proof", np.int32),  # 0: the chain is captured
        ("disproof", np.int32),  # 0: it is not
        ("move", np.int16),  # once decided, the move that decides or resists longest
        ("plies", np.int16),  # once decided, how many moves that takes
        ("is_open", np.int16),  # whether the search is at work below this node
        ("tier", np.int16),  # which moves are looked at
    ],
    align=True,
)

MAX_DEPTH = 240
_MAX_MOVES = 48
"""Moves looked at in one position."""
_NODE_SLOTS = 1 << 18
"""Where positions are kept; a power of two."""
_PROOF, _DISPROOF, _CHOSEN, _SECOND, _SLOT, _KO = 0, 1, 2, 3, 4, 5
_FRAME = 6

_SEARCH, _USED, MET_KO, _CUT, _BROKEN = 0, 1, 2, 3, 4


class Memory(NamedTuple):
    """Working memory of a search. One for each thread."""

    nodes: npt.NDArray[Any]
    """[slots] of NODES; slots are a power of two."""
    board: npt.NDArray[Any]
    """[1] of BOARD: where moves are tried."""
    work: Work
    """[MAX_DEPTH + 1, UNDO_ROW], flat: how to take moves back."""
    moves: npt.NDArray[np.int16]
    """[MAX_DEPTH, 1 + _MAX_MOVES]: how many moves each depth has, and the moves."""
    slots: npt.NDArray[np.int32]
    """[MAX_DEPTH, 1 + _MAX_MOVES]: where the positions after them are kept."""
    frames: npt.NDArray[np.int64]
    """[MAX_DEPTH, _FRAME]: where the search stands at each depth."""
    hashes: npt.NDArray[np.uint64]
    """[MAX_DEPTH]: hash of the stones at each depth."""
    counts: npt.NDArray[np.int64]
    """[5]: number of the search, slots used, whether a ko was met, whether it was too deep, bans
    that the master of kos has broken on the way."""


def new_memory() -> Memory:
    """Return memory for searches of half as many positions as there are slots."""
    return Memory(
        np.zeros(_NODE_SLOTS, NODES),
        np.zeros(1, BOARD),
        np.zeros((MAX_DEPTH + 1) * UNDO_ROW, np.int16),
        np.zeros((MAX_DEPTH, 1 + _MAX_MOVES), np.int16),
        np.zeros((MAX_DEPTH, 1 + _MAX_MOVES), np.int32),
        np.zeros((MAX_DEPTH, _FRAME), np.int64),
        np.zeros(MAX_DEPTH, np.uint64),
        np.zeros(5, np.int64),
    )


# Which moves ------------------------------------------------------------------------------------


@kernel
def _may_play(memory: Memory, board: BoardRecord, point: int, color: int, ko_master: int) -> bool:
    """Whether a move is allowed: no suicide, and a banned ko for its master alone."""
    if point == board["ko_point"]:
        memory.counts[MET_KO] = 1
        return bool(color == ko_master and memory.counts[_BROKEN] < KO_THREATS)
    return not is_suicide(board, point, color)


@kernel
def _may_capture(memory: Memory, board: BoardRecord, chain: int, ko_master: int) -> bool:
    """Whether a chain is in atari and may be taken so that nothing can take its place."""
    found = np.empty(8, np.int16)
    if collect_liberties(board, chain, int64(2), found) > 1:
        return False
    attacker = 3 - int64(board["color"][chain])
    last = int64(found[0])
    if not _may_play(memory, board, last, attacker, ko_master):
        return False
    if board["size"][board["head"][chain]] > 1 or touches_color(board, last, EMPTY):
        return True
    try_move(board, last, attacker, memory.work, UNDO_ROW * MAX_DEPTH)
    is_final = not _may_retake(memory, board, chain, 3 - attacker, ko_master)
    take_back(board, memory.work, UNDO_ROW * MAX_DEPTH)
    return is_final


@kernel
def _may_retake(memory: Memory, board: BoardRecord, point: int, color: int, ko_master: int) -> bool:
    """Whether a stone just taken can be put back so that it takes what took it."""
    return not touches_color(board, point, EMPTY) and _may_play(
        memory, board, point, color, ko_master
    )


@kernel
def _add(board: BoardRecord, point: int, moves: Work) -> None:
    """Add a point to a list, which begins with its length, if it is empty, new and has room."""
    n = int64(moves[0])
    if board["color"][point] != EMPTY or n == _MAX_MOVES - 1:
        return
    for i in range(1, n + 1):
        if moves[i] == point:
            return
    moves[0] = n + 1
    moves[n + 1] = point


@kernel
def _add_liberties(board: BoardRecord, chain: int, most: int, moves: Work) -> int:
    """Add the liberties of a chain that has no more than so many; return how many, or one more."""
    found = np.empty(8, np.int16)
    count = collect_liberties(board, chain, most + 1, found)
    for i in range(count if count <= most else 0):
        _add(board, int64(found[i]), moves)
    return count


@kernel
def _add_captures(board: BoardRecord, chain: int, moves: Work) -> None:
    """Add the captures of chains in atari around a chain."""
    stone = chain
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == 3 - board["color"][chain]:
                _add_liberties(board, near, int64(1), moves)
        stone = int64(board["next"][stone])
        if stone == chain:
            return


@kernel
def _add_behind(board: BoardRecord, chain: int, moves: Work) -> None:
    """Add what lies behind the liberties of a chain: empty points, liberties of weak chains."""
    found = np.empty(8, np.int16)
    for i in range(collect_liberties(board, chain, int64(OUT), found)):
        for near in neighbors(board, int64(found[i])):
            if board["color"][near] == EMPTY:
                _add(board, near, moves)
            elif board["color"][near] != WALL:
                _add_liberties(board, near, int64(2), moves)
                _add_captures(board, near, moves)


@kernel
def _add_around(
    board: BoardRecord, chain: int, most: int, behind: int, saving: bool, moves: Work
) -> None:
    """Add the liberties of enemy chains around a chain that have no more than so many.

    Args:
        most: Liberties of those enemy chains.
        behind: Up to so many liberties, what lies behind them is added too.
        saving: Add what captures around those chains too.
    """
    seen = np.empty(32, np.int16)
    n_seen = int64(0)
    stone = chain
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == 3 - board["color"][chain] and n_seen < 32:
                head = int64(board["head"][near])
                if add_move(seen, int64(0), n_seen, head):
                    n_seen += 1
                    liberties = _add_liberties(board, head, most, moves)
                    if liberties <= behind:
                        _add_behind(board, head, moves)
                    if liberties <= most and saving:
                        _add_captures(board, head, moves)
        stone = int64(board["next"][stone])
        if stone == chain:
            return


@kernel
def _add_beside_liberties(
    board: BoardRecord, chain: int, friends: int, enemies: int, attacking: bool, moves: Work
) -> None:
    """Add the liberties of chains beside the liberties of a chain: how it could connect.

    Args:
        friends: Liberties of the chains of its color at most.
        enemies: Liberties of the others at most.
    """
    color = board["color"][chain]
    found = np.empty(8, np.int16)
    for i in range(collect_liberties(board, chain, int64(OUT), found)):
        for near in neighbors(board, int64(found[i])):
            if board["color"][near] == color and board["head"][near] != board["head"][chain]:
                _add_liberties(board, near, friends, moves)
                if not attacking or enemies > 1:
                    _add_around(board, near, enemies, int64(0), False, moves)
            elif board["color"][near] == 3 - color:
                _add_liberties(board, near, enemies, moves)


@kernel
def _list_moves(board: BoardRecord, chain: int, attacking: bool, tier: int, moves: Work) -> None:
    """List the moves of a side that may be worth reading, the likely ones first.

    Each tier up to 3 has the moves of those before it and more.
    """
    if not attacking:
        _add_captures(board, chain, moves)
    _add_liberties(board, chain, int64(OUT), moves)
    _add_around(board, chain, int64(1 if attacking else 2), int64(0), attacking, moves)
    if tier > 1:
        _add_behind(board, chain, moves)
        _add_around(board, chain, int64(2 if attacking else 3), int64(0), attacking, moves)
        _add_beside_liberties(board, chain, int64(2), int64(1), attacking, moves)
    if tier > 2:
        _add_around(board, chain, int64(4), int64(2), attacking, moves)
        _add_beside_liberties(board, chain, int64(4), int64(3), attacking, moves)


@kernel
def _out_at(depth: int) -> int:
    """Return how many liberties count as out so many moves on."""
    return OUT if depth < FOUR_DEPTH else OUT - 1 if depth < THREE_DEPTH else OUT - 2


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
def _key(memory: Memory, board: BoardRecord, move: int, color: int) -> int:
    """Return the key of the position after a move."""
    key = uint64(board["hash"])
    if move != PASS:
        key = uint64(hash_after(board, move, color))
        if ko_target(board, move, color) != 0:
            key ^= uint64(move) * uint64(0x9E3779B97F4A7C15)
    broken = memory.counts[_BROKEN] + (move != PASS and move == board["ko_point"])
    key ^= uint64(broken) * uint64(0x165667B19E3779F9)
    if color == 1:
        key ^= uint64(0xC2B2AE3D27D4EB4F)
    return key


@kernel
def _root_key(board: BoardRecord, first: int) -> int:
    """Return the key of the position that is read."""
    key = uint64(board["hash"]) ^ uint64(board["ko_point"] != 0)
    return key ^ uint64(0xC2B2AE3D27D4EB4F) if first == 2 else key


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
    node["tier"] = 1
    if board["color"][chain] != color:
        node["proof"], node["disproof"] = 0, NEVER
        if _may_retake(memory, board, chain, color, ko_master):
            node["proof"], node["disproof"] = 2, 2
        return
    n = count_liberties(board, chain, k)
    if n >= k:
        node["proof"], node["disproof"] = NEVER, 0
    elif attacking and _may_capture(memory, board, chain, ko_master):
        node["proof"], node["disproof"] = 0, NEVER
        node["plies"] = 1
    else:
        node["proof"], node["disproof"] = max(1, 2 * n * n), 1 + k - n


@kernel
def _play(memory: Memory, board: BoardRecord, move: int, color: int, depth: int) -> None:
    memory.hashes[depth] = board["hash"]
    memory.frames[depth, _KO] = board["ko_point"]
    if move == PASS:
        board["ko_point"] = 0
    else:
        memory.counts[_BROKEN] += move == board["ko_point"]
        after = hash_after(board, move, color)
        try_move(board, move, color, memory.work, UNDO_ROW * depth)
        board["hash"] = after


@kernel
def _unplay(memory: Memory, board: BoardRecord, move: int, depth: int) -> None:
    if move == PASS:
        board["ko_point"] = memory.frames[depth, _KO]
    else:
        take_back(board, memory.work, UNDO_ROW * depth)
        memory.counts[_BROKEN] -= move == board["ko_point"]
    board["hash"] = memory.hashes[depth]


@kernel
def _expand(
    memory: Memory,
    board: BoardRecord,
    depth: int,
    chain: int,
    color: int,
    mover: int,
    ko_master: int,
) -> None:
    """List the moves of a position and find or make the nodes behind them."""
    attacking = mover != color
    moves = memory.moves[depth]
    moves[0] = 0
    may_pass = False
    if board["color"][chain] != color:
        _add(board, chain, moves)
    elif not attacking and _may_capture(memory, board, chain, ko_master):
        _add_captures(board, chain, moves)
        _add_liberties(board, chain, int64(1), moves)
        if board["size"][board["head"][chain]] == 1:  # what takes one stone may be taken back
            _add_around(board, chain, int64(2), int64(0), False, moves)
    else:
        tier = int64(memory.nodes[memory.frames[depth, _SLOT]]["tier"])
        _list_moves(board, chain, attacking, tier, moves)
        may_pass = depth > 0 and (not attacking or board["ko_point"] != 0)
    n = int64(0)
    for i in range(1, int64(moves[0]) + 1):
        if _may_play(memory, board, int64(moves[i]), mover, ko_master):
            n += 1
            moves[n] = moves[i]
    # Who is not threatened may look on, and whom a ko bans must.
    if may_pass:
        n += 1
        moves[n] = PASS
    moves[0] = n
    k = _out_at(depth + 1)
    for i in range(1, n + 1):
        move = int64(moves[i])
        key = _key(memory, board, move, mover)
        slot = _slot_of(memory, key)
        memory.slots[depth, i] = slot
        node = memory.nodes[slot]
        if node["search"] != memory.counts[_SEARCH]:
            node["search"] = memory.counts[_SEARCH]
            node["key"] = key
            memory.counts[_USED] += 1
            _play(memory, board, move, mover, depth)
            _judge(memory, board, slot, chain, color, not attacking, k, ko_master)
            _unplay(memory, board, move, depth)


@kernel
def _weigh(memory: Memory, depth: int, attacking: bool) -> tuple[int, int]:
    """Return a position's proof and disproof numbers; note the child to read, and the next best.

    The attacker needs one child proved, the defender one disproved.
    """
    frame = memory.frames[depth]
    best, second, total = NEVER, NEVER, 0
    chosen = 0
    shortest, longest = int64(10_000), int64(-1)
    quick, slow = int64(0), int64(0)
    for i in range(1, int64(memory.moves[depth, 0]) + 1):
        node = memory.nodes[memory.slots[depth, i]]
        proof, disproof = int64(node["proof"]), int64(node["disproof"])
        if node["is_open"]:  # a position comes back: the attack makes no progress
            proof, disproof = NEVER, 0
        wanted, other = (proof, disproof) if attacking else (disproof, proof)
        if wanted < best:
            best, second, chosen = wanted, best, i
        elif wanted < second:
            second = wanted
        undecided = other > 0 and total > 0
        total = min(NEVER, max(total, other) + undecided)
        if wanted == 0 and node["plies"] < shortest:
            shortest, quick = int64(node["plies"]), int64(i)
        if other == 0 and node["plies"] > longest:
            longest, slow = int64(node["plies"]), int64(i)
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
    node = memory.nodes[memory.frames[depth, _SLOT]]
    node["move"] = memory.moves[depth, index] if memory.moves[depth, 0] else PASS
    node["plies"] = plies + 1


@kernel
def search(memory: Memory, chain: int, first: int, ko_master: int, tiers: int, budget: int) -> int:
    """Read out the chain at a stone of `memory.board`, which is left as it was.

    Args:
        ko_master: The color that may take kos, or 0: both when not banned.
        tiers: Which moves of the attacker to look at, 1 to 3.

    Returns:
        1 if it is captured, 0 if not, -1 if that is not settled within the budget.
    """
    board = memory.board[0]
    color = int64(board["color"][chain])
    memory.counts[_SEARCH] += 1
    memory.counts[_USED] = 0
    memory.counts[_CUT] = 0
    key = _root_key(board, first)
    slot = _slot_of(memory, key)
    root = memory.nodes[slot]
    root["key"] = key
    root["search"] = memory.counts[_SEARCH]
    _judge(memory, board, slot, chain, color, first != color, int64(OUT), ko_master)
    if root["proof"] == 0 or root["disproof"] == 0:
        return int64(root["proof"] == 0)
    if first != color:
        root["tier"] = tiers
    frames = memory.frames
    frames[0, _SLOT] = slot
    memory.counts[_BROKEN] = 0
    frames[0, _PROOF] = NEVER
    frames[0, _DISPROOF] = NEVER
    depth = int64(0)
    steps = 0
    entering = True
    while True:
        mover = first if depth % 2 == 0 else 3 - first
        attacking = mover != color
        node = memory.nodes[frames[depth, _SLOT]]
        # 1. A position come to from above: find its children.
        if entering:
            node["is_open"] = 1
            _expand(memory, board, depth, chain, color, mover, ko_master)
        # 2. What they say of it. A side that has failed looks at more moves.
        proof, disproof = _weigh(memory, depth, attacking)
        while (disproof if attacking else proof) == 0 and node["tier"] < 3:
            if depth > TIER_DEPTHS[node["tier"] + 1]:
                break
            if attacking and node["tier"] >= tiers:
                break
            if attacking and depth and count_liberties(board, chain, OUT) + node["tier"] > LOOSE:
                break
            node["tier"] += 1
            _expand(memory, board, depth, chain, color, mover, ko_master)
            proof, disproof = _weigh(memory, depth, attacking)
        node["proof"], node["disproof"] = proof, disproof
        steps += 1
        stops = memory.counts[_USED] >= budget or steps >= 8 * budget
        # 3. Back up when it is settled or another line has become more promising.
        if stops or proof >= frames[depth, _PROOF] or disproof >= frames[depth, _DISPROOF]:
            node["is_open"] = 0
            if depth == 0:
                if proof == 0:
                    return 1
                return -1 if disproof or memory.counts[_CUT] else 0
            depth -= 1
            _unplay(memory, board, int64(memory.moves[depth, frames[depth, _CHOSEN]]), depth)
            entering = False
            continue
        # 4. Or read on where least is missing.
        chosen = frames[depth, _CHOSEN]
        child = memory.nodes[memory.slots[depth, chosen]]
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
        frames[depth + 1, _SLOT] = memory.slots[depth, chosen]
        _play(memory, board, int64(memory.moves[depth, chosen]), mover, depth)
        depth += 1
        entering = True


@kernel
def follow(memory: Memory, chain: int, first: int, line: Work) -> int:
    """Write the moves of the line that the last search found, from its position; return how many.

    `memory.board` is played on.
    """
    board = memory.board[0]
    memory.counts[_BROKEN] = 0
    mover = first
    key = _root_key(board, first)
    n = int64(0)
    while n < len(line):
        slot = _slot_of(memory, key)
        node = memory.nodes[slot]
        is_known = node["search"] == memory.counts[_SEARCH]
        if not is_known or node["plies"] == 0 or (node["proof"] and node["disproof"]):
            break
        move = int64(node["move"])
        if move == PASS and node["plies"] == 1 and node["proof"] == 0:
            collect_liberties(board, chain, int64(2), line[n:])  # in atari, not read on
            return n + 1
        line[n] = move
        n += 1
        key = _key(memory, board, move, mover)
        _play(memory, board, move, mover, int64(0))
        mover = 3 - mover
    return n
