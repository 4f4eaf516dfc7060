"""A map of a position for people: chains with their liberties and eyes, and the empty regions.

Plain Python, for pictures and the end of a game; what searches uses the kernels of `board` and
`life`.
"""

from collections.abc import Iterable, Iterator
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


def around(point: int, width: int) -> tuple[int, int, int, int]:
    """Return the four neighbours of a point; some may be off the board."""
    stride = width + 1
    return point - stride, point - 1, point + 1, point + stride


def regions(points: Iterable[int], width: int) -> Iterator[list[int]]:
    """Yield the connected parts of some points, each from top left to bottom right."""
    left = set(points)
    while left:
        region = [left.pop()]
        for p in region:  # grows while it is walked
            near = left.intersection(around(p, width))
            left -= near
            region += near
        yield sorted(region)


def map_regions(position: Position) -> RegionMap:
    """Return the chains and empty regions of a position."""
    width, color_at = position.width, position.color_at
    empty = []
    for part in sorted(regions(position.stones(EMPTY), width)):
        colors = {color_at(q) for p in part for q in around(p, width)} - {EMPTY, WALL}
        owner = colors.pop() if len(colors) == 1 else EMPTY
        empty.append(Region(tuple(part), owner))
    eyes = [set(region.points) for region in empty if region.is_eye]
    chains = []
    for color in (BLACK, WHITE):
        for part in regions(position.stones(color), width):
            free = {q for p in part for q in around(p, width) if color_at(q) == EMPTY}
            touched = sum(bool(eye & free) for eye in eyes)
            chains.append(Chain(color, tuple(part), tuple(sorted(free)), touched))
    return RegionMap(tuple(sorted(chains, key=lambda chain: chain.stones)), tuple(empty))
