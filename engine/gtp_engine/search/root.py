"""What is special about the root: its priors are averaged, tempered, and mixed with noise."""

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.search.params import SearchParams


def has_own_priors(params: SearchParams, evaluator: Evaluator) -> bool:
    """Whether a root has other priors than the same position inside a tree."""
    is_less_optimistic = params.root_policy_optimism != params.policy_optimism
    return (
        params.root_symmetries > 1
        or params.root_policy_temperature != 1.0
        or (is_less_optimistic and evaluator.has_optimism)
    )


def heat(priors: npt.NDArray[np.float32], temperature: float) -> None:
    """Raise priors [moves] to 1 / temperature, in place, and let them sum to 1 again."""
    if len(priors) == 0:
        return  # the game is over
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
    if params.root_noise_weight > 0.0 and len(priors):
        drawn = noise.dirichlet(np.full(len(priors), params.root_noise_total / len(priors)))
        weight = params.root_noise_weight
        priors[:] = (1.0 - weight) * priors + weight * drawn
    total = float(priors.sum())
    if total > 0.0:
        priors /= total
