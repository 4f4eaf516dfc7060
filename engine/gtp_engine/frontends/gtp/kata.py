"""KataGo's extensions for rules, positions, searches, parameters and nets."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.frontends.gtp.analyze import (
    COLOR_WORDS,
    run_analysis,
    run_genmove,
)
from gtp_engine.frontends.gtp.core import generate, set_up_stones
from gtp_engine.frontends.gtp.info_lines import kata_line
from gtp_engine.frontends.gtp.parameters import PARAMETERS, find_parameter
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.session import Registry, Session
from gtp_engine.games import parse_rules
from gtp_engine.go.rules import Rules
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits

if TYPE_CHECKING:
    from gtp_engine.evaluators.net_evaluator import RawEvaluation

commands = Registry()

# Rules ------------------------------------------------------------------------------------------


@commands.command("kata-get-rules")
def get_rules(session: Session, arguments: Arguments) -> str:
    """Give the rules as a JSON object."""
    return json.dumps(session.board_engine().rules.to_kata(), separators=(",", ":"))


@commands.command("kata-set-rules")
def set_rules(session: Session, arguments: Arguments) -> str:
    """Set the rules: a preset's name or a JSON object."""
    arguments.word(0, "the ruleset")
    change_rules(session, arguments.rest)
    return ""


def change_rules(session: Session, text: str) -> None:
    """Set the rules of a preset's name or a JSON object, in mid-game too.

    Raises:
        InvalidRulesError: There are no such rules.
        GtpError: The game does not fit them.
    """
    engine = session.board_engine()
    parse = partial(parse_rules, engine.settings.game, text)
    _adopt(session, parse(komi=engine.komi), parse(komi=0.0) == parse(komi=1.0))


@commands.command("kata-set-rule")
def set_rule(session: Session, arguments: Arguments) -> str:
    """Change one of the rules."""
    change_rule(
        session, arguments.word(0, "the rule's name"), arguments.word(1, "the rule's value")
    )
    return ""


def change_rule(session: Session, key: str, value: str) -> None:
    """Change one of the rules, in mid-game too.

    Raises:
        InvalidRulesError: There is no such rule or value.
        GtpError: The game does not fit it.
    """
    _adopt(session, session.board_engine().rules.with_option(key, value), key == "komi")


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
    """End an analysis, which any line does, and thinking on the opponent's time."""
    session.engine.rest()
    return ""


@commands.command("clear_cache")
def clear_cache(session: Session, arguments: Arguments) -> str:
    """Forget what earlier searches found, so that the next one starts afresh."""
    session.net_engine().clear_cache()
    return ""


# Analysis ---------------------------------------------------------------------------------------


# Sabaki would prefer the short names, and misread the winrates.
@commands.command("kata-analyze")
@commands.command("analyze", is_listed=False)
def kata_analyze(session: Session, arguments: Arguments) -> str:
    """Analyse until the client sends another line."""
    return run_analysis(session, arguments, kata_line)


@commands.command("kata-genmove_analyze")
@commands.command("genmove_analyze", is_listed=False)
def kata_genmove_analyze(session: Session, arguments: Arguments) -> str:
    """Choose and play a move, reporting on the way."""
    return run_genmove(session, arguments, kata_line)


@commands.command("kata-search_analyze")
def kata_search_analyze(session: Session, arguments: Arguments) -> str:
    """Choose a move without playing it, reporting on the way."""
    return run_genmove(session, arguments, kata_line, is_played=False)


@commands.command("kata-search_analyze_cancellable")
def kata_search_analyze_cancellable(session: Session, arguments: Arguments) -> str:
    """Do the same until the client sends another line: then the move is `cancelled`."""
    return run_genmove(session, arguments, kata_line, is_played=False, is_cancellable=True)


@commands.command("kata-search_cancellable")
def kata_search_cancellable(session: Session, arguments: Arguments) -> str:
    """Do as kata-search until the client sends another line: then it is `cancelled`."""
    return generate(session, arguments, is_played=False, is_cancellable=True)


@commands.command("kata-benchmark")
def benchmark(session: Session, arguments: Arguments) -> str:
    """Search the present position afresh to so many visits and say how fast that was."""
    visits = arguments.integer(0, "the number of visits", minimum=1)
    engine = session.net_engine()
    engine.clear_cache()
    with session.searching() as stop:
        color, limits = session.position.to_play, Limits(visits=visits)
        found = engine.analyze(color, ReportRequest(), limits, stop=stop)
    seconds = max(found.elapsed, 1e-6)
    return (
        f"{found.visits} visits, {found.nodes} nodes, {seconds:.2f} s:"
        f" {found.visits / seconds:.1f} visits/s"
    )


@commands.command("kata-raw-nn")
def raw_nn(session: Session, arguments: Arguments) -> str:
    """Give the net's own opinion: `[COLOR] SYMMETRY [OPTIMISM]`, the symmetry 0 to 7 or `all`."""
    return _raw_evaluations(session, arguments, format_raw_evaluation)


@commands.command("kata-raw-human-nn")
def raw_human_nn(session: Session, arguments: Arguments) -> str:
    """Give the opinion of a net that plays like people: `[COLOR] SYMMETRY`."""
    net = session.net_engine().net()
    if net is None or net.info.meta_features == 0:
        raise GtpError("the net in use is not one that takes a human profile")
    return _raw_evaluations(session, arguments, format_human_evaluation)


def _raw_evaluations(
    session: Session, arguments: Arguments, form: Callable[["RawEvaluation"], str]
) -> str:
    color = None
    if arguments.words and arguments.words[0].lower() in COLOR_WORDS:
        color = arguments.color(0)
        arguments = Arguments(" ".join(arguments.words[1:]))
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
        form(engine.raw_evaluation(symmetry, optimism, color))
        for symmetry in (possible if chosen is None else [chosen])
    )


def _symmetry(arguments: Arguments) -> int:
    symmetry = arguments.integer(0, "the symmetry")
    if symmetry not in range(8):
        raise GtpError("syntax error: the symmetry must be 0 to 7 or all")
    return symmetry


def format_raw_evaluation(raw: "RawEvaluation") -> str:
    """Return the lines for one symmetry; illegal moves have the probability NAN."""
    mean = raw.score_mean if raw.to_play == WHITE else -raw.score_mean
    lead = raw.lead if raw.to_play == WHITE else -raw.lead
    scores = {
        "whiteLead": lead,
        "whiteScoreSelfplay": mean,
        "whiteScoreSelfplaySq": mean**2 + raw.score_stdev**2,
        "varTimeLeft": raw.var_time,
    }
    return _format_evaluation(raw, scores)


def format_human_evaluation(raw: "RawEvaluation") -> str:
    """Return the same for a net of people's games, whose score is that of the end."""
    mean = raw.score_mean if raw.to_play == WHITE else -raw.score_mean
    return _format_evaluation(
        raw, {"whiteScore": mean, "whiteScoreSq": mean**2 + raw.score_stdev**2}
    )


def _format_evaluation(raw: "RawEvaluation", scores: Mapping[str, float | None]) -> str:
    is_white = raw.to_play == WHITE
    win, loss = (raw.win, raw.loss) if is_white else (raw.loss, raw.win)
    lines = [
        f"symmetry {raw.symmetry}",
        f"whiteWin {win:.6f}",
        f"whiteLoss {loss:.6f}",
        f"noResult {raw.no_result:.6f}",
        *(f"{name} {_number(value)}" for name, value in scores.items()),
        f"shorttermWinlossError {_number(raw.shortterm_winloss_error)}",
        f"shorttermScoreError {_number(raw.shortterm_score_error)}",
        "policy",
        *(_row(row, _probability) for row in raw.policy),
        f"policyPass {_probability(raw.policy_pass)}",
    ]
    if raw.ownership is not None:
        owned = raw.ownership if is_white else -raw.ownership
        lines += ["whiteOwnership", *(_row(row, _share) for row in owned)]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    """Return a number as text, never -0.000; -1 for an estimate that the net does not give."""
    return f"{-1.0 if value is None else value:z.3f}"


def _row(values: Iterable[float], form: Callable[[float], str]) -> str:
    return " ".join(form(value) for value in values)


def _probability(value: float) -> str:
    return f"{value:8.6f}" if value >= 0 else "     NAN"


def _share(value: float) -> str:
    return f"{value:z9.7f}"  # z: zero has no sign


# Parameters, and what is known about the net ----------------------------------------------------


@commands.command("kata-list-params")
def list_params(session: Session, arguments: Arguments) -> str:
    """List the parameters that `kata-get-param` knows."""
    return " ".join(PARAMETERS)


@commands.command("kata-get-param")
def get_param(session: Session, arguments: Arguments) -> str:
    """Give a parameter: a limit (0 where there is none), a habit, or one of the search's."""
    return find_parameter(arguments.word(0, "a parameter's name")).read(session)


@commands.command("kata-get-params")
def get_params(session: Session, arguments: Arguments) -> str:
    """Give all parameters as a JSON object."""
    values = {name: _as_json(parameter.read(session)) for name, parameter in PARAMETERS.items()}
    return json.dumps(values)


@commands.command("kata-set-param")
def set_param(session: Session, arguments: Arguments) -> str:
    """Change a parameter from now on; 0 takes a limit away."""
    parameter = find_parameter(arguments.word(0, "a parameter's name"))
    parameter.change(session, arguments.word_or_nothing(1))
    return ""


@commands.command("kata-set-params")
def set_params(session: Session, arguments: Arguments) -> str:
    """Change the parameters that a JSON object names, or none of them if one cannot be."""
    try:
        wanted = json.loads(arguments.rest)
    except (ValueError, RecursionError):
        raise GtpError("syntax error: the parameters are no JSON object") from None
    if not isinstance(wanted, dict):
        raise GtpError("syntax error: the parameters are no JSON object")
    changes = [(find_parameter(name), _as_text(value)) for name, value in wanted.items()]
    engine, profile = session.engine, PARAMETERS["humanSLProfile"]
    settings, params, profile_name = engine.settings, engine.search_params, profile.read(session)
    try:
        for parameter, text in changes:
            parameter.change(session, text)
    except Exception:
        profile.change(session, profile_name)
        engine.settings, engine.search_params = settings, params
        raise
    return ""


def _as_json(text: str) -> Any:
    """Return the number or truth value that a parameter's text is, or the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _as_text(value: Any) -> str:
    if isinstance(value, list | dict):
        raise GtpError("syntax error: a parameter's value is a number, a text, true or false")
    return value if isinstance(value, str) else json.dumps(value)


@commands.command("kata-get-models")
def get_models(session: Session, arguments: Arguments) -> str:
    """Describe the net in a JSON array of one object; it is empty where there is no net."""
    from gtp_engine.frontends.analysis.server import describe_model

    engine = session.net_engine()
    return json.dumps([] if engine.net() is None else [describe_model(engine.search.evaluator)])
