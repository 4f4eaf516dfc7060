"""What a person sees: the board, the reports beside or below it, the keys, a message."""

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TextIO

from rich.console import Console
from rich.text import Text

from gtp_engine.frontends.terminal.board_view import Look, Marks, draw, view_width
from gtp_engine.frontends.terminal.keys import key_words
from gtp_engine.go.position import Position

PANEL_WIDTH = 32
"""Columns that the reports need beside the board."""

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
