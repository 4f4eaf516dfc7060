"""The plain nets of `architectures.plain` as a PyTorch module, same names for the same arrays."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtp_export.architectures.plain import OWNERSHIP, PlainShape
from gtp_export.learning.chain_pool import chain_max, chain_mean, label_chains
from gtp_export.learning.outputs import NetOutputs
from gtp_export.learning.running_norm import RunningNorm

OUTPUT_GAIN = 0.3
"""Untrained outputs are mild."""


class PlainNet(nn.Module):
    """A stack of convolutions with one output."""

    def __init__(self, shape: PlainShape) -> None:
        """Initialise for training."""
        super().__init__()
        self.shape = shape
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        self.dense, self.dense_norms = nn.ModuleList(), nn.ModuleList()
        width = shape.seen_planes
        for side, channels in shape.convolutions:
            self.convolutions.append(nn.Conv2d(width, channels, side, padding="same", bias=False))
            self.norms.append(RunningNorm(channels))
            width = channels
        if shape.dense:
            width *= (shape.board_size or 0) ** 2
            for units in shape.dense:
                self.dense.append(nn.Linear(width, units, bias=False))
                self.dense_norms.append(RunningNorm(units))
                width = units
            self.out: nn.Module = nn.Linear(width, shape.outputs)
        else:
            self.out = nn.Conv2d(width, 1, shape.head_side, padding="same")
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.kaiming_normal_(parameter, nonlinearity="relu")
        with torch.no_grad():
            self.out.weight.mul_(OUTPUT_GAIN)
            self.out.bias.zero_()

    def forward(self, spatial: Tensor, features: Tensor) -> NetOutputs:
        """Evaluate [B, P, H, W] planes (any number type); there are no globals."""
        shape = self.shape
        planes = spatial.float()
        labels = label_chains(planes) if shape.pools_chains else None
        tensor = planes[:, :1] - planes[:, 1:2] if shape.is_difference else planes
        for conv, norm in zip(self.convolutions, self.norms, strict=True):
            tensor = functional.relu(norm(conv(tensor)))
            if labels is not None:
                kept = tensor.shape[1] - tensor.shape[1] // 2
                pooled = chain_max(tensor[:, kept:], labels)
                tensor = torch.cat([tensor[:, :kept], pooled], 1)
        if shape.dense:
            tensor = tensor.flatten(1)
            for dense, norm in zip(self.dense, self.dense_norms, strict=True):
                tensor = functional.relu(norm(dense(tensor)))
        tensor = self.out(tensor).float()
        if labels is not None:
            tensor = chain_mean(tensor, labels)
        if shape.head == OWNERSHIP:
            return NetOutputs(ownership_logit=0.5 * tensor.squeeze(1))
        return NetOutputs(policy=tensor.flatten(1))
