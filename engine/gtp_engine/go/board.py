"""Stones, chains and liberties on one board: a flat record, and kernels that work on it.

A board knows no history beyond the simple-ko ban; `history.py` adds superko, passes and phases.
The grid is padded with a wall (see `coords.py`), so that neighbours need no bounds checks:
up is p - stride, down p + stride, left p - 1, right p + 1.

Chains are circular lists of stones that share a head. Each head counts *pseudo-liberties*: one
for every pair of a stone and an empty neighbour. They are exact where it matters for legality
(zero of them means no liberty; as many as the chain's contacts with p means that p is the only
one) and cost no search to keep; `count_liberties` walks the chain where true liberties are
wanted.

Kernels take records of dtype BOARD and read fields as board["field"], which works compiled and
with NUMBA_DISABLE_JIT=1 alike.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, MAX_SIZE, WALL, WHITE
from gtp_engine.kernels import inline_kernel, int64, kernel, uint64

MAX_POINTS = (MAX_SIZE + 2) * (MAX_SIZE + 1) + 1
MAX_AREA = MAX_SIZE * MAX_SIZE

_POINT_BITS = (1 << MAX_POINTS.bit_length()) - 1
"""All bits that the number of a point may have."""

BoardRecord = Any
"""A numpy record of dtype BOARD."""

BOARD = np.dtype(
    [
        ("hash", np.uint64),  # Zobrist hash of the stones alone
        ("width", np.int16),
        ("height", np.int16),
        ("stride", np.int16),
        ("n_points", np.int16),  # used length of the arrays by point
        ("ko_point", np.int16),  # where simple ko forbids the next move; 0 is none
        ("n_empty", np.int16),
        ("captured", np.int32, (3,)),  # stones of each color taken off so far; [0] unused
        ("color", np.uint8, (MAX_POINTS,)),
        # Points are unsigned, so that the code for indexes from the end is left out.
        ("head", np.uint16, (MAX_POINTS,)),  # head of the chain at a stone
        ("next", np.uint16, (MAX_POINTS,)),  # next stone of the same chain, circular
        ("size", np.int16, (MAX_POINTS,)),  # stones of the chain, valid at its head
        ("pseudo", np.int16, (MAX_POINTS,)),  # pseudo-liberties of the chain, valid at its head
        ("empty", np.uint16, (MAX_AREA,)),  # the n_empty empty points, in no order
        ("empty_at", np.uint16, (MAX_POINTS,)),  # where an empty point stands in `empty`
    ],
    align=True,
)


def _zobrist_table() -> npt.NDArray[np.uint64]:
    generator = np.random.Generator(np.random.PCG64(20161))
    return generator.integers(1, 2**64 - 1, size=(3, MAX_POINTS), dtype=np.uint64)


ZOBRIST = _zobrist_table()
"""[3, MAX_POINTS] the hash of a stone by color and point; row 0 is unused."""


@kernel
def clear_board(board: BoardRecord, width: int, height: int) -> None:
    """Make the board an empty one of this size."""
    stride = width + 1
    n_points = (height + 2) * stride + 1
    board["hash"] = uint64(0)
    board["width"] = width
    board["height"] = height
    board["stride"] = stride
    board["n_points"] = n_points
    board["ko_point"] = 0
    board["n_empty"] = width * height
    board["captured"][:] = 0
    board["color"][:n_points] = WALL
    board["head"][:n_points] = 0
    board["next"][:n_points] = 0
    board["size"][:n_points] = 0
    board["pseudo"][:n_points] = 0
    board["empty_at"][:n_points] = 0
    n = 0
    for row in range(height):
        for col in range(width):
            point = (row + 1) * stride + col + 1
            board["color"][point] = EMPTY
            board["empty"][n] = point
            board["empty_at"][point] = n
            n += 1


@inline_kernel
def neighbors(board: BoardRecord, point: int) -> tuple[int, int, int, int]:
    """Return what is above, left, right and below of a point on the board; each may be a wall."""
    stride = int64(board["stride"])
    # Masked, they are known to be no indexes from the end, which every access would look after.
    above, left, right, below = point - stride, point - 1, point + 1, point + stride
    return above & _POINT_BITS, left & _POINT_BITS, right & _POINT_BITS, below & _POINT_BITS


@inline_kernel
def corners(board: BoardRecord, point: int) -> tuple[int, int, int, int]:
    """Return the points diagonally beside one on the board: NW, NE, SW, SE; each may be a wall."""
    stride = int64(board["stride"])
    return point - stride - 1, point - stride + 1, point + stride - 1, point + stride + 1


@kernel
def take_from_empty(board: BoardRecord, point: int) -> None:
    """Strike a point off the list of empty ones."""
    last = board["n_empty"] - 1
    board["n_empty"] = last
    at = board["empty_at"][point]
    moved = board["empty"][last]
    board["empty"][at] = moved
    board["empty_at"][moved] = at


@inline_kernel
def swap_empty(board: BoardRecord, at: int, other: int) -> None:
    """Let two entries of the list of empty points change places."""
    point, moved = board["empty"][at], board["empty"][other]
    board["empty"][at] = moved
    board["empty_at"][moved] = at
    board["empty"][other] = point
    board["empty_at"][point] = other


@kernel
def _add_to_empty(board: BoardRecord, point: int) -> None:
    n = board["n_empty"]
    board["empty"][n] = point
    board["empty_at"][point] = n
    board["n_empty"] = n + 1


@kernel
def join_chains(board: BoardRecord, keep: int, lose: int) -> None:
    """Make one chain of two, by relabelling the stones of the one to lose its head."""
    board["size"][keep] += board["size"][lose]
    board["pseudo"][keep] += board["pseudo"][lose]
    stone = lose
    while True:
        board["head"][stone] = keep
        stone = int64(board["next"][stone])
        if stone == lose:
            break
    after = board["next"][keep]
    board["next"][keep] = board["next"][lose]
    board["next"][lose] = after


@kernel
def _merge_chains(board: BoardRecord, head_a: int, head_b: int) -> int:
    """Join two chains by relabelling the smaller one; return the head they now share."""
    keep, lose = head_a, head_b
    if board["size"][head_a] < board["size"][head_b]:
        keep, lose = head_b, head_a
    join_chains(board, keep, lose)
    return keep


@inline_kernel
def _remove_chain(board: BoardRecord, head: int) -> int:
    """Take a chain off the board, giving liberties back around it; return how many stones."""
    color = board["color"][head]
    removed = 0
    stone = head
    while True:
        following = int64(board["next"][stone])
        board["color"][stone] = EMPTY
        board["hash"] ^= ZOBRIST[color, stone]
        _add_to_empty(board, stone)
        for near in neighbors(board, stone):
            # The chain's own remaining stones count up a head that is about to vanish.
            board["pseudo"][board["head"][near]] += 1
        removed += 1
        stone = following
        if stone == head:
            break
    board["captured"][color] += removed
    return removed


@inline_kernel
def place_stone(board: BoardRecord, point: int, color: int) -> int:
    """Put a stone on an empty point, capture what has no liberty left, and set the ko ban.

    The caller has made sure that the point is empty. If the stone's own chain is left without
    liberties it is removed (suicide).

    Returns:
        How many enemy stones were captured.
    """
    # 1. The stone itself, a chain of its own.
    board["ko_point"] = 0
    take_from_empty(board, point)
    board["color"][point] = color
    board["hash"] ^= ZOBRIST[color, point]
    board["head"][point] = point
    board["next"][point] = point
    board["size"][point] = 1
    free = 0
    for near in neighbors(board, point):
        if board["color"][near] == EMPTY:
            free += 1
    board["pseudo"][point] = free

    # 2. Every neighbouring chain loses the contact. Walls and empty points share head 0 or a
    # stale one, whose count is never read, so there is nothing to test.
    for near in neighbors(board, point):
        if board["color"][near] == BLACK or board["color"][near] == WHITE:
            board["pseudo"][board["head"][near]] -= 1

    # 3. Join own chains, capture enemy ones.
    head = point
    captured = 0
    last_captured = 0
    for near in neighbors(board, point):
        if board["color"][near] == color:
            other = int64(board["head"][near])
            if other != head:
                head = _merge_chains(board, head, other)
        elif board["color"][near] == 3 - color:
            other = int64(board["head"][near])
            if board["pseudo"][other] == 0:
                last_captured = near
                captured += _remove_chain(board, other)

    # 4. Suicide, or a ko where one stone took one stone and stands in atari.
    if board["pseudo"][head] == 0:
        _remove_chain(board, head)
    elif captured == 1 and board["size"][head] == 1 and board["pseudo"][head] == 1:
        board["ko_point"] = last_captured
    return captured


@kernel
def has_capture(board: BoardRecord) -> bool:
    """Whether stones have been captured, which ends a game of Atari Go."""
    return bool(board["captured"][BLACK] + board["captured"][WHITE] > 0)


@inline_kernel
def is_head(board: BoardRecord, point: int) -> bool:
    """Whether a point holds the stone that a chain is known by."""
    color = board["color"][point]
    return bool(color != EMPTY and color != WALL and board["head"][point] == point)


@inline_kernel
def has_few_liberties(board: BoardRecord, head: int, most: int) -> bool:
    """Whether a chain may have so few liberties, as far as can be seen without walking along it.

    An empty point touches four stones of a chain at most.
    """
    contacts = most if has_plain_liberties(board, head) else 4 * most
    return bool(board["pseudo"][head] <= contacts)


@inline_kernel
def has_plain_liberties(board: BoardRecord, head: int) -> bool:
    """Whether no point touches two stones of a chain, so that its pseudo-liberties are true ones.

    Two stones side by side have no empty neighbour in common.
    """
    return bool(board["size"][head] <= 2)


@inline_kernel
def is_capture_at(board: BoardRecord, point: int, chain_point: int) -> bool:
    """Whether an empty point is the only liberty of the chain next to it at chain_point."""
    head = board["head"][chain_point]
    contacts = 0
    for near in neighbors(board, point):
        is_stone = board["color"][near] == BLACK or board["color"][near] == WHITE
        if is_stone and board["head"][near] == head:
            contacts += 1
    return bool(board["pseudo"][head] == contacts)


@inline_kernel
def touches_color(board: BoardRecord, point: int, color: int) -> bool:
    """Whether one of the four neighbours is a stone of this color, or empty for EMPTY."""
    for near in neighbors(board, point):  # noqa: SIM110  (kernels compile no generators)
        if board["color"][near] == color:
            return True
    return False


@inline_kernel
def is_suicide(board: BoardRecord, point: int, color: int) -> bool:
    """Whether a stone on this empty point would leave its own chain without liberties."""
    if touches_color(board, point, EMPTY):
        return False
    for near in neighbors(board, point):
        if board["color"][near] == color:
            if not is_capture_at(board, point, near):
                return False
        elif board["color"][near] == 3 - color and is_capture_at(board, point, near):
            return False
    return True


@inline_kernel
def is_own_eye(board: BoardRecord, point: int, color: int) -> bool:
    """Whether an empty point is a single-point eye of this color.

    All four neighbours are own stones or wall, and the enemy holds at most one diagonal, none
    at the edge.
    """
    for near in neighbors(board, point):
        if board["color"][near] != color and board["color"][near] != WALL:
            return False
    enemies = 0
    at_edge = 0
    for diagonal in corners(board, point):
        if board["color"][diagonal] == 3 - color:
            enemies += 1
        elif board["color"][diagonal] == WALL:
            at_edge = 1
    return enemies + at_edge < 2


@inline_kernel
def touches_chain(board: BoardRecord, point: int, color: int, head: int) -> bool:
    """Whether one of the four neighbours is a stone of the chain of this color and head."""
    for near in neighbors(board, point):
        if board["color"][near] == color and board["head"][near] == head:
            return True
    return False


@kernel
def ko_target(board: BoardRecord, point: int, color: int) -> int:
    """Return the enemy stone that a move here would take in a ko; 0 if it is no ko capture."""
    if board["color"][point] != EMPTY or touches_color(board, point, EMPTY):
        return 0
    target = 0
    for near in neighbors(board, point):
        if board["color"][near] == color:
            return 0
        if board["color"][near] == 3 - color and is_capture_at(board, point, near):
            if target != 0 or board["size"][board["head"][near]] != 1:
                return 0
            target = near
    return target


@inline_kernel
def is_playable(board: BoardRecord, point: int, color: int, multi_stone_suicide: int) -> bool:
    """Whether a stone may be put on a point, all ko rules aside. Suicide of one stone never may."""
    if board["color"][point] != EMPTY:
        return False
    if not is_suicide(board, point, color):
        return True
    return bool(multi_stone_suicide) and touches_color(board, point, color)


@kernel
def count_liberties(board: BoardRecord, point: int, limit: int) -> int:
    """Return the true liberties of the chain at a stone, counted up to limit at most (32).

    The walk stops as soon as the limit is reached, which keeps small limits cheap on big chains.
    """
    found = np.empty(32, np.int16)
    return collect_liberties(board, point, limit, found)


@kernel
def collect_liberties(
    board: BoardRecord, point: int, limit: int, found: npt.NDArray[np.int16]
) -> int:
    """Write up to limit liberties of the chain at a stone into found [limit]; return how many."""
    head = int64(board["head"][point])
    n = 0
    stone = head
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == EMPTY:
                known = False
                for i in range(n):
                    if found[i] == near:
                        known = True
                        break
                if not known:
                    found[n] = near
                    n += 1
                    if n >= limit:
                        return n
        stone = int64(board["next"][stone])
        if stone == head:
            return n


@kernel
def hash_after(board: BoardRecord, point: int, color: int) -> int:
    """Return the hash of the stones after a playable move, without playing it."""
    enemy = 3 - color
    after = board["hash"] ^ ZOBRIST[color, point]
    heads = np.zeros(4, np.int64)
    n = 0
    for near in neighbors(board, point):
        if board["color"][near] == enemy and is_capture_at(board, point, near):
            head = int64(board["head"][near])
            if head != heads[0] and head != heads[1] and head != heads[2]:
                heads[n] = head
                n += 1
                after ^= chain_hash(board, head)
    if n == 0 and is_suicide(board, point, color):
        after ^= ZOBRIST[color, point]
        for near in neighbors(board, point):
            if board["color"][near] == color:
                head = int64(board["head"][near])
                if head != heads[0] and head != heads[1] and head != heads[2]:
                    heads[n] = head
                    n += 1
                    after ^= chain_hash(board, head)
    return after


@kernel
def chain_hash(board: BoardRecord, head: int) -> int:
    """Return the combined hash of a chain's stones."""
    color = board["color"][head]
    combined = uint64(0)
    stone = int64(head)
    while True:
        combined ^= ZOBRIST[color, stone]
        stone = int64(board["next"][stone])
        if stone == head:
            return combined


@kernel
def same_stones(a: BoardRecord, b: BoardRecord) -> bool:
    """Whether two boards of the same size hold the same stones."""
    for point in range(a["n_points"]):  # noqa: SIM110  (kernels compile no generators)
        if a["color"][point] != b["color"][point]:
            return False
    return True
