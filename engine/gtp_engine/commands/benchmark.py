"""`gtp-engine benchmark`: how fast this machine is, and whether the search is what it was."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gtp_engine.commands.arguments import UsageError, parse_count, parse_size

if TYPE_CHECKING:
    from rich.table import Table

    from gtp_engine.evaluators.net_evaluator import NetEvaluator
    from gtp_engine.go.position import Position

MEASURED_SECONDS = 3.0
"""Shortest time over which a speed is measured."""
RAW_BATCHES = (1, 2, 4, 8)
REPEATS = 3
"""Searches of each kind; the fastest counts, because other programs only ever slow one down."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Something done so often, in so much time."""

    what: str
    count: int
    wall_seconds: float
    cpu_seconds: float

    @property
    def per_wall_second(self) -> float:
        """Speed by the clock on the wall."""
        return self.count / max(self.wall_seconds, 1e-9)

    @property
    def per_cpu_second(self) -> float:
        """Speed by the processor time of all threads."""
        return self.count / max(self.cpu_seconds, 1e-9)


@dataclass(frozen=True, slots=True)
class SearchSpeed:
    """Speed of a search, and how it came about."""

    visits: Speed
    evaluations: Speed
    mean_batch: float
    cache_hits: int
    collisions: int
    memory_mb: float
    """Largest memory of the process so far."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of the subcommand."""
    parser.description = (
        "Measure random games, evaluations and searches, per second of the clock and per second "
        "of processor time, and print the signature of the search."
    )
    parser.add_argument("--net", metavar="FILE|NAME", help="net to measure (default: the shipped)")
    parser.add_argument(
        "--no-net", action="store_true", help="measure only what needs no net, and the signature"
    )
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument(
        "--size",
        type=parse_size,
        action="append",
        metavar="N[xM]",
        help="board size; may be given several times (default: 9 and 19)",
    )
    parser.add_argument(
        "--playouts", type=parse_count, metavar="P", help="playouts of each search (default: 400)"
    )
    parser.add_argument(
        "--threads", type=parse_count, metavar="T", help="search threads (default: the device's)"
    )
    parser.add_argument(
        "--batch", type=parse_count, metavar="B", help="leaves a thread evaluates at once"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: argparse.Namespace) -> int:
    """Measure and print; return the exit status."""
    from gtp_engine.evaluators.contract import NetFileError
    from gtp_engine.search.signature import signature

    sizes = args.size or [(9, 9), (19, 19)]
    results: dict[str, object] = {"signature": signature()}
    results["rollouts"] = {_size_name(size): _rollout_speed(*size) for size in sizes}
    if not args.no_net:
        try:
            _measure_net(args, sizes, results)
        except NetFileError as error:
            raise UsageError(str(error)) from None
    if args.json:
        print(json.dumps(results, default=_to_json, indent=2))
    else:
        _print(results)
    return 0


def _measure_net(
    args: argparse.Namespace, sizes: list[tuple[int, int]], results: dict[str, object]
) -> None:
    from gtp_engine.evaluators.net_evaluator import open_net

    def say(line: str) -> None:
        print(f"gtp-engine: {line}", file=sys.stderr)

    net = open_net(args.net, args.device, say=say, threads=args.threads)
    threads, batch = net.suggest(args.threads, args.batch)
    results["net"] = net.describe()
    raw: dict[str, list[Speed]] = {}
    searches: dict[str, list[SearchSpeed]] = {}
    for size in sizes:
        position = _opening_position(*size)
        name = _size_name(size)
        raw[name] = [_raw_speed(net, position, n) for n in RAW_BATCHES]
        playouts = args.playouts or 400
        kinds = {(1, 1, False), (threads, batch, False), (threads, batch, True)}
        searches[name] = [_search_speed(net, position, playouts, *kind) for kind in sorted(kinds)]
    results["raw"] = raw
    results["search"] = searches
    results["visits_over_raw"] = {
        name: searches[name][0].visits.per_cpu_second / raw[name][0].per_cpu_second
        for name in searches
    }


def _size_name(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


def _opening_position(width: int, height: int) -> "Position":
    """Return a position in the first third of a random game."""
    from gtp_engine.search.signature import random_position

    return random_position(width, height, "chinese-ogs", width * height // 5, seed=1)


def _timed(what: str, work: Callable[[], int], seconds: float = 0.0) -> Speed:
    """Repeat some work for at least so long, and count what it returns."""
    count = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while True:
        count += work()
        spent = time.perf_counter() - wall
        if spent >= seconds:
            return Speed(what, count, spent, time.process_time() - cpu)


def _rollout_speed(width: int, height: int) -> Speed:
    from gtp_engine.go.playouts import run_random_games

    games = max(1, 400_000 // (width * height))

    def play() -> int:
        run_random_games(width, height, games, seed=7)
        return games

    play()
    return _timed("random games", play, MEASURED_SECONDS)


def _raw_speed(net: "NetEvaluator", position: "Position", batch: int) -> Speed:
    """Measure the net alone, without encoding or search."""
    leaves = net.new_batch(batch, position.width, position.height)
    rules = position.rules.flags
    for slot in range(batch):
        net.encode(leaves, slot, position.line, position.ply, rules, slot % 4, 0.0)

    def evaluate() -> int:
        net.net.run(leaves.spatial, leaves.features)
        return batch

    evaluate()
    return _timed(f"evaluations, batch {batch}", evaluate, MEASURED_SECONDS)


def _search_speed(
    net: "NetEvaluator",
    position: "Position",
    playouts: int,
    threads: int,
    batch: int,
    use_cache: bool,
) -> SearchSpeed:
    """Return the fastest of a few searches from scratch."""
    from gtp_engine.search.limits import Limits
    from gtp_engine.search.params import SearchParams
    from gtp_engine.search.search import Search

    search = Search(net, SearchParams(use_cache=use_cache), threads=threads, batch=batch)
    best: SearchSpeed | None = None
    for _ in range(REPEATS):
        search.clear()
        net.clear_cache()
        search.set_position(position)
        runs, evaluated, hits = net.queue.runs, net.queue.evaluations, net.cache_hits
        collided = search.collisions
        cache = "on" if use_cache else "off"
        what = f"visits, {threads} threads, batch {batch}, cache {cache}"
        speed = _timed(what, lambda: search.run(Limits(playouts=playouts)).visits)
        evaluations = net.queue.evaluations - evaluated
        found = SearchSpeed(
            visits=speed,
            evaluations=Speed("evaluations", evaluations, speed.wall_seconds, speed.cpu_seconds),
            mean_batch=evaluations / max(1, net.queue.runs - runs),
            cache_hits=net.cache_hits - hits,
            collisions=search.collisions - collided,
            memory_mb=_peak_memory_mb(),
        )
        if best is None or speed.wall_seconds < best.visits.wall_seconds:
            best = found
    assert best is not None
    return best


def _peak_memory_mb() -> float:
    """Return the largest memory this process has had; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _to_json(value: object) -> object:
    if isinstance(value, Speed):
        speeds = {
            "per_wall_second": value.per_wall_second,
            "per_cpu_second": value.per_cpu_second,
        }
        return asdict(value) | speeds
    if isinstance(value, SearchSpeed):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _print(results: dict[str, object]) -> None:
    """Print the results as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=str(results.get("net", "no net")), title_justify="left")
    for column in ("board", "what"):
        table.add_column(column)
    for column in ("per second", "per CPU-second", "mean batch", "cache hits", "collisions", "MiB"):
        table.add_column(column, justify="right")
    for name, rollouts in _items(results, "rollouts"):
        _add_row(table, name, rollouts)
        for speed in dict(_items(results, "raw")).get(name, []):
            _add_row(table, name, speed)
        for search in dict(_items(results, "search")).get(name, []):
            more = (
                f"{search.mean_batch:.2f}",
                str(search.cache_hits),
                str(search.collisions),
                f"{search.memory_mb:.0f}",
            )
            _add_row(table, name, search.visits, *more)
            _add_row(table, name, search.evaluations)
        table.add_section()
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    for name, ratio in _items(results, "visits_over_raw"):
        print(
            f"{name}: visits (1 thread, cache off) are {ratio:.3f} of the raw evaluations, "
            "per CPU-second"
        )
    print(f"signature {results['signature']}")


def _items(results: dict[str, object], key: str) -> list[tuple[str, Any]]:
    found = results.get(key, {})
    assert isinstance(found, dict)
    return list(found.items())


def _add_row(table: "Table", name: str, speed: Speed, *more: str) -> None:
    table.add_row(
        name, speed.what, f"{speed.per_wall_second:,.0f}", f"{speed.per_cpu_second:,.0f}", *more
    )
