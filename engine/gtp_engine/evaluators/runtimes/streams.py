"""Run batches of any size where few sizes are wanted: buckets, streams, and what can go wrong.

GPUs want few sizes, and so does OpenVINO, which compiles a graph for each. A batch is padded to the
next bucket, so that each shape's memory is bound once and its graph made once.

A stream runs one batch at a time. On a GPU it is a session of its own; with two or three a GPU, one
copies while another computes. In OpenVINO it is one thread of a processor, or a GPU.

A device that runs out of memory is given smaller buckets from then on. A GPU that fails otherwise
is left alone, and the others go on. Where nothing is left, the net is beyond use there.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gtp_engine.evaluators.runtimes.devices import pin
from gtp_engine.evaluators.runtimes.onnx_runtime import (
    Array,
    BoundBatch,
    first_line,
    is_out_of_memory,
    run_plain,
)

logger = logging.getLogger(__name__)


BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Batch sizes that run as they are; others are padded to the next one, or divided."""

MOST_IN_PARTS = 0.85
"""Share of a bucket up to which a batch is divided rather than padded. By OpenVINO, on a processor
with AMX, 7 of 8 and 31 of 32 take less time padded, even on 19x19; 13 of 16 and 25 of 32 do not."""

Feed = Mapping[str, Array]
"""By input, rows of a batch."""

Shape = tuple[object, ...]
"""A bucket, and of each input the shape of a row."""


def shape_of(feed: Feed, bucket: int) -> Shape:
    """Return the shape in which rows are run."""
    return bucket, *(array.shape[1:] for array in feed.values())


class BeyondUseError(RuntimeError):
    """Every stream has failed; the message is the reason of the last one."""


Bound = tuple[Callable[[], dict[str, Array]], dict[str, Array]]
"""What runs batches of one shape, giving outputs [bucket, ...], and the memory of their inputs."""


class Stream:
    """Runs one padded batch at a time, on memory that is kept for each shape."""

    kept_shapes = 2 * len(BUCKETS)
    """Those of two board sizes."""

    def __init__(self, gpu: int = 0) -> None:
        """Serve the GPU of a number, and bind nothing yet."""
        self.gpu = gpu
        self._guard = threading.Lock()
        self._binding = threading.Lock()
        """Held while a shape is bound, which takes OpenVINO some tenths of a second; the shapes
        that are bound already can be run meanwhile."""
        self._bound: dict[Shape, Bound] = {}

    def run(self, feed: Feed, bucket: int) -> dict[str, Array]:
        """Return the outputs [bucket, ...] of at most `bucket` rows and of the padding behind them.

        Padding holds what an earlier batch left there.

        Raises:
            Exception: Whatever the runtime raises.
        """
        run, staging = self.bound(feed, bucket)
        for name, rows in feed.items():
            staging[name][: len(rows)] = rows
        return run()

    def bound(self, feed: Feed, bucket: int) -> Bound:
        """Return what runs batches shaped like this."""
        shape = shape_of(feed, bucket)
        found = self._recall(shape)
        if found is None:
            with self._binding:
                found = self._recall(shape) or self._bind(feed, bucket)
                with self._guard:
                    while len(self._bound) >= self.kept_shapes:
                        del self._bound[next(iter(self._bound))]
                    self._bound[shape] = found
        return found

    def has_bound(self, shape: Shape) -> bool:
        """Whether batches of a shape can be run at once."""
        with self._guard:
            return shape in self._bound

    def _recall(self, shape: Shape) -> Bound | None:
        with self._guard:
            found = self._bound.pop(shape, None)
            if found is not None:
                self._bound[shape] = found  # the shape used last stands last, and goes last
            return found

    def _bind(self, feed: Feed, bucket: int) -> Bound:
        raise NotImplementedError


class SessionStream(Stream):
    """A session of its own, with memory on the device and, pinned, on this side."""

    def __init__(self, session: Any, gpu: int, device: str = "cuda") -> None:
        """Serve a session; its memory is on "cuda", or "cpu" where it runs there."""
        super().__init__(gpu)
        self._session = session
        self._device = device

    def _bind(self, feed: Feed, bucket: int) -> Bound:
        one = {name: np.ascontiguousarray(rows[:1]) for name, rows in feed.items()}
        found = run_plain(self._session, one)
        staging = {name: _rows(row, bucket) for name, row in one.items()}
        outputs = {name: _rows(row, bucket) for name, row in found.items()}
        if self._device == "cuda":
            for array in staging.values():
                pin(array, self.gpu)
        batch = BoundBatch(self._session, staging, outputs, self._device, self.gpu)
        return partial(batch.run, staging), staging


def _rows(row: Array, count: int) -> Array:
    """Return zeros for a number of rows like this one."""
    return np.zeros((count, *row.shape[1:]), row.dtype)


def bucket_for(size: int) -> int:
    """Return the smallest bucket that holds so many rows."""
    return next(bucket for bucket in BUCKETS if bucket >= size)


def part_of(size: int) -> int:
    """Return how many of so many rows run next where batches are divided: all that nearly fill a
    bucket, or as many as fill one."""
    if size > MOST_IN_PARTS * bucket_for(size):
        return size
    return max(bucket for bucket in BUCKETS if bucket <= size)


class StreamPool:
    """Hands batches to whichever stream is free, for any number of threads."""

    def __init__(
        self,
        streams: Sequence[Stream],
        largest: int = BUCKETS[-1],
        *,
        pads: bool = True,
        named: str = "the GPU",
    ) -> None:
        """Serve some streams.

        Args:
            pads: Whether all batches are padded, or only those that nearly fill a bucket and all
                others run in parts.
            named: What people are told that has no memory.
        """
        self._named = named
        self._pads = pads
        self._free = list(streams)
        self._all = list(streams)
        self._changed = threading.Condition()
        self._preparing: set[Shape] = set()
        """Shapes that are being bound for one stream after the other."""
        self.largest = largest
        """Largest bucket that is still tried."""

    def prepare(self, feed: Feed, largest: int) -> threading.Thread:
        """Bind in the background what batches of up to `largest` such rows will need.

        Meanwhile such batches wait for streams that are ready, of which the first is there soon:
        for sixteen streams OpenVINO takes some seconds. A failure shows when such a batch comes.

        Raises:
            RuntimeError: The system has no thread left.
        """
        sizes = range(1, min(largest, self.largest) + 1)
        parts = {size if self._pads else part_of(size) for size in sizes}
        wanted = {shape_of(feed, bucket): bucket for bucket in sorted(map(bucket_for, parts))}

        def tell(*ended: Shape) -> None:
            """Wake who waits for a stream; for some shapes none is made ready any more."""
            with self._changed:
                self._preparing.difference_update(ended)
                self._changed.notify_all()

        def work() -> None:
            for stream in list(self._all):
                for shape, bucket in wanted.items():
                    if threading.main_thread().is_alive():
                        try:
                            stream.bound(feed, bucket)
                        except Exception:  # the runtime's own exception classes are not public
                            tell(shape)
                        else:
                            tell()
            tell(*wanted)

        with self._changed:
            self._preparing |= wanted.keys()
        thread = threading.Thread(target=work)  # no daemon: it must not outlive the interpreter
        try:
            thread.start()
        except RuntimeError:  # the system has no thread left
            tell(*wanted)
            raise
        return thread

    def run(self, feed: Feed) -> dict[str, Array]:
        """Return the outputs [B, ...] of a batch of any size.

        Raises:
            BeyondUseError: Every stream has failed.
        """
        total = len(next(iter(feed.values())))
        parts: list[dict[str, Array]] = []
        done = 0
        while done < total:
            size = min(total - done, self.largest)
            if not self._pads:
                size = part_of(size)
            rows = feed
            if size < total:
                rows = {name: array[done : done + size] for name, array in feed.items()}
            found = self._run_part(rows, size)
            if found is not None:
                parts.append(found)
                done += size
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _run_part(self, rows: Feed, size: int) -> dict[str, Array] | None:
        """Return the outputs of a batch of at most the largest bucket; None to try once more."""
        bucket = bucket_for(size)
        stream = self._take(shape_of(rows, bucket))
        try:
            found = stream.run(rows, bucket)
        except Exception as error:  # the runtime's own exception classes are not public
            if is_out_of_memory(error) and bucket > 1:
                self._shrink(bucket)
            else:
                self._give_up(stream.gpu, first_line(error))
            return None
        finally:
            self._put_back(stream)
        if size == bucket:
            return found
        return {name: array[:size] for name, array in found.items()}

    def _take(self, shape: Shape) -> Stream:
        """Wait for a stream, and take one that is ready for a shape if there is any."""
        with self._changed:
            while True:
                if not self._all:
                    raise BeyondUseError(self._reason)
                latest = reversed(self._free)
                found = next((stream for stream in latest if stream.has_bound(shape)), None)
                if found is None and self._free and shape not in self._preparing:
                    found = self._free[-1]
                if found is not None:
                    self._free.remove(found)
                    return found
                self._changed.wait()

    def _put_back(self, stream: Stream) -> None:
        with self._changed:
            if stream in self._all:
                self._free.append(stream)
            self._changed.notify_all()

    def _shrink(self, bucket: int) -> None:
        """Try nothing as large as a bucket again."""
        with self._changed:
            smaller = bucket // 2
            if smaller >= self.largest:
                return  # another stream has found out before
            self.largest = smaller
        logger.warning(f"{self._named} has no memory for batches of {bucket}; using {smaller}")

    def _give_up(self, gpu: int, reason: str) -> None:
        """Use a GPU no more."""
        with self._changed:
            left = [stream for stream in self._all if stream.gpu != gpu]
            was_known = len(left) == len(self._all)
            self._all = left
            self._free = [stream for stream in self._free if stream.gpu != gpu]
            self._reason = reason
            self._changed.notify_all()
        if left and not was_known:
            logger.warning(f"GPU {gpu} has failed, the others go on: {reason}")
