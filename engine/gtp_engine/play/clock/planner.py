"""How long to think about a move: a pure function of the budget and the outlook of the game.

What is left is shared among the moves expected, weighted by the phase of the game: the middle
game decides most and gets most (Huang, Coulom, Lin 2010, "Time Management for Monte-Carlo Tree
Search Applied to the Game of Go", found the same). From a bank that has to last, a
little is kept back for each move of a game that goes on for long, so that the flag never falls.

A plan has two bounds. A search whose choice is clear ends at the soft one or, if nothing can
change it any more, before; one in doubt goes on to the hard one (ibid., "unstable evaluation";
Baier and Winands 2012, "Time Management for Monte-Carlo Tree Search in Go").
"""

import math
from dataclasses import dataclass
from itertools import pairwise

from gtp_engine.play.clock.systems import Budget

DEFAULT_LAG = 0.3
"""Seconds that a move is taken to lose on its way to the client and back."""

MOVE_SECONDS = 0.05
"""What a move takes besides the search: reading, judging the board, writing."""

EVALUATIONS_AFTER = 5.0
"""Evaluations that may still begin or go on when the time for the search is over: the one in
flight, two that look what a pass would cost, one that looks for a capture; and a quarter more,
since speeds vary."""

EVALUATIONS_COUNTED = 3.0
"""How many of these are counted where not the flag is near, but the bank small."""

SPARED, MOST_SPARED = 0.2, 0.5
"""Part of the time before the flag falls that no move uses, and how many seconds at most: a busy
machine may keep the answer waiting."""

USUAL_LAG = 0.5
"""Part of the lag that moves are taken to lose on average; one alone may lose all of it."""

UNLUCKY_MOVES = 8.0
"""Moves of all that are to come for which the whole lag is kept back where its mean is known."""

SHORTEST = 0.25
"""Part of an equal share of the bank that a move is given at the least."""

BURST = 3.0
"""How many fair shares a difficult move may take."""

LARGEST_BURST = 0.25
"""Part of what can be shared that it may take at most."""

LOADING = 0.05
"""Part of a bank for all moves that a first move may wait for kernels and net: without them it
costs more than the seconds that later moves lack."""

EXPECTED_PLIES = 0.65
"""Length of a game in plies a point, by which most of the time is to be used. Games last some 0.7
(57 plies on 9x9, 253 on 19x19), but what is saved by searches that end early is to be used too."""

PHASES = ((0.0, 0.6), (0.1, 1.3), (0.45, 1.3), (EXPECTED_PLIES, 0.5))
"""Weight of a move by plies a point; straight lines in between, the last weight afterwards."""

TAIL = 0.05
"""Plies a point that are still to come, however long a game has been."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a plan knows about the game and the machine."""

    share: float
    """Part of the bank that the next move deserves, 0..1."""
    most_moves: int
    """Own moves of a game that goes on for long; for these a little time is kept back."""
    lag: float = DEFAULT_LAG
    """Seconds that a move may lose on the way to the client and back."""
    evaluation: float = 0.0
    """Seconds that one evaluation takes."""
    usual_loss: float | None = None
    """Seconds that a move without any thought takes on average, its lag among them; USUAL_LAG of
    the lag and MOVE_SECONDS when None."""

    @property
    def least(self) -> float:
        """Seconds that even a move without any thought may take."""
        return self.lag + MOVE_SECONDS

    @property
    def usual(self) -> float:
        """Seconds that a move without any thought takes on average."""
        known = self.usual_loss
        return USUAL_LAG * self.lag + MOVE_SECONDS if known is None else known


@dataclass(frozen=True, slots=True)
class MoveTime:
    """How long to search for one move, in seconds of wall time."""

    soft: float
    """Enough for an ordinary move."""
    hard: float
    """No playout starts after that."""
    is_urgent: bool = False
    """Whether there is not even time for one evaluation: the move has to be made without."""


NO_TIME = MoveTime(0.0, 0.0, is_urgent=True)


def outlook(
    area: int,
    ply: int,
    lag: float = DEFAULT_LAG,
    evaluation: float = 0.0,
    usual_loss: float | None = None,
) -> Outlook:
    """Return what a plan should expect.

    The longest games, where every dead stone is captured, are taken to have 80 plies more than
    1.1 a point; however long a game has been, three tenths of the board may still follow.

    Args:
        ply: Moves made by both players.
        lag: Seconds that a move may lose on the way.
        evaluation: Seconds that one evaluation takes.
        usual_loss: Seconds that a move without any thought takes on average, where known.
    """
    most = max(1.1 * area + 80 - ply, 0.3 * area, 40.0)
    phase = ply / area
    weight = _weight(phase)
    share = min(1.0, weight / (weight + 0.5 * area * _weight_after(phase)))
    return Outlook(share, math.ceil(most / 2), lag, evaluation, usual_loss)


def plan_move(budget: Budget, outlook: Outlook) -> MoveTime:
    """Return how long to think about the next move."""
    if budget.flag == math.inf:
        return MoveTime(math.inf, math.inf)
    share = _period_share if budget.moves else _game_share
    soft, hard = share(budget, outlook)
    # Where there is not enough for the lag of all moves, it may be smaller than is feared.
    shortest = SHORTEST * budget.bank / (budget.moves or outlook.most_moves)
    safe = _safe(budget, outlook)
    if safe < 0.0:
        return NO_TIME
    latest = min(safe, max(shortest, hard) - EVALUATIONS_COUNTED * outlook.evaluation)
    if latest < 0.0:  # a single evaluation may be affordable all the same
        return MoveTime(0.0, 0.0, is_urgent=2.0 * outlook.evaluation > shortest)
    return MoveTime(min(max(shortest, soft), latest), latest)


def plan_loading(budget: Budget, outlook: Outlook, *, is_first: bool) -> float:
    """Return for how many seconds to wait for kernels and net before a move is made without.

    Args:
        is_first: Whether it is the player's first move.
    """
    plan = plan_move(budget, outlook)
    if plan.is_urgent or budget.moves or not is_first:
        return plan.hard
    return max(plan.hard, min(LOADING * budget.bank, _safe(budget, outlook)))


def _safe(budget: Budget, outlook: Outlook) -> float:
    """Return for how long to search at the most, or less than 0, lest the flag falls."""
    spared = min(SPARED * budget.flag, MOST_SPARED)
    return budget.flag - spared - outlook.least - EVALUATIONS_AFTER * outlook.evaluation


def _period_share(budget: Budget, outlook: Outlook) -> tuple[float, float]:
    """Return how long to search an ordinary and a difficult move of a period with its moves."""
    assert budget.moves is not None
    share = budget.bank / budget.moves
    # What one move takes beyond its share, the others of the period lack.
    others = max(0.5 * share, min(share, 2.0 * outlook.least))
    left = budget.bank - (budget.moves - 1) * others
    hard = min(left, BURST * share) + budget.spare
    return share - outlook.least, hard - outlook.least


def _game_share(budget: Budget, outlook: Outlook) -> tuple[float, float]:
    """Return how long to search an ordinary and a difficult move of all that are to come."""
    usual = outlook.usual
    need = max(0.0, usual - budget.income - budget.overtime)
    kept = min(need, budget.bank / outlook.most_moves)
    unlucky = UNLUCKY_MOVES * outlook.lag if need and outlook.usual_loss is not None else 0.0
    usable = max(0.0, budget.bank - kept * outlook.most_moves - unlucky)
    share = outlook.share * usable
    burst = max(share, min(BURST * share, LARGEST_BURST * usable))
    floor = max(budget.overtime, budget.surplus) - outlook.least
    base = kept + budget.income - usual
    return max(base + share, floor), max(base + burst, floor)


def _weight(phase: float) -> float:
    """Return the weight of a move at so many plies a point."""
    for (start, low), (end, high) in pairwise(PHASES):
        if phase < end:
            return low + (high - low) * (phase - start) / (end - start)
    return PHASES[-1][1]


def _weight_after(phase: float) -> float:
    """Return the weight of all plies still expected, by plies a point."""
    total = TAIL * PHASES[-1][1]
    for (start, _), (end, high) in pairwise(PHASES):
        if phase < end:
            begin = max(start, phase)
            total += 0.5 * (_weight(begin) + high) * (end - begin)
    return total
