"""A game of five in a row: on Go's boards and histories, with its own moves and end.

A won game has ended and its last mover has won; one without a move to make is drawn and has no
result. Black begins; nobody passes.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import (
    BLACK,
    COLOR_NAMES,
    EMPTY,
    NULL_MOVE,
    OVER,
    PASS,
    WHITE,
    point_at,
    row_col,
)
from gtp_engine.five.lines import REASONS, Colors, forbidden_reason, new_frames, wins_at
from gtp_engine.five.rules import FREESTYLE, LEAST_SIZE, RENJU_BIT
from gtp_engine.five.threats import find_win
from gtp_engine.go import history as histories
from gtp_engine.go.board import ZOBRIST, BoardRecord, clear_board, take_from_empty
from gtp_engine.go.branch import Branch, Paths, draw_symmetry
from gtp_engine.go.history import ENDED, NO_RESULT, PLAYING, History, copy_ply
from gtp_engine.go.position import IllegalMoveError, Position, SetupError
from gtp_engine.go.rules import NO_FIVE, RuleFlags, Rules
from gtp_engine.kernels import hot_kernel, int64, kernel


class FiveError(SetupError, IllegalMoveError):
    """A move, a set-up or a board that cannot be; the message is one sentence."""


@kernel
def put_stone(board: BoardRecord, point: int, color: int) -> None:
    """Put a stone on an empty point of a board, on which chains and liberties mean nothing."""
    board["color"][point] = color
    board["hash"] ^= ZOBRIST[color, point]
    take_from_empty(board, point)


@kernel
def legal_moves(board: BoardRecord, color: int, kind: int, found: npt.NDArray[np.int16]) -> int:
    """Write where a color may play into found, [points], as the board lists them; return how many.

    The game is not over.
    """
    colors, stride = board["color"], int64(board["stride"])
    frames = np.zeros((int64(board["n_points"]), 3), np.int16)
    has_forbidden = color == BLACK and kind & RENJU_BIT != 0
    n = 0
    for i in range(board["n_empty"]):
        point = int64(board["empty"][i])
        if not has_forbidden or forbidden_reason(colors, stride, point, frames) == 0:
            found[n] = point
            n += 1
    return n


@kernel
def legal_points(history: History, ply: int, rules: RuleFlags, found: npt.NDArray[np.int16]) -> int:
    """Do as `legal_moves` does, for the side to move at a ply; see `history.legal_points`."""
    to_play = int64(history.turns[ply]["to_play"])
    return legal_moves(history.boards[ply], to_play, int64(rules.five), found)


@kernel
def _has_move(board: BoardRecord, color: int, kind: int) -> bool:
    """Whether a color has a move, which only Black under renju may lack on a board not full."""
    if color == WHITE or kind & RENJU_BIT == 0:
        return bool(board["n_empty"] > 0)
    frames = np.zeros((int64(board["n_points"]), 3), np.int16)
    for i in range(board["n_empty"]):
        point = int64(board["empty"][i])
        if forbidden_reason(board["color"], int64(board["stride"]), point, frames) == 0:
            return True
    return False


@kernel
def play(
    history: History, ply: int, point: int, color: int, rules: RuleFlags, encores: int
) -> None:
    """Play a legal move at ply and write ply + 1; encores mean nothing, see `history.play`."""
    kind = int64(rules.five)
    copy_ply(history, ply + 1, history, ply)
    board = history.boards[ply + 1]
    turn = history.turns[ply + 1]
    put_stone(board, point, color)
    turn["move"] = point
    turn["mover"] = color
    turn["to_play"] = 3 - color
    turn["recent"] += 1
    turn["status"] = PLAYING
    if wins_at(board["color"], int64(board["stride"]), point, color, kind):
        turn["status"] = ENDED
    elif not _has_move(board, int64(3 - color), kind):
        turn["status"] = NO_RESULT
    turn["situation"] = board["hash"]
    history.situations[ply + 1] = turn["situation"]


@hot_kernel
def _follow(
    history: History,
    root_ply: int,
    paths: Paths,
    slot: int,
    root_at: int,
    rules: RuleFlags,
    symmetries: int,
    seed: int,
) -> tuple[int, int]:
    path = paths[slot]
    ply = root_ply
    for i in range(root_at + 1, path["length"]):
        move = int64(path["moves"][i])
        if history.turns[ply + 1]["move"] != move:  # see `branch.play_path`
            play(history, ply, move, int64(history.turns[ply]["to_play"]), rules, int64(0))
            history.turns[ply + 2]["move"] = NULL_MOVE
        ply += 1
    if ply > root_ply and history.turns[ply]["status"] != PLAYING:
        return ply, int64(OVER)
    return ply, draw_symmetry(history, ply, symmetries, seed)


class FiveBranch(Branch):
    """A copy of a game of five in a row on which one worker plays on."""

    def follow(
        self, paths: Paths, slot: int, root_at: int, symmetries: int, seed: int
    ) -> tuple[int, int]:
        """Play one of [slots] paths from the root on; return the ply, and a symmetry or OVER."""
        return _follow(
            self.history, self.root_ply, paths, slot, root_at, self.rules, symmetries, seed
        )

    def white_lead(self, ply: int) -> float:
        """Return 1 where White has won, -1 where Black has, 0 in a draw."""
        return _white_lead(self.history.turns[ply])


def _white_lead(turn: Any) -> float:
    if turn["status"] != ENDED:
        return 0.0
    return 1.0 if turn["mover"] == WHITE else -1.0


class FiveGame(Position):
    """A game in progress."""

    branch_type = FiveBranch
    sgf_game = "4"
    won_by = "five"
    _rules = FREESTYLE

    def __init__(
        self,
        width: int = 15,
        height: int | None = None,
        rules: Rules | None = FREESTYLE,
        *,
        encores: bool = False,
    ) -> None:
        """Start on an empty board; rules of another game stand for freestyle.

        Raises:
            FiveError: The size is not supported.
        """
        if min(width, width if height is None else height) < LEAST_SIZE:
            raise FiveError(f"five in a row is played on boards from {LEAST_SIZE}x{LEAST_SIZE} on")
        super().__init__(width, height, rules)

    def _own_rules(self, rules: Rules | None) -> Rules:
        """Return rules of this game; those it has, freestyle at first, stand for any others."""
        return self._rules if rules is None or rules.five == NO_FIVE else rules

    def _remarks(self) -> list[str]:
        return [
            *super()._remarks()[: 2 if self.ply else 1],
            f"Five in a row: {self.rules.describe()}",
        ]

    # What it is ---------------------------------------------------------------------------------

    @property
    def colors(self) -> Colors:
        """[points] what stands where; see `lines`."""
        colors: Colors = self.board["color"][: self.board["n_points"]]
        return colors

    @property
    def stride(self) -> int:
        """How far one row is from the next in `colors`."""
        return self.width + 1

    @property
    def winner(self) -> int:
        """BLACK or WHITE once somebody has won."""
        return int(self.turn["mover"]) if self.turn["status"] == ENDED else EMPTY

    @property
    def is_over(self) -> bool:
        """Whether somebody has won or no move is left."""
        return bool(self.turn["status"] != PLAYING)

    @property
    def is_void(self) -> bool:
        """Never: a full board is a draw."""
        return False

    def white_margin(self) -> float:
        """Return 1 if White has won, -1 if Black has, 0 in a draw and before."""
        return _white_lead(self.turn)

    @property
    def handicap(self) -> int:
        """Always 0."""
        return 0

    def forbidden(self, point: int) -> str:
        """Return why renju forbids Black an empty point; nothing where it does not."""
        if not self.rules.five & RENJU_BIT or self.color_at(point) != EMPTY:
            return ""
        frames = new_frames(len(self.colors))
        return REASONS[forbidden_reason(self.board["color"], self.stride, point, frames)]

    def is_legal(self, color: int, point: int) -> bool:
        """Whether this player may play here now."""
        if self.is_over or point == PASS or self.color_at(point) != EMPTY:
            return False
        return color == WHITE or not self.forbidden(point)

    def legal_moves(self, color: int | None = None) -> list[int]:
        """Return the points where a player, the one to move by default, may play."""
        if self.is_over:
            return []
        found = np.empty(self.area, np.int16)
        mover = self.to_play if color is None else color
        n = legal_moves(self.board, mover, self.rules.five, found)
        return sorted(int(point) for point in found[:n])

    def proved_win(self, nodes: int) -> int | None:
        """Return the first move of a win by fours and threes, found among so many positions."""
        if nodes == 0:
            return None
        return int(find_win(self.board, self.to_play, self.rules.five, nodes)) or None

    # Playing ------------------------------------------------------------------------------------

    def set_up(
        self, black: Iterable[int] = (), white: Iterable[int] = (), to_play: int = BLACK
    ) -> None:
        """Begin anew from these stones; nobody has won, whatever rows there are.

        Raises:
            FiveError: A stone is off the board, or two are on one point; the game is unchanged.
        """
        fresh = histories.new_history(len(self.history.situations))
        clear_board(fresh.boards[0], self.width, self.height)
        for color, points in ((BLACK, black), (WHITE, white)):
            for point in points:
                self._check_on_board(point, FiveError)
                if fresh.boards[0]["color"][point] != EMPTY:
                    raise FiveError("there are two stones on one point")
                put_stone(fresh.boards[0], point, color)
        histories.begin(fresh, to_play, self._flags, 0)
        if not _has_move(fresh.boards[0], to_play, self._flags.five):
            fresh.turns[0]["status"] = NO_RESULT
        self.history, self.ply, self.earlier = fresh, 0, ()

    def play(self, color: int, point: int, *, strict: bool = True) -> None:
        """Make a move. A point that renju forbids is refused.

        Raises:
            FiveError: The move is refused; the game is unchanged.
        """
        if self.winner != EMPTY:
            raise FiveError(f"the game is over: {COLOR_NAMES[self.winner]} has won")
        if self.is_over:
            raise FiveError("the game is over: a draw")
        if point == PASS:
            raise FiveError("nobody passes in five in a row")
        self._check_on_board(point, FiveError)
        name = f"{COLOR_NAMES[color]} {self.vertex(point)}"
        if self.color_at(point) != EMPTY:
            raise FiveError(f"{name} is occupied")
        if color == BLACK and (reason := self.forbidden(point)):
            raise FiveError(f"{name} is forbidden: {reason}")
        if self.ply + 2 >= len(self.history.situations):
            self.reserve(len(self.history.situations))
        play(self.history, self.ply, point, color, self._flags, 0)
        self.ply += 1

    # Names --------------------------------------------------------------------------------------

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
