"""Games in and out of SGF files."""

import os
import re
from pathlib import Path

from gtp_engine.coords import COLOR_NAMES
from gtp_engine.files import write_whole
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError
from gtp_engine.frontends.gtp.session import Registry, Session
from gtp_engine.games import position_type

commands = Registry()

_NUMBERED = re.compile(r"(.*\S)\s+([0-9]{1,6})")


@commands.command("loadsgf")
def load(session: Session, arguments: Arguments) -> str:
    """Take over the game of a file, up to before the move of a number if one above 0 is given.

    Give the color to move, as GNU Go does.
    """
    arguments.word(0, "a file name")
    path, before_move = arguments.rest, None
    numbered = _NUMBERED.fullmatch(path)
    if numbered is not None and not os.path.isfile(path):  # which takes any name
        path, before_move = numbered[1], int(numbered[2]) or None
    engine = session.board_engine()
    from gtp_engine.go.sgf import SgfError, load_sgf

    try:
        record = load_sgf(path, position_type(engine.settings.game))
        engine.adopt(engine.position_of(record, before_move))
    except SgfError as error:
        raise GtpError(f"cannot load file: {error}") from None
    return COLOR_NAMES[engine.position.to_play]


@commands.command("printsgf")
def save(session: Session, arguments: Arguments) -> str:
    """Give the game as SGF, or write it to a file if one is named."""
    position = session.position
    from gtp_engine.go.sgf import format_sgf

    text = format_sgf(position)
    if arguments.rest in ("", "-"):
        return text.replace("#", "")
    try:
        write_whole(Path(arguments.rest), text)
    except OSError as error:
        raise GtpError(f"cannot write file: {error.strerror}") from None
    return ""
