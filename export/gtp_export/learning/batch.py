"""A batch of boards on their way into a net."""

from dataclasses import dataclass, replace
from typing import Any

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
