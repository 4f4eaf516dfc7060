"""Nets of several files: the policy from one, the value from another, ownership from a third.

To everything else such a net looks like one. Its planes are those of its parts one after the
other, each encoder's once: a part reads its own slice of them, whoever else reads it too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

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
from gtp_engine.evaluators.precision import open_best
from gtp_engine.evaluators.runtimes import AUTO, ONNX_RUNTIME
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


class ComposedNet:
    """Some open nets as one, with the face of an `OnnxNet`."""

    def __init__(self, parts: Sequence[tuple[OnnxNet, tuple[str, ...]]]) -> None:
        """Join nets.

        Args:
            parts: Each net with the heads it is asked for; none where it may give all it has.

        Raises:
            NetFileError: A net lacks a head it is asked for, gives nothing that another does not
                give, or there is no board that all of them take.
        """
        self.members = tuple(net for net, _ in parts)
        self.path = Path("+".join(str(net.path) for net in self.members))
        self.givers = _assign_heads(parts)
        """Which of the members each head comes from."""
        self._shares = _share_inputs(self.members)
        self.info = _joined_info(self.members, self.givers, list(self._shares.values()))

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


Net = OnnxNet | ComposedNet


def open_exactly(wanted: str | None, device: str, runtime: str = AUTO) -> Net:
    """Open what `--net` names on a device, each part in fp32 unless its file says otherwise.

    Raises:
        NetFileError: A file cannot be found or used, or the files do not fit together.
    """
    parts = find_parts(wanted)
    exact = [NetFiles(part.files.fp32, is_exact=True) for part in parts]
    nets = [open_best(files, device, runtime) for files in exact]
    return join([(net, part.heads) for net, part in zip(nets, parts, strict=True)])


def join(parts: Sequence[tuple[OnnxNet, tuple[str, ...]]]) -> Net:
    """Return open nets as one; see `ComposedNet`.

    Raises:
        NetFileError: They do not fit together.
    """
    if len(parts) == 1 and not parts[0][1]:
        return parts[0][0]
    return ComposedNet(parts)


def members_of(net: Net) -> tuple[OnnxNet, ...]:
    """Return the files a net consists of."""
    return net.members if isinstance(net, ComposedNet) else (net,)


def encoder_of(net: Net) -> Encode:
    """Return what fills a net's inputs."""
    return net.encode if isinstance(net, ComposedNet) else find_encoder(net.info.encoder)


def _assign_heads(parts: Sequence[tuple[OnnxNet, tuple[str, ...]]]) -> dict[str, int]:
    """Return by head the number of the part that gives it."""
    givers: dict[str, int] = {}
    for number, (net, asked) in enumerate(parts):
        for head in asked:
            if head not in net.info.heads:
                has = ", ".join(net.info.heads)
                raise NetFileError(f"{net.path}: has no {head}; it has {has}")
            givers[head] = number
    for number, (net, asked) in enumerate(parts):
        if not asked:
            for head in PART_HEADS:
                if head in net.info.heads:
                    givers.setdefault(head, number)
    for number, (net, _) in enumerate(parts):
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
    sizes = [size for size in range(2, 26) if all(info.accepts(size, size) for info in infos)]
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
