"""Write a net in training as a finished net file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from gtp_engine.evaluators.net_info import NetFileError, NetInfo
from gtp_export.architectures.net_file import write_net
from gtp_export.convert.graph import GraphError
from gtp_export.learning.outputs import weights_of


@dataclass(frozen=True)
class NetExport:
    """Writes nets to a folder; can be sent to another process."""

    folder: Path
    info: NetInfo

    def __call__(self, net: nn.Module, stem: str) -> None:
        """Write `stem`.onnx, all of it or nothing.

        Raises:
            NetFileError: The net puts out what is not finite.
            OSError: The file cannot be written.
        """
        shape: Any = net.shape
        path = self.folder / f"{stem}.onnx"
        try:
            write_net(path, shape, weights_of(net), self.info)
        except GraphError as error:
            raise NetFileError(f"{path}: {error}") from None
