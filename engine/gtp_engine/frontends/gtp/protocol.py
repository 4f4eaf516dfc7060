"""The Go Text Protocol's text: requests in, replies out. Knows nothing about Go.

Every request is one line, `[id] command argument...`; every reply starts with `=` or `?` and the
id, and ends with one empty line.
"""

import math
import re

from gtp_engine.arguments import BadValueError, parse_number, parse_switch
from gtp_engine.coords import parse_color
from gtp_engine.frontends.pipes import Request

_INTERRUPT = re.compile(r"\s*#\s*interrupt\s*")
_ID = re.compile(r"([0-9]*)\s*(.*)", re.DOTALL)
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")


class GtpError(Exception):
    """A command that fails; the message is the reply and starts with the standard words."""


class Interrupted(GtpError):
    """A command given up because the client is leaving."""

    def __init__(self) -> None:
        super().__init__("interrupted")


def is_interrupt(text: str) -> bool:
    """Whether a cleaned line is the comment by which GoGui asks for an answer at once."""
    return _INTERRUPT.fullmatch(text) is not None


def parse_request(text: str) -> Request | None:
    """Return the request of a cleaned line; None for an empty line or a comment."""
    command = text.split("#", 1)[0].strip()
    if not command:
        return None
    match = _ID.fullmatch(command)
    assert match is not None  # both groups match anything
    name, _, rest = match[2].partition(" ")
    return Request(match[1], name, rest.strip())


def format_head(success: bool, request_id: str) -> str:
    """Return how a reply begins: `= ` or `=12 `.

    The space is there even if nothing follows, since GoGui cuts the reply at the first one.
    """
    return f"{'=' if success else '?'}{request_id} "


def format_reply(success: bool, request_id: str, text: str) -> str:
    """Return a whole reply; empty lines within the text are dropped, as they would end it.

    A text that starts with a line feed begins on the line after the head.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    body = "\n".join(line for line in lines if line)
    if body and not lines[0]:
        body = "\n" + body
    return f"{format_head(success, request_id)}{body}\n\n"


class Arguments:
    """What follows a command's name. Words beyond those a command takes are ignored.

    A word that is missing or something else than what is asked for is a GtpError.
    """

    def __init__(self, rest: str) -> None:
        self.rest = rest
        self.words = rest.split()

    def __len__(self) -> int:
        return len(self.words)

    def word(self, index: int, what: str) -> str:
        """Return a word.

        Args:
            index: Which one, from 0.
            what: What it should be, for the complaint.
        """
        if index >= len(self.words):
            raise GtpError(f"syntax error: {what} is missing")
        return self.words[index]

    def word_or_nothing(self, index: int) -> str:
        """Return a word; the empty text if there is none."""
        return self.words[index] if index < len(self.words) else ""

    def color(self, index: int) -> int:
        """Return BLACK or WHITE."""
        try:
            return parse_color(self.word(index, "a color"))
        except ValueError as error:
            raise GtpError(f"syntax error: {error}") from None

    def integer(self, index: int, what: str, minimum: int | None = None) -> int:
        """Return a whole number of up to nine digits."""
        word = self.word(index, what)
        if not _INTEGER.fullmatch(word):
            raise GtpError(f"syntax error: {what} must be a whole number, not {word[:20]!r}")
        if minimum is not None and int(word) < minimum:
            raise GtpError(f"syntax error: {what} must be {minimum} or more")
        return int(word)

    def number(self, index: int, what: str, minimum: float = -math.inf) -> float:
        """Return a finite number."""
        word = self.word(index, what)
        number = parse_number(word)
        if not number >= minimum:
            least = "" if minimum == -math.inf else f" of {minimum:g} or more"
            raise GtpError(f"syntax error: {what} must be a number{least}, not {word[:20]!r}")
        return number


def read_switch(text: str, what: str) -> bool:
    """Return what true, false, 1 or 0 says."""
    try:
        return parse_switch(text)
    except BadValueError as error:
        raise GtpError(f"syntax error: {what}: {error}") from None
