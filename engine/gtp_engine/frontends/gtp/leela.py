"""Leela Zero's extensions."""

from typing import TYPE_CHECKING

from gtp_engine.frontends.gtp.analyze import run_analysis, run_genmove
from gtp_engine.frontends.gtp.info_lines import AnalyzeRequest, leela_line, shown_moves
from gtp_engine.frontends.gtp.protocol import Arguments
from gtp_engine.frontends.gtp.session import Registry, Session

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis

commands = Registry()


@commands.command("lz-analyze")
def lz_analyze(session: Session, arguments: Arguments) -> str:
    """Analyse until the client sends another line."""
    return run_analysis(session, arguments, _form)


@commands.command("lz-genmove_analyze")
def lz_genmove_analyze(session: Session, arguments: Arguments) -> str:
    """Choose and play a move, reporting on the way."""
    return run_genmove(session, arguments, _form)


def _form(analysis: "Analysis", request: AnalyzeRequest) -> str:
    return leela_line(analysis, shown_moves(analysis, request.min_moves, request.max_moves))
