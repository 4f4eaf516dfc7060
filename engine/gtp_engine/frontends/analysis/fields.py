"""Typed values out of a JSON object, with one sentence for every value that is none.

Only the standard library is imported here.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from gtp_engine.coords import MOST_MOVES, PASS, parse_color, parse_vertex, point_at

Stone = tuple[int, int]
"""A color and a point, which may be PASS in a list of moves."""

_PAIR = re.compile(r"\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)")


class QueryError(ValueError):
    """A query that cannot be answered; the message is one sentence."""

    def __init__(self, message: str, field: str | None = None) -> None:
        """Keep the field that is to blame; None where it is the query as a whole."""
        super().__init__(message)
        self.field = field


class Fields:
    """The fields of one JSON object; whoever reads one says what it must be.

    Where it is something else, or absent without a default, that is a QueryError. It names the
    field `within` which the object stands, if there is one.
    """

    def __init__(self, values: Mapping[str, Any], within: str | None = None) -> None:
        self._values = values
        self._within = within

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def raw(self, name: str) -> Any:
        """Return a value as JSON had it; None where it is absent."""
        return self._values.get(name)

    def error(self, name: str, message: str) -> QueryError:
        """Return an error that names the field."""
        if self._within is None:
            return QueryError(message, name)
        return QueryError(f"{name}: {message}", self._within)

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """Return a whole number within bounds."""
        value = self._values.get(name, default)
        if not (_is_whole(value) and low <= value <= high):
            raise self.error(name, f"must be a whole number from {low} to {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """Return a number within bounds."""
        value: Any = self._values.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and low <= value <= high):
            raise self.error(name, f"must be a number from {low:g} to {high:g}")
        return float(value)

    def boolean(self, name: str) -> bool:
        """Return a truth value; false where it is absent."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise self.error(name, "must be true or false")
        return value

    def color(self, name: str) -> int:
        """Return BLACK or WHITE."""
        value = self._values.get(name)
        try:
            return parse_color(value if isinstance(value, str) else "")
        except ValueError:
            raise self.error(name, 'must be "B" or "W"') from None

    def integers(self, name: str, low: int, high: int) -> list[int]:
        """Return a list of whole numbers within bounds."""
        form = f"must be a list of whole numbers from {low} to {high}"
        value = self._list(name, form)
        if not all(_is_whole(number) and low <= number <= high for number in value):
            raise self.error(name, form)
        return value

    def vertices(self, name: str, width: int, height: int) -> frozenset[int]:
        """Return a set of moves, PASS perhaps among them."""
        value = self._list(name, "must be a list of vertices")
        return frozenset(self._vertex(name, text, width, height) for text in value)

    def stones(self, name: str, width: int, height: int, *, passes: bool) -> list[Stone]:
        """Return a list of players with their points.

        Args:
            passes: Whether PASS is a point here.
        """
        form = 'must be a list of pairs like ["B","C4"]'
        found = []
        pairs = self._list(name, form)
        if len(pairs) > MOST_MOVES:
            raise self.error(name, f"has more than {MOST_MOVES:,} entries")
        for pair in pairs:
            if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
                raise self.error(name, form)
            try:
                color = parse_color(pair[0])
            except ValueError as error:
                raise self.error(name, str(error)) from None
            point = self._vertex(name, pair[1], width, height)
            if point == PASS and not passes:
                raise self.error(name, "a pass is no stone")
            found.append((color, point))
        return found

    def _list(self, name: str, message: str) -> list[Any]:
        value = self._values.get(name)
        if not isinstance(value, list):
            raise self.error(name, message)
        return value

    def _vertex(self, name: str, text: Any, width: int, height: int) -> int:
        """Return the move that "C4", "pass" or "(2,15)" names: column and row from the top left."""
        if not isinstance(text, str):
            raise self.error(name, "vertices are strings like C4")
        pair = _PAIR.fullmatch(text.strip())
        if pair is not None:
            col, row = int(pair[1]), int(pair[2])
            if col < width and row < height:
                return point_at(row, col, width)
            raise self.error(name, f"{text[:20]} is off the {width}x{height} board")
        try:
            return parse_vertex(text, width, height)
        except ValueError as error:
            raise self.error(name, str(error)) from None


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
