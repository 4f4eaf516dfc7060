"""From a shape to the PyTorch module that learns it, with the same names for the same arrays.

The plain and the two-headed nets are here, and chains of stones as `architectures.chain_graph` has
them in ONNX; the tower has a module of its own.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtp_export.architectures.chain_graph import OTHER_PLANES, OWN_PLANES, ROUNDS
from gtp_export.architectures.dual import DualShape
from gtp_export.architectures.plain import OWNERSHIP, PlainShape
from gtp_export.architectures.shape import Shape
from gtp_export.architectures.tower import TowerShape
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.running_norm import RunningNorm
from gtp_export.learning.starting_weights import draw_residual_weights
from gtp_export.learning.tower_net import Tower


def label_chains(planes: Tensor) -> Tensor:
    """Return int64 [B, H * W] the largest index of a point's chain, of [B, C, H, W] planes.

    An empty point is a chain of its own.
    """
    own, other = (planes[:, first:end].amax(1) for first, end in (OWN_PLANES, OTHER_PLANES))
    colors = torch.stack([own, other * (1 - own)], 1).float()
    n, _, height, width = colors.shape
    numbers = torch.arange(1, height * width + 1, device=planes.device).float()
    numbers = numbers.view(1, 1, height, width)
    labels = numbers * colors
    for _ in range(ROUNDS):
        column = functional.max_pool2d(labels, (3, 1), 1, (1, 0))
        row = functional.max_pool2d(labels, (1, 3), 1, (0, 1))
        found = (torch.maximum(column, row) * colors).flatten(2)
        places = (labels.flatten(2) - 1).clamp_min(0).long()
        # What a stone found out is told to the stone its old label names, then asked of it.
        told = found.scatter_reduce(2, places, found, "amax")
        labels = told.gather(2, places).view_as(labels) * colors
    named = labels.sum(1, keepdim=True) + numbers * (1 - colors.sum(1, keepdim=True))
    return (named - 1).long().view(n, -1)


def chain_max(tensor: Tensor, labels: Tensor) -> Tensor:
    """Return [B, C, H, W] with the maximum over the chain at each point, all values >= 0."""
    flat = tensor.flatten(2)
    index = labels[:, None].expand_as(flat)
    found = torch.zeros_like(flat).scatter_reduce(2, index, flat, "amax")
    return found.gather(2, index).view_as(tensor)


def chain_mean(tensor: Tensor, labels: Tensor) -> Tensor:
    """Return [B, C, H, W] with the mean over the chain at each point."""
    flat = tensor.flatten(2)
    index = labels[:, None].expand_as(flat)
    sums = torch.zeros_like(flat).scatter_add(2, index, flat)
    counts = torch.zeros_like(flat).scatter_add(2, index, torch.ones_like(flat))
    return (sums.gather(2, index) / counts.gather(2, index)).view_as(tensor)


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


class DualBlock(nn.Module):
    """Two convolutions and the way around them."""

    def __init__(self, channels: int) -> None:
        """Initialise for training."""
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = RunningNorm(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = RunningNorm(channels)

    def forward(self, trunk: Tensor) -> Tensor:
        """Map [B, C, H, W] to the same shape."""
        inner = functional.relu(self.norm1(self.conv1(trunk)))
        return functional.relu(trunk + self.norm2(self.conv2(inner)))


class DualNet(nn.Module):
    """The whole net."""

    def __init__(self, shape: DualShape) -> None:
        """Initialise for training."""
        super().__init__()
        self.shape = shape
        c, area = shape.channels, shape.board_size**2
        self.stem = nn.Conv2d(shape.planes, c, 3, padding=1, bias=False)
        self.stem_norm = RunningNorm(c)
        self.blocks = nn.ModuleList(DualBlock(c) for _ in range(shape.blocks))
        self.policy = nn.Conv2d(c, 1, 1, bias=False)
        self.policy_norm = RunningNorm(1)
        self.policy_out = nn.Linear(area, area + 1)
        self.value = nn.Conv2d(c, 1, 1, bias=False)
        self.value_norm = RunningNorm(1)
        self.value_hidden = nn.Linear(area, shape.value_hidden, bias=False)
        self.value_hidden_norm = RunningNorm(shape.value_hidden)
        self.value_out = nn.Linear(shape.value_hidden, 1)
        draw_residual_weights(self)

    def forward(self, spatial: Tensor, features: Tensor) -> NetOutputs:
        """Evaluate [B, P, H, W] planes (any number type); there are no globals."""
        trunk = functional.relu(self.stem_norm(self.stem(spatial.float())))
        for block in self.blocks:
            trunk = block(trunk)
        policy = functional.relu(self.policy_norm(self.policy(trunk))).flatten(1)
        value = functional.relu(self.value_norm(self.value(trunk))).flatten(1)
        value = functional.relu(self.value_hidden_norm(self.value_hidden(value)))
        return NetOutputs(
            policy=self.policy_out(policy).float(), value=self.value_out(value).float().tanh()
        )


def build_net(shape: Shape) -> nn.Module:
    """Return an untrained net; it maps planes and globals to `NetOutputs`.

    Raises:
        TypeError: There is no module for this kind of shape.
    """
    match shape:
        case TowerShape():
            return Tower(shape)
        case PlainShape():
            return PlainNet(shape)
        case DualShape():
            return DualNet(shape)
    raise TypeError(f"there is no net for {type(shape).__name__}")
