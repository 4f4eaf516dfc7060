"""Atari Go: whoever captures first wins.

Played on the boards of Go and with its moves, by rules of its own: a capture ends the game, suicide
is forbidden, and a player who has a move may not pass. (Who has none is in atari everywhere and is
captured next.) So there are no draws, no kos and nothing to count.
"""

from dataclasses import replace

from gtp_engine.coords import BLACK, PASS, WHITE
from gtp_engine.go.board import (
    BoardRecord,
    has_capture,
    is_capture_at,
    is_suicide,
    neighbors,
    place_stone,
    swap_empty,
)
from gtp_engine.go.branch import Branch
from gtp_engine.go.position import IllegalMoveError, Position
from gtp_engine.go.rules import Ko, Rules
from gtp_engine.kernels import int64, kernel, uint64
from gtp_engine.random_numbers import next_random, random_below

RULES = Rules(ko=Ko.SIMPLE, must_move=True)
"""What Go's kernels are to keep to; komi means nothing here."""


@kernel
def captures_at(board: BoardRecord, point: int, color: int) -> bool:
    """Whether a move, which may be a pass, captures."""
    if point == PASS:
        return False
    for near in neighbors(board, point):
        if board["color"][near] == 3 - color and is_capture_at(board, point, near):
            return True
    return False


class AtariBranch(Branch):
    """A copy of a game of Atari Go on which one worker plays on."""

    def white_lead(self, ply: int) -> float:
        """Return 1 where White has captured, -1 where Black has."""
        captured = self.history.boards[ply]["captured"]
        return float(captured[BLACK] > 0) - float(captured[WHITE] > 0)


class AtariGo(Position):
    """A game of Atari Go in progress."""

    branch_type = AtariBranch
    won_by = "capture"

    def _own_rules(self, rules: Rules | None) -> Rules:
        """Return the rules of this game, with the komi of others, which is not used."""
        return RULES if rules is None else replace(RULES, komi=rules.komi)

    @property
    def is_over(self) -> bool:
        """Whether somebody has captured."""
        return bool(has_capture(self.board))

    def white_margin(self) -> float:
        """Return 1 if White has captured, -1 if Black has, 0 if nobody has yet."""
        return float(self.captured(BLACK) > 0) - float(self.captured(WHITE) > 0)

    def is_legal(self, color: int, point: int) -> bool:
        """Whether this player may play here now."""
        return point in self.legal_moves(color)

    def legal_moves(self, color: int | None = None) -> list[int]:
        """Return every legal move of a player, the pass only where there is no other."""
        return [] if self.is_over else super().legal_moves(color)

    def play(self, color: int, point: int, *, strict: bool = True) -> None:
        """Make a move.

        Raises:
            IllegalMoveError: The move is refused; the game is unchanged.
        """
        if self.is_over:
            raise IllegalMoveError("the game is over: somebody has captured")
        if point == PASS and not self.is_legal(color, PASS):
            raise IllegalMoveError("a player who has a move may not pass")
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
                swap_empty(board, at, remaining)
        color = 3 - color
