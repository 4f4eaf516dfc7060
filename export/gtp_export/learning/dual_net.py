"""The net of `architectures.dual` as a PyTorch module, same names for the same arrays."""

from torch import Tensor, nn
from torch.nn import functional

from gtp_export.architectures.dual import DualShape
from gtp_export.learning.outputs import NetOutputs
from gtp_export.learning.running_norm import RunningNorm
from gtp_export.learning.starting_weights import draw_residual_weights


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
