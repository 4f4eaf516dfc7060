"""The extensions of CGOS, the server where computers play each other.

An analysis is one line of JSON, as the server's proposal for tournaments has it: `winrate` 0 to
1, `score` in points and `ownership`, one character a point, speak for the player to move.
"""

import json
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gtp_engine.frontends.gtp.analyze import run_analysis, run_genmove
from gtp_engine.frontends.gtp.info_lines import AnalyzeRequest, shown_moves
from gtp_engine.frontends.gtp.protocol import Arguments
from gtp_engine.frontends.gtp.session import Registry, Session

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis, MoveReport

logger = logging.getLogger(__name__)


commands = Registry()

_LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+"
"""Characters for an ownership of -1, -1 + 1/31 ... 1."""

_MOST_MOVES = 10


@commands.command("cgos-genmove_analyze")
def cgos_genmove_analyze(session: Session, arguments: Arguments) -> str:
    """Choose and play a move, with one line about what was found."""
    # Nothing on the way: the client passes the last line on.
    return run_genmove(session, _asking_for_ownership(arguments, "interval 1000000"), _form)


@commands.command("cgos-analyze")
def cgos_analyze(session: Session, arguments: Arguments) -> str:
    """Analyse until the client sends another line, a line of JSON for each report."""
    return run_analysis(session, _asking_for_ownership(arguments), _form)


def _asking_for_ownership(arguments: Arguments, more: str = "") -> Arguments:
    return Arguments(f"{arguments.rest} ownership true {more}")


def _form(analysis: "Analysis", request: AnalyzeRequest) -> str:
    document: dict[str, Any] = {
        "winrate": round(analysis.winrate, 4),
        "score": round(analysis.score_lead, 2),
        "visits": analysis.visits,
        "moves": [
            _describe(analysis, move)
            for move in shown_moves(
                analysis, request.min_moves, min(request.max_moves or _MOST_MOVES, _MOST_MOVES)
            )
        ],
    }
    if analysis.ownership is not None:
        document["ownership"] = encode_ownership(analysis.ownership.ravel())
    return json.dumps(document, separators=(",", ":"))


def _describe(analysis: "Analysis", move: "MoveReport") -> dict[str, Any]:
    """Return what is said about a move; its variation begins with the answer to it."""
    return {
        "move": analysis.vertex(move.point),
        "winrate": round(move.winrate, 4),
        "score": round(move.score_lead, 2),
        "prior": round(move.prior, 4),
        "visits": move.visits,
        "pv": " ".join(analysis.vertex(point) for point in move.pv[1:]),
    }


def encode_ownership(values: Iterable[float]) -> str:
    """Return ownership as text: "A" is -1, "f" 0 and "+" 1."""
    last = len(_LEVELS) - 1
    return "".join(_LEVELS[round(last * min(max((value + 1) / 2, 0.0), 1.0))] for value in values)


@commands.command("cgos-opponent_name")
def opponent_name(session: Session, arguments: Arguments) -> str:
    """Take note of who the opponent is."""
    session.opponent = arguments.rest
    return ""


@commands.command("cgos-opponent_rating")
def opponent_rating(session: Session, arguments: Arguments) -> str:
    """Take note of how strong the opponent is."""
    logger.info(f"playing {session.opponent or 'somebody'}, rated {arguments.rest}")
    return ""


@commands.command("cgos-gameover")
def game_over(session: Session, arguments: Arguments) -> str:
    """Take note of the result: nothing is thought about until the next game."""
    session.engine.rest()
    logger.info(f"game over: {arguments.rest}")
    return ""
