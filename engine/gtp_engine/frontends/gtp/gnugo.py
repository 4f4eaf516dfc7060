"""GNU Go's extensions, for its regression tests and for programs written for it, such as Kigo.

The answers have the form of GNU Go's.
"""

from itertools import takewhile
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, COLOR_NAMES, EMPTY, PASS, WHITE, opponent
from gtp_engine.frontends.gtp.gogui import look
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.session import Registry, Session

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis

commands = Registry()

MOST_TOP_MOVES = 10


@commands.command("attack")
def attack(session: Session, arguments: Arguments) -> str:
    """Say whether the chain at a vertex can be captured, and by which move."""
    return _read(session, arguments, is_attack=True)


@commands.command("defend")
def defend(session: Session, arguments: Arguments) -> str:
    """Say whether the chain at a vertex can be saved, and by which move."""
    return _read(session, arguments, is_attack=False)


def _read(session: Session, arguments: Arguments, *, is_attack: bool) -> str:
    """Return 0 where it fails, or what works and the move.

    1 works; 2 hangs on a ko for which the other side must find the first threat, 3 this side.
    """
    point = session.parse_vertex(arguments.word(0, "a vertex"))
    position = session.position
    if point == PASS or position.color_at(point) == EMPTY:
        raise GtpError("vertex must not be empty")
    from gtp_engine.go import tactics

    found = (tactics.attack if is_attack else tactics.defend)(position, point)
    return f"{int(found.verdict)} {session.vertex(found.move)}" if found.works else "0"


@commands.command("popgo")
def pop_move(session: Session, arguments: Arguments) -> str:
    """Take back the latest move."""
    if not session.position.ply:
        raise GtpError("stack empty")
    session.board_engine().undo(1)
    return ""


# The game ---------------------------------------------------------------------------------------


@commands.command("level")
def level(session: Session, arguments: Arguments) -> str:
    """Play at a level; numbers beyond the weakest and the strongest stand for these.

    From now on passes are written as GNU Go writes them: Kigo, which sets the level before each
    move, knows no others.
    """
    number = arguments.integer(0, "the level")
    from gtp_engine.play.levels import highest_level

    try:
        session.engine.set_level(min(max(number, 1), highest_level()))
    except ValueError as error:
        raise GtpError(str(error)) from None
    session.pass_name = "PASS"
    return ""


@commands.command("query_boardsize")
def query_boardsize(session: Session, arguments: Arguments) -> str:
    """Give the size of the board, as `boardsize` takes it."""
    width, height = session.position.width, session.position.height
    return str(width) if width == height else f"{width} {height}"


@commands.command("get_handicap")
def get_handicap(session: Session, arguments: Arguments) -> str:
    """Give the number of handicap stones."""
    return str(session.position.handicap)


@commands.command("list_stones")
def list_stones(session: Session, arguments: Arguments) -> str:
    """List the points that hold a color."""
    return " ".join(session.vertex(point) for point in session.position.stones(arguments.color(0)))


@commands.command("captures")
def captures(session: Session, arguments: Arguments) -> str:
    """Give the number of stones that a color has captured."""
    return str(session.position.captured(opponent(arguments.color(0))))


@commands.command("move_history")
def move_history(session: Session, arguments: Arguments) -> str:
    """List the moves, the latest first."""
    return "\n".join(
        f"{COLOR_NAMES[move.color]} {session.vertex(move.point)}"
        for move in reversed(session.position.moves)
    )


# What the engine thinks of it -------------------------------------------------------------------


@commands.command("top_moves")
def top_moves(session: Session, arguments: Arguments) -> str:
    """List moves for the player to move that are better than a pass, with how often they win.

    In percent, where GNU Go has points.
    """
    return _top_moves(look(session))


@commands.command("top_moves_black")
def top_moves_black(session: Session, arguments: Arguments) -> str:
    """List moves for Black."""
    return _top_moves(look(session, BLACK))


@commands.command("top_moves_white")
def top_moves_white(session: Session, arguments: Arguments) -> str:
    """List moves for White."""
    return _top_moves(look(session, WHITE))


def _top_moves(found: "Analysis") -> str:
    better = takewhile(lambda move: move.point != PASS, found.moves[:MOST_TOP_MOVES])
    return " ".join(f"{found.vertex(move.point)} {100 * move.winrate:.2f}" for move in better)


@commands.command("estimate_score")
def estimate_score(session: Session, arguments: Arguments) -> str:
    """Say who leads by how many points, and between what White's lead may be.

    In a game that has ended both bounds are the count.
    """
    session.board_engine().check_is_counted()
    if session.position.is_over:
        with session.searching() as stop:
            lead, doubt = session.net_engine().final_score(stop), 0.0
    else:
        found = look(session)
        lead = found.score_lead if found.to_play == WHITE else -found.score_lead
        doubt = found.score_stdev
    leader = "W" if lead >= 0 else "B"
    bounds = f"(upper bound: {lead + doubt:z.1f}, lower: {lead - doubt:z.1f})"
    return f"{leader}+{abs(lead):.1f} {bounds}"
