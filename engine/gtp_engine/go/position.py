"""A game of Go as Python sees it: a thin owner of a `History`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import (
    BLACK,
    COLOR_NAMES,
    COLUMN_LETTERS,
    EMPTY,
    MAX_SIZE,
    MIN_SIZE,
    PASS,
    WALL,
    WHITE,
    format_vertex,
    point_at,
    row_col,
    star_lines,
)
from gtp_engine.go import history as histories
from gtp_engine.go.board import MAX_AREA, BoardRecord, clear_board, place_stone
from gtp_engine.go.branch import Branch
from gtp_engine.go.history import History, TurnRecord
from gtp_engine.go.rules import Rules
from gtp_engine.go.scoring import white_score
from gtp_engine.go.symmetry import symmetries


class IllegalMoveError(ValueError):
    """The move may not be played."""


class SetupError(ValueError):
    """The position cannot be set up so."""


class Move(NamedTuple):
    """Who played where; the point may be PASS."""

    color: int
    point: int


class Part(NamedTuple):
    """A part of a game, up to where stones were put down or taken away in mid-game."""

    black: list[int]
    """Points of the stones that it began with."""
    white: list[int]
    to_play: int
    """Who was to move then."""
    moves: list[Move]
    change: dict[int, int]
    """Color by point that ended it; EMPTY takes a stone away."""


_INITIAL_CAPACITY = 64


class Position:
    """A game in progress: stones, history, rules.

    Moves are kept ply by ply, so that `undo` is a step back and never a replay.
    """

    branch_type: type[Branch] = Branch
    """How a search plays on."""
    sgf_game = "1"
    """The number that records of the game have in SGF."""

    won_by = "passes"
    """What ends a game, as records of games name it."""

    def __init__(
        self,
        width: int = 19,
        height: int | None = None,
        rules: Rules | None = None,
        *,
        encores: bool = False,
    ) -> None:
        """Start a game on an empty board.

        Args:
            width: Columns, 2 to 25.
            height: Rows; as many as columns when None.
            rules: The default rules when None.
            encores: Whether two passes of a territory game lead into its encores, where the
                status of stones is played out, instead of ending it.

        Raises:
            SetupError: The size is not supported.
        """
        height = width if height is None else height
        if not (MIN_SIZE <= width <= MAX_SIZE and MIN_SIZE <= height <= MAX_SIZE):
            raise SetupError(f"board size {width}x{height} is not between 2 and 25")
        self.width = width
        self.height = height
        self.encores = encores
        self._rules = self._own_rules(rules)
        self._flags = self._rules.flags
        self.history: History = histories.new_history(_INITIAL_CAPACITY)
        """The arrays behind it; plies above `ply` are not part of the game."""
        self.ply = 0
        """How many moves, passes included, were made since the set-up."""
        self.earlier: tuple[Part, ...]
        """What was played before stones were changed in mid-game, oldest first."""
        self.set_up()

    def _own_rules(self, rules: Rules | None) -> Rules:
        """Return what rules that are asked for are in this game; the default ones for None."""
        return rules or Rules()

    def __str__(self) -> str:
        """Return the board with coordinates, the last move in brackets, and what else is so."""
        last = row_col(self.moves[-1].point, self.width) if self.ply else None
        return "\n".join([*_draw_grid(self.grid(), last), *self._remarks()])

    def _remarks(self) -> list[str]:
        moves = "1 move" if self.ply == 1 else f"{self.ply} moves"
        color = COLOR_NAMES[self.to_play].capitalize()
        lines = [f"{color} (X black, O white) to play, {moves} made"]
        if self.ply:
            last = self.moves[-1]
            where = self.vertex(last.point)
            lines.append(f"Last move: {COLOR_NAMES[last.color]} {where}")
        lines.append(f"Captured: {self.captured(BLACK)} black, {self.captured(WHITE)} white")
        lines.append(f"Rules: {self.rules.describe()}, komi {self.komi:g}")
        return lines

    # What it is ---------------------------------------------------------------------------------

    @property
    def board(self) -> BoardRecord:
        """The current board, a record of dtype BOARD."""
        return self.history.boards[self.ply]

    @property
    def turn(self) -> TurnRecord:
        """The current turn, a record of dtype TURN."""
        return self.history.turns[self.ply]

    @property
    def to_play(self) -> int:
        """Who is to move."""
        return int(self.turn["to_play"])

    @to_play.setter
    def to_play(self, color: int) -> None:
        self.turn["to_play"] = color
        turn = self.turn
        turn["situation"] = histories.situation_hash(
            self.board, color, turn["recapture_hash"], int(turn["phase"]), self._flags.ko
        )
        self.history.situations[self.ply] = turn["situation"]

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return self._rules

    @property
    def komi(self) -> float:
        """Points added to White."""
        return self._rules.komi

    @komi.setter
    def komi(self, komi: float) -> None:
        self._rules = replace(self._rules, komi=komi)
        self._flags = self._rules.flags

    @property
    def area(self) -> int:
        """Number of points on the board."""
        return self.width * self.height

    @property
    def is_over(self) -> bool:
        """Whether both players have passed, or a long cycle left the game without result."""
        return bool(self.turn["status"] != histories.PLAYING or self.turn["past_end"])

    @property
    def is_void(self) -> bool:
        """Whether a long cycle has left the game without result; nobody counts it then."""
        return bool(self.turn["status"] == histories.NO_RESULT)

    def white_margin(self) -> float:
        """Return White's points minus Black's if the game ends here; see `scoring.white_score`."""
        return 0.0 if self.is_void else float(white_score(self.history, self.ply, self._flags))

    @property
    def moves(self) -> list[Move]:
        """The moves since the set-up, oldest first."""
        turns = self.history.turns[1 : self.ply + 1]
        return [Move(int(turn["mover"]), int(turn["move"])) for turn in turns]

    @property
    def all_moves(self) -> list[Move]:
        """The moves of the whole game, those before a change of stones too, oldest first."""
        return [move for part in self.parts for move in part.moves]

    @property
    def parts(self) -> list[Part]:
        """The whole game, divided where stones were changed; the last part ended by no change."""
        return [*self.earlier, Part(*self.start, self.moves, {})]

    @property
    def handicap(self) -> int:
        """How many stones count as handicap, whether set up or played before White's first."""
        return int(self.turn["handicap"])

    def color_at(self, point: int) -> int:
        """Return EMPTY, BLACK or WHITE for a point of the board, WALL for any other number."""
        is_inside = 0 <= point < self.board["n_points"]
        return int(self.board["color"][point]) if is_inside else WALL

    def grid(self, ply: int | None = None) -> npt.NDArray[np.uint8]:
        """Return the colors as [height, width], top row first; of the current ply by default."""
        board = self.history.boards[self.ply if ply is None else ply]
        stride = self.width + 1
        rows = board["color"][: (self.height + 1) * stride].reshape(self.height + 1, stride)
        grid: npt.NDArray[np.uint8] = rows[1:, 1:].copy()
        return grid

    def vertex(self, move: int) -> str:
        """Return the GTP name of a move on this board: "D4" or "pass"."""
        return format_vertex(move, self.width, self.height)

    def points(self) -> list[int]:
        """Return every point of the board, row by row from the top."""
        return [
            point_at(row, col, self.width)
            for row in range(self.height)
            for col in range(self.width)
        ]

    def stones(self, color: int) -> list[int]:
        """Return the points that hold this color."""
        return [point for point in self.points() if self.color_at(point) == color]

    def captured(self, color: int) -> int:
        """Return how many stones of this color have been captured."""
        return int(self.board["captured"][color])

    @property
    def start(self) -> tuple[list[int], list[int], int]:
        """The points of Black's and of White's stones at the set-up, and who was to move."""
        first = self.history.boards[0]["color"]
        black, white = ([p for p in self.points() if first[p] == color] for color in (BLACK, WHITE))
        return black, white, int(self.history.turns[0]["to_play"])

    # Setting up ---------------------------------------------------------------------------------

    def set_up(
        self,
        black: Iterable[int] = (),
        white: Iterable[int] = (),
        to_play: int = BLACK,
    ) -> None:
        """Start again from these stones; the rules stay.

        Raises:
            SetupError: Two stones on one point, a stone off the board, or a chain without a
                liberty. The game is then unchanged.
        """
        fresh = histories.new_history(_INITIAL_CAPACITY)
        clear_board(fresh.boards[0], self.width, self.height)
        board = fresh.boards[0]
        for color, points in ((BLACK, black), (WHITE, white)):
            for point in points:
                self._check_on_board(point, SetupError)
                vertex = self.vertex(point)
                if board["color"][point] != EMPTY:
                    raise SetupError(f"two stones on {vertex}")
                if place_stone(board, point, color) or board["color"][point] != color:
                    raise SetupError(f"the stone at {vertex} leaves a chain without liberties")
        board["ko_point"] = 0
        histories.begin(fresh, to_play, self._flags, int(self._rules.button))
        self.history = fresh
        self.ply = 0
        self.earlier = ()

    def change_stones(self, change: Mapping[int, int], to_play: int) -> None:
        """Put down and take away stones in mid-game, which goes on from there.

        What was played before cannot be undone then, but prisoners, handicap and, where area
        counts, the button stay; encores end.

        Args:
            change: Color by point; EMPTY takes a stone away.

        Raises:
            SetupError: As for `set_up`; the game is unchanged.
        """
        stones = {point: self.color_at(point) for point in self.points()} | dict(change)
        black, white = ([p for p in stones if stones[p] == color] for color in (BLACK, WHITE))
        *earlier, last = self.parts
        board, turn = self.board, self.turn
        self.set_up(black, white, to_play)
        self.earlier = (*earlier, last._replace(change=dict(change)))
        self.history.boards[0]["captured"] = board["captured"]
        start = self.history.turns[0]
        for name in ("handicap", "initial_black", "opening_black"):
            start[name] = turn[name]
        start["white_moved"] = turn["white_moved"] or bool(white)
        if self._flags.scoring == histories.TERRITORY:
            start["white_bonus"] += int(board["captured"][BLACK]) - int(board["captured"][WHITE])
        elif self._rules.button:  # else the bonus is for moves too
            start["has_button"], start["white_bonus"] = turn["has_button"], turn["white_bonus"]

    def set_rules(self, rules: Rules) -> None:
        """Change the rules in mid-game, replaying the moves under them.

        A move that the new rules forbid is kept as long as the board can hold it.

        Raises:
            SetupError: A move cannot be played under the new rules at all (suicide). The game is
                then unchanged.
        """
        rules = self._own_rules(rules)
        if replace(rules, komi=self.komi) == self._rules:
            self.komi = rules.komi
            return
        changed = type(self)(self.width, self.height, rules, encores=self.encores)
        try:
            changed._replay(self)
        except (IllegalMoveError, SetupError) as error:
            raise SetupError(f"the game does not fit the new rules: {error}") from None
        if changed.to_play != self.to_play:  # as a record may say at its end
            changed.to_play = self.to_play
        self._rules, self._flags = changed._rules, changed._flags
        self.history, self.ply = changed.history, changed.ply

    def _replay(self, game: "Position") -> None:
        """Play another game over, ko and superko aside."""
        first = game.parts[0]
        self.set_up(first.black, first.white, first.to_play)
        self.play_all(first.moves, strict=False)
        for before, part in pairwise(game.parts):
            self.change_stones(before.change, part.to_play)
            self.play_all(part.moves, strict=False)

    def copy(self) -> Self:
        """Return an independent game in the same state."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.history = histories.new_history(self.ply + _INITIAL_CAPACITY)
        histories.copy_history(other.history, self.history, self.ply + 1)
        return other

    # Playing ------------------------------------------------------------------------------------

    def is_legal(self, color: int, point: int) -> bool:
        """Whether this player may play here now, superko included. PASS is always legal."""
        if point != PASS and self.color_at(point) == WALL:
            return False
        return bool(histories.is_legal(*self._as_if_to_play(color), point, self._flags))

    def legal_moves(self, color: int | None = None) -> list[int]:
        """Return every legal move of a player (the one to move by default), PASS last."""
        history, ply = self._as_if_to_play(self.to_play if color is None else color)
        found = np.empty(MAX_AREA + 1, np.int16)
        n = histories.legal_moves(history, ply, self._flags, found)
        return sorted(found[:n].tolist(), key=lambda point: (point == PASS, point))

    def play(self, color: int, point: int, *, strict: bool = True) -> None:
        """Make a move; either player may move, also after two passes.

        Args:
            color: BLACK or WHITE, which is not checked.
            point: A point of the board or PASS.
            strict: Refuse what ko and superko forbid. Otherwise only what the board cannot hold
                is refused: occupied points and forbidden suicide.

        Raises:
            IllegalMoveError: The move is refused; the game is unchanged.
        """
        if point != PASS:
            self._check(color, point, strict)
        if self.ply + 1 >= len(self.history.situations):
            self.reserve(len(self.history.situations))
        histories.play(self.history, self.ply, point, color, self._flags, int(self.encores))
        self.ply += 1

    def play_all(self, moves: Sequence[tuple[int, int]], *, strict: bool = True) -> None:
        """Make several moves, or none of them if one is illegal.

        Raises:
            IllegalMoveError: A move is refused; the game is unchanged.
        """
        before = self.ply
        try:
            for color, point in moves:
                self.play(color, point, strict=strict)
        except IllegalMoveError:
            self.ply = before
            raise

    def undo(self, count: int = 1) -> None:
        """Take back moves.

        Raises:
            IndexError: Fewer moves were made; the game is unchanged.
        """
        if not 0 <= count <= self.ply:
            raise IndexError("cannot undo")
        self.ply -= count

    def reserve(self, moves: int) -> None:
        """Make room for this many further moves at once, which spares a long game some copying."""
        needed = self.ply + 1 + moves
        if needed > len(self.history.situations):
            larger = histories.new_history(needed)
            histories.copy_history(larger, self.history, self.ply + 1)
            self.history = larger

    # What a search asks; see `search/game.py` -----------------------------------------------------

    def moves_since(self, earlier: Any, ply: int) -> list[Move] | None:
        """Return the moves from a ply on, if a search of an earlier game comes upon them too."""
        if type(earlier) is not type(self) or not self._began_like(earlier):
            return None
        moves = self.moves
        if moves[:ply] != earlier.moves[:ply]:
            return None
        # Who was to move differs where a player moved out of turn, and with it what may come again.
        turns, its_turns = (game.history.turns["to_play"][: ply + 1] for game in (self, earlier))
        if not np.array_equal(turns, its_turns):
            return None
        # In a search two passes lead on into the encore, where other moves are legal. What lies
        # there says nothing about a game that has ended instead, or goes on as before.
        if any(turn["past_end"] for turn in self.history.turns[ply + 1 : self.ply + 1]):
            return None
        return moves[ply:]

    def _began_like(self, other: "Position") -> bool:
        """Whether two games began with the same stones, turn and prisoners under the same rules."""
        first, its_first = self.history.boards[0], other.history.boards[0]
        return (
            (self.width, self.height, self.rules, self.encores)
            == (other.width, other.height, other.rules, other.encores)
            and self.history.turns[0].tobytes() == other.history.turns[0].tobytes()
            and bool(np.array_equal(first["color"], its_first["color"]))
        )

    def proved_win(self, nodes: int) -> int | None:
        """Return the first move of a win that the game can prove by itself; None without.

        Args:
            nodes: How many positions may be looked at.
        """
        return None

    def branch(self, plies: int, spare: Any = None) -> Branch:
        """Return a copy on which a search plays paths of so many moves, in a spare one's place."""
        room = self.ply + plies + 2
        kind = self.branch_type
        if type(spare) is not kind or len(spare.history.situations) < room:
            spare = kind(room)
        n_symmetries = len(symmetries(self.width, self.height))
        return spare.begin(self.history, self.ply, self._flags, n_symmetries)

    # Inside -------------------------------------------------------------------------------------

    def _check_on_board(self, point: int, error: type[ValueError]) -> None:
        if self.color_at(point) == WALL:
            raise error(f"{point} is no point of a {self.width}x{self.height} board")

    def _check(self, color: int, point: int, strict: bool) -> None:
        can_hold = histories.can_hold(self.history, self.ply, point, color, self._flags)
        if can_hold and (not strict or self.is_legal(color, point)):
            return
        self._check_on_board(point, IllegalMoveError)
        name = f"{COLOR_NAMES[color]} {self.vertex(point)}"
        if can_hold:
            raise IllegalMoveError(f"{name} repeats an earlier position")
        if self.color_at(point) != EMPTY:
            raise IllegalMoveError(f"{name} is occupied")
        raise IllegalMoveError(f"{name} is suicide")

    def _as_if_to_play(self, color: int) -> tuple[History, int]:
        """Return a history and ply at which this player is to move on the current board."""
        if color == self.to_play:
            return self.history, self.ply
        other = self.copy()
        other.to_play = color
        return other.history, other.ply


_STONES = {BLACK: "X", WHITE: "O"}


def _draw_grid(grid: npt.NDArray[np.uint8], last: tuple[int, int] | None) -> list[str]:
    """Return the lines of a board with coordinates.

    Args:
        grid: [H, W] the colors, top row first.
        last: Row and column of the stone to put in brackets.
    """
    height, width = grid.shape
    edge = "    " + "  ".join(COLUMN_LETTERS[:width])
    rows = []
    for row in range(height):
        cells = []
        for col in range(width):
            stone = _STONES.get(int(grid[row, col]))
            is_star = row in star_lines(height) and col in star_lines(width)
            if stone is None:
                cells.append(" + " if is_star else " . ")
            else:
                cells.append(f"({stone})" if (row, col) == last else f" {stone} ")
        rows.append(f"{height - row:2} {''.join(cells)} {height - row}")
    return [edge, *rows, edge]
