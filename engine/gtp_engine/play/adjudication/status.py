"""From a position to the status of every stone, and what a set of dead stones makes of a board.

Dead stones are taken off, and empty regions that touch one color only are that color's. Where a
border is still open, a count gives the land on both sides to nobody; people want to know whose it
will be.
"""

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, EMPTY, WALL, WHITE
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.position import Position
from gtp_engine.go.regions import around
from gtp_engine.go.scoring import agreed_owners, agreed_score
from gtp_engine.play.adjudication.chains import Chain
from gtp_engine.play.adjudication.explanation import SETTLED, Ownership, expected_ownership, explain
from gtp_engine.play.adjudication.fights import read_fights


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


def adjudicate(position: Position, ownership: Ownership | None) -> FinalStatus:
    """Judge a position as finished.

    Args:
        ownership: What is expected; without it only what Benson proves is dead.
    """
    found = explain(position, ownership)
    return status_of(position, found.chains, found.dead)


def judge(
    evaluator: Evaluator,
    position: Position,
    *,
    read: bool = True,
    close_borders: bool = False,
    stop: threading.Event | None = None,
) -> FinalStatus:
    """Judge a position as finished; the same stones are always judged alike.

    Args:
        evaluator: What it expects of the board decides what Benson's theorem leaves open.
        position: As it stands; moves, passes and who is to move do not matter.
        read: Whether groups in doubt are read out, which takes up to a few seconds.
        close_borders: Whether land behind an open border is its expected owner's; a count on the
            board gives it to nobody.
        stop: Ends the reading once it is set, from any thread; groups that are not read by then
            stay as they are expected to be.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    ownership = expected_ownership(evaluator, position)
    found = explain(position, ownership)
    dead = set(found.dead)
    if read and ownership is not None:
        for fight in read_fights(evaluator, position, found, stop):
            dead = dead | fight.stones if fight.is_dead else dead - fight.stones
    expected = found.expected if close_borders else None
    return status_of(position, found.chains, dead, expected)


def status_of(
    position: Position,
    chains: Iterable[Chain],
    dead: Collection[int],
    expected: npt.NDArray[np.float64] | None = None,
) -> FinalStatus:
    """Return what a set of dead stones makes of the board.

    Args:
        expected: [points] ownership, 1 for Black, that decides beyond SETTLED about points of
            empty regions that both touch; None where these are nobody's.
    """
    owners = agreed_owners(position, dead)
    white_score = agreed_score(position, dead)
    if expected is not None:
        nobodys = [p for p in position.points() if owners[p] == EMPTY]
        sure = [p for p in nobodys if abs(expected[p]) >= SETTLED]
        for p in sure:
            owners[p] = BLACK if expected[p] > 0.0 else WHITE
            white_score += 1.0 if owners[p] == WHITE else -1.0
    living = [one for one in chains if one.head not in dead]
    seki = {p for one in living if _is_seki(position, one, owners) for p in one.stones}
    standing = {p for one in living for p in one.stones}
    open_points = [p for p in position.points() if p not in standing]
    return FinalStatus(
        dead=sorted(dead),
        alive=sorted(standing - seki),
        seki=sorted(seki),
        black_territory=[p for p in open_points if owners[p] == BLACK],
        white_territory=[p for p in open_points if owners[p] == WHITE],
        dame=[p for p in open_points if owners[p] == EMPTY],
        white_score=white_score,
    )


def _is_seki(position: Position, chain: Chain, owners: npt.NDArray[np.uint8]) -> bool:
    """Whether a living chain touches no territory of its own color."""
    if chain.proven != EMPTY:
        return False
    free = {
        near
        for point in chain.stones
        for near in around(point, position.width)
        if position.color_at(near) not in (chain.color, WALL)
    }
    return bool(free) and all(owners[near] != chain.color for near in free)
