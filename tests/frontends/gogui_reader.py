"""Reads what an engine sends to GoGui's analyze window, as GoGui's manual describes it.

Every function raises AssertionError or ValueError where GoGui would complain, or show less than
was meant.
"""

import re
import shlex

KINDS = {
    *("bwboard", "cboard", "dboard", "eplist", "gfx", "hstring", "hpstring", "none", "param"),
    *("plist", "pspairs", "pstring", "sboard", "string", "var", "varb", "varc", "varp", "varpo"),
    "varw",
}
COLORS = {
    *("black", "blue", "cyan", "green", "gray", "magenta", "pink", "red", "white", "yellow"),
}
POINT = re.compile(r"[A-HJ-Z]([1-9]|1[0-9]|2[0-5])")


def read_definitions(text: str) -> list[tuple[str, str, str]]:
    """Return type, label and command of every line."""
    found = []
    for line in text.split("\n"):
        fields = line.split("/")
        assert 3 <= len(fields) <= 5, line
        kind, label, command = fields[:3]
        assert kind in KINDS, line
        assert label not in {known for _, known, _ in found}, line
        assert set(re.findall("%.", command)) <= {"%c", "%m", "%p", "%P", "%s", "%o", "%r", "%w"}
        found.append((kind, label, command))
    return found


def read_board(text: str, size: int) -> list[list[str]]:
    """Return the strings of a board, row by row from the top; two quotes are an empty one."""
    rows = [shlex.split(line) for line in text.strip().split("\n")]
    assert [len(row) for row in rows] == [size] * size
    return rows


def read_graphics(text: str, size: int) -> dict[str, list[list[str]]]:
    """Return the arguments of each graphics command, one list for each line with it."""
    found: dict[str, list[list[str]]] = {}
    for line in text.strip().split("\n"):
        name, *words = line.split()
        if name == "TEXT":
            assert words
        elif name in ("INFLUENCE", "LABEL"):
            assert words and len(words) % 2 == 0
            check_points(words[::2], size)
            if name == "INFLUENCE":
                assert all(-1 <= float(word) <= 1 for word in words[1::2])
        elif name == "COLOR":
            assert words[0] in COLORS or re.fullmatch("#[0-9a-f]{6}", words[0])
            check_points(words[1:], size)
        elif name == "VAR":
            assert words and len(words) % 2 == 0
            assert set(words[::2]) <= {"b", "w"}
            check_points([word for word in words[1::2] if word.upper() != "PASS"], size)
        elif name != "CLEAR":
            assert name in ("BLACK", "WHITE", "CIRCLE", "SQUARE", "TRIANGLE", "MARK"), line
            check_points(words, size)
        found.setdefault(name, []).append(words)
    return found


def check_points(words: list[str], size: int) -> None:
    """Make sure that every word is a point of the board."""
    for word in words:
        assert POINT.fullmatch(word), word
        assert "ABCDEFGHJKLMNOPQRSTUVWXYZ".index(word[0]) < size and int(word[1:]) <= size, word


def read_parameters(text: str) -> dict[str, tuple[str, str]]:
    """Return type and value of every parameter of a dialog."""
    found = {}
    for line in text.strip().split("\n"):
        match = re.fullmatch(r"\[([^]]+)\] (\S+) ?(.*)", line)
        assert match, line
        kind, key, value = match.groups()
        if kind == "bool":
            assert value in ("0", "1"), line
        elif kind.startswith("list/"):
            assert value in kind.split("/")[1:], line
        else:
            assert kind == "string", line
        found[key] = (kind, value)
    return found
