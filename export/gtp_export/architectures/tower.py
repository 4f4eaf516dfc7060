"""The shape of this project's own nets: a residual tower with global pooling, free of board size.

Only sizes and names live here, so that the ONNX writer and the random test net need no torch:

    stem      3x3 convolution of the planes plus a linear map of the globals, norm, relu
    blocks    3x3 convolution, norm, relu, 3x3 convolution (+ pooled bias), norm, add, relu
    policy    1x1 convolution plus a bias from pooled features, norm, relu, 1x1 convolution;
              the pass comes from the pooled features alone
    value     1x1 convolution, norm, relu; ownership is a 1x1 convolution of that; pooling, what
              the ownership comes to, dense layer, norm, relu, and that with it again, outputs

The board fills the tensor: there is no mask, and the zero padding marks the edge. Pooled features
are mean, mean * (s - 14) / 10 and maximum over the board, with s the square root of its points;
the value head pools mean, mean * (s - 14) / 10 and mean * ((s - 14)^2 / 100 - 0.1). (Both as in
Wu 2019, "Accelerating Self-Play Learning in Go", appendix A.) What the ownership comes to is, with
o each point's -1..1: the lead l, that is the sum of o and own komi; the spread d, the root of 1
plus the sum of 1 - o^2; and tanh(l / 2d).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtp_engine.evaluators.net_info import VALUE_WIN_LOSS_NORESULT
from gtp_export.architectures.shape import Shape, norm_arrays

POOLS = 3
"""Pooled features a channel."""
SCORE_COLUMNS = ("score_mean", "score_stdev", "lead")
SCORE_UNIT = 20.0
"""Points that one unit of a raw score output stands for."""
SIZE_CENTER, SIZE_SCALE = 14.0, 10.0
VALUE_POOL_OFFSET = 0.1
ESTIMATES = 3
"""Numbers that the ownership comes to."""
ESTIMATE_READERS = ("value.hidden", "value.out", "value.score")
"""Layers whose last inputs these are. Untrained they take no account of them: what a random
ownership comes to is far beyond any score."""
OWN_KOMI, KOMI_UNIT = 5, 20.0
"""Where the globals hold the mover's komi, and how many points 1 is there."""
UNTRAINED_NO_RESULT_LOGIT = -5.0
_OUTPUT_GAINS = {
    "policy.out": 1.5,
    "policy.pass_out": 1.0,
    "value.out": 0.3,
    "value.score": 0.1,
    "value.ownership": 0.3,
}


HEADS = {
    "policy": "logits by action, pass last",
    "value": "logits of win, loss and no result, for the side to move",
    "score": "points for the side to move, before the chance of no result",
    "ownership": "-1..1 per point, 1 is the side to move's",
}


@dataclass(frozen=True)
class TowerShape:
    """The numbers that define a tower."""

    blocks: int
    channels: int
    """Channels of the trunk; multiples of 32 run best in int8."""
    head_channels: int = 32
    value_hidden: int = 64
    planes: int = 22
    features: int = 19
    """Globals."""

    # The same for every tower; see `Shape`.
    encoder = "katago_v7"
    board_size = None
    heads = HEADS
    has_pass = True
    value_kind = VALUE_WIN_LOSS_NORESULT

    def is_pooled(self, block: int) -> bool:
        """Whether a block adds a bias computed from the whole board."""
        return block % 3 == 1

    def describe(self) -> str:
        """Return the architecture in a phrase."""
        return (
            f"{self.blocks} post-activation residual blocks x {self.channels} channels, 3x3, "
            f"global pooling in every third; heads of {self.head_channels} channels"
        )

    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight and running statistic by name."""
        c, h, v = self.channels, self.head_channels, self.value_hidden
        shapes: dict[str, tuple[int, ...]] = {
            "stem.conv.weight": (c, self.planes, 3, 3),
            "stem.globals.weight": (c, self.features),
            **norm_arrays("stem.norm", c),
        }
        for block in range(self.blocks):
            name = f"blocks.{block}"
            shapes[f"{name}.conv1.weight"] = (c, c, 3, 3)
            shapes |= norm_arrays(f"{name}.norm1", c)
            shapes[f"{name}.conv2.weight"] = (c, c, 3, 3)
            if self.is_pooled(block):
                shapes[f"{name}.pool.weight"] = (c, POOLS * c)
            shapes |= norm_arrays(f"{name}.norm2", c)
        return shapes | {
            "policy.gather.weight": (h, c, 1, 1),
            **norm_arrays("policy.gather_norm", h),
            "policy.conv.weight": (h, c, 1, 1),
            "policy.pool.weight": (h, POOLS * h),
            **norm_arrays("policy.norm", h),
            "policy.out.weight": (1, h, 1, 1),
            "policy.pass_hidden.weight": (h, POOLS * h),
            **norm_arrays("policy.pass_norm", h),
            "policy.pass_out.weight": (1, h),
            "policy.pass_out.bias": (1,),
            "value.conv.weight": (h, c, 1, 1),
            **norm_arrays("value.norm", h),
            "value.hidden.weight": (v, POOLS * h + ESTIMATES),
            **norm_arrays("value.hidden_norm", v),
            "value.out.weight": (3, v + ESTIMATES),
            "value.out.bias": (3,),
            "value.score.weight": (len(SCORE_COLUMNS), v + ESTIMATES),
            "value.score.bias": (len(SCORE_COLUMNS),),
            "value.ownership.weight": (1, h, 1, 1),
        }


TOWERS = {
    "tiny": TowerShape(blocks=2, channels=16, head_channels=16, value_hidden=16),
    "b4c32": TowerShape(blocks=4, channels=32),
    "b4c48": TowerShape(blocks=4, channels=48),
    "b6c64": TowerShape(blocks=6, channels=64),
    "b6c96": TowerShape(blocks=6, channels=96),
    "b10c128": TowerShape(blocks=10, channels=128),
    "b14c160": TowerShape(blocks=14, channels=160),
}
"""Named sizes; `tiny` is for trying things out, and the largest has 6.9 million weights."""


def random_weights(shape: Shape, seed: int) -> dict[str, NDArray[np.float32]]:
    """Return seeded weights, [*shape.arrays()[name]] each, of an untrained net of mild opinions.

    Hidden layers keep the size of their inputs; the outputs are scaled down so that the policy is
    near uniform and the values near zero, without two positions getting the same answer.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    weights = {}
    for name, size in shape.arrays().items():
        if name.endswith(("norm.weight", "norm1.weight", "norm2.weight", "running_var")):
            array = np.ones(size)
        elif len(size) == 1:
            array = np.zeros(size)
        else:
            reader = name.removesuffix(".weight") in ESTIMATE_READERS
            size = (size[0], size[1] - ESTIMATES) if reader else size
            gain = next((gain for part, gain in _OUTPUT_GAINS.items() if part in name), 1.0)
            array = generator.standard_normal(size) * gain / np.sqrt(np.prod(size[1:]))
            array = np.pad(array, ((0, 0), (0, ESTIMATES))) if reader else array
        weights[name] = array.astype(np.float32)
    if "value.out.bias" in weights:
        weights["value.out.bias"][2] = UNTRAINED_NO_RESULT_LOGIT
    return weights
