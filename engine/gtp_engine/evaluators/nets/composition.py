"""Nets of several files, which to everything else look like one.

The policy may come from one, the value from another, ownership from a third: a `ComposedNet`. Its
planes are those of its parts one after the other, each encoder's once: a part reads its own slice
of them, whoever else reads it too. Or each file judges boards of some sizes: a `SizedNet`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import MAX_SIZE
from gtp_engine.evaluators.nets.net_files import PART_HEADS, NetFiles, find_parts
from gtp_engine.evaluators.nets.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets.onnx_net import FloatArray, OnnxNet, RawOutputs
from gtp_engine.evaluators.nets.precision import open_best
from gtp_engine.evaluators.runtimes.sessions import AUTO, ONNX_RUNTIME
from gtp_engine.games import FIVE, game_shown

_COMPANIONS = {"policy": ("policy_optimistic", "q_winloss", "q_score")}
"""Outputs that come from the same file as a head."""


@dataclass(frozen=True)
class Share:
    """What one encoder fills of the inputs."""

    encoder: str
    suicide_alive: int
    """See `inputs.Seen`."""
    planes: slice
    features: slice


class _Members:
    """Some open nets."""

    members: tuple[OnnxNet, ...]

    @property
    def runtime(self) -> str:
        """What runs the nets; ONNX Runtime if they differ."""
        runtimes = {net.runtime for net in self.members}
        return runtimes.pop() if len(runtimes) == 1 else ONNX_RUNTIME

    @property
    def device(self) -> str:
        """Where all the nets run now; "cpu" if some have left the GPU."""
        devices = {net.device for net in self.members}
        return devices.pop() if len(devices) == 1 else "cpu"


class SizedNet(_Members):
    """Some open nets, each for the boards of some sizes, with the face of an `OnnxNet`."""

    def __init__(self, members: Sequence[OnnxNet], sides: Sequence[int]) -> None:
        """Join nets.

        Args:
            sides: The longest side of each net's boards, the smallest first; the last net takes
                all others.

        Raises:
            NetFileError: They do not read the same inputs or have the same outputs.
        """
        self.members = tuple(members)
        self._sides = sides
        last = self.members[-1]
        for net in self.members:
            if _face(net) != _face(last):
                raise NetFileError(f"{net.path}: has other inputs or outputs than {last.path}")
        self.path = last.path
        self.info = last.info
        self.small_boards = ", ".join(
            f"{net.info.name} up to {side}x{side}"
            for net, side in zip(self.members[:-1], self._sides, strict=False)
        )
        """Which nets judge the small ones, for people."""

    @property
    def file_bytes(self) -> int:
        """Bytes of the largest file; one alone judges a board."""
        return max(net.file_bytes for net in self.members)

    def for_board(self, width: int, height: int) -> OnnxNet:
        """Return the net that judges boards of a size; the last one where none takes them."""
        for net, side in zip(self.members, self._sides, strict=True):
            if max(width, height) <= side and net.info.accepts(width, height):
                return net
        return self.members[-1]

    def prepare(self, batch: int, width: int, height: int) -> list[Thread]:
        """Get the net of a board ready; see `OnnxNet.prepare`."""
        return self.for_board(width, height).prepare(batch, width, height)

    def run(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        """Evaluate a batch by the net of its board; see `OnnxNet.run`."""
        height, width = spatial.shape[2:]
        return self.for_board(width, height).run(spatial, features)


class ComposedNet(_Members):
    """Some open nets as one, with the face of an `OnnxNet`."""

    def __init__(self, members: Sequence[OnnxNet], asked: Sequence[Sequence[str]]) -> None:
        """Join nets.

        Args:
            asked: The heads that each net is asked for; none where it may give all it has.

        Raises:
            NetFileError: A net lacks a head it is asked for, gives nothing that another does not
                give, or there is no board that all of them take.
        """
        self.members = tuple(members)
        self.path = Path("+".join(str(net.path) for net in self.members))
        self.givers = _assign_heads(self.members, asked)
        """Which of the members each head comes from."""
        self._shares = _share_inputs(self.members)
        self.info = _joined_info(self.members, self.givers, self.shares)

    @property
    def shares(self) -> list[Share]:
        """What each encoder fills of the inputs."""
        return list(self._shares.values())

    @property
    def file_bytes(self) -> int:
        """Bytes of all files, for all of them judge each board."""
        return sum(net.file_bytes for net in self.members)

    def prepare(self, batch: int, width: int, height: int) -> list[Thread]:
        """Get each net ready; see `OnnxNet.prepare`."""
        threads = [net.prepare(batch, width, height) for net in self.members]
        return [thread for several in threads for thread in several]

    def run(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        """Evaluate [B, C, H, W] planes, [B, G + M] features by each net; see `OnnxNet.run`."""
        n_globals = self.info.global_features
        found = []
        for net in self.members:
            share = self._shares[_input_of(net)]
            told = features[:, share.features]
            if net.info.meta_features:
                told = np.concatenate([told, features[:, n_globals:]], axis=1)
            found.append(net.run(np.ascontiguousarray(spatial[:, share.planes]), told))

        givers = {**self.givers, "policy_optimistic": self.givers.get("policy")}
        sources = [(givers.get(name), name) for name in RawOutputs._fields]
        return RawOutputs(
            *(None if at is None else getattr(found[at], name) for at, name in sources)
        )


Net = OnnxNet | ComposedNet | SizedNet


def open_whole(
    wanted: str | None,
    device: str,
    runtime: str = AUTO,
    threads: int | None = None,
    *,
    exactly: bool = False,
) -> Net:
    """Open what `--net` names: each file in the precision and the runtime that suit the device.

    Imports no module with kernels, which is for one thread at a time.

    Args:
        device, runtime, threads: See `open_best`.
        exactly: Whether each part runs in fp32 unless its file says otherwise.

    Raises:
        NetFileError: A file cannot be found or used, or the files do not fit together.
    """
    parts = find_parts(wanted)
    files = [part.files for part in parts]
    if exactly:
        files = [NetFiles(each.fp32, is_exact=True) for each in files]
    nets: list[OnnxNet] = []
    for each in files:
        nets.append(open_best(each, device, runtime, threads))
        if nets[0].device == "cpu":
            device = "cpu"  # if it was to be another, why it is not has been said
    if len(parts) == 1 and not parts[0].heads:
        return nets[0]
    if parts[0].largest_board is None:
        return ComposedNet(nets, [part.heads for part in parts])
    return SizedNet(nets, [part.largest_board or MAX_SIZE for part in parts])


def check_game(net: Net, game: str) -> None:
    """See that a net was made for a game; those of Go play Atari Go too.

    Raises:
        NetFileError: It was not.
    """
    for member in members_of(net):
        if (game_shown(member.info.encoder) == FIVE) != (game == FIVE):
            raise NetFileError(f"{member.path}: the net {member.info.name} does not play {game}")


def members_of(net: Net) -> tuple[OnnxNet, ...]:
    """Return the files a net consists of."""
    return net.members if isinstance(net, _Members) else (net,)


def judges_of(net: Net, width: int, height: int) -> tuple[OnnxNet, ...]:
    """Return those of a net's files that judge boards of a size."""
    return (net.for_board(width, height),) if isinstance(net, SizedNet) else members_of(net)


def _face(net: OnnxNet) -> tuple[object, ...]:
    """Return what of a net's description its callers go by."""
    info = net.info
    return (
        *(info.encoder, info.meta_features, info.pass_alive_under_suicide),
        *(set(info.heads), info.has_pass, info.value_kind, info.no_result, info.score_columns),
    )


def _assign_heads(members: Sequence[OnnxNet], asked: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return by head the number of the net that gives it."""
    givers: dict[str, int] = {}
    for number, (net, heads) in enumerate(zip(members, asked, strict=True)):
        for head in heads:
            if head not in net.info.heads:
                has = ", ".join(net.info.heads)
                raise NetFileError(f"{net.path}: has no {head}; it has {has}")
            givers[head] = number
    for number, (net, heads) in enumerate(zip(members, asked, strict=True)):
        if not heads:
            for head in PART_HEADS:
                if head in net.info.heads:
                    givers.setdefault(head, number)
    for number, net in enumerate(members):
        if number not in givers.values():
            raise NetFileError(f"{net.path}: adds nothing to the nets before it")
    return givers


def _input_of(net: OnnxNet) -> tuple[str, bool]:
    """Return what tells the inputs of nets apart."""
    return net.info.encoder, net.info.pass_alive_under_suicide


def _share_inputs(members: Sequence[OnnxNet]) -> dict[tuple[str, bool], Share]:
    """Return the slices of the inputs, by what tells them apart."""
    shares: dict[tuple[str, bool], Share] = {}
    planes = features = 0
    for net in members:
        info, key = net.info, _input_of(net)
        if key not in shares:
            shares[key] = Share(
                info.encoder,
                int(info.pass_alive_under_suicide),
                slice(planes, planes + info.spatial_planes),
                slice(features, features + info.global_features),
            )
            planes += info.spatial_planes
            features += info.global_features
    return shares


def _joined_info(
    members: Sequence[OnnxNet], givers: Mapping[str, int], shares: Sequence[Share]
) -> NetInfo:
    """Describe the whole as one net; what the nets were made for stays with the members."""
    infos = [net.info for net in members]
    policy, value, score = (infos[givers.get(head, 0)] for head in ("policy", "value", "score"))
    sizes = [size for size in infos[0].squares if all(info.accepts(size, size) for info in infos)]
    if not sizes:
        names = " and ".join(info.name for info in infos)
        raise NetFileError(f"there is no board that {names} all take")
    return NetInfo(
        name="+".join(info.name for info in infos),
        encoder=infos[0].encoder,  # of many; see the members
        encoder_version=infos[0].encoder_version,
        spatial_planes=shares[-1].planes.stop,
        global_features=shares[-1].features.stop,
        meta_features=max(info.meta_features for info in infos),
        heads={
            name: infos[number].heads[name]
            for head, number in givers.items()
            for name in (*_COMPANIONS.get(head, ()), head)
            if name in infos[number].heads
        },
        has_pass=policy.has_pass,
        value_kind=value.value_kind,
        no_result=value.no_result,
        score_columns=score.score_columns,
        board_min=sizes[0],
        board_max=sizes[-1],
        board_sizes=tuple(sizes) if any(info.board_sizes for info in infos) else (),
        square_only=any(info.square_only for info in infos),
        architecture=" + ".join(info.architecture or info.name for info in infos),
        parameters=sum(info.parameters for info in infos),
        precision=" + ".join(dict.fromkeys(info.precision for info in infos)),
    )
