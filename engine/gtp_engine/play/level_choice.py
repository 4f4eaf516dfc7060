"""Choose a move at one of the restricted levels."""

import random

from gtp_engine.go.position import Position
from gtp_engine.play.decision import Decision
from gtp_engine.play.levels import Level
from gtp_engine.play.move_choice import decide
from gtp_engine.search.limits import Limits, ReportRequest
from gtp_engine.search.search import Search


def decide_at_level(
    level: Level,
    generator: random.Random,
    search: Search,
    position: Position,
    limits: Limits,
    report: ReportRequest | None = None,
    *,
    cleanup: bool = False,
) -> Decision:
    """Return the move to play after a search of its own; what the tree holds is not for this level.

    Args:
        level: How to search, and which of the moves found are fair.
        generator: Draws among these.
        search: Its tree and, on the way, its parameters give way; the tree is empty afterwards.
        position: The player that `to_play` names is to move.
        limits: When to end the search at the latest.
        report: Who wants to hear about it.
        cleanup: Capture every dead stone before passing.

    Raises:
        NetFileError: The net failed.
    """
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
