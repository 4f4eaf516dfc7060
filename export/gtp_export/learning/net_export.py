"""Write a net in training as a finished net file, and see that the file computes the same."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import OnnxNet
from gtp_export.architectures.net_file import write_net
from gtp_export.convert.graph import GraphError
from gtp_export.learning.batch import Batch
from gtp_export.learning.torch_layers import Net
from gtp_export.learning.trainer import TrainError


@dataclass(frozen=True)
class NetExport:
    """Writes nets to a folder; can be sent to another process."""

    folder: Path
    info: NetInfo

    def __call__(self, net: Net, stem: str) -> None:
        """Write `stem`.onnx, all of it or nothing.

        Raises:
            NetFileError: The net puts out what is not finite.
            OSError: The file cannot be written.
        """
        path = self.folder / f"{stem}.onnx"
        try:
            write_net(path, net.shape, weights_of(net), self.info)
        except GraphError as error:
            raise NetFileError(f"{path}: {error}") from None


def weights_of(net: Net) -> dict[str, NDArray[np.float32]]:
    """Return [*arrays_of(net.shape)[name]] all arrays of a net by name."""
    state = net.state_dict().items()
    return {name: tensor.detach().float().cpu().numpy().copy() for name, tensor in state}


TOLERANCE = 0.05
"""Of logits and points: far beyond rounding, also of weights that are stored as bytes."""


def check_parity(net: Net, path: Path, batch: Batch) -> dict[str, float]:
    """Return the largest difference between a net and its file on a batch, by head.

    Raises:
        TrainError: A difference is beyond TOLERANCE.
        NetFileError: The file cannot be run.
    """
    written = OnnxNet(path, "cpu").run(batch.spatial.cpu().numpy(), batch.features.cpu().numpy())
    with torch.no_grad():
        mine = net(batch.spatial, batch.features)
    owner = mine.ownership_logit
    pairs = {
        "policy": (mine.policy, written.policy),
        "value": (mine.value, written.value),
        "score": (mine.score, written.score),
        "ownership": (None if owner is None else owner.tanh(), written.ownership),
    }
    found = {
        name: float(np.abs(a.float().cpu().numpy() - b).max())
        for name, (a, b) in pairs.items()
        if a is not None and b is not None
    }
    for name, difference in found.items():
        if not difference <= TOLERANCE:
            raise TrainError(f"{path}: its {name} is {difference:.3g} off the net in training")
    return found
