"""KataGo's extensions."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from gtp_engine.evaluators.human_profile import HumanProfile
from gtp_engine.frontends.gtp.analyze import AnalyzeRequest, run_analysis, run_genmove
from gtp_engine.frontends.gtp.gogui import set_up_stones
from gtp_engine.frontends.gtp.info_lines import kata_line, shown_moves
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.raw_evaluation import format_raw_evaluation
from gtp_engine.frontends.gtp.registry import Registry
from gtp_engine.frontends.gtp.session import Session
from gtp_engine.go.coords import BLACK
from gtp_engine.go.rules import InvalidRulesError, Rules
from gtp_engine.search.params import RANGES

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis

commands = Registry()

# Rules ------------------------------------------------------------------------------------------


@commands.command("kata-get-rules")
def get_rules(session: Session, arguments: Arguments) -> str:
    """Give the rules as a JSON object."""
    return json.dumps(session.board_engine().rules.to_kata(), separators=(",", ":"))


@commands.command("kata-set-rules")
def set_rules(session: Session, arguments: Arguments) -> str:
    """Set the rules: a preset's name or a JSON object."""
    arguments.word(0, "the rules")
    change_rules(session, arguments.rest)
    return ""


def change_rules(session: Session, text: str) -> None:
    """Set the rules of a preset's name or a JSON object, in mid-game too.

    Raises:
        GtpError: There are no such rules, or the game does not fit them.
    """
    engine = session.board_engine()
    try:
        rules = Rules.parse(text, komi=engine.komi)
        names_komi = Rules.parse(text, komi=0.0) == Rules.parse(text, komi=1.0)
    except InvalidRulesError as error:
        raise GtpError(f"syntax error: {error}") from None
    _adopt(session, rules, names_komi)


@commands.command("kata-set-rule")
def set_rule(session: Session, arguments: Arguments) -> str:
    """Change one of the rules."""
    key = arguments.word(0, "the rule's name")
    value = arguments.word(1, "the rule's value")
    try:
        rules = session.board_engine().rules.with_option(key, value)
    except InvalidRulesError as error:
        raise GtpError(f"syntax error: {error}") from None
    _adopt(session, rules, key == "komi")
    return ""


def _adopt(session: Session, rules: Rules, names_komi: bool) -> None:
    engine = session.board_engine()
    from gtp_engine.go.position import SetupError

    try:
        engine.rules = rules
    except SetupError as error:
        raise GtpError(str(error)) from None
    if names_komi:
        engine.komi = rules.komi


# Position and engine ----------------------------------------------------------------------------


@commands.command("set_position")
def set_position(session: Session, arguments: Arguments) -> str:
    """Begin a game from stones given as colors and vertices, Black to move."""
    set_up_stones(session, session.parse_moves(arguments), BLACK)
    return ""


@commands.command("stop")
def stop(session: Session, arguments: Arguments) -> str:
    """End an analysis: that this line came has done so."""
    return ""


@commands.command("kata-list-params")
def list_params(session: Session, arguments: Arguments) -> str:
    """List the parameters that `kata-get-param` knows."""
    return " ".join(_PARAMETERS)


@commands.command("kata-get-param")
def get_param(session: Session, arguments: Arguments) -> str:
    """Give a parameter: a limit (0 where there is none), the human profile, or the search's."""
    settings = session.engine.settings
    match _parameter(arguments):
        case "maxPlayouts":
            return str(settings.playouts or 0)
        case "maxTime":
            return f"{settings.time or 0:g}"
        case "humanSLProfile":
            return "" if settings.human_profile is None else settings.human_profile.name
        case name:
            value = getattr(session.engine.search_params, name)
            return str(value).lower() if isinstance(value, bool) else f"{value:g}"


@commands.command("kata-set-param")
def set_param(session: Session, arguments: Arguments) -> str:
    """Change a parameter from now on; 0 takes a limit away."""
    settings = session.engine.settings
    match _parameter(arguments):
        case "maxPlayouts":
            playouts = arguments.integer(1, "maxPlayouts")
            if playouts < 0:
                raise GtpError("syntax error: maxPlayouts must be 0 or more")
            session.engine.settings = replace(settings, playouts=playouts or None)
        case "maxTime":
            seconds = arguments.number(1, "maxTime", minimum=0)
            session.engine.settings = replace(settings, time=seconds or None)
        case "humanSLProfile":
            _set_human_profile(session, arguments.word(1, "the human profile"))
        case name:
            value = arguments.word(1, "the parameter's value")
            try:
                session.engine.search_params = session.engine.search_params.with_option(name, value)
            except ValueError as error:
                raise GtpError(f"syntax error: {error}") from None
    return ""


def _set_human_profile(session: Session, name: str) -> None:
    try:
        profile = HumanProfile.parse(name)
    except ValueError as error:
        raise GtpError(f"syntax error: {error}") from None
    session.net_engine().set_human_profile(profile)


_PARAMETERS = ("maxPlayouts", "maxTime", "humanSLProfile", *RANGES)


def _parameter(arguments: Arguments) -> str:
    name = arguments.word(0, "a parameter's name")
    if name not in _PARAMETERS:
        raise GtpError(f"unknown parameter {name[:40]!r}; see kata-list-params")
    return name


# Analysis ---------------------------------------------------------------------------------------


@commands.command("kata-analyze")
def kata_analyze(session: Session, arguments: Arguments) -> str:
    """Analyse until the client sends another line."""
    return run_analysis(session, arguments, _form)


@commands.command("kata-genmove_analyze")
def kata_genmove_analyze(session: Session, arguments: Arguments) -> str:
    """Choose and play a move, reporting on the way."""
    return run_genmove(session, arguments, _form)


def _form(analysis: "Analysis", request: AnalyzeRequest) -> str:
    return kata_line(
        analysis,
        shown_moves(analysis, request.min_moves, request.max_moves),
        root_info=request.root_info,
        pv_visits=request.pv_visits,
    )


@commands.command("kata-raw-nn")
def raw_nn(session: Session, arguments: Arguments) -> str:
    """Give the net's own opinion: `SYMMETRY [OPTIMISM]`, the symmetry 0 to 7 or `all`."""
    chosen = None if arguments.word(0, "a symmetry").lower() == "all" else _symmetry(arguments)
    optimism = arguments.number(1, "the optimism", minimum=0) if len(arguments) > 1 else None
    if optimism is not None and optimism > 1:
        raise GtpError("syntax error: the optimism must be 0 to 1")
    engine = session.net_engine()
    from gtp_engine.go.symmetry import symmetries

    width, height = session.position.width, session.position.height
    possible = list(symmetries(width, height))
    if chosen is not None and chosen not in possible:
        raise GtpError(f"symmetry {chosen} turns the board, which is not square")
    return "\n".join(
        format_raw_evaluation(engine.raw_evaluation(symmetry, optimism))
        for symmetry in (possible if chosen is None else [chosen])
    )


def _symmetry(arguments: Arguments) -> int:
    symmetry = arguments.integer(0, "the symmetry")
    if symmetry not in range(8):
        raise GtpError("syntax error: the symmetry must be 0 to 7 or all")
    return symmetry
