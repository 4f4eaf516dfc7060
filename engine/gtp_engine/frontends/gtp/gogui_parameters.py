"""GoGui's parameter dialogs: without arguments a command lists what it sets, one a line."""

from gtp_engine.frontends.gtp.kata import change_rule
from gtp_engine.frontends.gtp.live_graphics import LiveGraphics
from gtp_engine.frontends.gtp.parameters import LIMITS_AND_MANNERS, OF_THE_SEARCH, Parameter
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.registry import Registry
from gtp_engine.frontends.gtp.session import Session
from gtp_engine.go.rules import Ko, Scoring, Tax

commands = Registry()

PARAMETER_COMMANDS = (
    "param/Engine/engine_parameters",
    "param/Search/search_parameters",
    "param/Rules/rule_parameters",
)

_TRUTHS = {"true": "1", "false": "0"}
_BOOL = "[bool]"


def _set_live_graphics(session: Session, text: str) -> None:
    try:
        session.live_graphics = LiveGraphics(text.lower())
    except ValueError:
        known = ", ".join(LiveGraphics)
        raise GtpError(f"syntax error: live graphics are one of {known}") from None


_ENGINE = LIMITS_AND_MANNERS | {
    "live_graphics": Parameter(lambda session: session.live_graphics, _set_live_graphics)
}
_KINDS = {"live_graphics": f"[list/{'/'.join(LiveGraphics)}]"}

_RULE_KINDS = {
    "ko": f"[list/{'/'.join(each.name.lower() for each in Ko)}]",
    "scoring": f"[list/{'/'.join(each.name.lower() for each in Scoring)}]",
    "tax": f"[list/{'/'.join(each.name.lower() for each in Tax)}]",
    "suicide": _BOOL,
    "hasButton": _BOOL,
    "whiteHandicapBonus": "[list/0/N/N-1]",
    "friendlyPassOk": _BOOL,
}


@commands.command("engine_parameters")
def engine_parameters(session: Session, arguments: Arguments) -> str:
    """List limits and habits, or set one: `NAME VALUE`."""
    return _list_or_set(session, arguments, _ENGINE)


@commands.command("search_parameters")
def search_parameters(session: Session, arguments: Arguments) -> str:
    """List the numbers that steer the search, or set one: `NAME VALUE`."""
    return _list_or_set(session, arguments, OF_THE_SEARCH)


def _list_or_set(session: Session, arguments: Arguments, known: dict[str, Parameter]) -> str:
    if not len(arguments):
        return "\n".join(_line(name, known[name].read(session)) for name in known)
    name = arguments.words[0]
    if name not in known:
        raise GtpError(f"unknown parameter {name[:40]!r}")
    known[name].change(session, arguments.word(1, "the parameter's value"))
    return ""


def _line(name: str, value: str) -> str:
    """Return a parameter as the dialog reads it."""
    kind = _BOOL if value in _TRUTHS else _KINDS.get(name, "[string]")
    return f"{kind} {name} {_TRUTHS.get(value, value)}".rstrip()


@commands.command("rule_parameters")
def rule_parameters(session: Session, arguments: Arguments) -> str:
    """List the rules, or change one: `NAME VALUE`, in mid-game too."""
    if not len(arguments):
        rules = session.board_engine().rules.to_kata()
        values = {name: str(value) for name, value in rules.items()}
        return "\n".join(
            f"{kind} {name} {_rule_value(kind, values[name])}" for name, kind in _RULE_KINDS.items()
        )
    name = arguments.words[0]
    value = arguments.word(1, "the rule's value")
    if _RULE_KINDS.get(name) == _BOOL:
        value = {"1": "true", "0": "false"}.get(value, value)
    change_rule(session, name, value)
    return ""


def _rule_value(kind: str, value: str) -> str:
    return _TRUTHS[value.lower()] if kind == _BOOL else value if "N-1" in kind else value.lower()
