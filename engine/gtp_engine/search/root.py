"""What is special about the root: its priors are averaged, tempered, and mixed with noise."""

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.evaluator import Evaluator, evaluate_symmetries
from gtp_engine.search.game import Branch
from gtp_engine.search.params import SearchParams
from gtp_engine.search.pruning import drop_moves


def has_own_priors(params: SearchParams, evaluator: Evaluator) -> bool:
    """Whether a root has other priors than the same position inside a tree."""
    is_less_optimistic = params.root_policy_optimism != params.policy_optimism
    return (
        params.root_symmetries > 1
        or params.root_policy_temperature != 1.0
        or (is_less_optimistic and evaluator.has_optimism)
    )


def judge_root(
    evaluator: Evaluator,
    batch: EvalBatch,
    branch: Branch,
    params: SearchParams,
    forbidden: npt.NDArray[np.uint8] | None,
    noise: np.random.Generator,
    symmetry: int,
) -> EvalBatch:
    """Return a batch whose first slot has what is to be known of the root.

    Args:
        forbidden: [points] non-zero where a move is not wanted; None for nowhere.
        symmetry: Under which a net is shown the board if it is shown it once.

    Raises:
        NetFileError: The net failed.
    """
    shown = range(min(branch.symmetries, params.root_symmetries))
    if len(shown) > len(batch.slots):
        height, width = batch.spatial.shape[-2:]
        batch = evaluator.new_batch(len(shown), width, height)
    position = branch.history, branch.root_ply, branch.rules
    if len(shown) == 1:
        evaluator.encode(batch, 0, *position, symmetry, params.root_policy_optimism)
        evaluator.evaluate(batch, 1, use_cache=params.use_cache)
    else:
        evaluate_symmetries(evaluator, batch, *position, shown, params.root_policy_optimism)
    if forbidden is not None:
        drop_moves(batch, 0, forbidden)
    adjust_priors(batch.priors[0, : int(batch.n_moves[0])], params, noise)
    return batch


def heat(priors: npt.NDArray[np.float32], temperature: float) -> None:
    """Raise priors [moves] to 1 / temperature, in place, and let them sum to 1 again."""
    # Over the highest, which then stays 1: high powers of small numbers are all zero.
    priors[:] = (priors / priors.max()) ** (1.0 / temperature)
    priors /= priors.sum()


def adjust_priors(
    priors: npt.NDArray[np.float32], params: SearchParams, noise: np.random.Generator
) -> None:
    """Apply the root's policy temperature and noise.

    Args:
        priors: [moves] changed in place; they sum to 1 before and after.
    """
    temperature = params.policy_temperature * params.root_policy_temperature
    if temperature != 1.0:
        heat(priors, temperature)
    if params.root_noise_weight > 0.0:
        drawn = noise.dirichlet(np.full(len(priors), params.root_noise_total / len(priors)))
        weight = params.root_noise_weight
        priors[:] = (1.0 - weight) * priors + weight * drawn
    total = float(priors.sum())
    if total > 0.0:
        priors /= total
