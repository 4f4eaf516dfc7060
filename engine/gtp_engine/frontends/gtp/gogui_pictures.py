"""Pictures in GoGui's language: squares, labels and marks on points, a line of text below.

Moves are shaded and labelled. Ownership is drawn in squares whose area grows with it, for Black
where it is positive and for White where it is negative; texts name the player they speak for.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from gtp_engine.coords import (
    BLACK,
    COLOR_NAMES,
    PASS,
    WHITE,
    opponent,
    point_at,
)
from gtp_engine.frontends.gtp.info_lines import shown_moves
from gtp_engine.messages import counted, describe_lead, show
from gtp_engine.search.request import ReportRequest

if TYPE_CHECKING:
    from gtp_engine.go.position import Position
    from gtp_engine.search.analysis import Analysis, MoveReport

INTERVAL = 0.2
"""Seconds between two pictures; a quick move has at least the last one."""


class LiveGraphics(StrEnum):
    """What is drawn."""

    NONE = "none"
    CANDIDATES = "candidates"
    VARIATION = "variation"
    OWNERSHIP = "ownership"


_MOST_MOVES = 12
_MOST_OF_EACH = 6
_SHADES = ((0.999, "#00a8ff"), (0.3, "#20d040"), (0.1, "#e8e800"), (0.0, "#ff8040"))
"""Backgrounds of moves by their share of the best one's, at least; GoGui lets the wood shine
through. Squares of its own (INFLUENCE) would lie over the labels."""
_OWN, _OTHERS, _BOTH = "#40b0ff", "#ff6060", "#d060ff"
_OF_BLACK, _OF_WHITE = "#ff50b0", "#40ffe0"
"""Backgrounds of closed regions."""
_REFLEX, _CAPTURE, _RESCUE = "#d060ff", "#e07070", "#60c060"


@contextmanager
def drawing(kind: LiveGraphics) -> Iterator[ReportRequest | None]:
    """Draw during a search, on stderr, while this context lasts, if a client wants it.

    Yields:
        What to ask of the search; None where nothing is drawn.
    """
    if kind is LiveGraphics.NONE:
        yield None
        return

    def draw(analysis: "Analysis") -> None:
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
    """Return moves shaded by their share of the visits, labelled with winrates in percent."""
    moves = _on_board(shown_moves(analysis, 0, _MOST_MOVES))
    lines = _labelled(analysis, moves, [m.visits for m in moves], [m.winrate for m in moves])
    return "\n".join([*lines, describe(analysis)])


def draw_policy(analysis: "Analysis") -> str:
    """Return moves from 1 % on, shaded by how much the net likes them, labelled in percent."""
    moves = [move for move in _on_board(analysis.moves) if move.prior >= 0.01]
    priors = [move.prior for move in moves]
    lines = _labelled(analysis, moves, priors, priors)
    on_pass = sum(move.prior for move in analysis.moves if move.point == PASS)
    text = f"TEXT policy of {COLOR_NAMES[analysis.to_play]} in percent, pass {100 * on_pass:.1f}"
    return "\n".join([*lines, text])


def draw_both_players(own: "Analysis", other: "Analysis") -> str:
    """Return what either player would like to play here, and a legend below.

    Args:
        own: The player to move; digits.
        other: The other one, as if the turn were theirs; letters.
    """
    moves, answers = (_on_board(shown_moves(each, 0, _MOST_OF_EACH)) for each in (own, other))
    names: dict[str, str] = {}
    for analysis, found, order in ((own, moves, "123456"), (other, answers, "abcdef")):
        for move, name in zip(found, order, strict=False):
            vertex = analysis.vertex(move.point)
            names[vertex] = names.get(vertex, "") + name
    lines = []
    for shade, wanted in ((_OWN, str.isdigit), (_OTHERS, str.isalpha), (_BOTH, _is_of_both)):
        lines += _line(f"COLOR {shade}", [vertex for vertex in names if wanted(names[vertex])])
    lines += _line("LABEL", [f"{vertex} {name}" for vertex, name in names.items()])
    mine, theirs = COLOR_NAMES[own.to_play], COLOR_NAMES[other.to_play]
    lines.append(f"TEXT {mine}: blue, 1 to 6; {theirs}, if to move: red, a to f; both: violet")
    return "\n".join(lines)


def _is_of_both(name: str) -> bool:
    return len(name) == 2


def draw_ownership(analysis: "Analysis") -> str:
    """Return rows of numbers, 1 certainly Black's, -1 certainly White's, from the top."""
    assert analysis.ownership is not None
    sign = _sign(analysis.to_play)
    return "\n".join(
        " ".join(f"{sign * value:z.2f}" for value in row) for row in analysis.ownership
    )


def draw_regions(position: "Position") -> str:
    """Return every chain's liberties, a mark on eyes, and whose the closed regions are.

    Stones in atari bear a square.
    """
    from gtp_engine.go.regions import map_regions

    found = map_regions(position)
    labels = [
        f"{position.vertex(point)} {len(chain.liberties)}"
        for chain in found.chains
        for point in chain.stones
    ]
    lines = _line("LABEL", labels)
    weak = [chain for chain in found.chains if len(chain.liberties) == 1]
    # Stones hide colors, not marks.
    lines += _line("SQUARE", [position.vertex(p) for chain in weak for p in chain.stones])
    for owner, shade in ((BLACK, _OF_BLACK), (WHITE, _OF_WHITE)):
        closed = [region for region in found.regions if region.owner == owner]
        points = [position.vertex(p) for region in closed for p in region.points]
        lines += _line(f"COLOR {shade}", points)
    eyes = [region for region in found.regions if region.is_eye]
    lines += _line("MARK", [position.vertex(region.points[0]) for region in eyes])
    black, white = (sum(region.owner == owner for region in eyes) for owner in (BLACK, WHITE))
    lines.append(
        f"TEXT {counted(len(found.chains), 'chain')}, {len(weak)} in atari;"
        f" eyes: black {black}, white {white}"
    )
    return "\n".join(lines)


def list_chains(position: "Position") -> str:
    """Return a line for each chain: where it is, its stones, liberties and eyes."""
    from gtp_engine.go.regions import map_regions

    return (
        "\n".join(
            f"{position.vertex(chain.stones[0])}: {COLOR_NAMES[chain.color]},"
            f" {counted(len(chain.stones), 'stone')},"
            f" {counted(len(chain.liberties), 'liberty', 'liberties')},"
            f" {counted(chain.eyes, 'eye')}"
            for chain in map_regions(position).chains
        )
        or "no stones"
    )


def draw_tactics(position: "Position") -> str:
    """Return a star on each move of the player to move that captures, saves or threatens stones.

    Reflexes are violet, what else captures is red, what else saves or threatens is green. The best
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
    lines = _line("LABEL", [f"{position.vertex(move)} *" for move in shades])
    for shade in (_REFLEX, _CAPTURE, _RESCUE):
        moves = [position.vertex(move) for move in shades if shades[move] == shade]
        lines += _line(f"COLOR {shade}", moves)
    best = f"{position.vertex(found[0].move)} {found[0].text}" if found else "nothing at hand"
    return "\n".join([*lines, f"TEXT {COLOR_NAMES[color]}: {best}"])


def describe(analysis: "Analysis") -> str:
    """Return the line of text below a picture."""
    pv = analysis.moves[0].pv if analysis.moves else ()
    moves = " ".join(analysis.vertex(move) for move in pv[:6])
    return (
        f"TEXT {winrate_text(analysis)}, {score_text(analysis)},"
        f" {counted(analysis.visits, 'visit')}: {moves}"
    )


def winrate_text(analysis: "Analysis") -> str:
    """Return who wins how probably."""
    return f"{COLOR_NAMES[analysis.to_play]} wins with {100 * analysis.winrate:.1f} %"


def score_text(analysis: "Analysis") -> str:
    """Return who is ahead by how many points."""
    lead = analysis.score_lead
    return describe_lead(lead if analysis.to_play == BLACK else -lead).lower()


def _variation(analysis: "Analysis") -> list[str]:
    if not analysis.moves:
        return []
    color, words = analysis.to_play, []
    for move in analysis.moves[0].pv:
        words.append(f"{COLOR_NAMES[color][0]} {analysis.vertex(move)}")
        color = opponent(color)
    return _line("VAR", words)


def _ownership(analysis: "Analysis") -> list[str]:
    if analysis.ownership is None:
        return []
    sign = _sign(analysis.to_play)
    words = [
        f"{analysis.vertex(point_at(row, col, analysis.width))} {sign * float(value):z.2f}"
        for (row, values) in enumerate(analysis.ownership)
        for (col, value) in enumerate(values)
    ]
    return _line("INFLUENCE", words)


def _labelled(
    analysis: "Analysis",
    moves: Sequence["MoveReport"],
    sizes: Sequence[float],
    shares: Sequence[float],
) -> list[str]:
    """Return moves shaded by their sizes, each labelled with a share in percent."""
    vertices = [analysis.vertex(move.point) for move in moves]
    most = max(sizes, default=0) or 1
    labels = [f"{vertex} {100 * share:.0f}" for vertex, share in zip(vertices, shares, strict=True)]
    return [*_shaded(vertices, [size / most for size in sizes]), *_line("LABEL", labels)]


def _shaded(vertices: list[str], shares: list[float]) -> list[str]:
    """Return a line for each shade with the moves that it is for."""
    lines, left = [], list(zip(vertices, shares, strict=True))
    for least, shade in _SHADES:
        lines += _line(f"COLOR {shade}", [vertex for vertex, share in left if share >= least])
        left = [(vertex, share) for vertex, share in left if share < least]
    return lines


def _line(command: str, words: list[str]) -> list[str]:
    """Return a command with its arguments, or nothing if there are none."""
    return [f"{command} {' '.join(words)}"] if words else []


def _on_board(moves: Iterable["MoveReport"]) -> list["MoveReport"]:
    return [move for move in moves if move.point != PASS]


def _sign(color: int) -> float:
    return 1.0 if color == BLACK else -1.0
