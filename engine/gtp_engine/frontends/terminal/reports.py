"""What the engine thinks, in lines for people. Everything is said as Black's or White's."""

from gtp_engine.coords import BLACK, COLOR_NAMES, WHITE, format_vertex, opponent
from gtp_engine.go.position import Position
from gtp_engine.search.analysis import Analysis

MOST_CANDIDATES = 5
_BAR = 12


def describe_game(position: Position, names: dict[int, str]) -> list[str]:
    """Return who plays, what was captured, the rules and the last move."""
    lines = [
        f"{COLOR_NAMES[color].capitalize()}: {names[color]},"
        f" captured {position.captured(opponent(color))}"
        for color in (BLACK, WHITE)
    ]
    rules = position.rules
    named = f"{rules.title} rules" if rules.title else f"{rules.scoring.name.lower()} scoring"
    lines.append(f"{named.capitalize()}, komi {position.komi:g}")
    if position.ply:
        last = position.moves[-1]
        where = format_vertex(last.point, position.width, position.height)
        lines.append(f"Move {position.ply}: {COLOR_NAMES[last.color]} {where}")
    return lines


def describe_chances(analysis: Analysis) -> list[str]:
    """Return Black's chance as a bar, and who leads by how much."""
    is_black = analysis.to_play == BLACK
    chance = analysis.winrate if is_black else 1.0 - analysis.winrate
    lead = analysis.score_lead if is_black else -analysis.score_lead
    filled = round(_BAR * chance)
    leader = COLOR_NAMES[BLACK if lead >= 0 else WHITE].capitalize()
    return [
        f"Black wins {chance:.0%} [{'#' * filled}{'-' * (_BAR - filled)}]",
        f"{leader} leads by {abs(lead):.1f}  ({analysis.visits} visits)",
    ]


def candidate_points(analysis: Analysis) -> tuple[int, ...]:
    """Return the best moves, as they are numbered on the board."""
    return tuple(move.point for move in analysis.moves[:MOST_CANDIDATES] if move.visits)


def describe_candidates(analysis: Analysis) -> list[str]:
    """Return a line for each of the best moves, for the player to move."""
    who = COLOR_NAMES[analysis.to_play].capitalize()
    lines = [f"{who}'s moves   wins  lead visits"]
    for number, move in enumerate(analysis.moves[:MOST_CANDIDATES], 1):
        if move.visits:
            vertex = format_vertex(move.point, analysis.width, analysis.height)
            lines.append(
                f" {number} {vertex:<10} {move.winrate:5.0%} {move.score_lead:+5.1f}"
                f" {move.visits:6}"
            )
    return lines


def describe_score(white_margin: float, n_dead: int) -> list[str]:
    """Return the count, dead stones taken off."""
    if white_margin == 0:
        result = "The count is a draw"
    else:
        winner = COLOR_NAMES[WHITE if white_margin > 0 else BLACK].capitalize()
        result = f"{winner} is ahead by {abs(white_margin):g}"
    dead = f"; {n_dead} dead stones are marked x (black) and o (white)" if n_dead else ""
    return [f"{result}{dead}."]
