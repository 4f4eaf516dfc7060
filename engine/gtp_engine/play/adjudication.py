"""Which stones are dead and whose the points are, when a game has been played out.

Benson's theorem says which chains can never be captured; for the rest the ownership that the
net and the search expect decides, chain by chain. Dead stones are then taken off, and empty
regions that touch one colour only are that colour's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.coords import BLACK, EMPTY, WHITE, row_col
from gtp_engine.go.life import mark_area
from gtp_engine.go.line import handicap_bonus
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Scoring

Ownership = npt.NDArray[np.float32]
"""[height, width], 1 is certainly Black's, -1 certainly White's."""


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
    neighbors = _neighbor_table(position)
    colors = {point: position.color_at(point) for point in neighbors}
    chains = _components(neighbors, lambda p, q: colors[p] == colors[q] != EMPTY)
    secure = pass_alive(position)
    dead = {
        point
        for chain in chains
        if colors[chain[0]] != EMPTY and _is_dead(chain, colors, secure, ownership, position)
        for point in chain
    }
    cleared = {p: EMPTY if p in dead else color for p, color in colors.items()}
    regions = _components(neighbors, lambda p, q: cleared[p] == cleared[q] == EMPTY)
    owner = dict(cleared)
    for region in regions:
        if cleared[region[0]] != EMPTY:
            continue
        around = {cleared[q] for p in region for q in neighbors[p]} - {EMPTY}
        if len(around) == 1:
            color = around.pop()
            owner.update(dict.fromkeys(region, color))
    in_seki = _seki(chains, cleared, owner, neighbors, secure)
    return _status(position, colors, dead, owner, in_seki)


def _is_dead(
    chain: list[int],
    colors: dict[int, int],
    secure: npt.NDArray[np.uint8],
    ownership: Ownership | None,
    position: Position,
) -> bool:
    """Whether a chain's points are expected to end up the enemy's."""
    color = colors[chain[0]]
    if secure[chain[0]] != EMPTY:
        return bool(secure[chain[0]] != color)
    if ownership is None:
        return False
    total = sum(float(ownership[row_col(point, position.width)]) for point in chain)
    return total < 0 if color == BLACK else total > 0


def _seki(
    chains: list[list[int]],
    cleared: dict[int, int],
    owner: dict[int, int],
    neighbors: dict[int, list[int]],
    secure: npt.NDArray[np.uint8],
) -> set[int]:
    """Return the stones that live without touching any territory of their own colour."""
    found: set[int] = set()
    for chain in chains:
        color = cleared[chain[0]]
        if color == EMPTY or secure[chain[0]] != EMPTY:
            continue
        around = {q for p in chain for q in neighbors[p] if cleared[q] == EMPTY}
        if around and all(owner[q] != color for q in around):
            found.update(chain)
    return found


def _status(
    position: Position,
    colors: dict[int, int],
    dead: set[int],
    owner: dict[int, int],
    in_seki: set[int],
) -> FinalStatus:
    standing = {p for p, color in colors.items() if color != EMPTY and p not in dead}
    territory = {
        color: [p for p in owner if owner[p] == color and p not in standing]
        for color in (BLACK, WHITE)
    }
    return FinalStatus(
        dead=sorted(dead),
        alive=sorted(standing - in_seki),
        seki=sorted(in_seki),
        black_territory=sorted(territory[BLACK]),
        white_territory=sorted(territory[WHITE]),
        dame=sorted(p for p in owner if owner[p] == EMPTY),
        white_score=_white_score(position, colors, dead, territory, standing),
    )


def _white_score(
    position: Position,
    colors: dict[int, int],
    dead: set[int],
    territory: dict[int, list[int]],
    standing: set[int],
) -> float:
    """Count: area is territory and standing stones, territory is territory and prisoners."""
    rules = position.rules
    points = len(territory[WHITE]) - len(territory[BLACK])
    if rules.scoring is Scoring.AREA:
        points += sum(1 if colors[p] == WHITE else -1 for p in standing)
    else:
        points += position.captured(BLACK) - position.captured(WHITE)
        points += sum(1 if colors[p] == BLACK else -1 for p in dead)
    score = points + rules.komi + int(handicap_bonus(position.turn, rules.flags))
    if rules.button:
        if position.turn["has_button"]:
            score += 0.5 if position.to_play == WHITE else -0.5
        elif rules.scoring is Scoring.AREA:
            score += float(position.turn["white_bonus"])
    return float(score)


def _neighbor_table(position: Position) -> dict[int, list[int]]:
    points = position.points()
    on_board = set(points)
    stride = position.width + 1
    return {
        p: [q for q in (p - stride, p - 1, p + 1, p + stride) if q in on_board] for p in points
    }


def _components(
    neighbors: dict[int, list[int]], connected: Callable[[int, int], bool]
) -> list[list[int]]:
    """Return the points in connected components, each by flood fill."""
    components: list[list[int]] = []
    seen: set[int] = set()
    for start in neighbors:
        if start in seen:
            continue
        seen.add(start)
        component = [start]
        for p in component:
            for q in neighbors[p]:
                if q not in seen and connected(p, q):
                    seen.add(q)
                    component.append(q)
        components.append(component)
    return components
