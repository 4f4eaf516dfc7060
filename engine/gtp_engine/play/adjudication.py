"""Which stones are dead and whose the points are, when a game has been played out.

Benson's theorem says which chains can never be captured; for the rest the ownership that the
net and the search expect decides, chain by chain. Dead stones are then taken off, and empty
regions that touch one colour only are that colour's.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.coords import BLACK, EMPTY, WALL, WHITE, row_col
from gtp_engine.go.life import mark_area
from gtp_engine.go.position import Position
from gtp_engine.go.scoring import agreed_owners, agreed_score

Ownership = npt.NDArray[np.float32]
"""[height, width], 1 is certainly Black's, -1 certainly White's."""


DEAD_OWNERSHIP = 0.5
"""How surely, 0 to 1, a chain's points must be expected to become the enemy's for it to be dead.

Dead stones are usually beyond 0.8. What nobody could capture in a finished game, as in seki, is
in between.
"""


@dataclass(frozen=True, slots=True)
class FinalStatus:
    """The state of every point; lists of points, row by row from the top."""

    dead: list[int]
    """Stones that are to be taken off."""
    alive: list[int]
    """Stones that stay, those in seki left out."""
    seki: list[int]
    """Stones that stay without any territory of their own."""
    black_territory: list[int]
    """Empty points of Black's and dead white stones."""
    white_territory: list[int]
    dame: list[int]
    """Empty points that are nobody's."""
    white_score: float
    """White's points minus Black's, komi and bonuses counted."""


def pass_alive(position: Position) -> npt.NDArray[np.uint8]:
    """Return the owner of every point that nobody can contest any more, by point (Benson)."""
    area = np.zeros(MAX_POINTS, np.uint8)
    mark_area(position.board, 0, 0, 0, int(position.rules.multi_stone_suicide), area)
    return area


def adjudicate(position: Position, ownership: Ownership | None) -> FinalStatus:
    """Judge a position as finished.

    Args:
        position: As it stands.
        ownership: What is expected; without it only what Benson proves is dead.
    """
    secure = pass_alive(position)
    chains = _chains(position)
    dead = {p for chain in chains if _is_dead(position, chain, secure, ownership) for p in chain}
    owners = agreed_owners(position, dead)
    living = [chain for chain in chains if chain[0] not in dead]
    seki = {p for chain in living if _is_seki(position, chain, secure, owners) for p in chain}
    standing = {p for chain in living for p in chain}
    open_points = [p for p in position.points() if p not in standing]
    return FinalStatus(
        dead=sorted(dead),
        alive=sorted(standing - seki),
        seki=sorted(seki),
        black_territory=[p for p in open_points if owners[p] == BLACK],
        white_territory=[p for p in open_points if owners[p] == WHITE],
        dame=[p for p in open_points if owners[p] == EMPTY],
        white_score=agreed_score(position, dead),
    )


def _chains(position: Position) -> list[list[int]]:
    """Return the stones of both colours, chain by chain."""
    chains: dict[int, list[int]] = {}
    for point in position.points():
        if position.color_at(point) != EMPTY:
            chains.setdefault(int(position.board["head"][point]), []).append(point)
    return list(chains.values())


def _is_dead(
    position: Position,
    chain: list[int],
    secure: npt.NDArray[np.uint8],
    ownership: Ownership | None,
) -> bool:
    """Whether a chain's points will beyond doubt end up the enemy's."""
    color = position.color_at(chain[0])
    if secure[chain[0]] != EMPTY:
        return bool(secure[chain[0]] != color)
    if ownership is None:
        return False
    mean = sum(float(ownership[row_col(point, position.width)]) for point in chain) / len(chain)
    return (mean if color == WHITE else -mean) >= DEAD_OWNERSHIP


def _is_seki(
    position: Position,
    chain: list[int],
    secure: npt.NDArray[np.uint8],
    owners: npt.NDArray[np.uint8],
) -> bool:
    """Whether a living chain touches no territory of its own colour."""
    if secure[chain[0]] != EMPTY:
        return False
    color = position.color_at(chain[0])
    stride = position.width + 1
    around = {q for p in chain for q in (p - stride, p - 1, p + 1, p + stride)}
    free = [q for q in around if position.color_at(q) != color and position.color_at(q) != WALL]
    return bool(free) and all(owners[q] != color for q in free)
