"""Position hashes: two positions that a net is to judge alike have the same one.

A hash covers the stones, the player to move, the legal moves, and with them every ban by ko and
superko, the phase with its marks, what a pass would do, the button, komi and rules. It leaves out
the moves that led there, which many nets are shown too: positions reached by different orders of
moves share an evaluation.

On a board with few stones all symmetries of a position share one hash, the smallest of theirs;
the slot remembers which symmetry leads there.

The hash has 128 bits, sums of random coefficients (Zobrist 1970, with sums in place of exclusive
or); among 10^9 positions the odds of one false match are below 10^-20.
"""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import EMPTY, WALL
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.go.board import MAX_AREA, BoardRecord
from gtp_engine.go.history import History, TurnRecord, passed_here_before, white_komi
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import int64, kernel, uint64
from gtp_engine.random_numbers import mix

FEW_STONES = 20
"""Up to this many stones, mirrored positions share a hash: further on they hardly ever meet."""

_BANNED, _LISTED, _MARKED, _OF_ENCORE = 3, 4, 5, 6  # after 1 and 2, the colors
_KINDS = 9


def _coefficients() -> npt.NDArray[np.uint64]:
    generator = np.random.Generator(np.random.PCG64(31337))
    return generator.integers(1, 2**64 - 1, (_KINDS, MAX_AREA + 1, 2), np.uint64)


_COEFFICIENTS = _coefficients()


@kernel
def _sum_board(
    batch: EvalBatch,
    slot: int,
    board: BoardRecord,
    turn: TurnRecord,
    symmetry_map: npt.NDArray[np.int16],
) -> tuple[int, int]:
    """Add up the coefficients of stones, bans and marks under a symmetry."""
    low = uint64(0)
    high = uint64(0)
    for point in range(board["n_points"]):
        color = board["color"][point]
        if color != EMPTY and color != WALL:
            low += _COEFFICIENTS[color, symmetry_map[point], 0]
            high += _COEFFICIENTS[color, symmetry_map[point], 1]
    moves = batch.moves[slot]
    n_moves = int64(batch.slots[slot]["n_moves"])
    if turn["phase"] == 0:
        # Legal moves stand in the order of the board's empty points; those left out are banned.
        i = 0
        for k in range(board["n_empty"]):
            point = int64(board["empty"][k])
            if i < n_moves and moves[i] == point:
                i += 1
            else:
                low += _COEFFICIENTS[_BANNED, symmetry_map[point], 0]
                high += _COEFFICIENTS[_BANNED, symmetry_map[point], 1]
        return low, high
    for i in range(n_moves):
        low += _COEFFICIENTS[_LISTED, symmetry_map[moves[i]], 0]
        high += _COEFFICIENTS[_LISTED, symmetry_map[moves[i]], 1]
    for point in range(board["n_points"]):
        if board["color"][point] != WALL:
            kind = _OF_ENCORE + int64(turn["encore_start"][point])
            low += _COEFFICIENTS[kind, symmetry_map[point], 0]
            high += _COEFFICIENTS[kind, symmetry_map[point], 1]
            if turn["recapture"][point]:
                low += _COEFFICIENTS[_MARKED, symmetry_map[point], 0]
                high += _COEFFICIENTS[_MARKED, symmetry_map[point], 1]
    return low, high


@kernel
def _rest(history: History, ply: int, rules: RuleFlags, optimism: float, salt: int) -> int:
    """Return a hash of all that is not on the board."""
    turn = history.turns[ply]
    state = uint64(salt)
    for number in (
        int64(turn["to_play"]),
        int64(turn["phase"]),
        int64(turn["status"]),
        int64(turn["past_end"]),
        int64(turn["has_button"]),
        int64(min(int64(turn["passes"]), 2)),
        # Whether a pass ends the phase, and whether for that reason.
        int64(passed_here_before(history, ply, int64(turn["to_play"]), rules)),
        int64(np.rint(white_komi(turn, rules) * 65536.0)),
        int64(np.rint(np.float64(optimism) * 65536.0)),
        int64(rules.ko),
        int64(rules.scoring),
        int64(rules.tax),
        int64(rules.multi_stone_suicide) + 2 * int64(rules.must_move) + 4 * (int64(rules.five) + 1),
        int64(rules.friendly_pass_ok),
    ):
        state = mix(state ^ uint64(number))
    return state


@kernel
def write_position_hash(
    batch: EvalBatch,
    slot: int,
    history: History,
    ply: int,
    rules: RuleFlags,
    symmetry_maps: npt.NDArray[np.int16],
    salt: int,
) -> None:
    """Write the hash of a position, and the symmetry under which it is remembered.

    Args:
        batch: The batch; the slot's moves and optimism are written.
        symmetry_maps: [symmetries, points] rows of `symmetry.point_table`, those that differ.
        salt: Stands for whatever else the evaluation depends on.
    """
    board = history.boards[ply]
    turn = history.turns[ply]
    low, high = _sum_board(batch, slot, board, turn, symmetry_maps[0])
    batch.slots[slot]["canonical"] = 0
    n_stones = int64(board["width"]) * int64(board["height"]) - int64(board["n_empty"])
    if n_stones <= FEW_STONES and turn["phase"] == 0:
        for symmetry in range(1, symmetry_maps.shape[0]):
            other_low, other_high = _sum_board(batch, slot, board, turn, symmetry_maps[symmetry])
            if other_low < low:
                low, high = other_low, other_high
                batch.slots[slot]["canonical"] = symmetry
    rest = _rest(history, ply, rules, batch.slots[slot]["optimism"], salt)
    batch.slots[slot]["position_hash"][0] = mix(low ^ rest)
    batch.slots[slot]["position_hash"][1] = mix(high + rest)
