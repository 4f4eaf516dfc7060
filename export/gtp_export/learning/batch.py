"""What goes into a net and what comes out, a batch of boards at a time."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Boards of one size with what is known about them."""

    spatial: Tensor
    """[B, C, H, W] uint8."""
    features: Tensor
    """[B, G]."""
    targets: Any
    """A named tuple of tensors, as the task's losses take it."""

    def to(self, device: str) -> "Batch":
        """Return the batch on a device."""
        if device == "cpu":
            return self
        return replace(
            self,
            spatial=self.spatial.to(device, non_blocking=True),
            features=self.features.to(device, non_blocking=True),
            targets=type(self.targets)(*(t.to(device, non_blocking=True) for t in self.targets)),
        )


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
