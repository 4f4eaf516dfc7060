"""Atari Go: whoever captures first wins.

Played on the boards of Go and with its moves, by rules of its own: a capture ends the game, suicide
is forbidden, and nobody may pass who has a move. (Who has none stands in atari everywhere and is
captured next.) So there are no draws, no kos and nothing to count.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, OVER, PASS, WHITE
from gtp_engine.go.board import BoardRecord, is_capture_at, is_suicide, neighbors, place_stone
from gtp_engine.go.branch import Branch, Paths, draw_symmetry, play_path
from gtp_engine.go.history import History, legal_points
from gtp_engine.go.position import IllegalMoveError, Position
from gtp_engine.go.rollouts import next_random, random_below
from gtp_engine.go.rules import Ko, RuleFlags, Rules
from gtp_engine.kernels import hot_kernel, int64, kernel, uint64

RULES = Rules(ko=Ko.SIMPLE, must_move=True)
"""What Go's kernels are to keep to; komi means nothing here."""


@kernel
def has_capture(board: BoardRecord) -> bool:
    """Whether stones have been captured, which ends the game."""
    return bool(board["captured"][BLACK] + board["captured"][WHITE] > 0)


@kernel
def captures_at(board: BoardRecord, point: int, color: int) -> bool:
    """Whether a move, which may be a pass, captures."""
    if point == PASS:
        return False
    for near in neighbors(board, point):
        if board["color"][near] == 3 - color and is_capture_at(board, point, near):
            return True
    return False


@kernel
def legal_moves(history: History, ply: int, rules: RuleFlags, found: npt.NDArray[np.int16]) -> int:
    """Write the legal moves of the side to move into found, [A + 1]; return how many."""
    if has_capture(history.boards[ply]):
        return 0
    n = legal_points(history, ply, rules, found)
    if n == 0:
        found[0] = PASS
        n = 1
    return n


class AtariBranch(Branch):
    """A copy of a game of Atari Go on which one worker plays on."""

    def follow(
        self, paths: Paths, slot: int, root_at: int, symmetries: int, seed: int
    ) -> tuple[int, int]:
        """Play one of [slots] paths from the root on; return the ply, and a symmetry or OVER."""
        return _follow(
            self.history, self.root_ply, paths, slot, root_at, self.rules, symmetries, seed
        )

    def white_lead(self, ply: int) -> float:
        """Return 1 where White has captured, -1 where Black has."""
        captured = self.history.boards[ply]["captured"]
        return float(captured[BLACK] > 0) - float(captured[WHITE] > 0)


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
    ply = play_path(history, root_ply, paths, slot, root_at, rules)
    if ply > root_ply and has_capture(history.boards[ply]):
        return ply, int64(OVER)
    return ply, draw_symmetry(history, ply, symmetries, seed)


class AtariGo(Position):
    """A game of Atari Go in progress."""

    branch_type = AtariBranch
    won_by = "capture"

    def __init__(
        self,
        width: int = 9,
        height: int | None = None,
        rules: Rules | None = None,
        *,
        encores: bool = False,
    ) -> None:
        """Start a game on an empty board; of the rules only the komi is kept, and not used.

        Raises:
            SetupError: The size is not supported.
        """
        komi = RULES.komi if rules is None else rules.komi
        super().__init__(width, height, replace(RULES, komi=komi))

    @property
    def is_over(self) -> bool:
        """Whether somebody has captured."""
        return bool(has_capture(self.board))

    def white_margin(self) -> float:
        """Return 1 if White has captured, -1 if Black has, 0 if nobody has yet."""
        return float(self.captured(BLACK) > 0) - float(self.captured(WHITE) > 0)

    def set_rules(self, rules: Rules) -> None:
        """Take over the komi; the rules are this game's."""
        self.komi = rules.komi

    def is_legal(self, color: int, point: int) -> bool:
        """Whether this player may play here now."""
        return point in self.legal_moves(color)

    def legal_moves(self, color: int | None = None) -> list[int]:
        """Return every legal move of a player, the pass only where there is no other."""
        if self.is_over:
            return []
        points = [point for point in super().legal_moves(color) if point != PASS]
        return points or [PASS]

    def play(self, color: int, point: int, *, strict: bool = True) -> None:
        """Make a move.

        Raises:
            IllegalMoveError: The move is refused; the game is unchanged.
        """
        if self.is_over:
            raise IllegalMoveError("the game is over: somebody has captured")
        if point == PASS and not self.is_legal(color, PASS):
            raise IllegalMoveError("nobody may pass who has a move")
        super().play(color, point)


# Rollouts ----------------------------------------------------------------------------------------


@kernel
def roll_out(board: BoardRecord, to_play: int, state: int) -> tuple[int, int]:
    """Play random moves on a board until somebody captures.

    Args:
        board: Changed; nobody has captured yet.

    Returns:
        Who has captured, and the generator's new state.
    """
    color = int64(to_play)
    x = uint64(state)
    while True:
        remaining = int64(board["n_empty"])
        played = False
        while remaining > 0 and not played:
            x = next_random(x)
            at = random_below(x, remaining)
            point = int64(board["empty"][at])
            if not is_suicide(board, point, color):
                if place_stone(board, point, color) > 0:
                    return color, x
                played = True
            else:
                # Set the refused point aside behind the ones still to be drawn from.
                remaining -= 1
                moved = board["empty"][remaining]
                board["empty"][at] = moved
                board["empty_at"][moved] = at
                board["empty"][remaining] = point
                board["empty_at"][point] = remaining
        color = 3 - color
