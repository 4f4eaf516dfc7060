"""A net's policy without any search: as it is, and moves drawn from it for openings."""

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import PASS
from gtp_engine.evaluators.decoding import prior_by_action
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator, encode_positions
from gtp_engine.games import new_game
from gtp_engine.go.position import Position
from gtp_engine.go.rules import GO, Rules
from gtp_engine.go.symmetry import point_table


def policy_by_action(
    evaluator: Evaluator, position: Position, optimism: float = 0.0
) -> npt.NDArray[np.float32]:
    """Return the policy for the player to move as [A + 1], NaN where a move is illegal.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    batch = _evaluate(evaluator, position, optimism)
    actions = point_table(position.width, position.height)[0]
    return prior_by_action(batch, 0, actions, position.area)


def _evaluate(evaluator: Evaluator, position: Position, optimism: float) -> EvalBatch:
    batch = encode_positions(evaluator, [position], [0], optimism=optimism)
    evaluator.evaluate(batch, 1)
    return batch


def draw_move(
    evaluator: Evaluator, position: Position, generator: np.random.Generator
) -> int | None:
    """Return a move for the player to move, drawn from the policy; None where all pass.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    batch = _evaluate(evaluator, position, optimism=0.0)
    n = int(batch.n_moves[0])
    moves = batch.moves[0, :n]
    chances = np.where(moves == PASS, 0.0, batch.priors[0, :n].astype(np.float64))
    if not chances.any():
        return None
    return int(moves[generator.choice(n, p=chances / chances.sum())])


def draw_opening(
    evaluator: Evaluator,
    width: int,
    height: int,
    rules: Rules,
    moves: int,
    seed: int,
    game: str = GO,
) -> Position:
    """Return a position some drawn moves into a game, without passes.

    The same seed gives the same one. It is shorter where there is nothing to play but passes.

    Raises:
        NetFileError: The net does not take this board, or failed.
    """
    position = new_game(game, width, height, rules)
    generator = np.random.Generator(np.random.PCG64(seed))
    while position.ply < moves and not position.is_over:
        move = draw_move(evaluator, position, generator)
        if move is None:
            break
        position.play(position.to_play, move)
    return position
