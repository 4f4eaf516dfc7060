"""A described net as a PyTorch module, with the same names for the same arrays.

Every hidden layer, dense ones included, is followed by a norm; without it the value head dies at
the learning rates the convolutions like.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtp_export.architectures.layers import SIZE_CENTER, SIZE_SCALE
from gtp_export.architectures.shape import Shape, list_arrays
from gtp_export.architectures.tower import (
    ESTIMATE_READERS,
    ESTIMATES,
    UNTRAINED_NO_RESULT_LOGIT,
    TowerShape,
)
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.running_norm import RunningNorm

PLAIN_OUTPUT_GAIN = 0.3
"""Untrained outputs of nets without residual blocks are mild."""


class Net(nn.Module):
    """The net of a shape, for batches of one board size each."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        arrays = list_arrays(shape)
        for name, size in arrays.shapes.items():
            path, _, kind = name.rpartition(".")
            if path not in arrays.layers_before:
                self._module(path).register_parameter(kind, nn.Parameter(torch.zeros(size)))
            elif kind == "weight":
                above, _, last = path.rpartition(".")
                self._module(above).add_module(last, RunningNorm(*size))
        self._draw_weights()

    def _module(self, path: str) -> nn.Module:
        """Return the module that holds the arrays below a dotted path, made where it is missing."""
        module: nn.Module = self
        for part in path.split(".") if path else []:
            if part not in module._modules:
                module.add_module(part, nn.Module())
            module = module.get_submodule(part)
        return module

    def _draw_weights(self) -> None:
        """Draw matrices and kernels as in He et al. 2015, "Delving Deep into Rectifiers", eq. 10.

        Residual blocks, which end in a norm called `norm2`, start close to the identity.
        """
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() > 1:
                    nn.init.kaiming_normal_(parameter, nonlinearity="relu")
                if name.endswith("norm2.weight"):
                    parameter.fill_(0.5)
                if name == "out.weight":
                    parameter.mul_(PLAIN_OUTPUT_GAIN)
            if isinstance(self.shape, TowerShape):
                for name in ESTIMATE_READERS if "ownership" in self.shape.heads else ():
                    self.get_parameter(f"{name}.weight")[:, -ESTIMATES:] = 0.0
                self.get_parameter("value.out.bias")[2] = UNTRAINED_NO_RESULT_LOGIT

    def forward(self, spatial: Tensor, features: Tensor) -> NetOutputs:
        """Evaluate [B, P, H, W] planes (any number type) and [B, G] globals."""
        # Convolutions keep the layout of their input; with channels last they train a fifth faster.
        planes = spatial.to(torch.float32, memory_format=torch.channels_last)
        heads = self.shape.compute(TorchLayers(self, spatial), planes, features)
        return NetOutputs(
            heads.get("policy"), heads.get("value"), heads.get("score"), heads.get("ownership")
        )


class TorchLayers:
    """Computes layers with a net's arrays; the interface is `Layers`."""

    def __init__(self, net: nn.Module, spatial: Tensor) -> None:
        self._net = net
        self.size_offset = size_offset(spatial)

    def conv(
        self,
        name: str,
        tensor: Tensor,
        channels: int,
        side: int,
        *,
        norm: str = "",
        bias: bool = False,
        everywhere: tuple[str, Tensor] | None = None,
    ) -> Tensor:
        layer = self._net.get_submodule(name)
        local = functional.conv2d(
            tensor, layer.weight, layer.bias if bias else None, padding=side // 2
        )
        if everywhere is not None:
            other, vector = everywhere
            weight = self._net.get_parameter(f"{other}.weight")
            local = local + functional.linear(vector, weight)[:, :, None, None]
        return self._end(local, norm)

    def dense(self, name: str, tensor: Tensor, channels: int, *, norm: str = "") -> Tensor:
        layer = self._net.get_submodule(name)
        product = functional.linear(tensor, layer.weight, None if norm else layer.bias)
        return self._end(product, norm)

    def _end(self, tensor: Tensor, norm: str) -> Tensor:
        """Normalise, or give an output the precision that its loss needs."""
        return self._net.get_submodule(norm)(tensor) if norm else tensor.float()

    relu = staticmethod(functional.relu)
    tanh = staticmethod(torch.tanh)
    sqrt = staticmethod(torch.sqrt)
    softplus = staticmethod(functional.softplus)

    def join(self, *tensors: Tensor) -> Tensor:
        return torch.cat(tensors, 1)

    def split(self, tensor: Tensor, *channels: int) -> list[Tensor]:
        return list(tensor.split(channels, 1))

    def mean(self, tensor: Tensor) -> Tensor:
        return tensor.mean((2, 3), keepdim=True)

    def maximum(self, tensor: Tensor) -> Tensor:
        return tensor.amax((2, 3), keepdim=True)

    def halve(self, tensor: Tensor) -> Tensor:
        return functional.max_pool2d(tensor, 2)

    def total(self, tensor: Tensor) -> Tensor:
        return tensor.flatten(1).sum(1, keepdim=True)

    def flat(self, tensor: Tensor) -> Tensor:
        return tensor.flatten(1)

    def plane(self, tensor: Tensor) -> Tensor:
        return tensor.squeeze(1)

    def any_of(self, tensor: Tensor) -> Tensor:
        return tensor.amax(1, keepdim=True)

    def sum_of(self, tensor: Tensor) -> Tensor:
        return tensor.sum(1, keepdim=True)

    def numbers(self, tensor: Tensor) -> Tensor:
        _, _, height, width = tensor.shape
        counted = torch.arange(1, height * width + 1, device=tensor.device)
        return counted.to(tensor.dtype).view(1, 1, height, width)

    def neighbours(self, tensor: Tensor) -> Tensor:
        column = functional.max_pool2d(tensor, (3, 1), 1, (1, 0))
        return torch.maximum(column, functional.max_pool2d(tensor, (1, 3), 1, (0, 1)))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, heads: int, width: int
    ) -> Tensor:
        query, key, value = (
            tensor.flatten(2).unflatten(1, (heads, width)).transpose(2, 3)
            for tensor in (queries, keys, values)
        )
        read = functional.scaled_dot_product_attention(query, key, value)
        return read.transpose(2, 3).flatten(1, 2).view_as(queries)

    def gather(self, tensor: Tensor, places: Tensor) -> Tensor:
        values, index = _indexed(tensor, places)
        return values.gather(2, index).view_as(tensor)

    def scatter(self, tensor: Tensor, places: Tensor, reduction: str) -> Tensor:
        values, index = _indexed(tensor, places)
        if reduction == "max":
            told = values.scatter_reduce(2, index, values, "amax")
        else:
            told = torch.zeros_like(values).scatter_add(2, index, values)
        return told.view_as(tensor)


def size_offset(tensor: Tensor) -> float:
    """Return (s - 14) / 10 with s the square root of the points of [B, C, H, W]."""
    side = (tensor.shape[2] * tensor.shape[3]) ** 0.5
    return float((side - SIZE_CENTER) / SIZE_SCALE)


def _indexed(tensor: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Return [B, C, H * W] of both, the places as numbers for each channel."""
    values = tensor.flatten(2)
    return values, places.flatten(2).long().expand_as(values)
