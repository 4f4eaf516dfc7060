"""Say what this machine has, which file of the net runs on it, and what to do where it lacks.

It says why that file, and how far it is from fp32.
"""

import argparse
import json
import platform
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gtp_engine.commands.options import add_shared
from gtp_engine.messages import collected
from gtp_engine.platforms import usable_cores

if TYPE_CHECKING:
    from gtp_engine.evaluators.nets.net_files import NetFiles
    from gtp_engine.evaluators.nets.precision import Choice

WIDTH = 80
LABEL_WIDTH = 15
COMPARED_POSITIONS = 24

_CUDA_ADVICE = {
    "no NVIDIA driver is installed": "with an NVIDIA GPU in this machine, install NVIDIA's driver; "
    "without one all is well",
    "CUDA_VISIBLE_DEVICES hides every device": "unset CUDA_VISIBLE_DEVICES to use the GPU",
}
_DRIVER_ADVICE = "`nvidia-smi` should list the GPU; reinstall NVIDIA's driver where it does not"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    label: str
    text: str
    advice: str = ""
    """What to do about it; empty where all is well."""


Sections = dict[str, list[Finding]]
"""Findings that belong together, by their titles."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "net", "json")
    parser.add_argument(
        "--prove",
        action="store_true",
        help="prove that the GPU computes, plays, and may fail; says why where there is none",
    )


def run(args: argparse.Namespace) -> int:
    """Look, and print; return 1 if runtime or net cannot be used, or a proof fails."""
    if args.prove:
        from gtp_engine.commands.doctor_proof import run_proofs

        return run_proofs(args.net, as_json=args.json)
    sections = {
        "machine": list(_machine()),
        "GPUs": list(_gpus()),
        "software": list(_software()),
        "folders": list(_folders()),
    }
    if not _has_errors(sections):
        sections |= _nets(args.net)
    if args.json:
        document = {title: [asdict(one) for one in found] for title, found in sections.items()}
        print(json.dumps(document, indent=1))
    else:
        print("\n\n".join(_text(title, found) for title, found in sections.items()))
    return int(_has_errors(sections))


def _has_errors(sections: Sections) -> bool:
    return any(one.label == "error" for found in sections.values() for one in found)


def _machine() -> Iterator[Finding]:
    from gtp_engine.evaluators.runtimes.devices import cpu_name, int8_may_overflow
    from gtp_engine.play.settings import default_memory

    cores = usable_cores()
    yield Finding("processor", f"{cpu_name()}; {cores} cores, as many search threads")
    if int8_may_overflow():
        yield Finding(
            "8-bit products",
            "no VNNI: int8 nets with 8-bit weights may overflow; the self-check decides",
        )
    yield Finding("memory", f"{default_memory()} MB for tree and cache, unless --memory says more")
    yield Finding("system", f"{platform.platform()}, Python {platform.python_version()}")


def _gpus() -> Iterator[Finding]:
    from gtp_engine.evaluators.runtimes.devices import cuda_obstacle, gpu_names

    obstacle = cuda_obstacle()
    if obstacle is not None:
        yield Finding("none", obstacle, _CUDA_ADVICE.get(obstacle, _DRIVER_ADVICE))
        return
    for number, name in enumerate(gpu_names()):
        yield Finding(f"GPU {number}", name)


def _software() -> Iterator[Finding]:
    from importlib.metadata import version

    from gtp_engine.evaluators.nets.net_info import NetFileError
    from gtp_engine.evaluators.runtimes import openvino_runtime

    try:
        yield _onnx_runtime()
    except NetFileError as error:
        yield Finding("error", str(error))
    if openvino_runtime.INSTALLED:
        devices = ", ".join(openvino_runtime.list_devices())
        yield Finding("OpenVINO", f"{openvino_runtime.runtime_version()}, computes on {devices}")
    else:
        advice = "`pip install gtp-engine[openvino]`: faster on many processors"
        yield Finding("OpenVINO", "not installed", advice)
    yield Finding("numba, numpy", f"{version('numba')}, {version('numpy')}")


def _onnx_runtime() -> Finding:
    from gtp_engine.evaluators.runtimes.devices import cuda_obstacle
    from gtp_engine.evaluators.runtimes.onnx_runtime import (
        CPU,
        CUDA,
        TENSORRT,
        is_built_with,
        packages,
        runtime_version,
    )

    names = {CPU: "CPU", CUDA: "CUDA", TENSORRT: "TensorRT"}
    known = ", ".join(name for key, name in names.items() if is_built_with(key))
    installed = packages()
    removal = f"`pip uninstall {' '.join(installed)}`"
    advice = ""
    if cuda_obstacle() is None and not is_built_with(CUDA):
        advice = f"{removal}, then `pip install gtp-engine[cuda]`"
    elif len(installed) > 1:
        advice = f"its packages overwrite each other: {removal}, then install gtp-engine again"
    return Finding("ONNX Runtime", f"{runtime_version()}, built with {known}", advice)


def _folders() -> Iterator[Finding]:
    from gtp_engine.evaluators.nets.measurements import measurements_folder
    from gtp_engine.evaluators.nets.net_files import shipped_folder, user_folder
    from gtp_engine.kernels import CACHE

    if CACHE.folder is None:
        yield Finding(
            "kernels",
            f"compiled at each start, for they cannot be kept: {CACHE.obstacle}",
            "make it a folder of your own that others cannot write, or name one in NUMBA_CACHE_DIR",
        )
    else:
        damaged = CACHE.damaged_files()
        state = "compiled" if CACHE.is_warm else "not compiled yet"
        if damaged:
            state = f"{len(damaged)} of {CACHE.files} files damaged, such as {damaged[0]}"
        is_complete = CACHE.is_warm and not damaged
        yield Finding(
            "kernels",
            f"{CACHE.folder}: {state}",
            "" if is_complete else "`gtp-engine --precompile` compiles them now",
        )
    try:
        yield Finding("measurements", str(measurements_folder()))
    except RuntimeError:
        yield Finding("measurements", "nowhere: the user has no home folder")
    try:
        own = f"your own in {user_folder()}"
    except RuntimeError:
        own = "your own nowhere: the user has no home folder"
    yield Finding("nets", f"{shipped_folder()}; {own}")


def _nets(wanted: str | None) -> Sections:
    """Return what is to be said of a net, part by part."""
    from gtp_engine.evaluators.nets.net_files import find_parts
    from gtp_engine.evaluators.nets.net_info import NetFileError

    sections: Sections = {}
    try:
        for part in find_parts(wanted):
            found = sections.setdefault(f"net {part.files.fp32.stem}", [])
            for one in _net(part.files):
                found.append(one)
    except NetFileError as error:
        advice = "`gtp-engine net list` names the nets that are known"
        last = next(reversed(sections.values()), None)
        found = sections.setdefault("net", []) if last is None else last
        found.append(Finding("error", str(error), advice))
    return sections


def _net(files: "NetFiles") -> Iterator[Finding]:
    from gtp_engine.evaluators.nets.precision import choose, open_best
    from gtp_engine.evaluators.nets.self_check import differences_of, verdict
    from gtp_engine.evaluators.runtimes.devices import cuda_obstacle

    on_cpu = choose(files, on_gpu=False)
    yield _choice("on the CPU", on_cpu, files)
    yield Finding("runtime", f"{on_cpu.runtime} with --runtime auto")
    if cuda_obstacle() is None:
        yield _choice("on the GPU", choose(files, on_gpu=True), files)
    with collected() as said:
        net = open_best(files, "auto")
    used = "CUDA" if net.device == "cuda" else "the CPU"
    yield Finding("device", f"{used} with --device auto", said[0] if said else "")
    yield Finding("self-check", verdict(differences_of(net)))
    yield from _errors(files)


def _choice(label: str, choice: "Choice", files: "NetFiles") -> Finding:
    """Return which file runs where, why, and how a better one could be had."""
    from gtp_engine.evaluators.nets.net_files import version_file

    lacks = {"on the CPU": files.int8 is None, "on the GPU": files.fp16 is None}[label]
    advice = ""
    if lacks and not files.is_exact:
        kind = "int8" if label == "on the CPU" else "fp16"
        target = version_file(files.fp32, kind).name
        advice = f"`gtp-export quantise {files.fp32.name} {target} --{kind}` makes a faster one"
    precision = f" ({choice.precision})" if choice.precision else ""
    return Finding(label, f"{choice.path.name}{precision}: {choice.why}", advice)


def _errors(files: "NetFiles") -> Iterator[Finding]:
    """Yield how far int8 and fp16 are from fp32."""
    from gtp_engine.evaluators.accuracy import compare_nets
    from gtp_engine.evaluators.nets.onnx_net import OnnxNet

    for kind, path in (("int8", files.int8), ("fp16", files.fp16)):
        if path is None:
            continue
        nets = OnnxNet(path, "cpu"), OnnxNet(files.fp32, "cpu")
        found = compare_nets(*nets, COMPARED_POSITIONS)
        told = {
            "policy_kl": f"policy KL {found.policy_kl:.4f} nats",
            "top1": f"same best move {found.top1:.0%}",
            "win_error": f"win rate {found.win_error:.2%}",
            "lead_error": f"lead {found.lead_error:.2f} points",
            "ownership_error": f"ownership {found.ownership_error:.4f}",
        }
        known = found.figures(nets[0].info.heads)
        errors = ", ".join(text for name, text in told.items() if name in known)
        yield Finding(
            f"{kind} error", f"{errors}, in the mean of {found.positions} positions against fp32"
        )


def _text(title: str, findings: list[Finding]) -> str:
    lines = [title]
    for one in findings:
        label = f"  {one.label:{LABEL_WIDTH}}"
        lines += _wrapped(label, one.text)
        if one.advice:
            lines += _wrapped(" " * len(label) + "-> ", one.advice)
    return "\n".join(lines)


def _wrapped(start: str, text: str) -> list[str]:
    """Return text in lines of the width, those after the first indented like it."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
