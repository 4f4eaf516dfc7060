"""The batch size that suits a GPU: measured in the background, then remembered.

It is measured on the board of the first start and serves all boards.

Larger batches are faster up to a point, but a search pays for each leaf that it chooses before
the others' results are known. So the smallest batch is taken that comes near the greatest speed.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gtp_engine.evaluators.batcher import Batcher
from gtp_engine.evaluators.nets.composition import Net, members_of
from gtp_engine.evaluators.nets.measurements import describe_files, recall, remember
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.runtimes.devices import gpu_names
from gtp_engine.evaluators.runtimes.onnx_runtime import runtime_version

CANDIDATES = (8, 16, 32, 64, 128, 256)
NEAR = 0.9
"""Share of the greatest speed that a smaller batch must reach."""
MEASURED_SECONDS = 0.2
"""Of each candidate."""
ATTEMPTS = 5
PAUSE_SECONDS = 2.0
"""Between attempts, of which a search has disturbed all but the last."""


def recall_batch(net: Net) -> int | None:
    """Return the best batch of a net on these GPUs; None if it has not been measured."""
    fact = recall(_subject(net))
    batch = None if fact is None else fact.get("batch")
    return batch if isinstance(batch, int) and batch in CANDIDATES else None


def tune_in_background(
    net: Net, batcher: Batcher, width: int, height: int, use: Callable[[int], None]
) -> threading.Thread:
    """Measure when nothing else runs, remember, and use what is best from then on."""

    def work() -> None:
        for _ in range(ATTEMPTS):
            speeds = measure_batches(net, batcher, width, height)
            if speeds is not None:
                batch = best_batch(speeds)
                remember(_subject(net), {"batch": batch, "per_second": speeds[batch]})
                use(batch)
                return
            if net.device != "cuda":
                return  # the GPU has failed, and a CPU has better things to do
            time.sleep(PAUSE_SECONDS)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def best_batch(speeds: Mapping[int, float]) -> int:
    """Return the smallest batch whose speed is near the greatest.

    Args:
        speeds: Positions a second by batch.
    """
    enough = NEAR * max(speeds.values())
    return min(batch for batch, speed in speeds.items() if speed >= enough)


def measure_batches(net: Net, batcher: Batcher, width: int, height: int) -> dict[int, float] | None:
    """Return positions a second by batch; None if the net failed or was used meanwhile."""
    speeds = {}
    before = batcher.runs
    try:
        for batch in CANDIDATES:
            speeds[batch] = _speed(net, batcher.streams, width, height, batch)
            if net.device != "cuda":
                return None
    except (NetFileError, RuntimeError):  # the latter at the end of the interpreter
        return None
    return speeds if batcher.runs == before else None


def _speed(net: Net, streams: int, width: int, height: int, batch: int) -> float:
    """Return positions a second with all streams busy."""
    spatial = np.zeros((batch, net.info.spatial_planes, height, width), np.uint8)
    n_features = net.info.global_features + net.info.meta_features
    features = np.zeros((batch, n_features), np.float32)
    with ThreadPoolExecutor(streams) as pool:
        list(pool.map(lambda _: net.run(spatial, features), range(2 * streams)))
        start = time.perf_counter()
        end = start + MEASURED_SECONDS

        def work(_: int) -> int:
            count = 0
            while time.perf_counter() < end:
                net.run(spatial, features)
                count += batch
            return count

        done = sum(pool.map(work, range(streams)))
    return done / (time.perf_counter() - start)


def _subject(net: Net) -> str:
    files = describe_files([member.path for member in members_of(net)])
    return "\n".join(["best batch", *gpu_names(), runtime_version(), files])
