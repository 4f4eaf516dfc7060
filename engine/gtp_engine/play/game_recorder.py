"""Keep the games that an engine plays, as SGF files for people and for training.

A file is written after every move, so that it is there however the program ends. A client that
sends the moves of the present game anew, as some do after each of them, goes on with its file.
Only the standard library is imported here.
"""

import itertools
import logging
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.coords import BLACK, COLOR_NAMES, WHITE
from gtp_engine.messages import counted
from gtp_engine.play.decision import Decision, resignation
from gtp_engine.version import __version__

if TYPE_CHECKING:
    from gtp_engine.go.game_record import GameRecord
    from gtp_engine.go.position import Move, Position

logger = logging.getLogger(__name__)

OWN_NAME = "gtp-engine"
"""With which the names begin that the engine gives itself in records of its games."""
NAME_IN_RECORDS = f"{OWN_NAME} {__version__}"


_numbers = itertools.count(1)


def new_game_path(folder: Path) -> Path:
    """Return a name for a file of a game that begins now; no other game ever has it."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"{stamp}-{os.getpid()}-{next(_numbers):03}.sgf"


_OWN_FILE = re.compile(r"\d{8}-\d{6}-\d+-\d{3,}\.sgf")


@dataclass
class _Kept:
    """A game on file."""

    path: Path
    date: str
    names: dict[int, str] = field(default_factory=dict)
    """By color, who is known."""
    comments: dict[int, str] = field(default_factory=dict)
    """By the number of moves made before."""
    result: str = ""
    start: bytes = b""
    """The stones at the beginning, and what came before them."""
    moves: "list[Move]" = field(default_factory=list)


class GameRecorder:
    """Writes the games of one engine, those in which it makes a move itself."""

    def __init__(self, folder: Path, *, keeps_all: bool = False) -> None:
        """Make the folder; `keeps_all`: write games too in which the engine makes no move."""
        self._folder = folder
        self._keeps_all = keeps_all
        self._has_failed = False
        self._kept: _Kept | None = None
        self._is_taking_part = False
        self._make_folder()

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._fail(self._folder, error)

    def begin(self) -> None:
        """Turn to another game; it is written once the engine makes a move in it."""
        self._is_taking_part = False

    def go_on(self, path: Path, record: "GameRecord", position: "Position") -> None:
        """Go on in the file of a game that was kept before and is not over.

        A file with another name than those of `new_game_path` is left to whoever made it.

        Args:
            record: What it says.
            position: After its last move.
        """
        if not _OWN_FILE.fullmatch(path.name):
            return
        named = {BLACK: record.black_name, WHITE: record.white_name}
        names = {color: name for color, name in named.items() if name}
        comments, moves = dict(record.comments), position.all_moves
        start = _start_of(position)
        self._kept = _Kept(path, record.date, names, comments, start=start, moves=moves)

    def decided(self, position: "Position", decision: Decision) -> None:
        """Write a game in which the engine has just made a move or resigned.

        Args:
            position: With the move, if it was one.
        """
        self._take_part(position)
        assert self._kept is not None
        color = decision.color
        self._kept.names[color] = NAME_IN_RECORDS
        if decision.analysis is not None:
            found = decision.analysis
            self._kept.comments[len(position.all_moves)] = (
                f"{COLOR_NAMES[color]}: winrate {found.winrate:.3f},"
                f" score lead {found.score_lead:z.1f}, {counted(found.visits, 'visit')}"
            )
        self._kept.result = resignation(color) if decision.point is None else ""
        self._write(position)

    def changed(self, position: "Position") -> None:
        """Write the game after moves that were made or taken back by somebody else."""
        if self._keeps_all:
            self._take_part(position)
        if not self._is_taking_part or self._kept is None:
            return
        # A move made in the place of one taken back is not the one that was commented on.
        known = min(len(position.all_moves), len(self._kept.moves))
        self._kept.comments = {
            ply: comment for ply, comment in self._kept.comments.items() if ply <= known
        }
        self._kept.result = ""
        self._write(position)

    def ended(self, position: "Position", result: str) -> None:
        """Write down how the game ended, as SGF has it: "B+3.5", "0"; "" if it goes on."""
        if self._keeps_all:
            self._take_part(position)
        if self._is_taking_part and self._kept is not None:
            self._kept.result = result
            self._write(position)

    def _take_part(self, position: "Position") -> None:
        if not self._is_taking_part:
            self._is_taking_part = True
            self._open(position)

    def _open(self, position: "Position") -> None:
        """Go on with the latest file if its game began like this and is not over."""
        kept = self._kept
        start = _start_of(position)
        if (
            kept is not None
            and not kept.result
            and kept.start == start
            and kept.moves
            and position.all_moves[: len(kept.moves)] == kept.moves
        ):
            return
        self._make_folder()  # somebody may have taken it away with the earlier games
        date = time.strftime("%Y-%m-%d")
        self._kept = _Kept(new_game_path(self._folder), date, start=start)

    def _write(self, position: "Position") -> None:
        from gtp_engine.files import write_whole
        from gtp_engine.go.sgf import format_sgf

        assert self._kept is not None
        self._kept.moves = position.all_moves
        text = format_sgf(
            position,
            black_name=self._kept.names.get(BLACK, ""),
            white_name=self._kept.names.get(WHITE, ""),
            result=self._kept.result,
            date=self._kept.date,
            comments=self._kept.comments,
        )
        try:
            write_whole(self._kept.path, text)
            self._has_failed = False
        except OSError as error:
            self._fail(self._kept.path, error)

    def _fail(self, path: Path, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            logger.warning(f"games cannot be kept: {path}: {error.strerror}")


def _start_of(position: "Position") -> bytes:
    """Return what tells the beginnings of two games apart, up to a set-up in mid-game."""
    first = position.grid(0).tobytes() + bytes((position.width, position.height))
    return first + repr(position.earlier).encode()
