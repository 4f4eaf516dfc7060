"""What a client can change while the engine runs: limits, manners, the search's numbers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gtp_engine.evaluators.human_profile import HumanProfile
from gtp_engine.frontends.analysis.overrides import KATA_NAMES, MOST_VISITS
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError, read_switch
from gtp_engine.frontends.gtp.session import Session
from gtp_engine.search.params import RANGES, SearchParams


@dataclass(frozen=True, slots=True)
class Parameter:
    """One of them, as text."""

    read: Callable[[Session], str]
    change: Callable[[Session, str], None]
    """Raises GtpError if the text is no such value, or EngineUnavailableError if the net takes
    none; nothing has changed then."""


def find_parameter(name: str) -> Parameter:
    """Return the parameter of a name."""
    if name not in PARAMETERS:
        raise GtpError(f"unknown parameter {name[:40]!r}; see kata-list-params")
    return PARAMETERS[name]


def _set(session: Session, **changes: Any) -> None:
    session.engine.settings = replace(session.engine.settings, **changes)


def _plain(number: float) -> str:
    """Return a number as somebody would write it, with all of its digits that count."""
    return f"{number:.15g}"


def _most(name: str, field: str) -> Parameter:
    """Return the limit that a field of the settings holds, 0 for none."""

    def read(session: Session) -> str:
        return str(getattr(session.engine.settings, field) or 0)

    def change(session: Session, text: str) -> None:
        most = Arguments(text).number(0, name, minimum=0)
        if most > MOST_VISITS or most != int(most):
            raise GtpError(f"syntax error: {name} must be a whole number up to {MOST_VISITS}")
        _set(session, **{field: int(most) or None})

    return Parameter(read, change)


def _number(name: str, field: str, low: float, high: float) -> Parameter:
    """Return the number between two bounds that a field of the settings holds."""

    def read(session: Session) -> str:
        return _plain(getattr(session.engine.settings, field))

    def change(session: Session, text: str) -> None:
        number = Arguments(text).number(0, name, minimum=low)
        if number > high:
            raise GtpError(f"syntax error: {name} lies between {low:g} and {high:g}")
        _set(session, **{field: number})

    return Parameter(read, change)


def _set_time(session: Session, text: str) -> None:
    seconds = Arguments(text).number(0, "maxTime", minimum=0)
    _set(session, time=seconds or None)


def _set_resigning(session: Session, text: str) -> None:
    _set(session, resign=read_switch(text, "allowResignation"))


def _set_level(session: Session, text: str) -> None:
    level = Arguments(text).integer(0, "level")
    try:
        session.engine.set_level(level or None)
    except ValueError as error:
        raise GtpError(f"syntax error: {error}, or 0 for its best") from None


def _set_pondering(session: Session, text: str) -> None:
    is_on = read_switch(text, "ponderingEnabled")
    if not is_on:
        session.engine.rest()
    _set(session, ponder=is_on)


def _read_profile(session: Session) -> str:
    profile = session.engine.settings.human_profile
    return "" if profile is None else profile.name


def _set_profile(session: Session, text: str) -> None:
    if text == _read_profile(session):
        return  # nets that take no profile have one all the same, the empty one
    try:
        profile = HumanProfile.parse(text) if text else None
    except ValueError as error:
        raise GtpError(f"syntax error: {error}") from None
    session.net_engine().set_human_profile(profile)


def _search_parameter(name: str) -> Parameter:
    is_switch = isinstance(getattr(SearchParams(), name), bool)

    def read(session: Session) -> str:
        value = getattr(session.engine.search_params, name)
        return str(value).lower() if is_switch else _plain(value)

    def change(session: Session, text: str) -> None:
        try:
            session.engine.search_params = session.engine.search_params.with_option(name, text)
        except ValueError as error:
            raise GtpError(f"syntax error: {error}") from None

    return Parameter(read, change)


def _keep_even(session: Session, text: str) -> None:
    if Arguments(text).number(0, "playoutDoublingAdvantage") != 0.0:
        raise GtpError("playoutDoublingAdvantage is always 0: both players search alike")


LIMITS_AND_MANNERS = {
    "maxPlayouts": _most("maxPlayouts", "playouts"),
    "maxVisits": _most("maxVisits", "visits"),
    "maxTime": Parameter(lambda session: _plain(session.engine.settings.time or 0), _set_time),
    "allowResignation": Parameter(
        lambda session: str(session.engine.settings.resign).lower(), _set_resigning
    ),
    "resignThreshold": _number("resignThreshold", "resign_threshold", -1, 1),
    "ponderingEnabled": Parameter(
        lambda session: str(session.engine.settings.ponder).lower(), _set_pondering
    ),
    "analysisWideRootNoise": _number(
        "analysisWideRootNoise", "analysis_width", *RANGES["wide_root_noise"]
    ),
    "humanSLProfile": Parameter(_read_profile, _set_profile),
    "level": Parameter(lambda session: str(session.engine.settings.level or 0), _set_level),
}
"""How long to think and how to behave; 0 takes a limit away."""

OF_THE_SEARCH = {name: _search_parameter(name) for name in RANGES}
"""The fields of `SearchParams`."""

OF_KATAGO = {name: OF_THE_SEARCH[own] for name, own in KATA_NAMES.items()} | {
    # LizzieYzy asks for it at the start, and takes the next answer for it if it is refused.
    "playoutDoublingAdvantage": Parameter(lambda session: "0", _keep_even)
}
"""The same under KataGo's names, and what is always as it is."""

PARAMETERS = LIMITS_AND_MANNERS | OF_THE_SEARCH | OF_KATAGO
"""All of them."""
