"""Go as a search sees it: a copy of a game on which a worker plays on, see `search/game.py`."""

from typing import Any, Self

import numpy.typing as npt

from gtp_engine.coords import NULL_MOVE, OVER
from gtp_engine.go.board import has_capture
from gtp_engine.go.history import (
    AREA,
    ENDED,
    NO_RESULT,
    History,
    copy_history,
    new_history,
    play,
)
from gtp_engine.go.rules import RuleFlags
from gtp_engine.go.scoring import white_score
from gtp_engine.kernels import hot_kernel, inline_kernel, int64, kernel, uint64

SPARE_PLIES = 64
"""Room beyond what is asked for, so that a branch serves for some moves of a game."""

Paths = npt.NDArray[Any]
"""[slots] of records with `length`, the number of nodes, and `moves`, the one that led to each."""

_GOLDEN_RATIO = 0x9E3779B97F4A7C15


class Branch:
    """A copy of a game on which one worker plays on."""

    def __init__(self, plies: int) -> None:
        """Make room for so many plies, those of the game included."""
        self.history = new_history(plies + SPARE_PLIES)
        self.root_ply = 0
        self.rules: RuleFlags
        self.symmetries = 1

    def begin(self, history: History, ply: int, rules: RuleFlags, symmetries: int) -> Self:
        """Copy a game up to a ply, from which paths then begin."""
        copy_history(self.history, history, ply + 1)
        self.history.turns[ply + 1]["move"] = NULL_MOVE  # see `follow`
        self.root_ply = ply
        self.rules = rules
        self.symmetries = symmetries
        return self

    def follow(
        self, paths: Paths, slot: int, root_at: int, symmetries: int, seed: int
    ) -> tuple[int, int]:
        """Play one of [slots] paths from the root on; return the ply, and a symmetry or OVER."""
        game = self.history, self.root_ply
        return follow(*game, paths, slot, root_at, self.rules, symmetries, seed)

    def white_lead(self, ply: int) -> float:
        """Return White's points minus Black's where a game has ended; 0 if it has no result."""
        if self.history.turns[ply]["status"] == NO_RESULT:
            return 0.0
        return float(white_score(self.history, ply, self.rules))


@kernel
def ends_search(history: History, ply: int, rules: RuleFlags) -> bool:
    """Whether a search treats the position as the end of the game.

    Where dead stones may stay on the board when both pass, two passes prove nothing about them:
    the net goes on judging the position, and only a third pass is final.
    """
    if rules.must_move:
        return has_capture(history.boards[ply])
    turn = history.turns[ply]
    if turn["status"] == NO_RESULT:
        return True
    if turn["status"] != ENDED:
        return False
    is_friendly = rules.friendly_pass_ok and rules.scoring == AREA
    return not (is_friendly and turn["passes"] == 2)


@inline_kernel
def draw_symmetry(history: History, ply: int, symmetries: int, seed: int) -> int:
    """Return one of so many symmetries, the same for the same stones and seed."""
    drawn = (uint64(history.boards[ply]["hash"]) ^ uint64(seed)) * uint64(_GOLDEN_RATIO)
    return int64((drawn >> uint64(40)) % uint64(symmetries))


@inline_kernel
def play_path(
    history: History,
    root_ply: int,
    paths: Paths,
    slot: int,
    root_at: int,
    rules: RuleFlags,
) -> int:
    """Play a path's moves on a history from the root's ply on; return the ply reached.

    Moves that the path before has played already are not played again: plies behind the root are
    valid up to the first whose move is NULL_MOVE.
    """
    path = paths[slot]
    ply = root_ply
    for i in range(root_at + 1, path["length"]):
        move = int64(path["moves"][i])
        if history.turns[ply + 1]["move"] != move:
            play(history, ply, move, int64(history.turns[ply]["to_play"]), rules, int64(1))
            history.turns[ply + 2]["move"] = NULL_MOVE
        ply += 1
    return ply


@hot_kernel
def follow(
    history: History,
    root_ply: int,
    paths: Paths,
    slot: int,
    root_at: int,
    rules: RuleFlags,
    symmetries: int,
    seed: int,
) -> tuple[int, int]:
    """Play a path as `play_path` does, and draw a symmetry for its end.

    Args:
        seed: Goes into the draw, besides the stones.

    Returns:
        The ply reached, and the symmetry or OVER.
    """
    ply = play_path(history, root_ply, paths, slot, root_at, rules)
    if ply > root_ply and ends_search(history, ply, rules):
        return ply, int64(OVER)
    return ply, draw_symmetry(history, ply, symmetries, seed)
