"""Measure random games, evaluations and searches, and print the signature of the search.

Speeds are per second of the clock and per second of processor time.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.arguments import UsageError, check_file
from gtp_engine.commands.options import add_shared
from gtp_engine.commands.progress import shown_progress
from gtp_engine.go.rules import GO
from gtp_engine.platforms import usable_cores

if TYPE_CHECKING:
    from gtp_engine.commands.benchmark_speeds import Job
    from gtp_engine.evaluators.net_evaluator import NetEvaluator

DEFAULT_PLAYOUTS = 400
CPU_BATCHES = (1, 4)
GPU_BATCHES = (16, 32, 64, 128)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-net", action="store_true", help="measure only what needs no net, and the signature"
    )
    repeatable = {
        "size": "9 and 19, where the net takes them",
        "threads": "1, 2, 4 ... all cores",
        "batch": "1 and 4, on a GPU 16 to 128",
    }
    names = ("net", "device", "runtime", "json")
    add_shared(parser, *names, repeatable=repeatable, playouts=DEFAULT_PLAYOUTS)
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="draw the speeds (needs the extra `plots`)"
    )


def run(args: argparse.Namespace) -> int:
    """Measure and print; return the exit status."""
    from gtp_engine.arena.signature import signature
    from gtp_engine.commands.benchmark_report import Report, to_json, to_text
    from gtp_engine.commands.benchmark_speeds import TURNS, run_in_turns, usual_sizes

    if args.no_net and args.net is not None:
        raise UsageError("--no-net and --net contradict each other")
    if args.no_net and (args.threads or args.batch):
        raise UsageError("--no-net leaves out what --threads and --batch are for")
    if args.plot is not None:
        _check_plot(args.plot)
    net = None if args.no_net else _open(args)
    sizes = args.size or usual_sizes([] if net is None else [net])
    jobs = _jobs(net, args, sizes)
    with shown_progress("measurements", TURNS * len(jobs)) as advance:
        rows = run_in_turns(jobs, advance)
    report = Report(signature(), "no net" if net is None else net.describe(), rows)
    print(json.dumps(to_json(report), indent=2) if args.json else to_text(report))
    if args.plot is not None:
        from gtp_engine.commands.benchmark_report import draw

        draw(report, args.plot)
    return 0


def _check_plot(path: Path) -> None:
    """Complain before anything is measured."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs the extra `plots`: pip install gtp-engine[plots]")
    from gtp_engine.commands.benchmark_report import kinds_of_pictures

    kinds = kinds_of_pictures()
    if path.suffix.lower().removeprefix(".") not in kinds:
        raise UsageError(f"--plot: {path} is no picture; their names end in {', '.join(kinds)}")
    check_file(path, "--plot")


def _open(args: argparse.Namespace) -> "NetEvaluator":
    from gtp_engine.evaluators.net_evaluator import open_net

    threads = max(args.threads or [0]) or None
    return open_net(args.net, args.device, args.runtime, threads=threads, game=GO)


def _jobs(
    net: "NetEvaluator | None", args: argparse.Namespace, sizes: Sequence[tuple[int, int]]
) -> "list[Job]":
    """Return what is to be measured, board by board."""
    from gtp_engine.commands import benchmark_speeds as speeds
    from gtp_engine.evaluators.fake import FakeEvaluator

    found: list[Job] = []
    for size in sizes:
        found += [speeds.random_games_job(size), speeds.pattern_games_job(size)]
        found.append(speeds.search_job(speeds.FAKE, FakeEvaluator(), size, speeds.FAKE_PLAYOUTS))
        if net is not None:
            is_gpu = net.net.device == "cuda"
            batches = args.batch or (GPU_BATCHES if is_gpu else CPU_BATCHES)
            threads = args.threads or _thread_counts(
                net.batcher.streams if is_gpu else usable_cores()
            )
            found += speeds.net_jobs(net, args.net, size, threads, batches, args.playouts)
    return found


def _thread_counts(most: int) -> list[int]:
    """Return 1, 2, 4 and so on up to the most, which is among them."""
    return [*(1 << n for n in range(most.bit_length()) if 1 << n < most), most]
