"""GoGui's extensions."""

from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.frontends.gtp.core import play_moves, require_empty_board
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.registry import Registry
from gtp_engine.frontends.gtp.session import Session
from gtp_engine.version import __version__

commands = Registry()


@commands.command("gogui-interrupt")
def interrupt(session: Session, arguments: Arguments) -> str:
    """Do nothing: that the command is there says that `# interrupt` is understood."""
    return ""


@commands.command("gogui-title")
def title(session: Session, arguments: Arguments) -> str:
    """Give the title of the window."""
    return f"gtp-engine {__version__}"


@commands.command("gogui-version")
def version(session: Session, arguments: Arguments) -> str:
    """Take note of which GoGui there is: nothing depends on it."""
    return ""


@commands.command("gogui-play_sequence")
def play_sequence(session: Session, arguments: Arguments) -> str:
    """Play moves given as colors and vertices, or none of them if one is illegal."""
    play_moves(session, session.parse_moves(arguments))
    return ""


@commands.command("gogui-setup")
def setup(session: Session, arguments: Arguments) -> str:
    """Place stones, given as colors and vertices, on an empty board."""
    stones = session.parse_moves(arguments)
    require_empty_board(session.position)
    set_up_stones(session, stones, session.position.to_play)
    return ""


@commands.command("gogui-setup_player")
def setup_player(session: Session, arguments: Arguments) -> str:
    """Say whose turn it is in the position that was set up, also after moves."""
    color = arguments.color(0)
    position = session.position
    if position.ply:
        session.board_engine().rest()
        position.to_play = color
        return ""
    stones = [(each, point) for each in (BLACK, WHITE) for point in position.stones(each)]
    set_up_stones(session, stones, color)
    return ""


def set_up_stones(session: Session, stones: list[tuple[int, int]], to_play: int) -> None:
    """Begin a game from these stones.

    Raises:
        GtpError: They cannot all stand on the board.
    """
    engine = session.board_engine()
    from gtp_engine.go.position import SetupError

    if any(point == PASS for _, point in stones):
        raise GtpError("syntax error: a pass is no stone")
    black = [point for color, point in stones if color == BLACK]
    white = [point for color, point in stones if color == WHITE]
    try:
        engine.set_up(black, white, to_play)
    except SetupError as error:
        raise GtpError(str(error)) from None
