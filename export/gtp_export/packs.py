"""The games of several files, for whatever makes or measures a net."""

import errno
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.sgf_files import read_games


def games_of(packs: Sequence[Path]) -> Iterator[GameRecord]:
    """Return the games of packs, SGF files and folders, one after another.

    Games that cannot be read are left out.

    Raises:
        FileNotFoundError: One of the files does not exist; raised at once.
    """
    for pack in packs:
        if not pack.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(pack))
    return chain.from_iterable(read_games(pack, on_error=_leave_out) for pack in packs)


def _leave_out(sentence: str) -> None:
    """Say nothing: among thousands of games a broken one does not matter."""
