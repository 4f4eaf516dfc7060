"""What the nets of all architectures say, and how their weights are read."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn


class NetOutputs(NamedTuple):
    """What a net says about a batch, in the units of `net_info` unless noted; None: no head."""

    policy: Tensor | None = None
    """[B, H * W + 1] logits, pass last; [B, H * W] for nets that cannot pass."""
    value: Tensor | None = None
    """[B, 3] logits of win, loss and no result, or [B, 1] in -1..1."""
    score: Tensor | None = None
    """[B, 3] the columns of SCORE_COLUMNS, in points."""
    ownership_logit: Tensor | None = None
    """[B, H, W] before tanh."""


def weights_of(net: nn.Module) -> dict[str, NDArray[np.float32]]:
    """Return all arrays of a net by the names of its shape's `arrays`, [*shape] as given there."""
    state = net.state_dict().items()
    return {name: tensor.detach().float().cpu().numpy().copy() for name, tensor in state}
