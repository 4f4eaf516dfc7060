"""What training pulls a tower's outputs towards."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from gtp_export.architectures.tower import SCORE_UNIT
from gtp_export.learning.batch import NetOutputs

MASKED_LOGIT = -1e4
SCORE_TRANSITION = 0.5
"""Where the score's loss turns from squares to absolute values, in units of SCORE_UNIT points."""


class Targets(NamedTuple):
    """What a teacher says about a batch of boards with A points."""

    policy: Tensor
    """[B, A + 1] probabilities, pass last."""
    value: Tensor
    """[B, 3] probabilities of win, loss and no result."""
    score: Tensor
    """[B, 3] the columns of SCORE_COLUMNS, points."""
    ownership: Tensor
    """[B, H, W] in -1..1."""
    occupied: Tensor
    """[B, A] bool: a stone stands there."""


def mask_occupied(logits: Tensor, targets: Targets) -> Tensor:
    """Take the points that hold a stone out of logits [B, A + 1], unless the target plays there.

    The engine masks illegal moves anyway, so the net need not learn where stones stand. Moves
    onto stones exist: passes for ko in an encore.
    """
    masked = targets.occupied & (targets.policy[:, :-1] == 0)
    masked = functional.pad(masked, (0, 1))
    return logits.masked_fill(masked, MASKED_LOGIT)


def losses(outputs: NetOutputs, targets: Targets) -> dict[str, Tensor]:
    """Return the mean losses of a batch by name, [] each, in their natural sizes.

    Policy and value are cross-entropies less the target's own entropy, ownership a cross-entropy a
    point with it, the score a smoothed absolute error in units of SCORE_UNIT points.
    """
    # A tower has every head.
    assert outputs.score is not None and outputs.ownership_logit is not None
    logits = mask_occupied(outputs.policy, targets)
    owner = (targets.ownership + 1.0) / 2.0
    return {
        "policy": divergence(targets.policy, functional.log_softmax(logits, 1)),
        "value": divergence(targets.value, functional.log_softmax(outputs.value, 1)),
        "score": functional.smooth_l1_loss(
            outputs.score / SCORE_UNIT, targets.score / SCORE_UNIT, beta=SCORE_TRANSITION
        ),
        # tanh(x) = 2 sigmoid(2x) - 1
        "ownership": functional.binary_cross_entropy_with_logits(
            2.0 * outputs.ownership_logit, owner
        ),
    }


def divergence(target: Tensor, log_chances: Tensor) -> Tensor:
    """Return the mean KL divergence of [B, K] log-probabilities from a target."""
    entropy = torch.special.xlogy(target, target).sum(1)
    return (entropy - (target * log_chances).sum(1)).mean()
