"""The stones of a board, chain by chain, and the groups that stand or fall together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WALL, WHITE, opponent
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.life import mark_area
from gtp_engine.go.position import Position
from gtp_engine.go.regions import around


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
    mark_area(position.board, 0, 0, 0, int(position.rules.multi_stone_suicide), area)
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
    groups = []
    for color in (BLACK, WHITE):
        for is_dead in (False, True):
            alike = {
                chain.head: chain
                for chain in open_chains
                if chain.color == color and (chain.head in gone) == is_dead
            }
            groups += _join(position, alike, gone)
    return groups


def _join(position: Position, chains: dict[int, Chain], gone: set[int]) -> list[list[Chain]]:
    """Return chains of one color and status, put together where a way leads between them."""
    owner = {point: head for head, chain in chains.items() for point in chain.stones}
    groups = []
    left = set(chains)
    while left:
        first = min(left)
        left.remove(first)
        group = [chains[first]]
        seen: set[int] = set()
        frontier = list(chains[first].stones)
        for point in frontier:  # grows while it is walked
            for near in around(point, position.width):
                color = position.color_at(near)
                if near in seen or color == WALL:
                    continue
                seen.add(near)
                head = owner.get(near)
                if head is not None and head in left:
                    left.remove(head)
                    group.append(chains[head])
                    frontier += chains[head].stones
                elif color == EMPTY or (near in gone and color == opponent(group[0].color)):
                    frontier.append(near)
        groups.append(group)
    return groups
