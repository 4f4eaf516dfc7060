"""KataGo's extensions for parameters, and for what is known about the net."""

import json
from typing import Any

from gtp_engine.frontends.gtp.parameters import PARAMETERS, find_parameter
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.registry import Registry
from gtp_engine.frontends.gtp.session import Session

commands = Registry()


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
    parameter.change(session, arguments.word(1, "the parameter's value"))
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
    net = session.net_engine().net()
    if net is None:
        return "[]"
    info = net.info
    model = {
        "name": info.name,
        "internalName": info.source or info.name,
        "maxBatchSize": session.engine.settings.batch or 0,
        "usesHumanSLProfile": info.meta_features > 0,
        "version": info.encoder_version,
        "usingFP16": str(info.precision == "fp16").lower(),
    }
    return json.dumps([model])
