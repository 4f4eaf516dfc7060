"""Architectures by name, and how each is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.games import FIVE, game_shown
from gtp_engine.go.rules import GO
from gtp_export.architectures.dual import DualShape
from gtp_export.architectures.plain import OWNERSHIP, POLICY, VALUE, PlainShape
from gtp_export.architectures.shape import Shape
from gtp_export.architectures.tower import TOWERS, TowerShape

_TOWER_WEIGHTS = {"policy": 1.0, "value": 1.0, "score": 0.1, "ownership": 2.0}
"""Final boards are known of few games, so their share of the gradient is raised."""


@dataclass(frozen=True)
class Preset:
    """An architecture and how it learns from game records."""

    shape: Shape
    summary: str
    learning_rate: float = 0.06
    """Peak."""
    adam: bool = False
    """Whether Adam moves the weights instead of SGD with Nesterov momentum."""
    loss_weights: Mapping[str, float] = field(default_factory=lambda: dict(_TOWER_WEIGHTS))
    shifts: bool = False
    """Whether positions are learned moved about the board as well, as far as stones stay on it."""
    squared_ownership: bool = False
    """Whether ownership is learned by squared errors of the chance instead of cross-entropy."""

    def for_size(self, size: int) -> "Preset":
        """Return the preset for square boards of a size, where it takes one only."""
        shape = self.shape
        if isinstance(shape, PlainShape | DualShape) and shape.board_size is not None:
            return replace(self, shape=replace(shape, board_size=size))
        return self


def _tower(shape: TowerShape) -> Preset:
    of_five = game_shown(shape.encoder) == FIVE
    heads = "policy and value of five in a row" if of_five else "every head"
    blocks = "nested blocks" if shape.nested else "residual blocks"
    reads = "global pooling and attention" if shape.attention else "global pooling"
    return Preset(shape, f"tower of {blocks} with {reads}, {heads}, all board sizes")


def _alphago(filters: int, summary: str) -> Preset:
    shape = PlainShape("alphago48", ((5, filters), *((3, filters),) * 11), POLICY)
    return Preset(shape, summary, learning_rate=0.03)


def _gocnn(encoder: str, pools_chains: bool, summary: str) -> Preset:
    layers = ((5, 64), (5, 64), (5, 64), (5, 48), (5, 48))
    shape = PlainShape(encoder, layers, OWNERSHIP, head_side=5, pools_chains=pools_chains)
    weights = {"ownership": 8.0}
    return Preset(shape, summary, 0.02, loss_weights=weights, squared_ownership=True)


def _pierre(
    layers: tuple[tuple[int, int], ...],
    halved: tuple[int, ...],
    dense: tuple[int, int],
    summary: str,
) -> Preset:
    shape = PlainShape("five4", layers, POLICY, 1, dense, board_size=15, halved_after=halved)
    return Preset(shape, summary, 0.002, adam=True, shifts=True)


PRESETS = {
    **{name: _tower(shape) for name, shape in TOWERS.items()},
    "dlgo-small": Preset(
        PlainShape(
            encoder="dlgo1",
            convolutions=((7, 48), (5, 32), (5, 32), (5, 32)),
            head=POLICY,
            dense=(512,),
            board_size=19,
            has_pass=True,
            is_difference=True,
        ),
        "the small net of Deep Learning and the Game of Go, which sees stones alone",
        learning_rate=0.001,
        adam=True,
    ),
    "alphago-sl": _alphago(48, "AlphaGo's supervised policy net, 48 filters instead of 192"),
    "alphago-sl-192": _alphago(192, "the same in full size"),
    "alphago-value": Preset(
        PlainShape(
            "alphago49", ((5, 48), *((3, 48),) * 11, (1, 1)), VALUE, dense=(256,), board_size=19
        ),
        "AlphaGo's value net, 48 filters; see --recipe single-position",
        learning_rate=0.03,
        loss_weights={"value": 1.0},
    ),
    "gocnn": _gocnn("gocnn8", False, "GoCNN's estimate of the final owner of each point"),
    "gocnn-chain": _gocnn("gocnn8", True, "the same with maxima over chains"),
    "gocnn-chain21": _gocnn("gocnn21", True, "the same with recent moves and the age of stones"),
    "pierre": _pierre(
        ((5, 32), (5, 32), (5, 48), (5, 48)),
        (1, 3),
        (512, 256),
        "Pierre's policy net for five in a row, 0.5 M weights instead of 15 M; see docs/five.md",
    ),
    "pierre-rollout": _pierre(
        ((5, 24), (3, 24), (3, 24)), (1,), (128, 128), "the net that plays his rollouts"
    ),
    "agz-dual": Preset(
        DualShape(blocks=4, channels=48),
        "AlphaGo Zero's policy and value net in the size of tutorials",
        loss_weights={"policy": 1.0, "value": 1.0},
    ),
}
"""`tiny` is for trying things out."""


def find_preset(name: str) -> Preset:
    """Return a preset.

    Raises:
        NetFileError: There is none of that name.
    """
    if name not in PRESETS:
        raise NetFileError(f"unknown preset {name!r}; known are {', '.join(PRESETS)}")
    return PRESETS[name]


def preset_of(path: Path, info: NetInfo) -> str:
    """Return the name of the preset whose architecture a net has.

    Raises:
        NetFileError: It has no policy, or was not made here.
    """
    if "policy" not in info.heads:
        raise NetFileError(f"{path}: has no policy, so it cannot learn how moves are chosen")
    for name, preset in PRESETS.items():
        shape = preset.for_size(info.board_max).shape
        if (shape.encoder, shape.describe()) == (info.encoder, info.architecture):
            return name
    raise NetFileError(f"{path}: this program cannot train its architecture: {info.architecture}")


def find_tower(name: str) -> TowerShape:
    """Return the shape of a tower for Go, which every teacher's answers fit.

    Raises:
        NetFileError: There is none of that name.
    """
    known = {name: shape for name, shape in TOWERS.items() if game_shown(shape.encoder) == GO}
    if name not in known:
        raise NetFileError(f"unknown preset {name!r}; known are {', '.join(known)}")
    return known[name]
