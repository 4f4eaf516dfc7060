"""Whether a written net computes what the net in training does."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from gtp_engine.evaluators.onnx_net import OnnxNet
from gtp_export.learning.batch import Batch
from gtp_export.learning.training import TrainError

TOLERANCE = 0.05
"""Of logits and points: far beyond rounding, also of weights that are stored as bytes."""


def check_parity(net: nn.Module, path: Path, batch: Batch) -> dict[str, float]:
    """Return the largest difference between a net and its file on a batch, by head.

    Raises:
        TrainError: A difference is beyond TOLERANCE.
        NetFileError: The file cannot be run.
    """
    written = OnnxNet(path, "cpu").run(batch.spatial.cpu().numpy(), batch.features.cpu().numpy())
    with torch.no_grad():
        mine = net(batch.spatial, batch.features)
    owner = mine.ownership_logit
    pairs = {
        "policy": (mine.policy, written.policy),
        "value": (mine.value, written.value),
        "score": (mine.score, written.score),
        "ownership": (None if owner is None else owner.tanh(), written.ownership),
    }
    found = {
        name: float(np.abs(a.float().cpu().numpy() - b).max())
        for name, (a, b) in pairs.items()
        if a is not None and b is not None
    }
    for name, difference in found.items():
        if not difference <= TOLERANCE:
            raise TrainError(f"{path}: its {name} is {difference:.3g} off the net in training")
    return found
