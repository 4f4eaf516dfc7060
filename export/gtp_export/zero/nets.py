"""The nets of a run: their files, what is known of each, and the first one."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.files import read_file, write_whole
from gtp_engine.games import FIVE, game_shown
from gtp_engine.go.rules import ATARI_GO
from gtp_export.architectures.net_file import describe_net, write_net
from gtp_export.architectures.presets import find_preset
from gtp_export.architectures.shape import Shape
from gtp_export.architectures.tower import random_weights
from gtp_export.convert.onnx_file import info_of
from gtp_export.run_settings import read_record
from gtp_export.zero.settings import MOST_NET_BYTES, RunFolder, Settings, content_name


@dataclass(frozen=True)
class NetRecord:
    """How a net came about; what stands in the *.json beside it."""

    name: str
    steps: int = 0
    """Of training."""
    samples: int = 0
    """Trained on."""
    positions: int = 0
    """In all shards at that time."""
    losses: dict[str, float] | None = None
    precision: str = "fp32"


def shape_of(settings: Settings) -> Shape:
    """Return the architecture of a run's nets.

    Raises:
        NetFileError: There is none of that name, or it is for another game, not for search, or for
            one size of the board where there are several.
    """
    shape = find_preset(settings.preset).for_size(settings.size).shape
    if (game_shown(shape.encoder) == FIVE) != (settings.game == FIVE):
        raise NetFileError(f"nets of the preset {settings.preset} do not play {settings.game}")
    if not {"policy", "value"} <= set(shape.heads):
        raise NetFileError(f"nets of the preset {settings.preset} lack a policy or a value")
    if shape.board_size is not None and len(settings.sizes) > 1:
        raise NetFileError(f"nets of the preset {settings.preset} take boards of one size only")
    return shape


def describe_own(settings: Settings, steps: int) -> NetInfo:
    """Return the description of a run's net after so many steps."""
    size = settings.size
    boards = " to ".join(f"{one}x{one}" for one in sorted({settings.sizes[0], size}))
    rules = f", {settings.rules.replace(',', ', ')}" if settings.rules else ""
    own = f"{settings.game} on {boards}{rules}"
    source = "learned from nothing but games with itself"
    if settings.start:
        source = f"begun with {Path(settings.start).name}, then learned from games with itself"
    return describe_net(
        shape_of(settings),
        f"zero-{settings.game}-{size}x{size}-{steps}",
        trained_sizes=(settings.sizes[0], size),
        rules=ATARI_GO if settings.game == ATARI_GO else "any",
        source=f"{source}, recipe {settings.recipe}",
        trained_on="; then ".join(filter(None, (settings.learned_before, own))),
        licence=settings.licence,
        created_by="gtp-export zero",
    )


def add_net(run: RunFolder, file: Path, record: NetRecord) -> str:
    """Put a net where the others are, under the hash of its content; return that name.

    Raises:
        OSError: It cannot be written.
    """
    content = read_file(file, MOST_NET_BYTES)
    name = content_name(content)
    # The record first: a net that can be seen has one.
    write_whole(run.nets / f"{name}.json", json.dumps(asdict(replace(record, name=name))))
    write_whole(run.net(name), content)
    return name


def add_first_net(run: RunFolder, settings: Settings) -> None:
    """Write the net that the run begins with: the one it goes on from, or random weights."""
    if settings.start:
        start = Path(settings.start)
        add_net(run, start, NetRecord("", precision=info_of(start).precision))
        return
    file = run.path / "first.onnx"
    shape = shape_of(settings)
    info = describe_own(settings, 0)
    write_net(file, shape, random_weights(shape, settings.seed), info)
    add_net(run, file, NetRecord(""))
    file.unlink()


def first_net(run: RunFolder) -> Path | None:
    """Return the net that a run began with; None before there is one."""
    return next((run.net(net.name) for net in list_nets(run, {}) if net.steps == 0), None)


def list_nets(run: RunFolder, known: dict[str, NetRecord]) -> list[NetRecord]:
    """Return all whole nets of a run, the newest last; those that are known are not read again.

    Args:
        known: By name; what is found is added.
    """
    for path in run.nets.glob("*.onnx"):
        if path.stem not in known:
            try:
                known[path.stem] = read_record(path.with_suffix(".json"), NetRecord)
            except (OSError, ValueError):
                continue
    return sorted(known.values(), key=lambda net: (net.steps, net.name))
