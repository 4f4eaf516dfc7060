"""Five in a row in GoGui, which asks a second engine like this one for the rules of the game."""

from gtp_engine.coords import COLOR_NAMES
from gtp_engine.frontends.gtp.protocol import Arguments
from gtp_engine.frontends.gtp.session import Registry, Session

commands = Registry()

OF_GO_ALONE = (
    *("attack", "defend", "list_tactics", "show_tactics", "show_regions", "list_chains"),
    *("show_safe", "show_ownership", "final_status_list", "rule_parameters", "kgs-rules"),
    *("kata-set-rule", "get_handicap", "captures", "estimate_score"),
    *("kgs-genmove_cleanup", "fixed_handicap", "place_free_handicap", "set_free_handicap"),
)
"""Commands about chains, territory, handicap and single rules, which five in a row has not."""


@commands.command("gogui-rules_game_id")
def game_id(session: Session, arguments: Arguments) -> str:
    """Name the game."""
    return "Gomoku"


@commands.command("gogui-rules_board_size")
def board_size(session: Session, arguments: Arguments) -> str:
    """Give the edge of the board."""
    return str(session.position.width)


@commands.command("gogui-rules_board")
def board(session: Session, arguments: Arguments) -> str:
    """Draw the stones, row by row from the top."""
    return "\n".join(" ".join(".XO"[color] for color in row) for row in session.position.grid())


@commands.command("gogui-rules_legal_moves")
def legal_moves(session: Session, arguments: Arguments) -> str:
    """List the legal moves; there are none once the game is over."""
    return " ".join(session.vertex(point) for point in session.position.legal_moves())


@commands.command("gogui-rules_side_to_move")
def side_to_move(session: Session, arguments: Arguments) -> str:
    """Say whose turn it is."""
    return COLOR_NAMES[session.position.to_play]


@commands.command("gogui-rules_final_result")
def final_result(session: Session, arguments: Arguments) -> str:
    """Say in words how the game has ended."""
    position = session.position
    if not position.is_over:
        return "the game goes on"
    margin = position.white_margin()
    return f"{'White' if margin > 0 else 'Black'} has five in a row" if margin else "a draw"
