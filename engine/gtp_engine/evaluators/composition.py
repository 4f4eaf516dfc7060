"""Nets of several files, which to everything else look like one.

The policy may come from one, the value from another, ownership from a third: a `ComposedNet`. Its
planes are those of its parts one after the other, each encoder's once: a part reads its own slice
of them, whoever else reads it too. Or each file judges boards of some sizes: a `SizedNet`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import MAX_SIZE
from gtp_engine.evaluators.encoders.inputs import (
    Encode,
    Features,
    Options,
    Planes,
    SymmetryMap,
    find_encoder,
)
from gtp_engine.evaluators.net_info import NetFileError, NetInfo
from gtp_engine.evaluators.nets import PART_HEADS, NetFiles, find_parts
from gtp_engine.evaluators.onnx_net import FloatArray, OnnxNet, RawOutputs
from gtp_engine.evaluators.precision import OpenPart, open_part
from gtp_engine.evaluators.runtimes import AUTO, ONNX_RUNTIME
from gtp_engine.games import FIVE, game_shown
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader
from gtp_engine.go.rules import RuleFlags

_COMPANIONS = {"policy": ("policy_optimistic", "q_winloss", "q_score")}
"""Outputs that come from the same file as a head."""


@dataclass(frozen=True)
class Share:
    """What one encoder fills of the inputs."""

    encode: Encode
    suicide_alive: int
    """See `inputs.Options`."""
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

    def __init__(self, parts: Sequence[OpenPart]) -> None:
        """Join nets.

        Args:
            parts: Each net with its largest board, smaller ones first; the last takes all others.

        Raises:
            NetFileError: They do not read the same inputs or have the same outputs.
        """
        self.members = tuple(part.net for part in parts)
        self._sides = [part.largest_board or MAX_SIZE for part in parts]
        last = self.members[-1]
        for net in self.members:
            if _face(net) != _face(last):
                raise NetFileError(f"{net.path}: has other inputs or outputs than {last.path}")
        self.path = last.path
        small = ", ".join(
            f"{net.info.name} on boards up to {side}x{side}"
            for net, side in zip(self.members[:-1], self._sides, strict=False)
        )
        self.info = replace(last.info, architecture=f"{last.info.architecture}; {small}")

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

    def prepare(self, batch: int, width: int, height: int) -> None:
        """Get the net of a board ready; see `OnnxNet.prepare`."""
        self.for_board(width, height).prepare(batch, width, height)

    def run(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        """Evaluate a batch by the net of its board; see `OnnxNet.run`."""
        height, width = spatial.shape[2:]
        return self.for_board(width, height).run(spatial, features)


class ComposedNet(_Members):
    """Some open nets as one, with the face of an `OnnxNet`."""

    def __init__(self, parts: Sequence[OpenPart]) -> None:
        """Join nets.

        Args:
            parts: Each net with the heads it is asked for; none where it may give all it has.

        Raises:
            NetFileError: A net lacks a head it is asked for, gives nothing that another does not
                give, or there is no board that all of them take.
        """
        self.members = tuple(part.net for part in parts)
        self.path = Path("+".join(str(net.path) for net in self.members))
        self.givers = _assign_heads(parts)
        """Which of the members each head comes from."""
        self._shares = _share_inputs(self.members)
        self.info = _joined_info(self.members, self.givers, list(self._shares.values()))

    @property
    def file_bytes(self) -> int:
        """Bytes of all files, for all of them judge each board."""
        return sum(net.file_bytes for net in self.members)

    def prepare(self, batch: int, width: int, height: int) -> None:
        """Get each net ready; see `OnnxNet.prepare`."""
        for net in self.members:
            net.prepare(batch, width, height)

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

    def encode(
        self,
        history: History,
        ply: int,
        rules: RuleFlags,
        options: Options,
        reader: Reader,
        symmetry_map: SymmetryMap,
        spatial: Planes,
        features: Features,
    ) -> None:
        """Fill all nets' [C, H, W] planes and [G] globals; see `inputs.Encode`."""
        for share in self._shares.values():
            told = options._replace(suicide_alive=share.suicide_alive)
            planes, numbers = spatial[share.planes], features[share.features]
            share.encode(history, ply, rules, told, reader, symmetry_map, planes, numbers)


Net = OnnxNet | ComposedNet | SizedNet


def open_exactly(wanted: str | None, device: str, runtime: str = AUTO) -> Net:
    """Open what `--net` names on a device, each part in fp32 unless its file says otherwise.

    Raises:
        NetFileError: A file cannot be found or used, or the files do not fit together.
    """
    exact = [
        replace(part, files=NetFiles(part.files.fp32, is_exact=True)) for part in find_parts(wanted)
    ]
    return join([open_part(part, device, runtime) for part in exact])


def join(parts: Sequence[OpenPart]) -> Net:
    """Return open nets as one; see `ComposedNet` and `SizedNet`.

    Raises:
        NetFileError: They do not fit together.
    """
    if len(parts) == 1 and not parts[0].heads:
        return parts[0].net
    return ComposedNet(parts) if parts[0].largest_board is None else SizedNet(parts)


def check_game(parts: Sequence[OpenPart], game: str) -> None:
    """See that nets were made for a game; those of Go play Atari Go too.

    Raises:
        NetFileError: One was not.
    """
    for net, *_ in parts:
        if (game_shown(net.info.encoder) == FIVE) != (game == FIVE):
            raise NetFileError(f"{net.path}: the net {net.info.name} does not play {game}")


def members_of(net: Net) -> tuple[OnnxNet, ...]:
    """Return the files a net consists of."""
    return net.members if isinstance(net, _Members) else (net,)


def judges_of(net: Net, width: int, height: int) -> tuple[OnnxNet, ...]:
    """Return those of a net's files that judge boards of a size."""
    return (net.for_board(width, height),) if isinstance(net, SizedNet) else members_of(net)


def encoder_of(net: Net) -> Encode:
    """Return what fills a net's inputs."""
    return net.encode if isinstance(net, ComposedNet) else find_encoder(net.info.encoder)


def _face(net: OnnxNet) -> tuple[object, ...]:
    """Return what of a net's description its callers go by."""
    info = net.info
    return (
        *(info.encoder, info.meta_features, info.pass_alive_under_suicide),
        *(set(info.heads), info.has_pass, info.value_kind, info.no_result, info.score_columns),
        *(info.policy_optimism_root, info.policy_optimism_tree),
    )


def _assign_heads(parts: Sequence[OpenPart]) -> dict[str, int]:
    """Return by head the number of the part that gives it."""
    givers: dict[str, int] = {}
    for number, (net, asked, _) in enumerate(parts):
        for head in asked:
            if head not in net.info.heads:
                has = ", ".join(net.info.heads)
                raise NetFileError(f"{net.path}: has no {head}; it has {has}")
            givers[head] = number
    for number, (net, asked, _) in enumerate(parts):
        if not asked:
            for head in PART_HEADS:
                if head in net.info.heads:
                    givers.setdefault(head, number)
    for number, (net, *_) in enumerate(parts):
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
                find_encoder(info.encoder),
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
        policy_optimism_root=policy.policy_optimism_root,
        policy_optimism_tree=policy.policy_optimism_tree,
        architecture=" + ".join(info.architecture or info.name for info in infos),
        parameters=sum(info.parameters for info in infos),
        precision=" + ".join(dict.fromkeys(info.precision for info in infos)),
    )
