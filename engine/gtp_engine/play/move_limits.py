"""When the search for a move ends: what the user asked for, and what the clock leaves."""

from typing import TYPE_CHECKING

from gtp_engine.play.clock.clock import Clock
from gtp_engine.play.clock.planner import outlook
from gtp_engine.play.settings import DEFAULT_SECONDS_PER_MOVE, Settings
from gtp_engine.search.limits import Limits

if TYPE_CHECKING:
    from gtp_engine.go.position import Position


def limits_of_move(
    settings: Settings,
    clock: Clock,
    position: "Position",
    color: int,
    evaluation: float,
    spent: float,
) -> Limits | None:
    """Return when the next search of a player is to end.

    Args:
        settings: What the user asked for.
        clock: What is left, and of which time system.
        position: The game, whose length so far says how much is to come.
        color: The player.
        evaluation: Seconds that one evaluation takes.
        spent: Seconds that are gone since the clock began to run.

    Returns:
        The limits; None where the clock leaves no time for a single evaluation.
    """
    if not clock.is_limited:
        if settings.playouts is not None and settings.time is None:
            return Limits(playouts=settings.playouts)
        seconds = DEFAULT_SECONDS_PER_MOVE if settings.time is None else settings.time
        return Limits(playouts=settings.playouts, seconds=seconds)
    # Stones that were set up count as moves: they too are a part of the game behind us.
    ply = max(position.ply, int((position.grid() > 0).sum()))
    plan = clock.plan(color, outlook(position.area, ply, settings.lag, evaluation), spent)
    if plan.is_urgent:
        return None
    hard = plan.hard if settings.time is None else min(plan.hard, settings.time)
    return Limits(playouts=settings.playouts, seconds=hard, soft_seconds=min(plan.soft, hard))
