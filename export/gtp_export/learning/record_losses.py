"""What training on game records pulls a net's outputs towards."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from gtp_export.architectures.tower import SCORE_UNIT
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.losses import MASKED_LOGIT, SCORE_TRANSITION
from gtp_export.records.stream import RecordSamples

MEAN_TO_DEVIATION = 1.2533
"""Standard deviation by mean absolute deviation of a normal distribution, sqrt(pi / 2)."""


class RecordTargets(NamedTuple):
    """What the records say about a batch of boards; see `RecordSamples` for the meaning."""

    legal: Tensor
    """[B, A + 1] bool."""
    action: Tensor
    """[B] int64."""
    outcome: Tensor
    """[B], NaN where unknown."""
    score: Tensor
    """[B], NaN where unknown."""
    ownership: Tensor
    """[B, H, W], 0 where unknown."""


def targets_of(samples: RecordSamples) -> RecordTargets:
    """Return the targets as tensors."""
    return RecordTargets(
        legal=torch.from_numpy(samples.legal).bool(),
        action=torch.from_numpy(samples.action),
        outcome=torch.from_numpy(samples.outcome),
        score=torch.from_numpy(samples.score),
        ownership=torch.from_numpy(samples.ownership).float(),
    )


def record_losses(
    outputs: NetOutputs, targets: RecordTargets, squared_ownership: bool
) -> dict[str, Tensor]:
    """Return the mean losses of a batch by name, [] each, and `top1`, which is no loss.

    The policy's is a cross-entropy over legal moves. Value: cross-entropy of win and loss, or
    (z - v)^2 where the value is one number. Score: smoothed absolute errors in units of
    SCORE_UNIT. Ownership: cross-entropy, or squared errors of the chance, a point whose owner is
    known. Heads that are missing and answers that nobody knows cost nothing.
    """
    found: dict[str, Tensor] = {}
    if outputs.policy is not None:
        legal = targets.legal[:, : outputs.policy.shape[1]]
        logits = outputs.policy.masked_fill(~legal, MASKED_LOGIT)
        found["policy"] = functional.cross_entropy(logits, targets.action)
        found["top1"] = (logits.argmax(1) == targets.action).float().mean()
    if outputs.value is not None:
        found["value"] = _value_loss(outputs.value, targets.outcome)
    if outputs.score is not None:
        found["score"] = _score_loss(outputs.score, targets.score)
    if outputs.ownership_logit is not None:
        known = targets.ownership != 0
        right = outputs.ownership_logit.sign() == targets.ownership
        # tanh(x) = 2 sigmoid(2x) - 1
        logits = 2.0 * outputs.ownership_logit
        mine = (targets.ownership + 1.0) / 2.0
        if squared_ownership:
            each = (logits.sigmoid() - mine) ** 2
        else:
            each = functional.binary_cross_entropy_with_logits(logits, mine, reduction="none")
        found["ownership"] = _mean(each, known)
        found["owned"] = _mean(right.float(), known)
    return found


def count_answers(targets: RecordTargets) -> dict[str, int]:
    """Return how many answers each mean of `record_losses` is over, by its name."""
    boards, points = len(targets.action), int((targets.ownership != 0).sum())
    return {
        "policy": boards,
        "top1": boards,
        "value": int((~targets.outcome.isnan()).sum()),
        "score": int((~targets.score.isnan()).sum()),
        "ownership": points,
        "owned": points,
    }


def _value_loss(value: Tensor, outcome: Tensor) -> Tensor:
    known = ~outcome.isnan()
    wins = torch.where(known, outcome, 0.5)
    if value.shape[1] == 1:
        return _mean((2.0 * wins - 1.0 - value[:, 0]) ** 2, known)
    aims = torch.stack([wins, 1.0 - wins, torch.zeros_like(wins)], 1)
    return _mean(-(aims * functional.log_softmax(value, 1)).sum(1), known)


def _score_loss(score: Tensor, points: Tensor) -> Tensor:
    """Return the loss of mean, standard deviation and lead; the lead is learned as the score."""
    known = ~points.isnan()
    points = torch.where(known, points, 0.0)
    spread = MEAN_TO_DEVIATION * (points - score[:, 0].detach()).abs()
    aims = torch.stack([points, spread, points], 1) / SCORE_UNIT
    each = functional.smooth_l1_loss(
        score / SCORE_UNIT, aims, beta=SCORE_TRANSITION, reduction="none"
    )
    return _mean(each.mean(1), known)


def _mean(values: Tensor, known: Tensor) -> Tensor:
    """Return the mean of what is known, 0 if nothing is."""
    return torch.where(known, values, 0.0).sum() / known.sum().clamp_min(1)
