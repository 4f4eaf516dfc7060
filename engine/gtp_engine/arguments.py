"""Command lines that are wrong get one sentence on stderr and exit status 2.

`parse_...` turn a word into a value, or raise BadValueError, which says what is wrong with it.
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any, NoReturn

USAGE_STATUS = 2
"""Exit status after a mistake in the arguments."""

MOST_THREADS = 1024

MOST_AT_ONCE = 4096
"""Largest batch that may be asked for; a GPU runs 256 positions at once."""

_SWITCHES = {"true": True, "1": True, "false": False, "0": False}


class UsageError(ValueError):
    """Arguments that make no sense; the message is one sentence for the user."""


class BadValueError(argparse.ArgumentTypeError, ValueError):
    """A word that is no value of its kind; argparse shows the message as it is."""


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps a paragraph, but leaves text of several lines, such as examples, as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return "".join(indent + line for line in text.splitlines(keepends=True))
        return super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is a single line, and which takes no abbreviations."""

    def __init__(self, **options: Any) -> None:
        """Begin a command's options; the arguments are those of ArgumentParser."""
        options = {
            "formatter_class": _HelpFormatter,
            "allow_abbrev": False,
            **options,
        }
        super().__init__(**options)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print the help; unlike the plain parser, fail where that fails."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Complain and leave."""
        sys.stderr.write(f"{self.prog}: {message.removeprefix('argument ')}\n")
        sys.exit(USAGE_STATUS)


def parse_size(text: str) -> tuple[int, int]:
    """Return the width and height of "9" or "9x13", 2 to 25 each."""
    from gtp_engine.coords import MAX_SIZE, MIN_SIZE

    words = text.lower().split("x")
    if len(words) > 2 or not all(word.isascii() and word.isdigit() for word in words):
        raise BadValueError(f"{text[:20]!r} is no board size like 9 or 9x13")
    width, height = int(words[0]), int(words[-1])
    if not all(MIN_SIZE <= size <= MAX_SIZE for size in (width, height)):
        raise BadValueError(f"board size {text[:20]} is not between {MIN_SIZE} and {MAX_SIZE}")
    return width, height


def parse_setting(text: str) -> tuple[str, str]:
    """Return the name and the value of "name=value", none of them empty."""
    name, _, value = (word.strip() for word in text.partition("="))
    if not name or not value:
        raise BadValueError(f"{text[:40]!r} is no setting like cpuct=1.2")
    return name, value


def parse_count(text: str) -> int:
    """Return a whole number of 1 or more."""
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) > 0):
        raise BadValueError(f"{text[:20]!r} is not a whole number of 1 or more")
    return int(text)


def _count_to(most: int, text: str, what: str) -> int:
    if parse_count(text) > most:
        raise BadValueError(f"{text[:20]!r} is more than {most} {what}")
    return int(text)


def parse_threads(text: str) -> int:
    """Return a number of threads, up to MOST_THREADS."""
    return _count_to(MOST_THREADS, text, "threads")


def parse_batch(text: str) -> int:
    """Return a number of positions to be evaluated at once, up to MOST_AT_ONCE."""
    return _count_to(MOST_AT_ONCE, text, "positions")


def parse_seed(text: str) -> int:
    """Return what random choices are drawn from, 0 or more in less than 64 bits."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadValueError(f"{text[:20]!r} is not a whole number of 0 or more")
    return int(text)


def parse_number(text: str) -> float:
    """Return a finite number, or nan, which is within no bounds."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and "_" not in text else math.nan


def parse_seconds(text: str) -> float:
    """Return a time above 0, up to eleven days."""
    seconds = parse_number(text)
    if not 0 < seconds <= 1e6:
        raise BadValueError(f"{text[:20]!r} is not a time above 0")
    return seconds


def parse_switch(text: str) -> bool:
    """Return what true, false, 1 or 0 says."""
    if text.lower() not in _SWITCHES:
        raise BadValueError(f"{text[:20]!r} is not true or false")
    return _SWITCHES[text.lower()]


def check_file(path: Path, option: str, *endings: str) -> None:
    """See that a file can be written at the end of long work.

    Args:
        endings: Those of the files that may be written over; any where none is given.

    Raises:
        UsageError: It cannot be written, or holds something else.
    """
    try:
        if path.is_fifo():
            return  # its reader would leave with the first writer
        was_there = path.exists()
        if endings and path.suffix not in endings and path.is_file() and path.stat().st_size:
            raise UsageError(f"{option}: {path} holds something else; take another name")
        path.open("a", encoding="utf-8").close()
        if not was_there:
            path.resolve().unlink()  # a link stays
    except OSError as error:
        raise UsageError(f"{option}: {path}: {error.strerror}") from None


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas between."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_net(text: str) -> str:
    """Return the name or file of a net, or of several joined by plus signs.

    Raises:
        BadValueError: One is empty.
    """
    if not all(text.split("+")):
        raise BadValueError(f"{text[:20]!r} names no net")
    return text
