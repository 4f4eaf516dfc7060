"""Groups in doubt, read out by searching the fight on.

The count is made to hang on the group: with a komi half-way between the scores that the board has
with the group dead and with it alive, whoever wins the group wins the game. Moves are restricted
to the fight, and the search is asked twice, once for each player to move first.

What is dead has to be captured: after two passes all that stands is alive, so that a group in a
seki lives whatever the net thinks of it. Dead stones elsewhere are taken off beforehand.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gtp_engine.coords import BLACK, EMPTY, PASS, WHITE, opponent
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.position import Position
from gtp_engine.go.regions import around
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import agreed_score
from gtp_engine.play.adjudication.chains import Chain
from gtp_engine.play.adjudication.explanation import Explanation, without_history
from gtp_engine.search.params import SearchParams
from gtp_engine.search.request import AvoidRule
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

DOUBT = 0.8
"""Mean ownership, 0 to 1, of a group's stones up to which its status is in doubt."""

LEAST_AT_STAKE = 4.0
"""Points that must hang on a group; less drowns in what is unsure about the rest of the board."""

DIES, LIVES = 0.4, 0.85
"""Mean chance, over both players to move first, up to and from which a group is dead or alive.

On 464 games whose players agreed on the dead stones, values from 0.4 to 0.6 and from 0.8 to 0.9
do equally well. Finished games hold more dead stones that a net overlooks than living ones that it
gives up, so it takes more to bring a group back to life.
"""

READING_VISITS = 200
"""Visits of each of a fight's two searches."""

REACH = 3
"""Empty points around the stones of a fight, in steps, on which moves are tried."""

_ANY_PLY = 10_000


@dataclass(frozen=True, slots=True)
class Fight:
    """A group in doubt and how the search sees it."""

    group: tuple[Chain, ...]
    was_dead: bool
    """Whether the ownership was best explained so."""
    chances: tuple[float, float]
    """Chance 0..1 that the group lives when the attacker, and when its owner, moves first."""

    @property
    def is_dead(self) -> bool:
        """What the reading says, where it is clear, and else what was thought before."""
        mean = sum(self.chances) / 2
        return mean < DIES or (self.was_dead and mean < LIVES)

    @property
    def stones(self) -> frozenset[int]:
        """The group's points."""
        return frozenset(p for one in self.group for p in one.stones)


def read_fights(
    evaluator: Evaluator,
    position: Position,
    found: Explanation,
    stop: threading.Event | None = None,
) -> list[Fight]:
    """Read all groups that are in doubt, the largest first.

    Args:
        stop: Once it is set, from any thread, only the groups that are read by then are returned.

    Raises:
        NetFileError: The net failed.
    """
    fights: list[Fight] = []
    dead = set(found.dead)
    for group in sorted(_in_doubt(position, found), key=_size, reverse=True):
        fight = _read(evaluator, position, found.chains, group, dead, stop)
        if stop is not None and stop.is_set():
            break  # one of its searches may have ended too early
        if fight is not None:
            fights.append(fight)
            dead = dead | fight.stones if fight.is_dead else dead - fight.stones
    return fights


def _size(group: list[Chain]) -> int:
    return sum(len(one.stones) for one in group)


def _in_doubt(position: Position, found: Explanation) -> list[list[Chain]]:
    """Return the groups of which some chain's points do not clearly say what becomes of them."""
    return [
        group
        for group in found.groups(position)
        if any(_support(found, one) < DOUBT / 2 for one in group) or _support(found, *group) < DOUBT
    ]


def _support(found: Explanation, *chains: Chain) -> float:
    life = found.life(chains)
    return -life if found.is_dead(chains) else life


def _read(
    evaluator: Evaluator,
    position: Position,
    chains: Iterable[Chain],
    group: list[Chain],
    dead: set[int],
    stop: threading.Event | None,
) -> Fight | None:
    """Read a fight; None where too little hangs on it."""
    stones = {p for one in group for p in one.stones}
    moves = _moves_of_the_fight(position, chains, stones)
    gone = dead - stones - moves
    rules = replace(Rules.parse("tromp-taylor"), komi=0.0)
    board = without_history(position, opponent(group[0].color), rules, gone)
    near = dead - gone
    alive, lost = agreed_score(board, near - stones), agreed_score(board, near | stones)
    if abs(alive - lost) < LEAST_AT_STAKE:
        return None
    rules = replace(rules, komi=-round((alive + lost) / 2))
    chances = []
    for first in (opponent(group[0].color), group[0].color):
        board = without_history(position, first, rules, gone)
        winrate = _winrate(evaluator, board, moves, stop)
        chances.append(winrate if first == group[0].color else 1.0 - winrate)
    return Fight(tuple(group), group[0].head in dead, (chances[0], chances[1]))


def _winrate(
    evaluator: Evaluator,
    position: Position,
    moves: frozenset[int],
    stop: threading.Event | None,
) -> float:
    """Return the chances of the player to move when both play these moves only."""
    search = Search(evaluator, SearchParams(score_utility=0.0, dynamic_score_utility=0.0))
    only = tuple(AvoidRule(color, moves, _ANY_PLY, allow=True) for color in (BLACK, WHITE))
    search.set_position(position, avoid=only)
    return search.run(Limits(visits=READING_VISITS, stop=stop)).winrate


def _moves_of_the_fight(
    position: Position, chains: Iterable[Chain], stones: set[int]
) -> frozenset[int]:
    """Return the points of a group, of the chains around it and those near them, and the pass."""
    beside = {near for point in stones for near in around(point, position.width)}
    reached = stones.union(*(one.stones for one in chains if beside.intersection(one.stones)))
    empty = set(position.stones(EMPTY))
    edge = reached
    for _ in range(REACH):
        near = {near for point in edge for near in around(point, position.width)}
        edge = near & empty - reached
        reached |= edge
    return frozenset(reached | {PASS})
