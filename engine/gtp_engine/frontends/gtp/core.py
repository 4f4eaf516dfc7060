"""The commands of GTP version 2, and close relatives that many clients use."""

from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, EMPTY, MAX_SIZE, MIN_SIZE, PASS, WHITE
from gtp_engine.frontends.gtp.gogui_pictures import drawing
from gtp_engine.frontends.gtp.info_lines import ogs_lines, summarize
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.session import Registry, Session
from gtp_engine.go.handicap import largest_fixed
from gtp_engine.go.rules import parse_komi
from gtp_engine.messages import show
from gtp_engine.version import __version__

if TYPE_CHECKING:
    from gtp_engine.go.position import Position
    from gtp_engine.play.decision import Decision

commands = Registry()

CANCELLED = "cancelled"
"""Stands for the move of a search that the client has given up."""

# What the engine is -----------------------------------------------------------------------------


@commands.command("protocol_version")
def protocol_version(session: Session, arguments: Arguments) -> str:
    """Say which version of GTP this is."""
    return "2"


@commands.command("name")
def name(session: Session, arguments: Arguments) -> str:
    """Give the engine's name."""
    return session.engine.settings.name


@commands.command("version")
def version(session: Session, arguments: Arguments) -> str:
    """Give the engine's version."""
    return __version__


@commands.command("known_command")
def known_command(session: Session, arguments: Arguments) -> str:
    """Say whether a command exists."""
    return "true" if arguments.word(0, "a command") in session.commands.listed else "false"


@commands.command("list_commands")
@commands.command("help", is_listed=False)
def list_commands(session: Session, arguments: Arguments) -> str:
    """List all commands."""
    return "\n".join(session.commands.listed)


@commands.command("quit")
def leave(session: Session, arguments: Arguments) -> str:
    """End the conversation."""
    session.is_over = True
    return ""


# Setting up -------------------------------------------------------------------------------------


@commands.command("boardsize", "rectangular_boardsize")
def boardsize(session: Session, arguments: Arguments) -> str:
    """Begin a new game on a square or, with two numbers, a rectangular board."""
    width = arguments.integer(0, "the board size")
    height = arguments.integer(1, "the board's height") if len(arguments) > 1 else width
    if not (MIN_SIZE <= width <= MAX_SIZE and MIN_SIZE <= height <= MAX_SIZE):
        raise GtpError("unacceptable size")
    engine = session.board_engine()
    from gtp_engine.go.position import SetupError

    try:
        engine.new_game(width, height)
    except SetupError:
        raise GtpError("unacceptable size") from None
    return ""


@commands.command("clear_board")
def clear_board(session: Session, arguments: Arguments) -> str:
    """Begin a new game on a board of the same size."""
    position = session.position
    session.board_engine().new_game(position.width, position.height)
    return ""


@commands.command("komi")
def komi(session: Session, arguments: Arguments) -> str:
    """Set the points that White gets, for this and all later games."""
    change_komi(session, arguments.word(0, "the komi"))
    return ""


def change_komi(session: Session, text: str) -> None:
    """Set the points that White gets."""
    try:
        points = parse_komi(text)
    except ValueError:
        raise GtpError("syntax error: the komi must be a number from -400 to 400") from None
    session.board_engine().komi = points


@commands.command("get_komi")
def get_komi(session: Session, arguments: Arguments) -> str:
    """Give the points that White gets."""
    return f"{session.board_engine().komi:g}"


@commands.command("fixed_handicap")
def fixed_handicap(session: Session, arguments: Arguments) -> str:
    """Place handicap stones on the customary points and give them."""
    return _place_handicap(session, arguments, is_fixed=True)


@commands.command("place_free_handicap")
def place_free_handicap(session: Session, arguments: Arguments) -> str:
    """Place handicap stones where the engine likes and give them."""
    return _place_handicap(session, arguments, is_fixed=False)


def _place_handicap(session: Session, arguments: Arguments, is_fixed: bool) -> str:
    n_stones = arguments.integer(0, "the number of stones")
    require_empty_board(session.position)
    has_places = n_stones <= largest_fixed(session.position.width, session.position.height)
    engine = session.board_engine() if is_fixed or has_places else session.net_engine()
    place = engine.fixed_handicap if is_fixed else engine.place_free_handicap
    try:
        points = place(n_stones)
    except ValueError as error:
        raise GtpError(_after("invalid number of stones", error)) from None
    return " ".join(session.vertex(point) for point in points)


@commands.command("set_free_handicap")
def set_free_handicap(session: Session, arguments: Arguments) -> str:
    """Place handicap stones on the points given, however many."""
    position = session.position
    require_empty_board(position)
    try:
        points = [session.parse_vertex(word) for word in arguments.words]
    except GtpError as error:
        raise GtpError(f"bad vertex list: {error}") from None
    try:
        session.board_engine().set_free_handicap(points)
    except ValueError as error:
        raise GtpError(_after("bad vertex list", error)) from None
    return ""


def require_empty_board(position: "Position") -> None:
    """Raise GtpError unless there are neither stones nor moves."""
    if position.ply or any(position.color_at(point) != EMPTY for point in position.points()):
        raise GtpError("board not empty")


def _after(standard_words: str, error: Exception) -> str:
    """Return an error's message behind the words that clients look for."""
    message = str(error)
    return message if message.startswith(standard_words) else f"{standard_words}: {message}"


# Playing ----------------------------------------------------------------------------------------


@commands.command("play", "trymove")
def play(session: Session, arguments: Arguments) -> str:
    """Play a move of either player; tests try one until `popgo`."""
    color = arguments.color(0)
    point = session.parse_vertex(arguments.word(1, "a vertex"))
    play_moves(session, [(color, point)])
    return ""


def play_moves(session: Session, moves: list[tuple[int, int]]) -> None:
    """Play several moves, or none of them if one is refused."""
    engine = session.board_engine()
    from gtp_engine.go.position import IllegalMoveError

    try:
        if len(moves) == 1:
            engine.play(*moves[0])
        else:
            engine.play_sequence(moves)
    except IllegalMoveError as error:
        raise GtpError(f"illegal move: {error}") from None


def set_up_stones(session: Session, stones: list[tuple[int, int]], to_play: int) -> None:
    """Begin a game from these stones."""
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


@commands.command("genmove")
@commands.command("genmove_debug", is_listed=False)
def genmove(session: Session, arguments: Arguments) -> str:
    """Choose a move and play it."""
    return generate(session, arguments, is_played=True)


@commands.command("reg_genmove", "kata-search")
@commands.command("kata-search_debug", is_listed=False)
def reg_genmove(session: Session, arguments: Arguments) -> str:
    """Choose a move without playing it."""
    return generate(session, arguments, is_played=False)


def generate(
    session: Session,
    arguments: Arguments,
    *,
    is_played: bool,
    cleanup: bool = False,
    is_cancellable: bool = False,
) -> str:
    """Return the reply for a move that the engine chooses for the color named first.

    Args:
        is_played: Whether to make the move too.
        cleanup: Capture every dead stone before passing.
        is_cancellable: Whether any line that the client sends ends it without a move.
    """
    color = arguments.color(0)
    engine = session.moving_engine()
    with (
        session.searching(any_line_stops=is_cancellable) as stop,
        drawing(session.live_graphics) as report,
    ):
        decision = engine.genmove(
            color, report=report, commit=is_played, cleanup=cleanup, stop=stop
        )
    return CANCELLED if is_cancellable and session.is_superseded else answer_move(session, decision)


def answer_move(session: Session, decision: "Decision") -> str:
    """Return the reply for a move that was chosen: a vertex or `resign`."""
    session.last_reason = decision.reason
    if decision.analysis is not None:
        form = ogs_lines if session.engine.settings.ogs_chat else summarize
        show(form(decision.analysis))
    return "resign" if decision.point is None else session.vertex(decision.point)


@commands.command("undo")
def undo(session: Session, arguments: Arguments) -> str:
    """Take back one move."""
    _undo(session, 1)
    return ""


@commands.command("gg-undo")
def gg_undo(session: Session, arguments: Arguments) -> str:
    """Take back several moves, one by default."""
    _undo(session, arguments.integer(0, "the number of moves") if len(arguments) else 1)
    return ""


def _undo(session: Session, count: int) -> None:
    if not 0 <= count <= session.position.ply:
        raise GtpError("cannot undo")
    session.board_engine().undo(count)


# The end ----------------------------------------------------------------------------------------


@commands.command("final_score")
def final_score(session: Session, arguments: Arguments) -> str:
    """Count the game, dead stones removed."""
    engine = session.net_engine()
    with session.searching() as stop:
        return format_score(engine.final_score(stop))


def format_score(score_white: float) -> str:
    """Return a result as GTP writes it: "W+3.5", "B+12.0" or "0"."""
    if score_white == 0:
        return "0"
    margin = abs(score_white)
    digits = f"{margin:.1f}" if (2 * margin).is_integer() else f"{margin:.2f}"
    return f"{'W' if score_white > 0 else 'B'}+{digits}"


_STATUSES = ("dead", "alive", "seki", "white_territory", "black_territory")


@commands.command("final_status_list")
def final_status_list(session: Session, arguments: Arguments) -> str:
    """List the points of a status; stones chain by chain, a line for each."""
    status = arguments.word(0, "a status")
    if status not in _STATUSES:
        raise GtpError(f"syntax error: the status must be one of {', '.join(_STATUSES)}")
    engine = session.net_engine()
    with session.searching() as stop:
        points: list[int] = getattr(engine.final_status(stop), status)
    if status.endswith("territory"):
        return " ".join(session.vertex(point) for point in sorted(points))
    return "\n".join(
        " ".join(session.vertex(point) for point in chain)
        for chain in _by_chain(session.position, points)
    )


def _by_chain(position: "Position", points: list[int]) -> list[list[int]]:
    """Divide points into connected groups of one color, in reading order."""
    from gtp_engine.go.regions import regions

    by_color: dict[int, list[int]] = {}
    for point in points:
        by_color.setdefault(position.color_at(point), []).append(point)
    return sorted(chain for alike in by_color.values() for chain in regions(alike, position.width))


@commands.command("showboard")
def showboard(session: Session, arguments: Arguments) -> str:
    """Draw the board."""
    return f"\n{session.position}"
