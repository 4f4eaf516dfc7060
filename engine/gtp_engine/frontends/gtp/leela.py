"""Leela Zero's extensions."""

from gtp_engine.frontends.gtp.analyze import run_analysis, run_genmove
from gtp_engine.frontends.gtp.info_lines import leela_line
from gtp_engine.frontends.gtp.protocol import Arguments
from gtp_engine.frontends.gtp.session import Registry, Session

commands = Registry()


@commands.command("lz-analyze")
def lz_analyze(session: Session, arguments: Arguments) -> str:
    """Analyse until the client sends another line."""
    return run_analysis(session, arguments, leela_line)


@commands.command("lz-genmove_analyze")
def lz_genmove_analyze(session: Session, arguments: Arguments) -> str:
    """Choose and play a move, reporting on the way."""
    return run_genmove(session, arguments, leela_line)
