"""A game of five in a row: stones on a board, whose turn it is, and whether it is over."""

from typing import Self

import numpy as np

from gtp_engine.coords import BLACK, COLOR_NAMES, EMPTY, WALL, WHITE, opponent, point_at, row_col
from gtp_engine.five.lines import REASONS, Colors, forbidden_reason, new_frames, wins_at
from gtp_engine.five.rules import FREESTYLE, FiveRules

LEAST_SIZE, LARGEST_SIZE = 5, 25


class FiveError(ValueError):
    """A move, a set-up or a board that cannot be; the message is one sentence."""


class FiveGame:
    """A game in progress. Black begins; nobody passes; a full board is a draw."""

    def __init__(
        self, width: int = 15, height: int | None = None, rules: FiveRules = FREESTYLE
    ) -> None:
        """Start on an empty board.

        Raises:
            FiveError: The size is not supported.
        """
        height = width if height is None else height
        if not (LEAST_SIZE <= width <= LARGEST_SIZE and LEAST_SIZE <= height <= LARGEST_SIZE):
            raise FiveError(
                f"board size {width}x{height} is not between {LEAST_SIZE} and {LARGEST_SIZE}"
            )
        self.width, self.height, self.rules = width, height, rules
        self.stride = width + 1
        self.colors: Colors = np.full((height + 2) * self.stride + 1, WALL, np.uint8)
        """[points] what stands where; see `lines`."""
        for point in self.points():
            self.colors[point] = EMPTY
        self.to_play = BLACK
        self.moves: list[tuple[int, int]] = []
        """Color and point of each move made."""
        self.winner = EMPTY
        """BLACK or WHITE once somebody has won."""
        self._frames = new_frames(len(self.colors))

    def points(self) -> list[int]:
        """Return all points, row by row from the top."""
        return [
            point_at(row, col, self.width)
            for row in range(self.height)
            for col in range(self.width)
        ]

    @property
    def is_over(self) -> bool:
        """Whether somebody has won or no move is left."""
        return self.winner != EMPTY or not (self.colors == EMPTY).any()

    def forbidden(self, point: int) -> str:
        """Return why renju forbids Black an empty point; nothing where it does not."""
        if not self.rules.is_renju or self.colors[point] != EMPTY:
            return ""
        return REASONS[forbidden_reason(self.colors, self.stride, point, self._frames)]

    def wins_at(self, color: int, point: int) -> bool:
        """Whether a stone of a color at an empty point wins."""
        return bool(wins_at(self.colors, self.stride, point, color, self.rules.kind))

    def legal_moves(self) -> list[int]:
        """Return the points where the side to move may play; none once the game is over."""
        if self.winner != EMPTY:
            return []
        empty = [int(point) for point in np.flatnonzero(self.colors == EMPTY)]
        if self.to_play == WHITE or not self.rules.is_renju:
            return empty
        return [point for point in empty if not self.forbidden(point)]

    def set_up(self, black: list[int], white: list[int], to_play: int = BLACK) -> None:
        """Begin anew from these stones; nobody has won, whatever rows there are.

        Raises:
            FiveError: Two stones are on one point; the game is unchanged.
        """
        if len({*black, *white}) < len(black) + len(white):
            raise FiveError("there are two stones on one point")
        self.colors[self.colors != WALL] = EMPTY
        self.colors[black] = BLACK
        self.colors[white] = WHITE
        self.moves, self.winner, self.to_play = [], EMPTY, to_play

    def play(self, color: int, point: int) -> None:
        """Make a move. A point that renju forbids is refused.

        Raises:
            FiveError: The move is refused; the game is unchanged.
        """
        where = self.name(point)
        if self.winner != EMPTY:
            raise FiveError(f"the game is over: {COLOR_NAMES[self.winner]} has won")
        if self.colors[point] != EMPTY:
            raise FiveError(f"{where} is occupied")
        if color == BLACK and (reason := self.forbidden(point)):
            raise FiveError(f"{where} is forbidden: {reason}")
        if self.wins_at(color, point):
            self.winner = color
        self.colors[point] = color
        self.moves.append((color, point))
        self.to_play = opponent(color)

    def copy(self) -> Self:
        """Return an independent game in the same state."""
        other = type(self)(self.width, self.height, self.rules)
        other.colors[:] = self.colors
        other.to_play, other.winner = self.to_play, self.winner
        other.moves = self.moves[:]
        return other

    def name(self, point: int) -> str:
        """Return a point as players of five in a row write it: "h8", with the column i."""
        row, col = row_col(point, self.width)
        return f"{chr(97 + col)}{self.height - row}"

    def point(self, name: str) -> int:
        """Return the point of such a name.

        Raises:
            FiveError: It names no point of the board.
        """
        letter, digits = name[:1].lower(), name[1:]
        if letter.isascii() and digits.isascii() and digits.isdigit() and len(digits) < 3:
            col, row = ord(letter) - ord("a"), self.height - int(digits)
            if 0 <= col < self.width and 0 <= row < self.height:
                return point_at(row, col, self.width)
        raise FiveError(f"{name[:20]!r} is no point of a {self.width}x{self.height} board")
