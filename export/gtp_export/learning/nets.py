"""From a shape to the PyTorch module that learns it."""

from torch import nn

from gtp_export.architectures.dual import DualShape
from gtp_export.architectures.plain import PlainShape
from gtp_export.architectures.shape import Shape
from gtp_export.architectures.tower import TowerShape
from gtp_export.learning.dual_net import DualNet
from gtp_export.learning.plain_net import PlainNet
from gtp_export.learning.tower_net import Tower


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
