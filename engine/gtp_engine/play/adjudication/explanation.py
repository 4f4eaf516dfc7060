"""What a net expects of a position, and the set of dead stones that explains it best.

A net's ownership wavers from point to point, but at the end of a game a chain is dead as a whole,
its captors live, and what they surround is theirs. So of all sets of dead chains the one is taken
whose board, once they are off, agrees most with what is expected of every point, empty ones
included. The best set is sought by steepest ascent: from what each chain's own points say, chains
and groups change sides as long as the agreement grows.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WHITE, opponent, row_col
from gtp_engine.evaluators.evaluator import Evaluator, evaluate_symmetries
from gtp_engine.go.board import MAX_POINTS
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import agreed_owners
from gtp_engine.go.symmetry import symmetries
from gtp_engine.play.adjudication.chains import Chain, find_chains, find_groups

Ownership = npt.NDArray[np.float32]
"""[height, width], 1 is certainly Black's, -1 certainly White's."""

SETTLED = 0.8
"""Ownership, 0 to 1, beyond which a point counts as decided."""

SURE = 0.6
"""Mean ownership, 0 to 1, beyond which what surrounds a group does not change its side."""

LONGEST_ASCENT = 60
"""Steps after which the ascent ends in any case; a board has a handful of doubtful groups."""

LEAST_GAIN = 1e-6


def without_history(
    position: Position, to_play: int, rules: Rules | None = None, gone: Collection[int] = ()
) -> Position:
    """Return a game that begins with the stones of a position.

    Passes, bans of ko and prisoners are forgotten: none of them changes which stones are dead.

    Args:
        rules: The rules; the position's when None.
        gone: Stones that are taken off.
    """
    fresh = Position(position.width, position.height, rules or position.rules)
    black, white = ([p for p in position.stones(c) if p not in gone] for c in (BLACK, WHITE))
    fresh.set_up(black, white, to_play)
    return fresh


def expected_ownership(evaluator: Evaluator, position: Position) -> Ownership | None:
    """Return the mean over all symmetries and both players to move, without any search.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    if not evaluator.has_ownership:
        return None
    shown = list(symmetries(position.width, position.height))
    batch = evaluator.new_batch(len(shown), position.width, position.height)
    flags = position.rules.flags
    total = np.zeros((position.height, position.width), np.float32)
    for color, sign in ((BLACK, 1.0), (WHITE, -1.0)):
        bare = without_history(position, color)
        evaluate_symmetries(evaluator, batch, bare.history, bare.ply, flags, shown, 0.0)
        total += np.float32(sign) * batch.ownership[0].reshape(total.shape)
    return total / np.float32(2.0)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A set of dead stones and what speaks for it."""

    chains: tuple[Chain, ...]
    """All chains of the board."""
    dead: frozenset[int]
    expected: npt.NDArray[np.float64]
    """[points] the ownership explained, 1 for Black; zeros where there was none."""

    def life(self, chains: Iterable[Chain]) -> float:
        """Return the mean ownership expected of chains' points for their own color, -1..1."""
        stones = [p for one in chains for p in one.stones]
        signs = [1.0 if one.color == BLACK else -1.0 for one in chains for _ in one.stones]
        return float(np.dot(self.expected[stones], signs)) / len(stones)

    def groups(self, position: Position) -> list[list[Chain]]:
        """Return the groups of chains that are not proven; see `find_groups`."""
        return find_groups(position, self.chains, self.dead)

    def is_dead(self, chains: Iterable[Chain]) -> bool:
        """Whether chains of one status are dead."""
        return next(iter(chains)).head in self.dead


def explain(position: Position, ownership: Ownership | None) -> Explanation:
    """Return the dead stones that an expected ownership is best explained by.

    Args:
        ownership: What is expected; without it only what Benson proves is dead.
    """
    chains = tuple(find_chains(position))
    dead = {p for one in chains if one.proven not in (EMPTY, one.color) for p in one.stones}
    expected = np.zeros(MAX_POINTS)
    if ownership is None:
        return Explanation(chains, frozenset(dead), expected)
    for point in position.points():
        expected[point] = ownership[row_col(point, position.width)]
    unproven = Explanation(chains, frozenset(dead), expected)
    for one in chains:
        if one.proven == EMPTY and unproven.life([one]) < 0.0:
            dead.update(one.stones)
    return _ascend(position, Explanation(chains, frozenset(dead), expected))


def _ascend(position: Position, now: Explanation) -> Explanation:
    """Let chains and groups change sides while the agreement grows."""
    height = agreement(position, now.dead, now.expected)
    for _ in range(LONGEST_ASCENT):
        steps = [
            now.dead ^ {p for one in chains for p in one.stones}
            for chains in _doubtful(position, now)
        ]
        heights = [agreement(position, dead, now.expected) for dead in steps]
        if not steps or max(heights) <= height + LEAST_GAIN:
            break
        height = max(heights)
        now = Explanation(now.chains, steps[heights.index(height)], now.expected)
    return now


def _doubtful(position: Position, now: Explanation) -> list[list[Chain]]:
    """Return the chains and groups that may change sides."""
    single = [[one] for one in now.chains if one.proven == EMPTY]
    several = [group for group in now.groups(position) if len(group) > 1]
    return [
        chains
        for chains in single + several
        if (-1.0 if now.is_dead(chains) else 1.0) * now.life(chains) <= SURE
    ]


def agreement(
    position: Position, dead: Collection[int], expected: npt.NDArray[np.float64]
) -> float:
    """Return how well a board without its dead stones fits what is expected of its points.

    A point counts its expected ownership for the owner it gets; one that is nobody's counts 0. A
    dead stone whose point nobody gets counts for the enemy.

    Args:
        expected: [points] ownership, 1 for Black.
    """
    owners = agreed_owners(position, dead)
    nobodys = [p for p in dead if owners[p] == EMPTY]
    owners[nobodys] = opponent(position.board["color"][nobodys])
    return float(expected[owners == BLACK].sum() - expected[owners == WHITE].sum())
