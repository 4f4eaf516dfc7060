"""Judge positions of Atari Go, which no net knows, by random rollouts."""

from typing import Any

import numpy as np

from gtp_engine.evaluators.eval_batch import EvalBatch, list_moves
from gtp_engine.evaluators.evaluator import NetlessEvaluator
from gtp_engine.go.atari_go import captures_at, roll_out
from gtp_engine.go.board import BOARD, has_capture
from gtp_engine.go.history import History
from gtp_engine.go.rules import RuleFlags
from gtp_engine.kernels import hot_kernel, int64, uint64
from gtp_engine.random_numbers import mix

ROLLOUTS = 16
"""Games played out for one evaluation."""


@hot_kernel
def _encode(batch: EvalBatch, slot: int, history: History, ply: int, rules: RuleFlags) -> None:
    """List a position's moves and write what is known of it."""
    list_moves(batch, slot, history, ply, rules)
    board = history.boards[ply]
    to_play = int64(history.turns[ply]["to_play"])
    n_moves = int64(batch.slots[slot]["n_moves"])
    n_captures = int64(0)
    for i in range(n_moves):
        captures = captures_at(board, int64(batch.moves[slot, i]), to_play)
        batch.priors[slot, i] = np.float32(1.0 if captures else 0.0)
        n_captures += 1 if captures else 0
    for i in range(n_moves):
        if n_captures == 0:
            batch.priors[slot, i] = np.float32(1.0) / np.float32(n_moves)
        else:
            batch.priors[slot, i] /= np.float32(n_captures)
    wins = int64(0)
    if n_captures > 0:
        wins = int64(ROLLOUTS)
    elif not has_capture(board):
        state = mix(uint64(board["hash"]) ^ uint64(to_play)) | uint64(1)
        scratch = np.empty(1, BOARD)
        for _ in range(ROLLOUTS):
            scratch[0] = board
            winner, state = roll_out(scratch[0], to_play, state)
            wins += 1 if winner == to_play else 0
    value = np.float32(2 * wins - ROLLOUTS) / np.float32(ROLLOUTS)
    numbers = batch.slots[slot]
    numbers["value"] = value
    numbers["lead"] = value
    numbers["stdev"] = np.float32(1.0)
    numbers["no_result"] = np.float32(0.0)


class AtariRollouts(NetlessEvaluator):
    """Likes captures alone, and all moves alike where there is none; plays the rest at random."""

    name = "random rollouts"

    def _judge(self, *leaf: Any) -> None:
        _encode(*leaf)
