"""One batcher in front of a net, for any number of searches and threads.

Threads hand in batches of encoded positions and wait for the outputs. As many runs as there are
streams go on at once; a thread that finds a stream free runs at once, on its own batch alone if
nobody waits, so that a single search pays no hand-over. When all streams are busy, what
waits is merged: the thread that gets the next stream takes every waiting batch of its board size
with it, up to the largest batch. Nobody else has to do the work: there are no threads here. A run
that ends hands its stream to the request that has waited longest, and wakes only whom it concerns:
with hundreds of threads, waking all of them each time would cost more than the net.
"""

import threading
from collections import deque
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gtp_engine.evaluators.nets.onnx_net import FloatArray, RawOutputs

Run = Callable[[npt.NDArray[np.uint8], FloatArray], RawOutputs]


class _Request:
    """A batch that waits for its outputs."""

    __slots__ = ("error", "features", "group", "outputs", "spatial", "woken")

    def __init__(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> None:
        self.spatial = spatial
        self.features = features
        self.outputs: RawOutputs | None = None
        self.error: BaseException | None = None
        self.group: list[_Request] = []
        """With whom it is to run on the stream that it was given; empty if another runs it."""
        self.woken = threading.Event()


class Batcher:
    """Merges batches from many threads into runs of one net."""

    def __init__(self, run: Run, streams: int, max_batch: int) -> None:
        """Serve a net.

        Args:
            run: Evaluates [B, C, H, W] planes and [B, G] globals; called from several threads.
            streams: Runs under way at once; on a CPU, the cores.
            max_batch: Largest merged batch. A single larger request is run as it is.
        """
        self._run = run
        self.max_batch = max_batch
        """Largest merged batch."""
        self.streams = streams
        """Runs that may be under way at once."""
        self._free_streams = streams
        self._waiting: deque[_Request] = deque()
        self._guard = threading.Lock()
        self.runs = 0
        """Runs so far."""
        self.evaluations = 0
        """Positions evaluated so far."""

    def use_streams(self, streams: int) -> None:
        """Have so many runs under way at once from now on, or as soon as those of now end."""
        with self._guard:
            self._free_streams += streams - self.streams
            self.streams = streams
            self._serve()

    def evaluate(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        """Return the outputs of a batch, which may share a run with others of its board size.

        Args:
            spatial: [B, C, H, W] planes.
            features: [B, G] globals.

        Raises:
            NetFileError: The run failed; every request of the run gets the error.
        """
        mine: _Request | None = None
        with self._guard:
            if self._free_streams > 0:  # so that nobody waits
                self._take_stream(len(spatial))
            else:
                mine = _Request(spatial, features)
                self._waiting.append(mine)
        if mine is not None:
            return self._outputs_after_waiting(mine)
        try:
            return self._run(spatial, features)
        finally:
            with self._guard:
                self._free_stream()

    def _outputs_after_waiting(self, mine: _Request) -> RawOutputs:
        """Return the outputs of a request that is in the queue."""
        self._wait(mine)
        if mine.group:
            self._run_group(mine.group)
        if mine.error is not None:
            raise mine.error
        assert mine.outputs is not None
        return mine.outputs

    def _wait(self, mine: _Request) -> None:
        """Wait until a request is done or has a stream; give the stream up if interrupted."""
        try:
            mine.woken.wait()
        except BaseException:
            with self._guard:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                elif mine.group:
                    self._waiting.extendleft(reversed(mine.group[1:]))
                    self._free_stream()
            raise

    def _take_stream(self, positions: int) -> None:
        """Take a stream for a run of so many positions."""
        self._free_streams -= 1
        self.runs += 1
        self.evaluations += positions

    def _give_stream(self, mine: _Request) -> None:
        """Take a stream for a request, and with it what waits for the same board size."""
        mine.group = [mine]
        total = len(mine.spatial)
        shape = mine.spatial.shape[1:]
        for request in self._waiting:
            fits = total + len(request.spatial) <= self.max_batch
            if request.spatial.shape[1:] == shape and fits:
                mine.group.append(request)
                total += len(request.spatial)
        for request in mine.group[1:]:
            self._waiting.remove(request)
        self._take_stream(total)

    def _free_stream(self) -> None:
        """Free a stream and give it to whoever has waited longest."""
        self._free_streams += 1
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self._free_streams > 0:
            first = self._waiting.popleft()
            self._give_stream(first)
            first.woken.set()

    def _run_group(self, group: list[_Request]) -> None:
        """Run a group on the stream taken for it, free the stream and hand out the outputs.

        An interruption concerns the calling thread alone; the others wait on.
        """
        outputs: list[RawOutputs] = []
        error: BaseException | None = None
        try:
            outputs = self._outputs_of(group)
        except BaseException as failure:  # whatever it is, others wait for the stream
            error = failure
        is_interrupted = error is not None and not isinstance(error, Exception)
        with self._guard:
            if is_interrupted:
                self._waiting.extendleft(reversed(group[1:]))
                group = group[:1]
            self._free_stream()
        for i, request in enumerate(group):
            if error is None:
                request.outputs = outputs[i]
            else:
                request.error = error
            request.woken.set()

    def _outputs_of(self, group: list[_Request]) -> list[RawOutputs]:
        if len(group) == 1:
            return [self._run(group[0].spatial, group[0].features)]
        merged = self._run(
            np.concatenate([request.spatial for request in group]),
            np.concatenate([request.features for request in group]),
        )
        outputs = []
        start = 0
        for request in group:
            end = start + len(request.spatial)
            outputs.append(_rows(merged, start, end))
            start = end
        return outputs


def _rows(outputs: RawOutputs, start: int, end: int) -> RawOutputs:
    return RawOutputs(*(None if array is None else array[start:end] for array in outputs))
