"""Stones that cannot be captured, and what that makes of the points around them.

Benson's algorithm (D. Benson, "Life in the game of Go", 1976) finds chains that live even if
their owner always passes. For one player, the board without that player's chains falls apart
into *regions* of empty points and enemy stones. A region is *vital* to a chain that touches all
of its empty points; where suicide is legal, all of its points. Chains with fewer than two vital
regions are struck out, with the regions they touch, until nothing changes. What is left is
*pass-alive*.

Areas are arrays by point: BLACK, WHITE or EMPTY.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gtp_engine.go.board import MAX_POINTS, BoardRecord, count_liberties, neighbors
from gtp_engine.go.coords import BLACK, EMPTY, WALL, WHITE
from gtp_engine.go.jit import inline_kernel, kernel

Points = npt.NDArray[np.int16]
Flags = npt.NDArray[np.uint8]


class Regions(NamedTuple):
    """What is known about one player's regions, by root: the empty point that names a region."""

    root: Points
    """[points] the root of an empty point; by way of its head, of an enemy stone."""
    has_enemy: Flags
    """[points] by root: whether enemy stones are in it."""
    vital: Points
    """[4 * points] by root: the heads of the chains it is vital to."""
    n_vital: Points
    """[points] by root: how many; -1 before the first point was seen."""
    struck: Flags
    """[points] by root: whether it touches a chain that is not pass-alive."""


@inline_kernel
def _find(root: Points, point: int) -> int:
    while root[point] != point:
        root[point] = root[root[point]]
        point = np.int64(root[point])
    return point


@kernel
def _new_regions(n_points: int) -> Regions:
    return Regions(
        np.arange(n_points).astype(np.int16),
        np.zeros(n_points, np.uint8),
        np.empty(4 * n_points, np.int16),
        np.full(n_points, -1, np.int16),
        np.zeros(n_points, np.uint8),
    )


@kernel
def _join_regions(board: BoardRecord, color: int, regions: Regions) -> bool:
    """Find the regions of a player; return whether the player has any stone."""
    root = regions.root
    has_stones = False
    for i in range(board["n_empty"]):
        point = np.int64(board["empty"][i])
        own = _find(root, point)
        for near in neighbors(board, point):
            at = board["color"][near]
            if at == EMPTY:
                root[_find(root, near)] = own
            elif at == 3 - color:
                # Roots stay empty points: a head is always hung below one.
                root[_find(root, np.int64(board["head"][near]))] = own
            elif at == color:
                has_stones = True
    for i in range(board["n_empty"]):
        point = np.int64(board["empty"][i])
        own = _find(root, point)
        root[point] = own
        for near in neighbors(board, point):
            if board["color"][near] == 3 - color:
                regions.has_enemy[own] = 1
    return has_stones


@inline_kernel
def _touches_chain(board: BoardRecord, point: int, color: int, head: int) -> bool:
    for near in neighbors(board, point):
        if board["color"][near] == color and board["head"][near] == head:
            return True
    return False


@inline_kernel
def _keep_touching(board: BoardRecord, point: int, color: int, own: int, regions: Regions) -> None:
    """Drop from a region's vital chains those that do not touch this point."""
    kept = 0
    for j in range(regions.n_vital[own]):
        head = regions.vital[4 * own + j]
        if _touches_chain(board, point, color, head):
            regions.vital[4 * own + kept] = head
            kept += 1
    regions.n_vital[own] = kept


@inline_kernel
def _take_touching(board: BoardRecord, point: int, color: int, own: int, regions: Regions) -> None:
    """Begin a region's vital chains with those around its first point."""
    n = 0
    for near in neighbors(board, point):
        if board["color"][near] == color:
            head = board["head"][near]
            known = False
            for j in range(n):
                if regions.vital[4 * own + j] == head:
                    known = True
            if not known:
                regions.vital[4 * own + n] = head
                n += 1
    regions.n_vital[own] = n


@kernel
def _find_vital(
    board: BoardRecord, color: int, suicide_legal: int, regions: Regions, counts: Points
) -> bool:
    """Find what each region is vital to, and how many vital regions each chain has.

    Returns:
        Whether any chain has two: without one, nothing is pass-alive.
    """
    for i in range(board["n_empty"]):
        point = np.int64(board["empty"][i])
        own = np.int64(regions.root[point])
        if regions.n_vital[own] < 0:
            _take_touching(board, point, color, own, regions)
        elif regions.n_vital[own] > 0:
            _keep_touching(board, point, color, own, regions)
    if suicide_legal:
        for point in range(board["n_points"]):
            if board["color"][point] == 3 - color:
                own = _find(regions.root, np.int64(board["head"][point]))
                if regions.n_vital[own] > 0:
                    _keep_touching(board, point, color, own, regions)
    found = False
    for i in range(board["n_empty"]):
        point = np.int64(board["empty"][i])
        if regions.root[point] == point:
            for j in range(regions.n_vital[point]):
                head = regions.vital[4 * point + j]
                counts[head] += 1
                if counts[head] >= 2:
                    found = True
    return found


@inline_kernel
def _region_of(board: BoardRecord, point: int, regions: Regions) -> int:
    """Return the root of an empty point or an enemy stone."""
    if board["color"][point] == EMPTY:
        return np.int64(regions.root[point])
    return _find(regions.root, np.int64(board["head"][point]))


@kernel
def _strike_chain(
    board: BoardRecord, color: int, head: int, regions: Regions, counts: Points
) -> None:
    """Strike out the regions around a chain: they keep nobody alive any more."""
    stone = head
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == EMPTY or board["color"][near] == 3 - color:
                own = _region_of(board, near, regions)
                if not regions.struck[own]:
                    regions.struck[own] = 1
                    for j in range(regions.n_vital[own]):
                        head_there = regions.vital[4 * own + j]
                        if counts[head_there] > 0:  # a chain struck out stays at -1
                            counts[head_there] -= 1
        stone = np.int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _strike_out(board: BoardRecord, color: int, regions: Regions, counts: Points) -> None:
    """Strike out chains with fewer than two vital regions until all others have two.

    A chain that was struck out has the count -1.
    """
    struck = True
    while struck:
        struck = False
        for head in range(board["n_points"]):
            is_own = board["color"][head] == color and board["head"][head] == head
            if is_own and 0 <= counts[head] < 2:
                _strike_chain(board, color, head, regions, counts)
                counts[head] = -1
                struck = True


@kernel
def _mark_alive(
    board: BoardRecord,
    color: int,
    safe_regions: int,
    regions: Regions,
    counts: Points,
    area: Flags,
) -> None:
    """Mark pass-alive chains and the regions in which the enemy cannot live."""
    inside = np.zeros(board["n_points"], np.uint8)
    for point in range(board["n_points"]):
        at = board["color"][point]
        if at == EMPTY or at == 3 - color:
            own = _region_of(board, point, regions)
            touches = False
            for near in neighbors(board, point):
                if board["color"][near] == color:
                    touches = True
            if not touches and inside[own] < 2:
                inside[own] += 1
    for point in range(board["n_points"]):
        at = board["color"][point]
        if at == color:
            if counts[board["head"][point]] >= 2:
                area[point] = color
        elif at != WALL:
            own = _region_of(board, point, regions)
            is_safe = inside[own] < 2 or (safe_regions and not regions.has_enemy[own])
            if is_safe and not regions.struck[own]:
                area[point] = color


@kernel
def _mark_player(
    board: BoardRecord,
    color: int,
    safe_regions: int,
    unsafe_regions: int,
    suicide_legal: int,
    area: Flags,
) -> None:
    """Mark one player's share; see `mark_area`."""
    n_points = np.int64(board["n_points"])
    regions = _new_regions(n_points)
    if not _join_regions(board, color, regions):
        return
    counts = np.zeros(n_points, np.int16)
    if _find_vital(board, color, suicide_legal, regions, counts):
        _strike_out(board, color, regions, counts)
        _mark_alive(board, color, safe_regions, regions, counts, area)
    if unsafe_regions:
        for i in range(board["n_empty"]):
            point = np.int64(board["empty"][i])
            # What the enemy's pass-alive stones enclose stays theirs.
            if not regions.has_enemy[regions.root[point]] and area[point] == EMPTY:
                area[point] = color


@kernel
def mark_area(
    board: BoardRecord,
    safe_regions: int,
    unsafe_regions: int,
    other_stones: int,
    suicide_legal: int,
    area: Flags,
) -> None:
    """Write the owner of every point: always pass-alive stones and what they enclose tightly.

    A region enclosed by pass-alive stones is tight if at most one of its points does not touch
    them; enemy stones in it are dead.

    Args:
        board: The board.
        safe_regions: Also give empty regions of any size to the pass-alive stones around them.
        unsafe_regions: Also give empty regions to the only player whose stones touch them.
        other_stones: Also give every other stone to its player.
        suicide_legal: Whether a move may remove its own chain, which makes fewer regions vital.
        area: [points] result.
    """
    n_points = board["n_points"]
    area[:n_points] = EMPTY
    _mark_player(board, BLACK, safe_regions, unsafe_regions, suicide_legal, area)
    _mark_player(board, WHITE, safe_regions, unsafe_regions, suicide_legal, area)
    if other_stones:
        for point in range(n_points):
            at = board["color"][point]
            if area[point] == EMPTY and at != WALL:
                area[point] = at


@inline_kernel
def _is_seki_witness(board: BoardRecord, point: int, area: Flags) -> bool:
    """Whether this point of somebody's area shows that it stands in seki, or is not settled.

    It touches an empty point that is nobody's, or is one of the owner's own stones in atari.
    """
    for near in neighbors(board, point):
        if board["color"][near] == EMPTY and area[near] == EMPTY:
            return True
    return board["color"][point] == area[point] and count_liberties(board, point, 2) == 1


@kernel
def _fill(board: BoardRecord, start: int, area: Flags, marks: Flags) -> None:
    """Mark all points of one owner that are connected with a point of theirs."""
    owner = area[start]
    stack = np.empty(board["n_points"], np.int16)
    stack[0] = start
    n = 1
    marks[start] = 1
    while n > 0:
        n -= 1
        for near in neighbors(board, np.int64(stack[n])):
            if area[near] == owner and not marks[near]:
                marks[near] = 1
                stack[n] = near
                n += 1


@kernel
def mark_independent_life(
    board: BoardRecord,
    keep_territories: int,
    keep_stones: int,
    suicide_legal: int,
    area: Flags,
) -> int:
    """Write the owner of every point of areas that are not in seki.

    Args:
        board: The board.
        keep_territories: Also give points in seki that are surrounded, or hold dead stones.
        keep_stones: Also give every stone in seki to its player.
        suicide_legal: As for `mark_area`.
        area: [points] result.

    Returns:
        White's areas that are not in seki minus Black's, each a connected set of points.
    """
    n_points = np.int64(board["n_points"])
    whole = np.empty(MAX_POINTS, np.uint8)
    mark_area(board, 1, 1, 1, suicide_legal, whole)
    seki = np.zeros(MAX_POINTS, np.uint8)
    for point in range(n_points):
        if whole[point] == EMPTY or seki[point]:
            continue
        if _is_seki_witness(board, point, whole):
            _fill(board, point, whole, seki)

    difference = 0
    alive = np.zeros(MAX_POINTS, np.uint8)
    for point in range(n_points):
        if whole[point] != EMPTY and not seki[point] and not alive[point]:
            difference += 1 if whole[point] == WHITE else -1
            _fill(board, point, whole, alive)

    for point in range(n_points):
        is_stone = whole[point] == board["color"][point]
        kept = alive[point] or (keep_stones if is_stone else keep_territories)
        area[point] = whole[point] if kept else EMPTY
    return difference
