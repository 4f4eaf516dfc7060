"""Chains of stones in torch, as `architectures.chain_graph` has them in ONNX."""

import torch
from torch import Tensor
from torch.nn import functional

from gtp_export.architectures.chain_graph import OTHER_PLANES, OWN_PLANES, ROUNDS


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
