"""The extensions that kgsGtp, the bridge to the KGS server, uses."""

from gtp_engine.frontends.gtp.core import generate
from gtp_engine.frontends.gtp.kata import change_rules
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.session import Registry, Session

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
    name = arguments.word(0, "the ruleset").lower()
    if name not in _RULES:
        raise GtpError(f"syntax error: the rules must be one of {', '.join(_RULES)}")
    change_rules(session, _RULES[name])
    return ""


@commands.command("kgs-genmove_cleanup")
def genmove_cleanup(session: Session, arguments: Arguments) -> str:
    """Choose and play a move, capturing all dead stones before passing."""
    return generate(session, arguments, is_played=True, cleanup=True)


# Versions of kgsGtp from 3.5.20 on fail where they find it in the list.
@commands.command("kgs-chat", is_listed=False)
def chat(session: Session, arguments: Arguments) -> str:
    """Answer what somebody says on the server."""
    return f"{session.engine.settings.name} does not talk while it plays"


@commands.command("kgs-game_over")
def game_over(session: Session, arguments: Arguments) -> str:
    """Take note that the game has ended: nothing is thought about until the next one."""
    session.engine.rest()
    return ""
