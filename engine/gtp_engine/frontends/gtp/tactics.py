"""Attack and defence of chains, as GNU Go's regression tests ask for them, and all tactics at hand.

An answer begins with 0 where it fails, 1 where it works, 2 where it hangs on a ko for which the
other side must find the first threat, 3 where this side must; then comes the move.
"""

from gtp_engine.coords import COLOR_NAMES, EMPTY, PASS
from gtp_engine.frontends.gtp import gogui_pictures
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.session import Registry, Session

commands = Registry()


@commands.command("attack")
def attack(session: Session, arguments: Arguments) -> str:
    """Say whether the chain at a vertex can be captured, and by which move."""
    return _read(session, arguments, is_attack=True)


@commands.command("defend")
def defend(session: Session, arguments: Arguments) -> str:
    """Say whether the chain at a vertex can be saved, and by which move."""
    return _read(session, arguments, is_attack=False)


def _read(session: Session, arguments: Arguments, *, is_attack: bool) -> str:
    point = session.parse_vertex(arguments.word(0, "a vertex"))
    position = session.position
    if point == PASS or position.color_at(point) == EMPTY:
        raise GtpError("vertex must not be empty")
    from gtp_engine.go import tactics

    found = (tactics.attack if is_attack else tactics.defend)(position, point)
    return f"{int(found.verdict)} {session.vertex(found.move)}" if found.works else "0"


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


@commands.command("popgo")
def pop_move(session: Session, arguments: Arguments) -> str:
    """Take back the latest move."""
    if not session.position.ply:
        raise GtpError("stack empty")
    session.board_engine().undo(1)
    return ""
