"""All tactics at hand, listed and drawn."""

from gtp_engine.coords import COLOR_NAMES
from gtp_engine.frontends.gtp import gogui_pictures
from gtp_engine.frontends.gtp.protocol import Arguments
from gtp_engine.frontends.gtp.session import Registry, Session

commands = Registry()


@commands.command("list_tactics")
def list_tactics(session: Session, arguments: Arguments) -> str:
    """List what either player can do at once: who, what, the chain's first stone, the moves."""
    from gtp_engine.go.tactics import threats

    return "\n".join(
        f"{COLOR_NAMES[tactic.color]} {tactic.kind.replace(' ', '_')}"
        f" {session.vertex(tactic.chain[0])}"
        f" {' '.join(session.vertex(move.point) for move in tactic.line)}: {tactic.text}"
        for tactic in threats(session.position)
    )


@commands.command("show_tactics")
def show_tactics(session: Session, arguments: Arguments) -> str:
    """Draw the reflexes and tactics of the player to move as stars."""
    return gogui_pictures.draw_tactics(session.position)
