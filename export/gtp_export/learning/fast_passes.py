"""Faster ways through a net in training, for the shapes of batch that come often."""

import logging
from collections import Counter
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException

from gtp_export.architectures.shape import Shape
from gtp_export.learning.batch import NetOutputs
from gtp_export.learning.torch_layers import Net

logger = logging.getLogger(__name__)

COMPILE_AFTER = 2000
"""Batches of a shape after which the net is compiled for it. That takes a minute, so it pays
only where many more will come."""
COMPILED_SHAPES = 4
"""No more than these: others are rare."""
GRAPH_AFTER = 20
"""The same for CUDA graphs. One takes a second, and memory for its shape."""
GRAPHED_SHAPES = 6


class CompiledNet:
    """A net in training, compiled for the shapes of batch that come often.

    What lies between the convolutions, half of a step, is then done in a few passes over memory
    instead of many; docs/experiments/nets.md has figures.
    """

    # Of all nets of the process, for they share what is compiled of their architecture.
    _seen: ClassVar[Counter[tuple[Shape, torch.Size]]] = Counter()
    _often: ClassVar[set[tuple[Shape, torch.Size]]] = set()

    def __init__(self, net: Net) -> None:
        self._net = net
        self._compiled = torch.compile(net, dynamic=False, fullgraph=True)
        self._works = True

    def __call__(self, spatial: Tensor, features: Tensor) -> NetOutputs:
        """Evaluate a batch; see `Net.forward`."""
        if self._works and self._comes_often(spatial.shape):
            # The backward pass too is compiled now, where a failure can still be mended; and in
            # this process, for others would stay behind when it is killed.
            with (
                torch._functorch.config.patch(force_non_lazy_backward_lowering=True),
                torch._inductor.config.patch(compile_threads=1),
            ):
                try:
                    found: NetOutputs = self._compiled(spatial, features)
                    return found
                except (TorchDynamoException, FailOnRecompileLimitHit) as error:
                    self._works = False
                    reason = " ".join(str(error).strip().splitlines()[:2])
                    logger.info(f"training goes on without compiling, which fails here: {reason}")
        outputs: NetOutputs = self._net(spatial, features)
        return outputs

    def _comes_often(self, shape: torch.Size) -> bool:
        key = self._net.shape, shape
        if key not in self._often and len(self._often) < COMPILED_SHAPES:
            self._seen[key] += 1
            if self._seen[key] > COMPILE_AFTER:
                self._often.add(key)
        return key in self._often


class GraphedNet:
    """A net in training whose passes, forward and backward, a GPU replays as CUDA graphs.

    They are a thousand small steps and more. Told one by one, they take longer to tell than to
    compute: docs/experiments/nets.md has figures.

    While one is captured, no other thread may use the GPU.
    """

    def __init__(self, net: Net) -> None:
        self._net = net
        self._seen: Counter[torch.Size] = Counter()
        self._passes: dict[torch.Size, _Pass] = {}
        self._works = True
        # What a replay gives comes from another stream than it was captured on, and harms nobody.
        silence = getattr(torch.autograd.graph, "set_warn_on_accumulate_grad_stream_mismatch", None)
        if silence is not None:
            silence(False)

    def __call__(self, spatial: Tensor, features: Tensor) -> NetOutputs:
        """Evaluate a batch under autocast without a cache; see `Net.forward`."""
        shape = spatial.shape
        if self._works and shape not in self._passes and len(self._passes) < GRAPHED_SHAPES:
            self._seen[shape] += 1
            if self._seen[shape] > GRAPH_AFTER:
                self._capture(spatial, features)
        captured = self._passes.get(shape)
        if captured is not None:
            return NetOutputs(**captured(spatial, features))
        outputs: NetOutputs = self._net(spatial, features)
        return outputs

    def _capture(self, spatial: Tensor, features: Tensor) -> None:
        kept = {name: buffer.clone() for name, buffer in self._net.named_buffers()}
        one = _Pass(self._net)
        try:
            torch.cuda.make_graphed_callables(one, (spatial.clone(), features.clone()))
            self._passes[spatial.shape] = one
        except RuntimeError as error:
            self._works = False
            reason = str(error).strip().splitlines()[0]
            logger.info(f"training goes on without CUDA graphs, which fail here: {reason}")
        # That has run the net a few times, and norms count what they see.
        with torch.no_grad():
            for name, buffer in self._net.named_buffers():
                buffer.copy_(kept[name])


class _Pass(nn.Module):
    """A net's outputs by name, those alone that it has."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.net = net

    def forward(self, spatial: Tensor, features: Tensor) -> dict[str, Tensor]:
        found = self.net(spatial, features)._asdict()
        return {name: output for name, output in found.items() if output is not None}
