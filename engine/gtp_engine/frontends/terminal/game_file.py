"""The file of the present game: where it is, and whether it holds the game as it stands."""

import contextlib
import itertools
import os
import time
from pathlib import Path

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.files import write_whole
from gtp_engine.games import game_of
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Move, Position
from gtp_engine.go.rules import GO, Rules
from gtp_engine.go.sgf import format_sgf
from gtp_engine.platforms import join_command_line

_KEPT = ("black_name", "white_name", "black_rank", "white_rank", "date")
"""What a game that was loaded still says when it is saved."""

_State = tuple[list[Move], str, Rules]
"""A game as it stands: its moves, its result, its rules with the komi."""


class GameFile:
    """Writes one game after the other, and never over the file of another."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self._record: GameRecord | None = None
        self._path: Path | None = None
        self._on_file: _State | None = None
        self._given_up: _State | None = None
        """A game that may be lost, because it cannot be saved and the person knows."""

    def begin(self, position: Position, result: str, record: GameRecord | None) -> None:
        """Turn to a game that has not changed since it was begun, or loaded from a record."""
        self._path = None
        self._record = record
        self._on_file = _state(position, result)

    def save(self, position: Position, result: str, name: str) -> str:
        """Write the game and return what to say about it.

        Args:
            result: How it ended, as SGF has it; empty while it goes on.
            name: The file; the game's own, or a new one, when empty.
        """
        path = path_of(name) if name else self._path or _new_path(Path())
        try:
            is_taken = path != self._path and path.exists()
        except OSError as error:
            return _complaint(path, error)
        if is_taken:
            return f"{path} is there already; give another name."
        return self._write(position, result, path)

    def save_changes(self, position: Position, result: str) -> list[str]:
        """Save a game that is not on file as it stands, if need be in the home folder.

        Returns:
            What to say about it; nothing where nothing was to be done.
        """
        if self._is_on_file(position, result):
            return []
        said = self._write(position, result, self._path or _new_path(Path()))
        if not self._is_on_file(position, result):
            with contextlib.suppress(RuntimeError):  # there is no home folder
                said = self._write(position, result, _new_path(Path.home()))
        return [said]

    def lets_go(self, position: Position, result: str) -> bool:
        """Whether another game may begin: this one is on file, or is given up by asking again."""
        state = _state(position, result)
        if self._is_on_file(position, result) or state == self._given_up:
            return True
        self._given_up = state
        return False

    def _is_on_file(self, position: Position, result: str) -> bool:
        """Whether nothing would be lost; a game that was never saved nor played at is nothing."""
        is_nothing = self._path is None and not position.moves and not result
        return is_nothing or _state(position, result) == self._on_file

    def _write(self, position: Position, result: str, path: Path) -> str:
        own = {"black_name": self._names[BLACK], "white_name": self._names[WHITE]}
        told = own | {"date": time.strftime("%Y-%m-%d")}
        if self._record is not None:
            told = {name: getattr(self._record, name) or told.get(name, "") for name in _KEPT}
        text = format_sgf(position, result=result, comments=self._comments(position), **told)
        try:
            write_whole(path, text)
        except OSError as error:
            return _complaint(path, error)
        self._path = path
        self._on_file = _state(position, result)
        game = game_of(position.rules)
        options = [*([] if game == GO else ["--game", game]), "--resume", str(path)]
        return f"The game is saved; go on with it by: gtp-engine play {join_command_line(options)}"

    def _comments(self, position: Position) -> dict[int, str]:
        """Return what a record that was loaded says of moves that are in the game still."""
        if self._record is None:
            return {}
        pairs = zip(position.all_moves, self._record.moves, strict=False)
        same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        return {n: text for n, text in self._record.comments.items() if n <= same}


def _state(position: Position, result: str) -> _State:
    return position.moves, result, position.rules


def path_of(name: str) -> Path:
    """Return the path that a person names, `~` standing for the home folder."""
    try:
        return Path(os.path.expanduser(name))
    except ValueError:  # a null byte in a person's name
        return Path(name)


def _complaint(path: Path, error: Exception) -> str:
    return f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"


def _new_path(folder: Path) -> Path:
    """Return a name in a folder that no file has."""
    stem = time.strftime("gtp-engine-%Y%m%d-%H%M%S")
    names = (f"{stem}{f'-{number}' if number > 1 else ''}.sgf" for number in itertools.count(1))
    return next(path for path in map(folder.joinpath, names) if not path.exists())
