"""What GoGui's analyze window offers: pictures of what the engine thinks, and parameters."""

from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, WHITE, format_vertex, opponent, row_col
from gtp_engine.frontends.gtp.gogui_parameters import PARAMETER_COMMANDS
from gtp_engine.frontends.gtp.live_graphics import LiveGraphics
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.registry import Registry
from gtp_engine.frontends.gtp.session import Session

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis

commands = Registry()

PICTURE_VISITS = 200
PICTURE_SECONDS = 3.0
"""A picture is drawn from a search of so many visits, but so many seconds at most."""

ANALYZE_COMMANDS = (
    "gfx/Candidate moves/show_candidates",
    "gfx/Moves of both players/show_both_players",
    "gfx/Policy/show_policy",
    "dboard/Ownership/show_ownership",
    "varc/Principal variation/show_variation %c",
    "string/Win rate/show_winrate",
    "string/Score/show_score",
    "gfx/Chains, liberties, eyes/show_regions",
    "hpstring/List of chains/list_chains",
    "bwboard/Safe for ever/show_safe",
    "plist/Dead stones/final_status_list dead",
    "string/Final score/final_score",
    "hstring/Net/kata-raw-nn 0",
    *PARAMETER_COMMANDS,
    "none/Forget the search/clear_cache",
)
"""Type, label and command; `%c` is a color that the user chooses."""


@commands.command("gogui-analyze_commands")
def analyze_commands(session: Session, arguments: Arguments) -> str:
    """List the analyze commands; that somebody asks says that GoGui is there, which draws."""
    if session.live_graphics is LiveGraphics.NONE:
        session.live_graphics = LiveGraphics.CANDIDATES
    return "\n".join(ANALYZE_COMMANDS)


def _look(
    session: Session, color: int | None = None, *, ownership: bool = False, moves: int = 1
) -> "Analysis":
    """Search the present position a little, for a player also out of turn."""
    engine = session.net_engine()
    from gtp_engine.search.request import ReportRequest
    from gtp_engine.search.stopping import Limits

    request = ReportRequest(ownership=ownership, min_moves=moves)
    limits = Limits(visits=PICTURE_VISITS, seconds=PICTURE_SECONDS)
    with session.searching() as stop:
        return engine.analyze(color or session.position.to_play, request, limits, stop=stop)


@commands.command("show_candidates")
def show_candidates(session: Session, arguments: Arguments) -> str:
    """Draw the moves considered: squares by visits, labels by winrate."""
    found = _look(session)
    from gtp_engine.frontends.gtp.gogui_pictures import draw_candidates

    return draw_candidates(found)


@commands.command("show_both_players")
def show_both_players(session: Session, arguments: Arguments) -> str:
    """Draw what either player would like to play here, the opponent's moves in another color."""
    to_play = session.position.to_play
    other = _look(session, opponent(to_play))
    own = _look(session, to_play)
    from gtp_engine.frontends.gtp.gogui_pictures import draw_both_players

    return draw_both_players(own, other)


@commands.command("show_policy")
def show_policy(session: Session, arguments: Arguments) -> str:
    """Draw how much the net likes each move."""
    found = _look(session, moves=session.position.area + 1)
    from gtp_engine.frontends.gtp.gogui_pictures import draw_policy

    return draw_policy(found)


@commands.command("show_ownership")
def show_ownership(session: Session, arguments: Arguments) -> str:
    """Give whose every point will be, 1 for Black, row by row from the top."""
    found = _look(session, ownership=True)
    if found.ownership is None:
        raise GtpError("the net does not say whose points are whose")
    from gtp_engine.frontends.gtp.gogui_pictures import draw_ownership

    return draw_ownership(found)


@commands.command("show_variation")
def show_variation(session: Session, arguments: Arguments) -> str:
    """Give the moves that both players are expected to make, beginning with a color."""
    color = arguments.color(0) if len(arguments) else None
    found = _look(session, color)
    pv = found.moves[0].pv if found.moves else ()
    return " ".join(format_vertex(move, found.width, found.height) for move in pv)


@commands.command("show_winrate")
def show_winrate(session: Session, arguments: Arguments) -> str:
    """Say who wins how probably."""
    found = _look(session)
    from gtp_engine.frontends.gtp.gogui_pictures import winrate_text

    return winrate_text(found)


@commands.command("show_score")
def show_score(session: Session, arguments: Arguments) -> str:
    """Say who leads by how many points."""
    found = _look(session)
    from gtp_engine.frontends.gtp.gogui_pictures import score_text

    return score_text(found)


@commands.command("show_regions")
def show_regions(session: Session, arguments: Arguments) -> str:
    """Draw every chain's liberties, the eyes, and whose the closed regions are."""
    position = session.position
    from gtp_engine.frontends.gtp.gogui_pictures import draw_regions

    return draw_regions(position)


@commands.command("list_chains")
def list_chains(session: Session, arguments: Arguments) -> str:
    """List the chains with their stones, liberties and eyes."""
    position = session.position
    from gtp_engine.frontends.gtp.gogui_pictures import list_chains as listed

    return listed(position)


@commands.command("show_safe")
def show_safe(session: Session, arguments: Arguments) -> str:
    """Give the owner of every point that nobody can contest any more, from the top."""
    position = session.position
    from gtp_engine.play.adjudication.chains import pass_alive

    owners = pass_alive(position)
    rows = [[""] * position.width for _ in range(position.height)]
    names = {BLACK: "black", WHITE: "white"}
    for point in position.points():
        row, col = row_col(point, position.width)
        rows[row][col] = names.get(int(owners[point]), '""')
    return "\n".join(" ".join(row) for row in rows)
