"""`gtp-engine analysis --compare`: what analysing many positions at once brings on this machine."""

import time
from typing import NamedTuple

from gtp_engine.arena.signature import random_position
from gtp_engine.commands.benchmark_speeds import usual_sizes
from gtp_engine.evaluators.net_evaluator import NetEvaluator, open_net
from gtp_engine.go.position import Position
from gtp_engine.go.rules import GO
from gtp_engine.play.analysis_scheduler import AnalysisRequest, AnalysisScheduler
from gtp_engine.play.settings import Settings
from gtp_engine.search.stopping import Limits

POSITIONS = 100
VISITS = 50
ROUNDS = 3
"""Measurements of each kind, taken in turn; the fastest counts, as others only slow one down."""


def compare(
    settings: Settings, size: tuple[int, int] | None, visits: int | None, at_once: int | None
) -> int:
    """Measure and print visits per second both ways; return the exit status.

    Args:
        size: Of the board; None: 9x9, where the net takes it.
        visits: Of each position; None: VISITS.
        at_once: Positions under way at a time; None: as many as suit the device.

    Raises:
        NetFileError: There is no usable net, or it does not take this board.
    """
    net = open_net(
        settings.net,
        settings.device,
        settings.runtime,
        threads=settings.threads,
        max_batch=settings.batch,
        cache_mb=0,
        game=GO,
    )
    width, height = size or usual_sizes([net])[0]
    net.new_batch(1, width, height)  # before anything is measured: is the board taken?
    moves = width * height // 2
    positions = [
        random_position(width, height, "chinese-ogs", 4 + seed % moves, seed=seed)
        for seed in range(POSITIONS)
    ]
    best: dict[int | None, _Speed] = {1: _Speed(0.0, 0.0), at_once: _Speed(0.0, 0.0)}
    for number in range(ROUNDS):
        for kind, fastest in best.items():
            speed = _measure(net, settings, positions, visits or VISITS, kind)
            print(f"round {number + 1}: {_name(kind)}: {speed}", flush=True)
            best[kind] = max(fastest, speed)
    single, many = best[1], best[at_once]
    print(
        f"{POSITIONS} positions of {width}x{height}, {visits or VISITS} visits each,"
        f" {net.describe()}:\n"
        f"at once {many.per_second / single.per_second:.2f} times as many visits a second as one"
        f" by one, {many.per_cpu_second / single.per_cpu_second:.2f} times as many a second of"
        " processor time"
    )
    return 0


class _Speed(NamedTuple):
    """Visits by the clock and by the processor time of all threads; the former orders."""

    per_second: float
    per_cpu_second: float

    def __str__(self) -> str:
        return f"{self.per_second:,.0f} visits/s, {self.per_cpu_second:,.0f} a CPU-second"


def _name(at_once: int | None) -> str:
    return "one by one" if at_once == 1 else "at once"


def _measure(
    net: NetEvaluator,
    settings: Settings,
    positions: list[Position],
    visits: int,
    at_once: int | None,
) -> _Speed:
    """Analyse all positions and return how fast that went."""
    scheduler = AnalysisScheduler.for_settings(net, settings, at_once)
    failures: list[Exception] = []

    def end(found: object) -> None:
        if isinstance(found, Exception):
            failures.append(found)

    started, cpu = time.perf_counter(), time.process_time()
    for position in positions:
        scheduler.submit(
            AnalysisRequest(
                position=lambda position=position: position,  # type: ignore[misc]
                on_end=end,
                limits=Limits(visits=visits),
            )
        )
    scheduler.wait()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    scheduler.close()
    if failures:
        raise failures[0]
    total = len(positions) * visits
    return _Speed(total / seconds, total / cpu)
