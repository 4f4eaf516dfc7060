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

from gtp_engine.coords import BLACK, EMPTY, WALL, WHITE
from gtp_engine.go.board import (
    MAX_POINTS,
    BoardRecord,
    count_liberties,
    neighbors,
    touches_chain,
    touches_color,
)
from gtp_engine.kernels import inline_kernel, int64, kernel

Points = npt.NDArray[np.int16]
Flags = npt.NDArray[np.uint8]


class Empties(NamedTuple):
    """The connected components of the empty points, and the chains that could live on them."""

    component: Points
    """[points] which component an empty point is in; -1 elsewhere."""
    touches: Flags
    """[components, and more] the colors beside it: BLACK | WHITE, one of them, or 0."""
    vital: Points
    """[2, components, 4] for Black and White, the heads of chains that touch all its points."""
    n_vital: Points
    """[2, components] how many."""


@kernel
def _begin_vital(board: BoardRecord, point: int, color: int, row: int, empties: Empties) -> None:
    """Begin the vital chains of a component with those around its first point."""
    n = 0
    for near in neighbors(board, point):
        if board["color"][near] == color:
            head = board["head"][near]
            known = False
            for j in range(n):
                if empties.vital[4 * row + j] == head:
                    known = True
            if not known:
                empties.vital[4 * row + n] = head
                n += 1
    empties.n_vital[row] = n


@inline_kernel
def _keep_touching(
    board: BoardRecord, point: int, color: int, row: int, vital: Points, n_vital: Points
) -> None:
    """Drop from the vital chains of a row those that do not touch this point."""
    kept = 0
    for j in range(n_vital[row]):
        head = vital[4 * row + j]
        if touches_chain(board, point, color, head):
            vital[4 * row + kept] = head
            kept += 1
    n_vital[row] = kept


@inline_kernel
def _find(root: Points, index: int) -> int:
    while root[index] != index:
        root[index] = root[root[index]]
        index = int64(root[index])
    return index


@kernel
def _number_empties(board: BoardRecord, component: Points, touches: Flags) -> int:
    """Number the components of the empty points, and find the colors beside each.

    One pass gives every empty point the number of the one above or to the left, and notes which
    numbers mean the same; then those are made one (Rosenfeld and Pfaltz, "Sequential operations
    in digital picture processing", 1966).

    Args:
        component: [points] result; -1 where a point is not empty.
        touches: [empty points + 1] result, by component; until then, by what points are numbered.

    Returns:
        How many components there are.
    """
    stride = int64(board["stride"])
    same = np.empty(int64(board["n_empty"]) + 1, np.int16)
    n = 0
    component[: stride + 1] = -1
    for point in range(stride + 1, int64(board["n_points"])):
        color = board["color"][point]
        component[point] = -1
        if color == WALL:
            continue
        above, left, _, _ = neighbors(board, point)
        color_above, color_left = board["color"][above], board["color"][left]
        if color != EMPTY:
            if color_left == EMPTY:
                touches[component[left]] |= color
            if color_above == EMPTY:
                touches[component[above]] |= color
            continue
        if color_above == EMPTY:
            number = int64(component[above])
            if color_left == EMPTY and component[left] != number:
                one, other = _find(same, number), _find(same, int64(component[left]))
                same[max(one, other)] = min(one, other)
        elif color_left == EMPTY:
            number = int64(component[left])
        else:
            number = n
            same[n] = n
            touches[n] = 0
            n += 1
        component[point] = number
        if color_left != WALL:
            touches[number] |= color_left
        if color_above != WALL:
            touches[number] |= color_above

    n_components = 0
    for number in range(n):
        earlier = int64(same[number])  # if less than the number, its entry is a component already
        if earlier == number:
            same[number] = n_components
            touches[n_components] = touches[number]
            n_components += 1
        else:
            same[number] = same[earlier]
            touches[same[earlier]] |= touches[number]
    for i in range(board["n_empty"]):
        point = int64(board["empty"][i])
        component[point] = same[component[point]]
    return n_components


@kernel
def _find_empties(board: BoardRecord) -> tuple[int, Empties]:
    """Return how many components the empty points form, and all about them."""
    component = np.empty(int64(board["n_points"]), np.int16)
    touches = np.empty(int64(board["n_empty"]) + 1, np.uint8)
    n = _number_empties(board, component, touches)
    empties = Empties(component, touches, np.empty(8 * n, np.int16), np.full(2 * n, -1, np.int16))
    n_vital = empties.n_vital
    for i in range(board["n_empty"]):
        point = int64(board["empty"][i])
        index = int64(component[point])
        if n_vital[index] < 0:
            _begin_vital(board, point, BLACK, index, empties)
            _begin_vital(board, point, WHITE, n + index, empties)
        elif n_vital[index] | n_vital[n + index]:
            _keep_touching(board, point, BLACK, index, empties.vital, n_vital)
            _keep_touching(board, point, WHITE, n + index, empties.vital, n_vital)
    return n, empties


@kernel
def _may_live(color: int, n: int, empties: Empties, n_points: int) -> bool:
    """Whether some chain of a player touches all points of two components, as life needs."""
    first_row = (color - 1) * n
    n_with_chains = 0
    for row in range(first_row, first_row + n):
        if empties.n_vital[row] > 0:
            n_with_chains += 1
    if n_with_chains < 2:
        return False
    seen = np.zeros(n_points, np.uint8)
    for row in range(first_row, first_row + n):
        for j in range(empties.n_vital[row]):
            head = empties.vital[4 * row + j]
            if seen[head]:
                return True
            seen[head] = 1
    return False


class Regions(NamedTuple):
    """One player's regions: components of empty points joined by the enemy chains they touch."""

    root: Points
    """[components] the component that names the region each is in."""
    link: Points
    """[points] a component beside the enemy chain with this head; -1 for other points."""
    vital: Points
    """[components, 4] by root: the heads of the chains the region is vital to."""
    n_vital: Points
    """[components] by root: how many."""
    struck: Flags
    """[components] by root: whether it touches a chain that is not pass-alive."""


@kernel
def _join_regions(board: BoardRecord, color: int, n: int, empties: Empties) -> Regions:
    """Find a player's regions and the chains that touch all empty points of each."""
    n_points = int64(board["n_points"])
    regions = Regions(
        np.arange(n).astype(np.int16),
        np.full(n_points, -1, np.int16),
        np.empty(4 * n, np.int16),
        np.full(n, -1, np.int16),
        np.zeros(n, np.uint8),
    )
    for i in range(board["n_empty"]):
        point = int64(board["empty"][i])
        index = int64(empties.component[point])
        if empties.touches[index] & (3 - color):
            for near in neighbors(board, point):
                if board["color"][near] == 3 - color:
                    head = board["head"][near]
                    linked = int64(regions.link[head])
                    if linked == index:
                        continue
                    regions.link[head] = index
                    if linked >= 0:
                        regions.root[_find(regions.root, linked)] = _find(regions.root, index)
    for index in range(n):
        own = _find(regions.root, index)
        regions.root[index] = own
        row = (color - 1) * n + index
        if regions.n_vital[own] < 0:
            regions.n_vital[own] = empties.n_vital[row]
            for j in range(empties.n_vital[row]):
                regions.vital[4 * own + j] = empties.vital[4 * row + j]
        else:
            _keep_shared(own, row, empties, regions)
    return regions


@kernel
def _keep_shared(own: int, row: int, empties: Empties, regions: Regions) -> None:
    """Drop a region's vital chains that are not vital to one more of its components."""
    kept = 0
    for j in range(regions.n_vital[own]):
        head = regions.vital[4 * own + j]
        for k in range(empties.n_vital[row]):
            if empties.vital[4 * row + k] == head:
                regions.vital[4 * own + kept] = head
                kept += 1
    regions.n_vital[own] = kept


@inline_kernel
def _region_of(board: BoardRecord, point: int, empties: Empties, regions: Regions) -> int:
    """Return the root of an empty point or an enemy stone."""
    index = int64(empties.component[point])
    if index < 0:
        index = int64(regions.link[board["head"][point]])
    return int64(regions.root[index])


@kernel
def _keep_touching_stones(
    board: BoardRecord, color: int, empties: Empties, regions: Regions
) -> None:
    """Where suicide is legal, a vital chain touches the enemy stones in its region too."""
    for point in range(int64(board["n_points"])):
        if board["color"][point] == 3 - color:
            own = _region_of(board, point, empties, regions)
            if regions.n_vital[own] > 0:
                _keep_touching(board, point, color, own, regions.vital, regions.n_vital)


@kernel
def _strike_chain(
    board: BoardRecord,
    color: int,
    head: int,
    empties: Empties,
    regions: Regions,
    counts: Points,
) -> None:
    """Strike out the regions around a chain: they keep nobody alive any more."""
    stone = head
    while True:
        for near in neighbors(board, stone):
            if board["color"][near] == EMPTY or board["color"][near] == 3 - color:
                own = _region_of(board, near, empties, regions)
                if not regions.struck[own]:
                    regions.struck[own] = 1
                    for j in range(regions.n_vital[own]):
                        counts[regions.vital[4 * own + j]] -= 1
        stone = int64(board["next"][stone])
        if stone == head:
            return


@kernel
def _strike_out(
    board: BoardRecord, color: int, n: int, empties: Empties, regions: Regions, counts: Points
) -> None:
    """Strike out chains with fewer than two vital regions until all others have two.

    Args:
        counts: [points] result by head: vital regions of a pass-alive chain, less than two for
            the others.
    """
    for index in range(n):
        if regions.root[index] == index:
            for j in range(regions.n_vital[index]):
                counts[regions.vital[4 * index + j]] += 1
    done = np.zeros(board["n_points"], np.uint8)
    struck = True
    while struck:
        struck = False
        for head in range(int64(board["n_points"])):
            is_own = board["color"][head] == color and board["head"][head] == head
            if is_own and counts[head] < 2 and not done[head]:
                done[head] = 1
                _strike_chain(board, color, head, empties, regions, counts)
                struck = True


@kernel
def _mark_alive(
    board: BoardRecord,
    color: int,
    safe_regions: int,
    empties: Empties,
    regions: Regions,
    counts: Points,
    area: Flags,
) -> None:
    """Mark pass-alive chains and the regions in which the enemy cannot live."""
    n = len(regions.root)
    inside = np.zeros(n, np.int16)
    has_enemy = np.zeros(n, np.uint8)
    for point in range(int64(board["n_points"])):
        at = board["color"][point]
        if at == color:
            if counts[board["head"][point]] >= 2:
                area[point] = color
        elif at != WALL:
            own = _region_of(board, point, empties, regions)
            if not regions.struck[own]:
                if at != EMPTY:
                    has_enemy[own] = 1
                if not touches_color(board, point, color):
                    inside[own] += 1
    for point in range(int64(board["n_points"])):
        at = board["color"][point]
        if at != color and at != WALL:
            own = _region_of(board, point, empties, regions)
            is_safe = inside[own] < 2 or (safe_regions and not has_enemy[own])
            if is_safe and not regions.struck[own]:
                area[point] = color


@kernel
def mark_area(
    board: BoardRecord,
    safe_regions: int,
    rest: int,
    suicide_legal: int,
    area: Flags,
) -> None:
    """Write the owner of every point: always pass-alive stones and what they enclose tightly.

    A region enclosed by pass-alive stones is tight if at most one of its points does not touch
    them; enemy stones in it are dead.

    Args:
        safe_regions: Also give empty regions of any size to the pass-alive stones around them.
        rest: Also give every other stone to its player, and every other empty region to the only
            player whose stones touch it.
        suicide_legal: Whether a move may remove its own chain, which makes fewer regions vital.
        area: [points] result.
    """
    n_points = int64(board["n_points"])
    area[:n_points] = EMPTY
    n, empties = _find_empties(board)
    for color in (BLACK, WHITE):
        if _may_live(color, n, empties, n_points):
            regions = _join_regions(board, color, n, empties)
            if suicide_legal:
                _keep_touching_stones(board, color, empties, regions)
            counts = np.zeros(n_points, np.int16)
            _strike_out(board, color, n, empties, regions, counts)
            _mark_alive(board, color, safe_regions, empties, regions, counts, area)
    if not rest:
        return
    for point in range(n_points):
        at = board["color"][point]
        if area[point] != EMPTY or at == WALL:
            continue  # what pass-alive stones enclose stays theirs
        if at != EMPTY:
            area[point] = at
        else:
            touched = empties.touches[empties.component[point]]
            area[point] = touched if touched != BLACK | WHITE else EMPTY


@kernel
def _is_seki_witness(board: BoardRecord, point: int, area: Flags) -> bool:
    """Whether this point of somebody's area shows that it stands in seki, or is not settled.

    It touches an empty point that is nobody's, or is one of the owner's own stones in atari.
    """
    for near in neighbors(board, point):
        if board["color"][near] == EMPTY and area[near] == EMPTY:
            return True
    return board["color"][point] == area[point] and count_liberties(board, point, int64(2)) == 1


@kernel
def fill_area(board: BoardRecord, start: int, area: Flags, marks: Flags) -> None:
    """Mark all points of one owner that are connected with a point of theirs."""
    owner = area[start]
    stack = np.empty(board["n_points"], np.int16)
    stack[0] = start
    n = 1
    marks[start] = 1
    while n > 0:
        n -= 1
        for near in neighbors(board, int64(stack[n])):
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
        keep_territories: Also give points in seki that are surrounded, or hold dead stones.
        keep_stones: Also give every stone in seki to its player.
        area: [points] result.

    Returns:
        White's areas that are not in seki minus Black's, each a connected set of points.
    """
    n_points = int64(board["n_points"])
    whole = np.empty(MAX_POINTS, np.uint8)
    mark_area(board, int64(1), int64(1), suicide_legal, whole)
    seki = np.zeros(MAX_POINTS, np.uint8)
    for point in range(n_points):
        if whole[point] == EMPTY or seki[point]:
            continue
        if _is_seki_witness(board, point, whole):
            fill_area(board, point, whole, seki)

    difference = 0
    alive = np.zeros(MAX_POINTS, np.uint8)
    for point in range(n_points):
        if whole[point] != EMPTY and not seki[point] and not alive[point]:
            difference += 1 if whole[point] == WHITE else -1
            fill_area(board, point, whole, alive)

    for point in range(n_points):
        is_stone = whole[point] == board["color"][point]
        kept = alive[point] or (keep_stones if is_stone else keep_territories)
        area[point] = whole[point] if kept else EMPTY
    return difference
