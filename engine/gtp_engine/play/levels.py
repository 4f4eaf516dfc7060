"""Levels of play from beginner to the net's best. Only the standard library is imported here.

A weaker level plays moves that people play: it draws from the net's policy, flattened by a
temperature, after a short search that looks at more moves than a strong player would. A move that
seems to lose more points than the level allows is never played, so there are no blunders thrown
in: a level is weak because it takes the second-best for good, not because it plays at random.
Play without search is a level of its own kind: see `policy_level`.
"""

import math
import random
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from gtp_engine.coords import MAX_SIZE, PASS
from gtp_engine.search.params import SearchParams
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits

if TYPE_CHECKING:
    from gtp_engine.go.position import Position
    from gtp_engine.play.decision import Decision
    from gtp_engine.search.analysis import Analysis
    from gtp_engine.search.search import Search


@dataclass(frozen=True, slots=True)
class Level:
    """One level; see levels.toml for how strong each is."""

    playouts: int
    """Most new playouts a move."""
    temperature: float
    """The root's priors are raised to 1 / this."""
    largest_loss: float
    """Points by which a move may seem worse than the best one."""

    @property
    def searches(self) -> bool:
        """Whether it looks ahead; otherwise it knows nothing but the net's policy."""
        return self.playouts > 1

    def params(self, params: SearchParams) -> SearchParams:
        """Return the parameters of this level's search."""
        return replace(params, root_policy_temperature=self.temperature)

    def limits(self, limits: Limits) -> Limits:
        """Return limits no wider than this level's."""
        most = self.playouts if limits.playouts is None else min(self.playouts, limits.playouts)
        return replace(limits, playouts=most)

    def order(self, analysis: "Analysis", generator: random.Random) -> list[int]:
        """Return the moves found, the one to play first, the others as they were.

        The move is drawn from the priors of those that seem to lose little enough.
        """
        moves = [move.point for move in analysis.moves]
        if not moves:
            return moves
        best = analysis.moves[0]
        fair = [
            move
            for move in analysis.moves
            if best.score_lead - move.score_lead <= self.largest_loss
            and (self.searches or move.point != PASS or move is best)
        ]
        drawn = generator.choices(fair, [move.prior for move in fair])[0].point
        return [drawn, *(point for point in moves if point != drawn)]


def decide_at_level(
    level: Level,
    generator: random.Random,
    search: "Search",
    position: "Position",
    limits: Limits,
    report: "ReportRequest | None" = None,
    *,
    cleanup: bool = False,
) -> "Decision":
    """Return the move to play after a search of its own; what the tree holds is not for this level.

    Args:
        search: Its tree and, on the way, its parameters give way; the tree is empty afterwards.
        position: The player that `to_play` names is to move.

    Raises:
        NetFileError: The net failed.
    """
    from gtp_engine.play.move_choice import decide

    if not level.searches:  # moves that nobody has visited are drawn from too
        report = replace(report or ReportRequest(), min_moves=MAX_SIZE**2 + 1)
    usual = search.params
    search.clear()
    search.params = level.params(usual)
    try:
        return decide(
            search,
            position,
            level.limits(limits),
            report,
            cleanup=cleanup,
            order=lambda found: level.order(found, generator),
        )
    finally:
        search.params = usual
        search.clear()


@lru_cache(maxsize=1)
def load_levels() -> tuple[Level, ...]:
    """Return the restricted levels, weakest first; above the last one nothing is restricted."""
    text = files("gtp_engine.play").joinpath("levels.toml").read_text(encoding="utf-8")
    entries: Iterable[dict[str, float]] = tomllib.loads(text)["level"]
    return tuple(
        Level(int(entry["playouts"]), float(entry["temperature"]), float(entry["largest_loss"]))
        for entry in entries
    )


def policy_level(temperature: float) -> Level:
    """Return how to play without search: a move drawn from the policy raised to 1 / temperature.

    A pass is not drawn, but played where the policy likes it best.
    """
    return Level(playouts=1, temperature=temperature, largest_loss=math.inf)


def highest_level() -> int:
    """Return the number of the level that is the net's best."""
    return len(load_levels()) + 1


def find_level(number: int) -> Level | None:
    """Return a level; None for the net's best.

    Raises:
        ValueError: There is no such level.
    """
    if not 1 <= number <= highest_level():
        raise ValueError(f"the level must be a number from 1 to {highest_level()}")
    return load_levels()[number - 1] if number < highest_level() else None
