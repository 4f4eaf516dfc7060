"""What a person sees: the board, the reports beside or below it, the keys, a message."""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.text import Text

from gtp_engine.coords import BLACK, COLOR_NAMES, WHITE, opponent
from gtp_engine.frontends.terminal.board_view import (
    CANDIDATE_DIGITS,
    PALETTES,
    TRUE_COLORS,
    Look,
    Marks,
    draw,
    view_width,
)
from gtp_engine.frontends.terminal.keyboard import key_words
from gtp_engine.go.position import Position
from gtp_engine.go.rules import NO_FIVE
from gtp_engine.messages import counted, describe_lead
from gtp_engine.search.analysis import Analysis

PANEL_WIDTH = 32
"""Columns that the reports need beside the board; no line of theirs is wider."""

MOST_CANDIDATES = 5
_BAR = 12

_NO_BREAK = "\xa0"
_CLEAR = "\x1b[2J\x1b[H"


@dataclass
class Scene:
    """Everything that is on the screen."""

    position: Position
    marks: Marks = field(default_factory=Marks)
    panel: list[str] = field(default_factory=list)
    """Reports, a line each."""
    message: list[str] = field(default_factory=list)
    prompt: str = "> "


class _Console(Console):
    """A console that leaves it to others what happens when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled; rich would end the process."""
        raise


class Screen:
    """Draws scenes on a terminal, or writes them to a pipe; to stdout where none is given."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console = console or _Console(file=sys.stdout, highlight=False, emoji=False)
        self.is_live = console.is_terminal and not console.is_dumb_terminal
        """Whether what was drawn can be drawn over."""
        self._look = Look(
            has_color=console.color_system is not None and not console.no_color,
            is_unicode=(console.encoding or "").lower().startswith("utf"),
            palette=PALETTES.get(console.color_system or "", TRUE_COLORS),
        )

    def show(self, scene: Scene) -> None:
        """Draw a scene, and the prompt below it.

        Raises:
            OSError: Nobody reads any more.
        """
        lines = self._lines(scene)
        if self.is_live:
            self._write(_CLEAR)
        for line in lines:
            self._console.print(line, soft_wrap=True)
        self._write(scene.prompt)

    def progress(self, text: str) -> None:
        """Say what is going on, in a line that the next one replaces; not through pipes."""
        if self.is_live:
            self._write(f"\r\x1b[K{text[: self._console.width - 1]}")

    def echo(self, line: str) -> None:
        """Write what was typed, behind the prompt, where no terminal does so."""
        self._write(f"{line}\n")

    def say(self, text: str) -> None:
        """Write a line below everything else."""
        self._write(f"\n{text}\n" if self.is_live else f"{text}\n")

    def _write(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()

    def _lines(self, scene: Scene) -> list[Text]:
        """Return the fullest arrangement that the terminal has room for, or the shortest."""
        columns = self._console.width
        rows = self._console.height - 1 if self.is_live else sys.maxsize  # one for the prompt
        best: list[Text] = []
        for lines in self._arrangements(scene, columns, rows):
            if len(lines) <= rows:
                return lines
            if not best or len(lines) < len(best):
                best = lines
        return best

    def _arrangements(self, scene: Scene, columns: int, rows: int) -> Iterator[list[Text]]:
        """Give what may be shown, the fullest first: a message is dropped last, then the board."""
        wide, narrow = self._look, replace(self._look, is_narrow=True)
        keys = self._key_lines(columns, has_count=not scene.position.rules.must_move)
        panel = [Text(line) for line in scene.panel]
        message = _wrapped(scene.message, columns if self.is_live else sys.maxsize)
        beside = _wrapped(scene.message, PANEL_WIDTH)
        width = scene.position.width
        boards = [
            (draw(scene.position, scene.marks, look), columns >= needed + 2 + PANEL_WIDTH)
            for look in (wide, narrow)
            if (needed := view_width(width, look)) <= columns
        ]
        lack = ""
        if not boards:
            needed = view_width(width, narrow)
            lack = f"{columns} columns, and the board needs {needed}: make it wider"
        elif (height := len(boards[0][0])) > rows:
            lack = f"{rows + 1} lines, and the board needs {height + 1}: make it higher"
        if lack:
            boards = []
            excuse = _wrapped([f"The terminal has {lack}, or play on blindly."], columns)
            yield [*excuse, *panel, *keys, *message]
            yield [*excuse, *message]
        elif not boards[0][1]:
            yield [*boards[0][0], *panel, *keys, *message]
        for board, has_room in boards:
            if has_room:
                yield [*_beside(board, panel), *keys, *message]
                reports = [*beside, *([Text()] if beside else []), *panel]
                yield [*_beside(board, reports), *keys]
                for last in (keys, []):
                    if len(beside) <= rows - len(last):  # reports may be cut, messages not
                        yield [*_beside(board, reports[: rows - len(last)]), *last]
        for board, _ in boards:
            yield [*board, *panel, *message]
            yield [*board, *message]
        yield message

    def _key_lines(self, columns: int, *, has_count: bool) -> list[Text]:
        style = "dim" if self._look.has_color else ""
        # A key and its letter stay in one line.
        words = "  ".join(word.replace(" ", _NO_BREAK) for word in key_words(has_count=has_count))
        lines = textwrap.wrap(words, columns, break_on_hyphens=False)
        return [Text(line.replace(_NO_BREAK, " "), style) for line in lines]


def _wrapped(lines: Sequence[str], columns: int) -> list[Text]:
    """Return lines of at most so many columns; those that fit are left as they are."""
    return [
        Text(piece)
        for line in lines
        for piece in ([line] if len(line) <= columns else textwrap.wrap(line, columns))
    ]


def _beside(board: Sequence[Text], panel: Sequence[Text]) -> list[Text]:
    """Return the panel to the right of the board."""
    lines = []
    for index in range(max(len(board), len(panel))):
        line = board[index].copy() if index < len(board) else Text(" " * board[0].cell_len)
        if index < len(panel):
            line.append("  ")
            line.append_text(panel[index])
        lines.append(line)
    return lines


# What the engine thinks, in lines for people; everything is said as Black's or White's -----------


def describe_game(position: Position, names: dict[int, str]) -> list[str]:
    """Return who plays, what was captured, the rules and the last move."""
    rules = position.rules
    lines = []
    for color in (BLACK, WHITE):
        captured = f", captured {position.captured(opponent(color))}"
        who = f"{COLOR_NAMES[color].capitalize()}: {names[color]}"
        lines.append(who + (captured if rules.five == NO_FIVE else ""))
    if rules.must_move:
        named = "" if rules.five == NO_FIVE else "five in a row, "
        lines.append(f"{named}{rules.describe()}".capitalize())
    else:
        named = f"{rules.title} rules" if rules.title else f"{rules.scoring.name.lower()} scoring"
        lines.append(f"{named.capitalize()}, komi {position.komi:g}")
    if position.ply:
        last = position.moves[-1]
        where = position.vertex(last.point)
        lines.append(f"Move {position.ply}: {COLOR_NAMES[last.color]} {where}")
    return lines


def describe_chances(analysis: Analysis, *, has_count: bool) -> list[str]:
    """Return Black's chance as a bar, and who leads by how much in a game with a count."""
    is_black = analysis.to_play == BLACK
    chance = analysis.winrate if is_black else 1.0 - analysis.winrate
    lead = analysis.score_lead if is_black else -analysis.score_lead
    filled = round(_BAR * chance)
    return [
        f"Black wins {chance:.0%} [{'#' * filled}{'-' * (_BAR - filled)}]",
        *([describe_lead(lead)] if has_count else []),
        counted(analysis.visits, "visit"),
    ]


def candidate_points(analysis: Analysis) -> tuple[int, ...]:
    """Return the best moves, as they are numbered on the board."""
    return tuple(move.point for move in analysis.moves[:MOST_CANDIDATES] if move.visits)


def describe_candidates(
    analysis: Analysis, names: str = CANDIDATE_DIGITS, *, has_count: bool
) -> list[str]:
    """Return a line for each of the best moves, for the player to move.

    Args:
        names: A character for each, as on the board.
        has_count: Whether the game has points, so that somebody leads.
    """
    who = COLOR_NAMES[analysis.to_play].capitalize()
    lines = [f"{who}'s moves  wins {' lead ' if has_count else ''}visits"]
    for name, move in zip(names, analysis.moves[:MOST_CANDIDATES], strict=False):
        if move.visits:
            vertex = analysis.vertex(move.point)
            lead = f"{move.score_lead:+z5.1f} " if has_count else ""
            lines.append(f" {name} {vertex:<9} {move.winrate:5.0%} {lead}{move.visits:7}")
    return lines


def describe_score(white_margin: float, n_dead: int) -> list[str]:
    """Return the count, dead stones taken off."""
    if white_margin == 0:
        result = "The count is a draw"
    else:
        winner = COLOR_NAMES[WHITE if white_margin > 0 else BLACK].capitalize()
        result = f"{winner} is ahead by {abs(white_margin):g}"
    are = "is" if n_dead == 1 else "are"
    stones = counted(n_dead, "dead stone")
    dead = f"; {stones} {are} marked x (black) and o (white)" if n_dead else ""
    return [f"{result}{dead}."]
