"""Begin with random weights, or with those of a finished net and keep some of them as they are."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gtp_engine.coords import MIN_SIZE
from gtp_engine.evaluators.nets.net_info import ENCODERS, NetFileError
from gtp_export.architectures.shape import NORM_EPSILON, Shape, list_arrays
from gtp_export.architectures.tower import TowerShape
from gtp_export.learning.batch import Batch
from gtp_export.learning.running_norm import RunningNorm
from gtp_export.learning.torch_layers import Net
from gtp_export.plans import NetRun

HE_NORM = 2.0**0.5
"""Size of the weights of an output that are drawn as He et al. 2015 do."""
MOST_SCALED = 1e3


def load_weights(net: Net, path: Path, batches: Iterable[Batch]) -> int:
    """Give a net the weights of a checkpoint or of a net file made here, in fp32 or int8.

    In a net file the norms are folded into the layers before them. They are given the mean
    statistics of some batches and the factors that undo them, so that the net computes what the
    file says on these boards: one batch has boards of one size, and training would soon forget its
    statistics, and what the net computes with them. The weights before a norm, whose size changes
    nothing but how far a step turns them, are given that of untrained ones.

    Blocks that a net file lacks, of attention or behind its own, change nothing at first.

    Channels that a ReLU lets nothing through of, on any of the batches, would get no gradient and
    learn nothing for ever. They begin anew, and what reads them takes no account of them at first.

    Args:
        path: `checkpoint.pt` of a run, or an ONNX file.
        batches: Boards such as it will see.

    Returns:
        How many channels begin anew.

    Raises:
        NetFileError: The file cannot be read, or holds another architecture.
    """
    boards, revived = list(batches), 0
    with torch.no_grad():
        if path.suffix == ".pt":
            _load_checkpoint(net, path)
        else:
            _load_folded(net, path, boards)
        if isinstance(net.shape, TowerShape):
            revived = _revive(net, net.shape.readers, boards)
    for module in net.modules():
        if isinstance(module, RunningNorm):
            module.steps.fill_(module.WARM_UP_STEPS)
    return revived


def check_start(shape: Shape, start: Path | None, freezing: tuple[str, ...]) -> None:
    """Make sure that a net can begin so, before hours of labels or games are made for it.

    Raises:
        NetFileError: It cannot, as `load_weights` and `freeze` say.
    """
    net = Net(shape)
    if start is not None:
        _, planes, features = ENCODERS[shape.encoder]
        side = shape.board_size or MIN_SIZE
        board = torch.zeros(1, planes, side, side, dtype=torch.uint8)
        load_weights(net, start, [Batch(board, torch.zeros(1, features), None)])
    freeze(net, freezing)


def read_checkpoint(path: Path, device: str = "cpu") -> dict[str, Any]:
    """Return what `Trainer.save` wrote, its tensors on a device.

    Raises:
        NetFileError: The file cannot be read, is damaged, or is none.
    """
    try:
        state = torch.load(path, weights_only=True, map_location=device)
    except FileNotFoundError as error:
        raise NetFileError(f"{path}: cannot be read: {error.strerror}") from None
    except Exception as error:
        # For bytes that are no checkpoint it raises whatever they lead it to.
        raise NetFileError(f"{path}: is no checkpoint, or damaged: {_reason(error)}") from None
    if not isinstance(state, dict):
        raise NetFileError(f"{path}: is no checkpoint")
    return state


def _load_checkpoint(net: Net, path: Path) -> None:
    state = read_checkpoint(path)
    try:
        wanted = net.state_dict()
        arrays = {name: _widened(array, wanted[name]) for name, array in state["average"].items()}
        net.load_state_dict(arrays)
    except (RuntimeError, KeyError) as error:
        reason = _reason(error)
        raise NetFileError(f"{path}: is no checkpoint of this architecture: {reason}") from None


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    is_heading = lines[0].endswith(":") and len(lines) > 1
    return lines[is_heading].strip()


def _load_folded(net: Net, path: Path, batches: Sequence[Batch]) -> None:
    from onnx import numpy_helper

    from gtp_export.convert.onnx_file import load_model

    graph = load_model(path).graph
    arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    arrays |= _shared_constants(graph, arrays) | _floats_of_integers(arrays)
    new = _silence_new_blocks(net, arrays)
    lacking = _blocks_of(arrays) - {name for name, _ in net.named_modules()}
    if lacking:
        raise NetFileError(f"{path}: has {min(lacking)}, which the preset lacks")
    norms = _named_norms(net)
    for name, tensor in net.state_dict().items():
        if name.rpartition(".")[0] in norms or name.startswith(new):
            continue
        array = _stored(arrays, name)
        if array is not None:
            array = _widened(torch.from_numpy(array.astype(np.float32)), tensor)
        if array is None or array.numel() != tensor.numel():
            raise NetFileError(f"{path}: is no net of this architecture: no {name!r}")
        tensor.copy_(array.view_as(tensor))
    before = list_arrays(net.shape).layers_before
    for name, norm in norms.items():
        if name.startswith(new):
            continue
        bias = _stored(arrays, f"{before[name][0]}.bias")
        if bias is None or bias.size != norm.bias.numel():
            raise NetFileError(f"{path}: is no net of this architecture: no bias of {name!r}")
        norm.running_mean.zero_()
        norm.running_var.fill_(1.0 - NORM_EPSILON)
        norm.weight.fill_(1.0)
        norm.bias.copy_(torch.from_numpy(bias.astype(np.float32)).flatten())
    for name, (mean, variance, _) in _observe(net, norms, batches).items():
        if name.startswith(new):
            norms[name].running_mean.copy_(mean)
            norms[name].running_var.copy_(variance)
            continue
        norm, layers = norms[name], [net.get_parameter(f"{layer}.weight") for layer in before[name]]
        scale = (HE_NORM / layers[0].flatten(1).norm(dim=1)).clamp(1.0, MOST_SCALED)
        for weights in layers:
            weights.mul_(scale.view(-1, *[1] * (weights.dim() - 1)))
        norm.running_mean.copy_(mean * scale)
        norm.running_var.copy_(variance * scale * scale)
        norm.weight.copy_((norm.running_var + NORM_EPSILON).sqrt() / scale)
        norm.bias.add_(mean)


def _silence_new_blocks(net: Net, arrays: Mapping[str, Any]) -> tuple[str, ...]:
    """Let blocks of which a file has no array add nothing; return how their names begin."""
    known = _blocks_of(arrays)
    new = []
    for name, module in net.named_modules():
        if name.count(".") == 1 and "norm2" in module._modules and name not in known:
            net.get_parameter(f"{name}.norm2.weight").zero_()
            new.append(f"{name}.")
    return tuple(new)


def _blocks_of(arrays: Mapping[str, Any]) -> set[str]:
    """Return the blocks that hold some arrays, by the names of these."""
    parts = (name.split(".") for name in arrays)
    return {".".join(part[:2]) for part in parts if part[0] in ("blocks", "attention")}


def _widened(array: Tensor, wanted: Tensor) -> Tensor:
    """Let a matrix of a net that had fewer inputs there take no account of those it lacked."""
    if array.dim() != 2 or wanted.dim() != 2 or array.shape[0] != wanted.shape[0]:
        return array
    return functional.pad(array, (0, max(0, wanted.shape[1] - array.shape[1])))


def _stored(arrays: dict[str, Any], name: str) -> Any | None:
    """Return an array by name, put together where it was stored as bytes."""
    array = arrays.get(name)
    if array is not None and array.dtype == np.int8:
        return array.astype(np.float32) * arrays[f"{name}.step"]
    return array


def _floats_of_integers(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the weights and biases that `quantise.int8` wrote as integers, by their own names."""
    found = {}
    for name, integers in arrays.items():
        if name.endswith("/integers"):
            layer, part, _ = name.rsplit("/", 2)
            steps = arrays[f"{layer}/{part}/scales"]
            steps = steps * arrays.get(f"{layer}/shares", np.ones(1, np.float32)).reshape(-1)
            kind = "weight" if part == "weights" else "bias"
            found[f"{layer}.{kind}"] = integers * steps.reshape(-1, *[1] * (integers.ndim - 1))
    return found


def _shared_constants(graph: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return what equal arrays, which a file holds once, are called elsewhere."""
    found = {}
    for node in graph.node:
        if node.op_type in ("Conv", "Gemm"):
            for stored, kind in zip(node.input[1:], ("weight", "bias"), strict=False):
                if stored in arrays:
                    found[f"{node.name}.{kind}"] = arrays[stored]
    return found


def _named_norms(net: Net) -> dict[str, RunningNorm]:
    return {name: m for name, m in net.named_modules() if isinstance(m, RunningNorm)}


def _observe(
    net: Net, norms: Mapping[str, RunningNorm], batches: Sequence[Batch]
) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
    """Return by norm the mean and variance of what it sees, and the largest that it says, [C]."""
    seen: dict[str, list[Tensor]] = {name: [] for name in norms}

    def note(name: str) -> Any:
        def hook(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            axes = [axis for axis in range(output.dim()) if axis != 1]
            told = inputs[0]
            found = told.mean(axes), told.var(axes, unbiased=False), output.amax(axes)
            seen[name].append(torch.stack(found))

        return hook

    hooks = [norm.register_forward_hook(note(name)) for name, norm in norms.items()]
    net.eval()
    for batch in batches:
        net(batch.spatial, batch.features)
    for hook in hooks:
        hook.remove()
    found = {}
    for name, rows in seen.items():
        means, variances, largest = torch.stack(rows).unbind(1)
        found[name] = (means.mean(0), variances.mean(0), largest.amax(0))
    return found


def _revive(net: Net, readers: Mapping[str, tuple[str, ...]], batches: Sequence[Batch]) -> int:
    """Let channels behind a norm that are never above 0 begin anew; return how many."""
    before = list_arrays(net.shape).layers_before
    norms = {name: norm for name, norm in _named_norms(net).items() if name in readers}
    dead = {name: found[2] <= 0.0 for name, found in _observe(net, norms, batches).items()}
    for name, norm in norms.items():
        rows = dead[name].nonzero().flatten()
        if not len(rows):
            continue
        for layer in before[name]:
            weights = net.get_parameter(f"{layer}.weight")
            fresh = nn.init.kaiming_normal_(torch.empty_like(weights), nonlinearity="relu")
            weights[rows] = fresh[rows]
        norm.weight[rows], norm.bias[rows] = 1.0, 0.0
        for reader in readers[name]:
            weights, width = net.get_parameter(f"{reader}.weight"), len(norm.weight)
            for turn in range(weights.shape[1] // width):
                weights[:, turn * width + rows] = 0.0
        mean, variance, _ = _observe(net, {name: norm}, batches)[name]
        norm.running_mean[rows], norm.running_var[rows] = mean[rows], variance[rows]
    return sum(int(channels.sum()) for channels in dead.values())


def licence_of(run: NetRun, start: Path | None) -> str:
    """Return a new net's licence: that of the net file it begins with, unless another is given.

    Raises:
        NetFileError: The file cannot be read.
    """
    from gtp_export.convert.onnx_file import info_of

    if run.licence != NetRun.licence or start is None or start.suffix != ".onnx":
        return run.licence
    # A run that goes on no longer needs the file.
    return info_of(start).licence if start.exists() else run.licence


def freeze(net: Net, prefixes: tuple[str, ...]) -> list[RunningNorm]:
    """Keep the arrays whose names begin so as they are; return the norms among them.

    Raises:
        NetFileError: No array begins so, or nothing is left to learn.
    """
    norms: list[RunningNorm] = []
    for prefix in prefixes:
        named = [(name, p) for name, p in net.named_parameters() if name.startswith(prefix)]
        if not named:
            groups = dict.fromkeys(".".join(name.split(".")[:2]) for name in net.state_dict())
            raise NetFileError(
                f"there are no layers {prefix!r} to freeze; known: {', '.join(groups)}"
            )
        for _, parameter in named:
            parameter.requires_grad_(False)
        norms += [
            module
            for name, module in net.named_modules()
            if isinstance(module, RunningNorm) and f"{name}.".startswith(prefix)
        ]
    if not any(parameter.requires_grad for parameter in net.parameters()):
        raise NetFileError("every layer is frozen; nothing is left to learn")
    return norms
