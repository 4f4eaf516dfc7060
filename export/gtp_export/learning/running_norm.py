"""The norm behind every hidden layer."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtp_export.architectures.shape import NORM_EPSILON


class RunningNorm(nn.Module):
    """Batch renormalisation: forward by running statistics, backward through the batch's own.

    A training batch holds boards of one size, whose statistics differ from the mixture that
    inference uses. Normalising by the running mixture from the start keeps training and inference
    the same function (Ioffe 2017, "Batch Renormalization"). The corrections are let in over the
    first steps, while the running statistics settle.
    """

    MOMENTUM = 0.02
    WARM_UP_STEPS = 200
    MAX_SCALE, MAX_SHIFT = 4.0, 6.0

    running_mean: Tensor
    running_var: Tensor
    steps: Tensor

    def __init__(self, channels: int) -> None:
        """Start as the identity on inputs of mean 0 and variance 1."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.register_buffer("steps", torch.zeros(1), persistent=False)

    def forward(self, tensor: Tensor) -> Tensor:
        """Normalise [B, C] or [B, C, H, W]."""
        if not self.training:
            return functional.batch_norm(
                tensor,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                eps=NORM_EPSILON,
            )
        with torch.no_grad():
            scale, shift = self._corrections(tensor)
        return functional.batch_norm(
            tensor,
            None,
            None,
            self.weight * scale,
            self.bias + self.weight * shift,
            training=True,
            eps=NORM_EPSILON,
        )

    def _corrections(self, tensor: Tensor) -> tuple[Tensor, Tensor]:
        """Update the statistics; return what turns batch-normed values into running-normed ones."""
        # Momentum 0 leaves the buffers alone: this is the one fast kernel for both moments.
        mean, variance = torch.batch_norm_update_stats(
            tensor, self.running_mean, self.running_var, 0.0
        )
        warm = (self.steps / self.WARM_UP_STEPS).clamp(max=1.0)
        deviation = (self.running_var + NORM_EPSILON).sqrt()
        max_scale = 1.0 + warm * (self.MAX_SCALE - 1.0)
        max_shift = warm * self.MAX_SHIFT
        scale = ((variance + NORM_EPSILON).sqrt() / deviation).clamp(1 / max_scale, max_scale)
        shift = ((mean - self.running_mean) / deviation).clamp(-max_shift, max_shift)
        momentum = (1.0 / (1.0 + self.steps)).clamp(min=self.MOMENTUM)
        self.running_mean.lerp_(mean, momentum)
        self.running_var.lerp_(variance, momentum)
        self.steps += 1
        return scale, shift
