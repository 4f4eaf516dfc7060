"""What a search said of one position of a game, in a form that can be written down.

Everything speaks for Black: `black_lead` in points, `black_winrate` 0 to 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK
from gtp_engine.search.analysis import Analysis, MoveReport

CANDIDATES = 5
"""Moves of a position that are kept, the best first."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
"""How ownership is written, a letter a point: A is White's for sure, "." is Black's."""


@dataclass(frozen=True)
class Spot:
    """A position to search: one of the game, or the one after another move than the game's."""

    turn: int
    """Moves of the game made before."""
    instead: int | None = None
    """The move made in place of the game's next; None: none."""


@dataclass(frozen=True)
class Candidate:
    """A move that was searched."""

    move: int
    visits: int
    black_winrate: float
    black_lead: float
    pv: tuple[int, ...]
    """Moves expected, this one first."""


@dataclass(frozen=True)
class Judgement:
    """What a search said of a position."""

    visits: int
    to_play: int
    black_winrate: float
    black_lead: float
    """Points; the mean over the search."""
    ownership: str
    """A letter of LETTERS a point, row by row from the top."""
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate | None:
        """The move the search would play; None where the game is over."""
        return self.candidates[0] if self.candidates else None

    def owners(self) -> npt.NDArray[np.float64]:
        """Return the ownership, [points] from -1 (White's) to 1 (Black's), row by row."""
        half = (len(LETTERS) - 1) / 2.0
        return np.array([LETTERS.index(letter) / half - 1.0 for letter in self.ownership])

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Judgement":
        """Return the judgement that has been plain data."""
        candidates = tuple(
            Candidate(**{**each, "pv": tuple(each["pv"])}) for each in found["candidates"]
        )
        return cls(**{**found, "candidates": candidates})


def judgement_of(analysis: Analysis) -> Judgement:
    """Return what is kept of a search's last report."""
    kept = [move for move in analysis.moves[:CANDIDATES] if move.visits > 0]
    return Judgement(
        visits=analysis.visits,
        to_play=analysis.to_play,
        black_winrate=_for_black(analysis.winrate, analysis.to_play),
        black_lead=round(gain_for(analysis.to_play, analysis.score_lead), 2),
        ownership=_written(analysis.ownership, gain_for(analysis.to_play, 1.0)),
        candidates=tuple(_candidate(move, analysis.to_play) for move in kept),
    )


def _candidate(move: MoveReport, to_play: int) -> Candidate:
    return Candidate(
        move=move.point,
        visits=move.visits,
        black_winrate=_for_black(move.winrate, to_play),
        black_lead=round(gain_for(to_play, move.score_lead), 2),
        pv=move.pv,
    )


def _for_black(winrate: float, to_play: int) -> float:
    return round(winrate if to_play == BLACK else 1.0 - winrate, 4)


def _written(ownership: npt.NDArray[Any] | None, sign: float) -> str:
    if ownership is None:
        return ""
    steps = np.rint((np.clip(sign * ownership.ravel(), -1.0, 1.0) + 1.0) * 32.0).astype(int)
    return "".join(LETTERS[step] for step in steps)


def gain_for(color: int, black_points: float) -> float:
    """Return points for Black as points for a player."""
    return black_points if color == BLACK else 0.0 - black_points
