"""The extensions that kgsGtp, the bridge to the KGS server, uses."""

from gtp_engine.frontends.gtp.core import generate, set_clock
from gtp_engine.frontends.gtp.kata import change_rules
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.registry import Registry
from gtp_engine.frontends.gtp.session import Session

commands = Registry()

# The server applies positional superko under Chinese rules.
_RULES = {
    "chinese": "chinese-kgs",
    "japanese": "japanese",
    "aga": "aga",
    "new_zealand": "new-zealand",
}


@commands.command("kgs-rules")
def kgs_rules(session: Session, arguments: Arguments) -> str:
    """Set the rules by the name that the server uses."""
    name = arguments.word(0, "the rules").lower()
    if name not in _RULES:
        raise GtpError(f"syntax error: the rules must be one of {', '.join(_RULES)}")
    change_rules(session, _RULES[name])
    return ""


@commands.command("kgs-time_settings")
def kgs_time_settings(session: Session, arguments: Arguments) -> str:
    """Set the clock: none, absolute M, byoyomi M P N or canadian M T S."""
    kind = arguments.word(0, "the kind of clock").lower()
    if kind == "none":
        set_clock(session, 0.0, 1.0, 0)
        return ""
    if kind not in ("absolute", "byoyomi", "canadian"):
        raise GtpError("syntax error: the kind must be none, absolute, byoyomi or canadian")
    main = arguments.number(1, "the main time")
    if kind == "absolute":
        set_clock(session, main, 0.0, 0)
        return ""
    overtime = arguments.number(2, "the overtime")
    count = arguments.integer(3, "the number of stones or periods")
    if count < 1 or overtime < 0:
        raise GtpError("syntax error: the overtime needs a time, and stones or periods")
    if kind == "canadian":
        set_clock(session, main, overtime, count)
    else:
        # All periods but the last can be spent like main time; the last returns every move.
        set_clock(session, main + (count - 1) * overtime, overtime, 1, is_byoyomi=True)
    return ""


@commands.command("kgs-genmove_cleanup")
def genmove_cleanup(session: Session, arguments: Arguments) -> str:
    """Choose and play a move, capturing all dead stones before passing."""
    return generate(session, arguments, is_played=True, cleanup=True)


@commands.command("kgs-game_over")
def game_over(session: Session, arguments: Arguments) -> str:
    """Take note that the game has ended: nothing is thought about until the next one."""
    session.engine.rest()
    return ""
