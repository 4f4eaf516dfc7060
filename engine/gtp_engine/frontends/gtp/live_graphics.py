"""Pictures on GoGui's board while a search runs, which GoGui reads from stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from gtp_engine.messages import show

if TYPE_CHECKING:
    from gtp_engine.frontends.gtp.session import Session
    from gtp_engine.search.analysis import Analysis
    from gtp_engine.search.request import ReportRequest

INTERVAL = 0.5
"""Seconds between two pictures."""


class LiveGraphics(StrEnum):
    """What is drawn."""

    NONE = "none"
    CANDIDATES = "candidates"
    VARIATION = "variation"
    OWNERSHIP = "ownership"


@contextmanager
def drawing(session: "Session") -> Iterator["ReportRequest | None"]:
    """Draw while this context lasts, if a client wants it.

    Yields:
        What to ask of the search; None where nothing is drawn.
    """
    kind = session.live_graphics
    if kind is LiveGraphics.NONE:
        yield None
        return
    from gtp_engine.frontends.gtp.gogui_pictures import draw_live
    from gtp_engine.search.request import ReportRequest

    def draw(analysis: "Analysis") -> None:
        if not analysis.is_final:
            show(f"gogui-gfx:\n{draw_live(analysis, kind)}\n")

    try:
        yield ReportRequest(INTERVAL, draw, ownership=kind is LiveGraphics.OWNERSHIP)
    finally:
        # Else a picture that arrives late would stay on the board.
        show("gogui-gfx: CLEAR")
