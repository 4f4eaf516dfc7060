"""Moves drawn from a net's policy, without any search: openings, and positions to try nets on."""

import numpy as np

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules


def draw_move(evaluator: Evaluator, position: Position, generator: np.random.Generator) -> int:
    """Return a move for the player to move, drawn from the policy.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    batch = evaluator.new_batch(1, position.width, position.height)
    rules = position.rules.flags
    evaluator.encode(batch, 0, position.line, position.ply, rules, 0, 0.0)
    evaluator.evaluate(batch, 1)
    n = int(batch.n_moves[0])
    chances = batch.priors[0, :n].astype(np.float64)
    return int(batch.moves[0, generator.choice(n, p=chances / chances.sum())])


def draw_opening(
    evaluator: Evaluator, width: int, height: int, rules: Rules, moves: int, seed: int
) -> Position:
    """Return a position some drawn moves into a game; the same seed gives the same one.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    position = Position(width, height, rules)
    generator = np.random.Generator(np.random.PCG64(seed))
    while position.ply < moves and not position.is_over:
        position.play(position.to_play, draw_move(evaluator, position, generator))
    return position
