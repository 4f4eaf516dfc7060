"""What a person sees: the board, the reports beside or below it, the keys, a message."""

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TextIO

from rich.console import Console
from rich.text import Text

from gtp_engine.coords import BLACK, COLOR_NAMES, WHITE, format_vertex, opponent
from gtp_engine.frontends.terminal.board_view import Look, Marks, draw, view_width
from gtp_engine.frontends.terminal.keyboard import key_words
from gtp_engine.go.position import Position
from gtp_engine.go.rules import NO_FIVE
from gtp_engine.search.analysis import Analysis

PANEL_WIDTH = 32
"""Columns that the reports need beside the board."""

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


class Screen:
    """Draws scenes on a terminal, or writes them to a pipe."""

    def __init__(self, output: TextIO | None = None, console: Console | None = None) -> None:
        """Look at what the terminal can do.

        Args:
            output: Where to write; stdout when None.
            console: A console of one's own, for pictures.
        """
        self._console = console or Console(file=output or sys.stdout, highlight=False, emoji=False)
        console = self._console
        self.is_live = console.is_terminal and not console.is_dumb_terminal
        """Whether what was drawn can be drawn over."""
        self._look = Look(
            has_color=console.color_system is not None and not console.no_color,
            is_unicode=(console.encoding or "").lower().startswith("utf"),
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
        columns = self._console.width
        position = scene.position
        look = self._look
        if view_width(position.width, look) > columns:
            look = replace(look, is_narrow=True)
        below = [*self._key_lines(columns), *(Text(line) for line in scene.message)]
        panel = [Text(line) for line in scene.panel]
        needed = view_width(position.width, look)
        if needed > columns:
            excuse = (
                f"The terminal has {columns} columns, and the board needs {needed}:"
                " make it wider, or play on blindly."
            )
            return [*(Text(line) for line in textwrap.wrap(excuse, columns)), *panel, *below]
        board = draw(position, scene.marks, look)
        if columns >= needed + 2 + PANEL_WIDTH:
            return [*_beside(board, panel), *below]
        return [*board, *panel, *below]

    def _key_lines(self, columns: int) -> list[Text]:
        style = "dim" if self._look.has_color else ""
        # A key and its letter stay in one line.
        words = "  ".join(word.replace(" ", _NO_BREAK) for word in key_words())
        lines = textwrap.wrap(words, columns, break_on_hyphens=False)
        return [Text(line.replace(_NO_BREAK, " "), style) for line in lines]


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
