"""Pictures in GoGui's language: squares, labels and marks on points, a line of text below.

Sizes are edges of squares, so that a square's area grows with what it stands for. Squares are
drawn for Black where they are positive and for White where they are negative; texts and labels
name the player they speak for.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, COLOR_NAMES, PASS, format_vertex, opponent, point_at
from gtp_engine.frontends.gtp.info_lines import shown_moves
from gtp_engine.messages import show

if TYPE_CHECKING:
    from gtp_engine.go.position import Position
    from gtp_engine.search.analysis import Analysis, MoveReport
    from gtp_engine.search.request import ReportRequest

INTERVAL = 0.5
"""Seconds between two pictures."""


class LiveGraphics(StrEnum):
    """What is drawn."""

    NONE = "none"
    CANDIDATES = "candidates"
    VARIATION = "variation"
    OWNERSHIP = "ownership"


_MOST_MOVES = 12
_OWN_BEST, _OTHER_BEST, _WANTED_BY_BOTH = "#60c060", "#e07070", "#c080e0"
_ATARI, _TWO_LIBERTIES = "#e07070", "#e0c060"
_LETTERS = {1: "b", 2: "w"}
_REFLEX, _CAPTURE, _RESCUE = "#e0a030", "#e07070", "#60c060"


@contextmanager
def drawing(kind: LiveGraphics) -> Iterator["ReportRequest | None"]:
    """Draw during a search, on stderr, while this context lasts, if a client wants it.

    Yields:
        What to ask of the search; None where nothing is drawn.
    """
    if kind is LiveGraphics.NONE:
        yield None
        return
    from gtp_engine.search.request import ReportRequest

    def draw(analysis: "Analysis") -> None:
        if not analysis.is_final:
            show(f"gogui-gfx:\n{draw_live(analysis, kind)}\n")

    try:
        yield ReportRequest(INTERVAL, draw, ownership=kind is LiveGraphics.OWNERSHIP)
    finally:
        # Else a picture that arrives late would stay on the board.
        show("gogui-gfx: CLEAR")


def draw_live(analysis: "Analysis", kind: LiveGraphics) -> str:
    """Return the lines that show a search under way."""
    if kind is LiveGraphics.VARIATION:
        return "\n".join([*_variation(analysis), describe(analysis)])
    if kind is LiveGraphics.OWNERSHIP:
        return "\n".join([*_ownership(analysis), describe(analysis)])
    return draw_candidates(analysis)


def draw_candidates(analysis: "Analysis") -> str:
    """Return squares as large as moves were visited, labelled with winrates in percent."""
    moves = _on_board(shown_moves(analysis, 0, _MOST_MOVES))
    labels = [f"{_vertex(analysis, move)} {100 * move.winrate:.0f}" for move in moves]
    lines = [_squares(analysis, moves), *_line("LABEL", labels)]
    lines += _line("CIRCLE", [_vertex(analysis, move) for move in moves[:1]])
    return "\n".join([*lines, describe(analysis)])


def draw_policy(analysis: "Analysis") -> str:
    """Return squares as large as the net likes moves, labelled in percent from 1 % on."""
    moves = _on_board(analysis.moves)
    most = max((move.prior for move in moves), default=1.0) or 1.0
    sign = _sign(analysis.to_play)
    sizes = [f"{_vertex(analysis, move)} {sign * (move.prior / most) ** 0.5:.2f}" for move in moves]
    labels = [
        f"{_vertex(analysis, move)} {100 * move.prior:.0f}" for move in moves if move.prior >= 0.01
    ]
    on_pass = sum(move.prior for move in analysis.moves if move.point == PASS)
    text = f"TEXT policy of {COLOR_NAMES[analysis.to_play]} in percent, pass {100 * on_pass:.1f}"
    return "\n".join([*_line("INFLUENCE", sizes), *_line("LABEL", labels), text])


def draw_both_players(own: "Analysis", other: "Analysis") -> str:
    """Return what either player would like to play here, each in the squares of its color.

    Args:
        own: The player to move.
        other: The other one, as if the turn were theirs.
    """
    moves = _on_board(shown_moves(own, 0, _MOST_MOVES))
    answers = _on_board(shown_moves(other, 0, _MOST_MOVES))
    taken = {move.point for move in moves}
    new = [move for move in answers if move.point not in taken]
    wanted_by_both = [move for move in answers if move.point in taken]
    lines = [_squares(own, moves), _squares(other, new)]
    first, second = moves[:1], answers[:1]
    if [move.point for move in first] == [move.point for move in second]:
        lines += _line(f"COLOR {_WANTED_BY_BOTH}", [_vertex(own, move) for move in first])
    else:
        lines += _line(f"COLOR {_OWN_BEST}", [_vertex(own, move) for move in first])
        lines += _line(f"COLOR {_OTHER_BEST}", [_vertex(own, move) for move in second])
    lines += _line("TRIANGLE", [_vertex(own, move) for move in wanted_by_both])
    best = [_vertex(own, each[0]) if each else "pass" for each in (moves, answers)]
    mine, theirs = COLOR_NAMES[own.to_play], COLOR_NAMES[other.to_play]
    lines.append(f"TEXT best for {mine}: {best[0]}, for {theirs}: {best[1]}")
    return "\n".join(line for line in lines if line)


def draw_ownership(analysis: "Analysis") -> str:
    """Return rows of numbers, 1 certainly Black's, -1 certainly White's, from the top."""
    assert analysis.ownership is not None
    sign = _sign(analysis.to_play)
    return "\n".join(" ".join(f"{sign * value:.2f}" for value in row) for row in analysis.ownership)


def draw_regions(position: "Position") -> str:
    """Return every chain's liberties, a mark on eyes, and whose the closed regions are.

    Chains in atari are red, those with two liberties yellow.
    """
    from gtp_engine.go.regions import map_regions

    found = map_regions(position)
    lines = []
    labels = [
        f"{_name(position, point)} {len(chain.liberties)}"
        for chain in found.chains
        for point in chain.stones
    ]
    lines += _line("LABEL", labels)
    for color, count in ((_ATARI, 1), (_TWO_LIBERTIES, 2)):
        weak = [chain for chain in found.chains if len(chain.liberties) == count]
        points = [_name(position, point) for chain in weak for point in chain.stones]
        lines += _line(f"COLOR {color}", points)
    for owner, command in ((1, "BLACK"), (2, "WHITE")):
        closed = [region for region in found.regions if region.owner == owner]
        lines += _line(command, [_name(position, p) for region in closed for p in region.points])
    eyes = [region for region in found.regions if region.is_eye]
    lines += _line("MARK", [_name(position, region.points[0]) for region in eyes])
    in_atari = sum(len(chain.liberties) == 1 for chain in found.chains)
    counts = [sum(region.owner == owner for region in eyes) for owner in (1, 2)]
    lines.append(
        f"TEXT {len(found.chains)} chains, {in_atari} in atari;"
        f" eyes: black {counts[0]}, white {counts[1]}"
    )
    return "\n".join(lines)


def list_chains(position: "Position") -> str:
    """Return a line for each chain: where it is, its stones, liberties and eyes."""
    from gtp_engine.go.regions import map_regions

    return "\n".join(
        f"{_name(position, chain.stones[0])}: {COLOR_NAMES[chain.color]},"
        f" {len(chain.stones)} stones, {len(chain.liberties)} liberties, {chain.eyes} eyes"
        for chain in map_regions(position).chains
    )


def draw_tactics(position: "Position") -> str:
    """Return a star on each move of the player to move that captures, saves or threatens stones.

    Reflexes are orange, what else captures is red, what else saves or threatens is green. The best
    one is told in words.
    """
    from gtp_engine.go.tactics import NO_ATTACK, reflexes, threats

    color = position.to_play
    ready = reflexes(position, color)
    found = ready + threats(position, color)
    shades: dict[int, str] = {}
    for tactic in found:
        shade = _RESCUE if tactic.kind in NO_ATTACK else _CAPTURE
        shades.setdefault(tactic.move, _REFLEX if tactic in ready else shade)
    lines = _line("LABEL", [f"{_name(position, move)} *" for move in shades])
    for shade in (_REFLEX, _CAPTURE, _RESCUE):
        moves = [_name(position, move) for move in shades if shades[move] == shade]
        lines += _line(f"COLOR {shade}", moves)
    best = f"{_name(position, found[0].move)} {found[0].text}" if found else "nothing at hand"
    return "\n".join([*lines, f"TEXT {COLOR_NAMES[color]}: {best}"])


def describe(analysis: "Analysis") -> str:
    """Return the line of text below a picture."""
    pv = max(analysis.moves, key=lambda move: -move.order).pv if analysis.moves else ()
    moves = " ".join(format_vertex(move, analysis.width, analysis.height) for move in pv[:6])
    return (
        f"TEXT {winrate_text(analysis)}, {score_text(analysis)}, {analysis.visits} visits: {moves}"
    )


def winrate_text(analysis: "Analysis") -> str:
    """Return who wins how probably."""
    return f"{COLOR_NAMES[analysis.to_play]} wins with {100 * analysis.winrate:.1f} %"


def score_text(analysis: "Analysis") -> str:
    """Return who is ahead by how many points."""
    ahead = analysis.to_play if analysis.score_lead >= 0 else opponent(analysis.to_play)
    return f"{COLOR_NAMES[ahead]} leads by {abs(analysis.score_lead):.1f}"


def _variation(analysis: "Analysis") -> list[str]:
    if not analysis.moves:
        return []
    color, words = analysis.to_play, []
    for move in min(analysis.moves, key=lambda move: move.order).pv:
        name = format_vertex(move, analysis.width, analysis.height)
        words.append(f"{_LETTERS[color]} {name}")
        color = opponent(color)
    return _line("VAR", words)


def _ownership(analysis: "Analysis") -> list[str]:
    if analysis.ownership is None:
        return []
    sign = _sign(analysis.to_play)
    words = [
        f"{_corner_name(analysis, row, col)} {sign * float(value):.2f}"
        for (row, values) in enumerate(analysis.ownership)
        for (col, value) in enumerate(values)
    ]
    return _line("INFLUENCE", words)


def _squares(analysis: "Analysis", moves: list["MoveReport"]) -> str:
    most = max((move.visits for move in moves), default=0) or 1
    sign = _sign(analysis.to_play)
    sizes = [f"{_vertex(analysis, m)} {sign * (m.visits / most) ** 0.5:.2f}" for m in moves]
    return "".join(_line("INFLUENCE", sizes))


def _line(command: str, words: list[str]) -> list[str]:
    """Return a command with its arguments, or nothing if there are none."""
    return [f"{command} {' '.join(words)}"] if words else []


def _on_board(moves: Iterable["MoveReport"]) -> list["MoveReport"]:
    return [move for move in moves if move.point != PASS]


def _sign(color: int) -> float:
    return 1.0 if color == BLACK else -1.0


def _vertex(analysis: "Analysis", move: "MoveReport") -> str:
    return format_vertex(move.point, analysis.width, analysis.height)


def _corner_name(analysis: "Analysis", row: int, col: int) -> str:
    point = point_at(row, col, analysis.width)
    return format_vertex(point, analysis.width, analysis.height)


def _name(position: "Position", point: int) -> str:
    return format_vertex(point, position.width, position.height)
