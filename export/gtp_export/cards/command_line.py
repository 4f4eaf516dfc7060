"""The command that makes a net again, for its card."""

import shlex
from collections.abc import Mapping
from pathlib import Path


def command_line(command: str, options: Mapping[str, object]) -> str:
    """Return a command for a shell, on one line.

    Folders are left out of paths, as they mean nothing to who reads a card, and so are options
    that are None, False, 0 or empty.

    >>> command_line("train", {"--games": (Path("/data/a.sgf"),), "--from": None, "--int8": True})
    'gtp-export train --games a.sgf --int8'
    """
    words = ["gtp-export", command]
    for option, value in options.items():
        if not value:
            continue
        words.append(option)
        if value is not True:
            words += map(_word, value if isinstance(value, list | tuple) else [value])
    return shlex.join(words)


def _word(value: object) -> str:
    if isinstance(value, Path):
        return value.name
    return f"{value:g}" if isinstance(value, float) else str(value)
