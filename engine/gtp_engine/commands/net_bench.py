"""`gtp-engine net bench`: evaluations a second by device, board size and batch."""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from gtp_engine.commands.benchmark_speeds import opening_batch, usual_sizes
from gtp_engine.evaluators.eval_batch import EvalBatch
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import judges_of, open_whole
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.devices import cuda_obstacle
from gtp_engine.text_table import align

CPU_BATCHES = (1, 4)
GPU_BATCHES = (1, 16, 64, 256)
ROUNDS = 5
"""Turns that each net gets; its fastest counts, for other programs only ever slow one down."""


@dataclass(frozen=True)
class Measurement:
    """The speed of one net under one set of circumstances."""

    net: str
    file: str
    precision: str
    device: str
    runtime: str
    board: str
    batch: int
    per_second: float
    """Evaluations a second of the clock."""
    per_cpu_second: float
    """Evaluations a second of processor time."""
    times: float
    """Speed over that of the first net: of the processor on a CPU, of the clock on a GPU."""


def run(args: argparse.Namespace) -> int:
    """Measure and print a table."""
    found: list[Measurement] = []
    for device in _devices(args.device):
        nets = [
            NetEvaluator(open_whole(wanted, device, args.runtime), streams=1, max_batch=1024)
            for wanted in args.nets or [None]
        ]
        batches = args.batch or (CPU_BATCHES if device == "cpu" else GPU_BATCHES)
        for width, height in _sizes(args.size, nets):
            for batch in batches:
                found += _measure(nets, width, height, batch, args.seconds)
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        print(_table(found))
    return 0


def _sizes(
    wanted: Sequence[tuple[int, int]] | None, nets: Sequence[NetEvaluator]
) -> Sequence[tuple[int, int]]:
    """Return the boards to measure on, before anything is measured.

    Raises:
        NetFileError: None of the nets takes one that is wanted.
    """
    for width, height in wanted or ():
        if not any(net.accepts(width, height) for net in nets):
            names = ", ".join(net.net.info.name for net in nets)
            raise NetFileError(f"{names}: no boards of {width}x{height}")
    return wanted or usual_sizes(nets)


def _devices(wanted: str) -> list[str]:
    if wanted != "auto":
        return [wanted]
    return ["cpu"] if cuda_obstacle() else ["cpu", "cuda"]


def _measure(
    nets: Sequence[NetEvaluator], width: int, height: int, batch: int, seconds: float
) -> list[Measurement]:
    """Let those of the nets that take this size do so in turns, on the same positions."""
    able = [net for net in nets if net.accepts(width, height)]
    inputs = [opening_batch(net, (width, height), batch) for net in able]
    best = [(0.0, 0.0)] * len(able)
    for _ in range(ROUNDS):
        for i, net in enumerate(able):
            speed = _round(net, inputs[i], seconds / ROUNDS)
            best[i] = (max(best[i][0], speed[0]), max(best[i][1], speed[1]))
    by_clock = able[0].net.device == "cuda"
    judges = [judges_of(net.net, width, height) for net in able]
    return [
        Measurement(
            net="+".join(one.info.name for one in files),
            file="+".join(one.path.name for one in files),
            precision="+".join(one.info.precision.split(",")[0] for one in files),
            device=net.net.device,
            runtime=net.net.runtime,
            board=f"{width}x{height}",
            batch=batch,
            per_second=speed[0],
            per_cpu_second=speed[1],
            times=speed[0] / best[0][0] if by_clock else speed[1] / best[0][1],
        )
        for net, files, speed in zip(able, judges, best, strict=True)
    ]


def _round(net: NetEvaluator, leaves: EvalBatch, seconds: float) -> tuple[float, float]:
    """Return evaluations a second of the clock and of the processor."""
    net.net.run(leaves.spatial, leaves.features)
    count = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while True:
        net.net.run(leaves.spatial, leaves.features)
        count += len(leaves.features)
        spent_wall, spent_cpu = time.perf_counter() - wall, time.process_time() - cpu
        if spent_cpu >= seconds or spent_wall >= 4 * seconds:
            return count / spent_wall, count / max(spent_cpu, 1e-9)


def _table(found: Sequence[Measurement]) -> str:
    heads = ["net", "precision", "device", "runtime", "board", "batch"]
    rows = [[*heads, "per second", "per CPU-second", "times"]]
    for one in found:
        speeds = [f"{one.per_second:,.0f}", f"{one.per_cpu_second:,.0f}", f"{one.times:.2f}"]
        where = [one.precision, one.device, one.runtime, one.board, str(one.batch)]
        rows.append([one.file, *where, *speeds])
    return align(rows, left=(0, 1, 2))
