"""The stones of a board, chain by chain, and the groups that stand or fall together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WHITE, opponent
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.life import mark_area
from gtp_engine.go.position import Position
from gtp_engine.go.regions import regions


@dataclass(frozen=True, slots=True)
class Chain:
    """Solidly connected stones."""

    color: int
    stones: tuple[int, ...]
    """Row by row from the top."""
    proven: int
    """BLACK or WHITE where Benson proves whose these points will be, else EMPTY."""

    @property
    def head(self) -> int:
        """The stone that names the chain here, its first."""
        return self.stones[0]


def pass_alive(position: Position) -> npt.NDArray[np.uint8]:
    """Return [points] the color that holds a point for good, EMPTY where none does (Benson)."""
    area = np.zeros(MAX_POINTS, np.uint8)
    mark_area(position.board, 0, 0, int(position.rules.multi_stone_suicide), area)
    return area


def find_chains(position: Position) -> list[Chain]:
    """Return all chains of both colors."""
    secure = pass_alive(position)
    stones: dict[int, list[int]] = {}
    for point in position.points():
        if position.color_at(point) != EMPTY:
            stones.setdefault(int(position.board["head"][point]), []).append(point)
    return [
        Chain(position.color_at(chain[0]), tuple(chain), int(secure[chain[0]]))
        for chain in stones.values()
    ]


def find_groups(
    position: Position, chains: Iterable[Chain], dead: Iterable[int]
) -> list[list[Chain]]:
    """Divide chains into groups: those with the same status that share an empty region.

    Chains of one color that nothing but empty points and dead stones keeps apart live or die
    together, where neither has two eyes of its own. Proven chains are left out.
    """
    gone = set(dead)
    open_chains = [chain for chain in chains if chain.proven == EMPTY]
    groups: list[list[Chain]] = []
    for color in (BLACK, WHITE):
        ways = {*position.stones(EMPTY), *gone.intersection(position.stones(opponent(color)))}
        for is_dead in (False, True):
            alike = [c for c in open_chains if c.color == color and (c.head in gone) == is_dead]
            parts = regions(ways.union(*(c.stones for c in alike)), position.width) if alike else ()
            found = [[chain for chain in alike if chain.head in part] for part in map(set, parts)]
            groups += sorted(filter(None, found), key=lambda group: group[0].head)
    return groups
