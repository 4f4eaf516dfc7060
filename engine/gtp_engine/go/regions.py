"""A map of a position for people: chains with their liberties and eyes, and the empty regions.

Plain Python, for a picture now and then; what plays uses the kernels of `board` and `life`.
"""

from dataclasses import dataclass

from gtp_engine.coords import BLACK, EMPTY, WALL, WHITE
from gtp_engine.go.position import Position

LARGEST_EYE = 7
"""Points of a closed region that still counts as an eye; larger ones are territory."""


@dataclass(frozen=True, slots=True)
class Region:
    """Connected empty points, in reading order."""

    points: tuple[int, ...]
    owner: int
    """The only color that it touches; EMPTY if it touches both or none."""

    @property
    def is_eye(self) -> bool:
        """Whether it is small and touches one color only; false eyes are not told apart."""
        return self.owner != EMPTY and len(self.points) <= LARGEST_EYE


@dataclass(frozen=True, slots=True)
class Chain:
    """Connected stones of a color, in reading order."""

    color: int
    stones: tuple[int, ...]
    liberties: tuple[int, ...]
    eyes: int
    """How many eyes it touches."""


@dataclass(frozen=True, slots=True)
class RegionMap:
    """All chains and regions of a position, in reading order of their first points."""

    chains: tuple[Chain, ...]
    regions: tuple[Region, ...]


def map_regions(position: Position) -> RegionMap:
    """Return the chains and empty regions of a position."""
    stride = position.width + 1
    parts = _connected_points(position, stride)
    empty = [part for part in parts if position.color_at(part[0]) == EMPTY]
    regions = tuple(_describe_region(position, part, stride) for part in empty)
    eyes = [set(region.points) for region in regions if region.is_eye]
    chains = []
    for part in parts:
        color = position.color_at(part[0])
        if color == EMPTY:
            continue
        free = {q for q in _around(part, stride) if position.color_at(q) == EMPTY}
        touched = sum(bool(eye & free) for eye in eyes)
        chains.append(Chain(color, tuple(part), tuple(sorted(free)), touched))
    return RegionMap(tuple(chains), regions)


def _connected_points(position: Position, stride: int) -> list[list[int]]:
    """Return all points, divided into connected ones of the same color."""
    left = dict.fromkeys(position.points())
    parts = []
    while left:
        part = [next(iter(left))]
        color = position.color_at(part[0])
        del left[part[0]]
        for point in part:  # grows while it is walked
            for q in (point - stride, point - 1, point + 1, point + stride):
                if q in left and position.color_at(q) == color:
                    del left[q]
                    part.append(q)
        parts.append(sorted(part))
    return parts


def _describe_region(position: Position, points: list[int], stride: int) -> Region:
    colors = {position.color_at(q) for q in _around(points, stride)} - {EMPTY, WALL}
    owner = next(iter(colors)) if colors in ({BLACK}, {WHITE}) else EMPTY
    return Region(tuple(points), owner)


def _around(points: list[int], stride: int) -> set[int]:
    return {q for p in points for q in (p - stride, p - 1, p + 1, p + stride)} - set(points)
