"""How far a net is from its teacher, on positions it was not trained on."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gtp_export.labelling.samples import Samples
from gtp_export.learning.batch import Batch
from gtp_export.learning.losses import losses, mask_occupied
from gtp_export.learning.sample_source import make_batch, read_shards
from gtp_export.learning.torch_layers import Net

POSITIONS_PER_SIZE = 1500
BATCH_POINTS = 20_000
SEED = 7


def measure(net: Net, folder: Path, device: str = "cpu") -> dict[str, dict[str, float]]:
    """Compare a net with the labels of a folder of shards.

    Returns:
        By group ("9x9", "13x13", "19x19", "other"): `positions`; `policy_kl` (nats); `top1`, the
        share of positions where both like the same move best; `win_error`, the mean absolute
        difference of winning chances; `lead_error` in points; `ownership_sign`, the share of
        points given to the same player.
    """
    groups: dict[str, list[Samples]] = {}
    for (width, height), samples in read_shards(folder.glob("*.npz")).items():
        name = f"{width}x{height}"
        group = name if name in ("9x9", "13x13", "19x19") else "other"
        groups.setdefault(group, []).append(samples)
    return {name: _measure_group(net, parts, device) for name, parts in sorted(groups.items())}


def _measure_group(net: Net, parts: list[Samples], device: str) -> dict[str, float]:
    generator = np.random.default_rng(SEED)
    total = sum(len(samples.features) for samples in parts)
    sums: dict[str, float] = {}
    used = 0
    for samples in parts:
        n = len(samples.features)
        wanted = min(n, -(-POSITIONS_PER_SIZE * n // total))
        index = generator.permutation(n)[:wanted]
        size = max(1, BATCH_POINTS // samples.area)
        for at in range(0, wanted, size):
            batch = make_batch(samples, index[at : at + size], 0).to(device)
            used += len(batch.features)
            for name, value in _batch_sums(net, batch).items():
                sums[name] = sums.get(name, 0.0) + value
    means = {name: round(value / used, 4) for name, value in sums.items()}
    return {"positions": used, **means}


def _batch_sums(net: Net, batch: Batch) -> dict[str, float]:
    """Return the sums over a batch of what `measure` averages."""
    targets = batch.targets
    with torch.no_grad():
        outputs = net(batch.spatial, batch.features)
    count = len(batch.features)
    logits = mask_occupied(outputs.policy, targets)
    chances = _winrate(outputs.value.softmax(1))
    same_sign = (outputs.ownership_logit > 0) == (targets.ownership > 0)
    return {
        "policy_kl": float(losses(outputs, targets)["policy"]) * count,
        "top1": float((logits.argmax(1) == targets.policy.argmax(1)).sum()),
        "win_error": float((chances - _winrate(targets.value)).abs().sum()),
        "lead_error": float((outputs.score[:, -1] - targets.score[:, -1]).abs().sum()),
        "ownership_sign": float(same_sign.float().mean((1, 2)).sum()),
    }


def _winrate(value: Tensor) -> Tensor:
    return value[:, 0] + 0.5 * value[:, 2]
