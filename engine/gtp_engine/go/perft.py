"""Perft: counting move sequences, which proves a board right where published counts agree.

Passes count as moves, and nothing is counted below two consecutive passes; those two passes are
the only end, so that a long cycle under simple ko goes on being counted. In Atari Go a capture ends
the game, and only those pass who have no other move. Moves are found by
`history.legal_points` and made by `history.play`, the very kernels that a game and a search use;
only the last move of a sequence is counted without being made.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gtp_engine.go import history as histories
from gtp_engine.go.board import has_capture
from gtp_engine.go.history import History
from gtp_engine.go.position import Position
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import int64, kernel

_MOVES_A_CALL = 1_000_000
"""Moves made before a kernel comes back to Python, so that Ctrl-C is heard within a second."""


@kernel
def _moves(
    history: History, ply: int, rules: RuleFlags, with_passes: int, found: npt.NDArray[np.int16]
) -> int:
    """Write the moves of the side to move into found; return how many, none after the end."""
    if rules.must_move:
        is_over = has_capture(history.boards[ply])
    else:
        is_over = history.turns[ply]["passes"] >= 2
    if is_over:
        return 0
    if with_passes or rules.must_move:
        return histories.legal_moves(history, ply, rules, found)
    return histories.legal_points(history, ply, rules, found)


@kernel
def _count_some(
    history: History,
    found: npt.NDArray[np.int16],
    untried: npt.NDArray[np.int64],
    first_ply: int,
    ply: int,
    last_ply: int,
    rules: RuleFlags,
    with_passes: int,
    budget: int,
) -> tuple[int, int]:
    """Go on with a count until it is complete or the budget of moves made is spent.

    The explicit stack is the history itself with, for each ply, the moves found there and how many
    of them are still to be tried (-1 before they are looked for). At the last ply the moves are
    counted without being made.

    Returns:
        The sequences counted by this call, and the ply to go on from, which lies before the
        first one when the count is complete.
    """
    total = 0
    while ply >= first_ply and budget > 0:
        if untried[ply] < 0:
            untried[ply] = _moves(history, ply, rules, with_passes, found[ply])
        if ply == last_ply:
            total += untried[ply]
            untried[ply] = 0
        if untried[ply] == 0:
            ply -= 1
            continue
        untried[ply] -= 1
        move = int64(found[ply, untried[ply]])
        histories.play(history, ply, move, int64(history.turns[ply]["to_play"]), rules, 0)
        ply += 1
        untried[ply] = -1
        budget -= 1
    return total, ply


def count_sequences(position: Position, depth: int, *, with_passes: bool = True) -> int:
    """Return the number of move sequences of a length that start from a position.

    Args:
        position: Where to start; it is not changed. Superko knows its history.
        depth: Moves in a sequence; 0 gives 1.
    """
    if depth <= 0:
        return 1
    first_ply = position.ply
    n_plies = first_ply + depth
    history = histories.new_history(n_plies)
    histories.copy_history(history, position.history, first_ply + 1)
    found = np.zeros((n_plies, position.area + 1), np.int16)
    untried = np.full(n_plies, -1, np.int64)
    total, ply = 0, first_ply
    while ply >= first_ply:
        counted, ply = _count_some(
            history,
            found,
            untried,
            first_ply,
            ply,
            n_plies - 1,
            position.rules.flags,
            int(with_passes),
            _MOVES_A_CALL,
        )
        total += int(counted)
    return total


def perft(position: Position, depth: int, *, with_passes: bool = True) -> Iterator[int]:
    """Yield the number of move sequences from a position of each length from 0 to depth."""
    for length in range(depth + 1):
        yield count_sequences(position, length, with_passes=with_passes)
