"""Elo ratings of many players, from all that they played against each other."""

import math
from collections.abc import Sequence

import numpy as np

from gtp_engine.arena.statistics import Z_95, Interval

_FAINT = 1e-4
"""Draws players together who never met, even over others; far below what a game says."""


def rate_players(
    results: Sequence[tuple[str, str, float, int]], anchor: str
) -> dict[str, Interval]:
    """Return the Elo points of players by all their matches, above one of them, who has 0.

    R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39
    (1952), 324-345, by Newton's method. One drawn game is added to every pair that has met, so that
    a player who won all games gets a rating too. Who is linked to nobody has 0, known to nobody.

    Args:
        results: Two players, the games that the first one won, and how many there were.
        anchor: Who has 0.
    """
    names = sorted({anchor, *(name for result in results for name in result[:2])})
    number = {name: i for i, name in enumerate(names)}
    games = np.zeros((len(names), len(names)))
    wins = np.zeros_like(games)
    for first, second, won, played in results:
        a, b = number[first], number[second]
        games[a, b] += played
        games[b, a] += played
        wins[a, b] += won
        wins[b, a] += played - won
    met = games > 0
    games += met
    wins += 0.5 * met
    ratings = np.zeros(len(names))  # natural logarithms of the odds against an average player
    information = np.eye(len(names))
    for _ in range(100):
        chance = 1.0 / (1.0 + np.exp(np.clip(ratings[None] - ratings[:, None], -50.0, 50.0)))
        spread = games * chance * (1.0 - chance)
        information = np.diag(spread.sum(1) + _FAINT) - spread
        step = np.linalg.solve(information, (wins - games * chance).sum(1) - _FAINT * ratings)
        ratings += np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-6:
            break
    covariance = np.linalg.inv(information)
    at = number[anchor]
    variance = covariance.diagonal() + covariance[at, at] - 2.0 * covariance[at]
    ratings = (ratings - ratings[at]) * 400.0 / math.log(10.0)
    errors = Z_95 * np.sqrt(np.maximum(0.0, variance)) * 400.0 / math.log(10.0)
    return {
        name: Interval(float(r - e), float(r), float(r + e))
        for name, r, e in zip(names, ratings, errors, strict=True)
    }
