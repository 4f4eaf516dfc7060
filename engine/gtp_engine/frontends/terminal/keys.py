"""What a person can type, and the words that explain it."""

from typing import NamedTuple


class Key(NamedTuple):
    """A command of the terminal."""

    name: str
    short: str
    """A letter or two that stand for it; empty if it has to be spelled."""
    explanation: str


KEYS = (
    Key("pass", "p", "pass; two passes end the game"),
    Key("undo", "u", "take back your last move, and the engine's answer"),
    Key("hint", "h", "let the engine look at your move: candidates, chances, points"),
    Key("candidates", "c", "show the candidates before each of your moves, or no longer"),
    Key("territory", "t", "shade the points by whose they will be, or no longer"),
    Key("score", "s", "count as things stand, dead stones marked"),
    Key("go", "g", "let the engine make this move for you"),
    Key("resign", "", "give up this game"),
    Key("save", "w", "save [FILE]: write the game as SGF"),
    Key("load", "l", "load FILE: go on with a game"),
    Key("new", "n", "new [SIZE]: begin another game"),
    Key("help", "?", "explain all this"),
    Key("quit", "q", "leave; a game that is not on file is saved"),
)

MOVE_HINT = "D4"
"""An example of a move, first of the keys on the screen."""

_BY_WORD = {word: key for key in KEYS for word in (key.name, key.short) if word}


def find_key(word: str) -> Key | None:
    """Return the command that a word names, None if there is none."""
    return _BY_WORD.get(word.lower())


def key_words() -> list[str]:
    """Return the commands as the screen lists them: the short form in parentheses."""
    return [MOVE_HINT, *(f"{key.name} ({key.short})" if key.short else key.name for key in KEYS)]


def explain() -> list[str]:
    """Return a line for each command."""
    lines = [f"  {MOVE_HINT:14} play there: a letter and a number"]
    for key in KEYS:
        words = f"{key.name}, {key.short}" if key.short else key.name
        lines.append(f"  {words:14} {key.explanation}")
    lines.append("  Ctrl-C         while it thinks: move now; at your move: save and leave")
    lines.append("  Ctrl-D         save and leave")
    return lines
