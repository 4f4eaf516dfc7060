"""The tower of `tower.py` as a PyTorch module, with the same names for the same arrays.

Every hidden layer, dense ones included, is followed by a norm; without it the value head dies at
the learning rates the convolutions like.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtp_export.architectures.tower import (
    ESTIMATE_READERS,
    ESTIMATES,
    KOMI_UNIT,
    OWN_KOMI,
    POOLS,
    SCORE_COLUMNS,
    SCORE_UNIT,
    SIZE_CENTER,
    SIZE_SCALE,
    UNTRAINED_NO_RESULT_LOGIT,
    VALUE_POOL_OFFSET,
    TowerShape,
)
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.running_norm import RunningNorm
from gtp_export.learning.starting_weights import draw_residual_weights


def size_offset(tensor: Tensor) -> float:
    """Return (s - 14) / 10 with s the square root of the points of [B, C, H, W]."""
    side = (tensor.shape[2] * tensor.shape[3]) ** 0.5
    return float((side - SIZE_CENTER) / SIZE_SCALE)


def pool(tensor: Tensor) -> Tensor:
    """Pool [B, C, H, W] to [B, 3C]: mean, mean by size, maximum."""
    mean = tensor.mean((2, 3))
    return torch.cat([mean, mean * size_offset(tensor), tensor.amax((2, 3))], 1)


def value_pool(tensor: Tensor) -> Tensor:
    """Pool [B, C, H, W] to [B, 3C]: mean, mean by size, mean by the square of size."""
    mean = tensor.mean((2, 3))
    offset = size_offset(tensor)
    return torch.cat([mean, mean * offset, mean * (offset * offset - VALUE_POOL_OFFSET)], 1)


def estimates(owner: Tensor, features: Tensor) -> Tensor:
    """Return [B, ESTIMATES] what ownership logits [B, H, W] come to with the mover's komi."""
    points = owner.float().tanh()
    lead = points.sum((1, 2)) + KOMI_UNIT * features[:, OWN_KOMI]
    spread = (1.0 + (1.0 - points * points).sum((1, 2))).sqrt()
    return torch.stack([lead / SCORE_UNIT, spread / SCORE_UNIT, (lead / spread / 2).tanh()], 1)


def _conv(inputs: int, outputs: int, side: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, side, padding=side // 2, bias=False)


class Stem(nn.Module):
    """Planes and globals to the trunk's first map."""

    def __init__(self, shape: TowerShape) -> None:
        super().__init__()
        self.conv = _conv(shape.planes, shape.channels, 3)
        self.globals = nn.Linear(shape.features, shape.channels, bias=False)
        self.norm = RunningNorm(shape.channels)

    def forward(self, spatial: Tensor, features: Tensor) -> Tensor:
        """Return [B, C, H, W] of [B, P, H, W] planes and [B, G] globals."""
        everywhere = self.globals(features)[:, :, None, None]
        return functional.relu(self.norm(self.conv(spatial) + everywhere))


class Block(nn.Module):
    """A residual block; with pooling, the whole board adds a bias to every point."""

    def __init__(self, channels: int, pooled: bool) -> None:
        super().__init__()
        self.conv1 = _conv(channels, channels, 3)
        self.norm1 = RunningNorm(channels)
        self.conv2 = _conv(channels, channels, 3)
        self.pool = nn.Linear(POOLS * channels, channels, bias=False) if pooled else None
        self.norm2 = RunningNorm(channels)

    def forward(self, trunk: Tensor) -> Tensor:
        """Map [B, C, H, W] to the same shape."""
        inner = functional.relu(self.norm1(self.conv1(trunk)))
        outer = self.conv2(inner)
        if self.pool is not None:
            outer = outer + self.pool(pool(inner))[:, :, None, None]
        return functional.relu(trunk + self.norm2(outer))


class PolicyHead(nn.Module):
    """Logits of every point and of the pass."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.gather = _conv(channels, width, 1)
        self.gather_norm = RunningNorm(width)
        self.conv = _conv(channels, width, 1)
        self.pool = nn.Linear(POOLS * width, width, bias=False)
        self.norm = RunningNorm(width)
        self.out = _conv(width, 1, 1)
        self.pass_hidden = nn.Linear(POOLS * width, width, bias=False)
        self.pass_norm = RunningNorm(width)
        self.pass_out = nn.Linear(width, 1)

    def forward(self, trunk: Tensor) -> Tensor:
        """Return [B, H * W + 1]."""
        pooled = pool(functional.relu(self.gather_norm(self.gather(trunk))))
        local = self.conv(trunk) + self.pool(pooled)[:, :, None, None]
        points = self.out(functional.relu(self.norm(local))).flatten(1)
        hidden = functional.relu(self.pass_norm(self.pass_hidden(pooled)))
        return torch.cat([points, self.pass_out(hidden)], 1)


class ValueHead(nn.Module):
    """Outcome, score and ownership."""

    def __init__(self, channels: int, width: int, hidden: int) -> None:
        super().__init__()
        self.conv = _conv(channels, width, 1)
        self.norm = RunningNorm(width)
        self.hidden = nn.Linear(POOLS * width + ESTIMATES, hidden, bias=False)
        self.hidden_norm = RunningNorm(hidden)
        self.out = nn.Linear(hidden + ESTIMATES, 3)
        self.score = nn.Linear(hidden + ESTIMATES, len(SCORE_COLUMNS))
        self.ownership = _conv(width, 1, 1)
        with torch.no_grad():
            self.out.bias[2] = UNTRAINED_NO_RESULT_LOGIT

    def forward(self, trunk: Tensor, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return value logits [B, 3], score in points [B, 3], ownership logits [B, H, W]."""
        local = functional.relu(self.norm(self.conv(trunk)))
        owner = self.ownership(local).squeeze(1)
        known = estimates(owner, features)
        hidden = self.hidden(torch.cat([value_pool(local), known], 1))
        hidden = torch.cat([functional.relu(self.hidden_norm(hidden)), known], 1)
        mean, spread, lead = self.score(hidden).float().split(1, 1)
        score = SCORE_UNIT * torch.cat([mean, functional.softplus(spread), lead], 1)
        return self.out(hidden), score, owner


class Tower(nn.Module):
    """The whole net, for batches of one board size each."""

    def __init__(self, shape: TowerShape) -> None:
        """Initialise for training."""
        super().__init__()
        self.shape = shape
        self.stem = Stem(shape)
        self.blocks = nn.ModuleList(
            Block(shape.channels, shape.is_pooled(block)) for block in range(shape.blocks)
        )
        self.policy = PolicyHead(shape.channels, shape.head_channels)
        self.value = ValueHead(shape.channels, shape.head_channels, shape.value_hidden)
        draw_residual_weights(self)
        with torch.no_grad():
            for name in ESTIMATE_READERS:
                self.get_parameter(f"{name}.weight")[:, -ESTIMATES:] = 0.0

    def forward(self, spatial: Tensor, features: Tensor) -> NetOutputs:
        """Evaluate [B, P, H, W] planes (any number type) and [B, G] globals."""
        trunk = self.stem(spatial.float(), features)
        for block in self.blocks:
            trunk = block(trunk)
        value, score, owner = self.value(trunk, features)
        return NetOutputs(self.policy(trunk).float(), value.float(), score, owner.float())
