"""GoGui's extensions: setup, pictures of what the engine thinks, and parameters."""

from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, COLOR_NAMES, WHITE, opponent, row_col
from gtp_engine.frontends.gtp import gogui_pictures
from gtp_engine.frontends.gtp.core import (
    change_komi,
    play_moves,
    require_empty_board,
    set_up_stones,
)
from gtp_engine.frontends.gtp.gogui_pictures import LiveGraphics
from gtp_engine.frontends.gtp.kata import change_rule
from gtp_engine.frontends.gtp.parameters import LIMITS_AND_MANNERS, OF_THE_SEARCH, Parameter
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.session import Registry, Session
from gtp_engine.go.rules import Ko, Rules, Scoring, Tax
from gtp_engine.search.request import ReportRequest
from gtp_engine.search.stopping import Limits
from gtp_engine.version import __version__

if TYPE_CHECKING:
    from gtp_engine.search.analysis import Analysis

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


# The analyze window -----------------------------------------------------------------------------

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
    "gfx/Reflexes and tactics/show_tactics",
    "hstring/List of tactics/list_tactics",
    "bwboard/Safe for ever/show_safe",
    "plist/Dead stones/final_status_list dead",
    "string/Final score/final_score",
    "hstring/Net/kata-raw-nn 0",
    "param/Engine/engine_parameters",
    "param/Search/search_parameters",
    "param/Rules/rule_parameters",
    "none/Forget the search/clear_cache",
)
"""Type, label and command; `%c` is a color that the user chooses."""


@commands.command("gogui-analyze_commands")
def analyze_commands(session: Session, arguments: Arguments) -> str:
    """List the analyze commands; that somebody asks says that GoGui is there, which draws."""
    if session.live_graphics is LiveGraphics.NONE:
        session.live_graphics = LiveGraphics.CANDIDATES
    known = session.commands.listed
    return "\n".join(line for line in ANALYZE_COMMANDS if line.split("/")[2].split()[0] in known)


def look(
    session: Session, color: int | None = None, *, ownership: bool = False, moves: int = 1
) -> "Analysis":
    """Search the present position a little, for a player also out of turn."""
    engine = session.net_engine()
    request = ReportRequest(ownership=ownership, min_moves=moves)
    limits = Limits(visits=PICTURE_VISITS, seconds=PICTURE_SECONDS)
    with session.searching() as stop:
        return engine.analyze(color or session.position.to_play, request, limits, stop=stop)


@commands.command("show_candidates")
def show_candidates(session: Session, arguments: Arguments) -> str:
    """Draw the moves considered: squares by visits, labels by winrate."""
    return gogui_pictures.draw_candidates(look(session))


@commands.command("show_both_players")
def show_both_players(session: Session, arguments: Arguments) -> str:
    """Draw what either player would like to play here, the opponent's moves in another color."""
    to_play = session.position.to_play
    other = look(session, opponent(to_play))
    own = look(session, to_play)
    return gogui_pictures.draw_both_players(own, other)


@commands.command("show_policy")
def show_policy(session: Session, arguments: Arguments) -> str:
    """Draw how much the net likes each move."""
    return gogui_pictures.draw_policy(look(session, moves=session.position.area + 1))


@commands.command("show_ownership")
def show_ownership(session: Session, arguments: Arguments) -> str:
    """Give whose every point will be, 1 for Black, row by row from the top."""
    found = look(session, ownership=True)
    if found.ownership is None:
        raise GtpError("the net does not say whose points are whose")
    return gogui_pictures.draw_ownership(found)


@commands.command("show_variation")
def show_variation(session: Session, arguments: Arguments) -> str:
    """Give the moves that both players are expected to make, beginning with a color."""
    found = look(session, arguments.color(0) if len(arguments) else None)
    pv = found.moves[0].pv if found.moves else ()
    return " ".join(found.vertex(move) for move in pv)


@commands.command("show_winrate")
def show_winrate(session: Session, arguments: Arguments) -> str:
    """Say who wins how probably."""
    return gogui_pictures.winrate_text(look(session))


@commands.command("show_score")
def show_score(session: Session, arguments: Arguments) -> str:
    """Say who leads by how many points."""
    return gogui_pictures.score_text(look(session))


@commands.command("show_regions")
def show_regions(session: Session, arguments: Arguments) -> str:
    """Draw every chain's liberties, the eyes, and whose the closed regions are."""
    return gogui_pictures.draw_regions(session.position)


@commands.command("list_chains")
def list_chains(session: Session, arguments: Arguments) -> str:
    """List the chains with their stones, liberties and eyes."""
    return gogui_pictures.list_chains(session.position)


@commands.command("show_safe")
def show_safe(session: Session, arguments: Arguments) -> str:
    """Give the owner of every point that nobody can contest any more, from the top."""
    position = session.position
    from gtp_engine.play.adjudication.chains import pass_alive

    owners = pass_alive(position)
    rows = [[""] * position.width for _ in range(position.height)]
    for point in position.points():
        row, col = row_col(point, position.width)
        rows[row][col] = COLOR_NAMES.get(int(owners[point]), '""')
    return "\n".join(" ".join(row) for row in rows)


# Parameter dialogs: without arguments a command lists what it sets, one a line ------------------

_TRUTHS = {"true": "1", "false": "0"}


def _set_live_graphics(session: Session, text: str) -> None:
    try:
        session.live_graphics = LiveGraphics(text.lower())
    except ValueError:
        known = ", ".join(LiveGraphics)
        raise GtpError(f"syntax error: live graphics are one of {known}") from None


_ENGINE = LIMITS_AND_MANNERS | {
    "komi": Parameter(lambda session: f"{session.board_engine().komi:g}", change_komi),
    "live_graphics": Parameter(lambda session: session.live_graphics, _set_live_graphics),
}


def _rule(name: str) -> Parameter:
    def read(session: Session) -> str:
        value = session.board_engine().rules.to_kata()[name]
        return value if isinstance(value, str) else str(value).lower()

    return Parameter(read, lambda session, text: change_rule(session, name, text))


_RULES = {name: _rule(name) for name in Rules().to_kata()}

_LISTS = {
    "live_graphics": tuple(LiveGraphics),
    "ko": Ko.__members__,
    "scoring": Scoring.__members__,
    "tax": Tax.__members__,
    "whiteHandicapBonus": ("0", "N", "N-1"),
}
"""What a parameter can be, where that is one of several words."""


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
    known[name].change(session, arguments.word_or_nothing(1))
    return ""


def _line(name: str, value: str) -> str:
    """Return a parameter as the dialog reads it."""
    kind = f"[list/{'/'.join(_LISTS[name])}]" if name in _LISTS else "[string]"
    if value in _TRUTHS:
        kind = "[bool]"
    return f"{kind} {name} {_TRUTHS.get(value, value)}".rstrip()


@commands.command("rule_parameters")
def rule_parameters(session: Session, arguments: Arguments) -> str:
    """List the rules, or change one: `NAME VALUE`, in mid-game too."""
    return _list_or_set(session, arguments, _RULES)
