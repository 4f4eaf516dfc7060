"""Batches on GPUs, with streams that answer as told and with a session on the CPU."""

import threading
from typing import Any

import numpy as np
import pytest
from tests.paths import TINY

from gtp_engine.evaluators.runtimes.onnx_runtime import (
    CPU,
    Array,
    is_out_of_memory,
    open_session,
    run_plain,
)
from gtp_engine.evaluators.runtimes.streams import (
    BUCKETS,
    BeyondUseError,
    SessionStream,
    StreamPool,
    shape_of,
)

OUT_OF_MEMORY = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Conv"
    " node. BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 9"
)
PATIENCE = 30.0


class Stream:
    """Answers each row with twice itself; has memory for so many rows."""

    def __init__(self, gpu: int = 0, memory: int = 10**6) -> None:
        self.gpu = gpu
        self.memory = memory
        self.error: str | None = None
        self.buckets: list[int] = []
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.bound_shapes: set[Any] = set()
        self.may_bind = threading.Event()
        self.may_bind.set()
        self.binding = threading.Event()

    def has_bound(self, shape: Any) -> bool:
        return shape in self.bound_shapes

    def bound(self, feed: Any, bucket: int) -> None:
        self.binding.set()
        assert self.may_bind.wait(PATIENCE)
        if self.error is not None:
            raise RuntimeError(self.error)
        self.bound_shapes.add(shape_of(feed, bucket))

    def run(self, feed: Any, bucket: int) -> dict[str, Array]:
        self.buckets.append(bucket)
        self.entered.set()
        assert self.gate.wait(PATIENCE)
        if self.error is not None:
            raise RuntimeError(self.error)
        if bucket > self.memory:
            raise RuntimeError(OUT_OF_MEMORY)
        rows = feed["x"]
        assert len(rows) <= bucket
        return {"y": np.concatenate([2 * rows, np.full((bucket - len(rows), 1), np.nan)])}


def rows(count: int) -> dict[str, Array]:
    return {"x": np.arange(count, dtype=np.float32).reshape(count, 1)}


def assert_right(found: dict[str, Array], count: int) -> None:
    np.testing.assert_array_equal(found["y"], 2 * rows(count)["x"])


@pytest.mark.parametrize(
    "count, buckets",
    [
        (1, [1]),
        (2, [2]),
        (3, [4]),
        (33, [64]),
        (256, [256]),
        (300, [256, 64]),
        (513, [256] * 2 + [1]),
    ],
)
def test_batches_are_padded_to_buckets(count: int, buckets: list[int]) -> None:
    stream = Stream()
    assert_right(StreamPool([stream]).run(rows(count)), count)
    assert stream.buckets == buckets


@pytest.mark.parametrize(
    "count, buckets",
    [
        (3, [2, 1]),
        (4, [4]),
        (6, [4, 2]),
        (7, [8]),
        (24, [16, 8]),
        (13, [8, 4, 1]),
        (25, [16, 8, 1]),
        (28, [32]),
        (31, [32]),
        (39, [32, 8]),
    ],
)
def test_batches_that_nearly_fill_a_bucket_are_padded_and_others_divided(
    count: int, buckets: list[int]
) -> None:
    stream = Stream()
    assert_right(StreamPool([stream], 32, pads=False).run(rows(count)), count)
    assert stream.buckets == buckets


@pytest.mark.parametrize("named", ["the GPU", "OpenVINO"])
def test_want_of_memory_is_answered_by_smaller_batches(named: str, said: list[str]) -> None:
    stream = Stream(memory=20)
    pool = StreamPool([stream], named=named)
    assert_right(pool.run(rows(100)), 100)
    assert stream.buckets == [128, 64, 32] + [16] * 6 + [4]
    assert pool.largest == 16
    assert said == [
        f"{named} has no memory for batches of 128; using 64",
        f"{named} has no memory for batches of 64; using 32",
        f"{named} has no memory for batches of 32; using 16",
    ]
    assert_right(pool.run(rows(16)), 16)
    assert len(said) == 3


def test_a_gpu_without_any_memory_has_failed() -> None:
    pool = StreamPool([Stream(memory=0)])
    with pytest.raises(BeyondUseError, match="Failed to allocate memory"):
        pool.run(rows(5))


def test_the_other_gpus_go_on(said: list[str]) -> None:
    streams = [Stream(0), Stream(0), Stream(1)]
    streams[2].error = "CUDA failure 700: an illegal memory access was encountered"
    pool = StreamPool(streams)
    for _ in range(3):
        assert_right(pool.run(rows(3)), 3)
    assert len(streams[2].buckets) == 1, "it is asked no more"
    assert said == [
        "GPU 1 has failed, the others go on: "
        "CUDA failure 700: an illegal memory access was encountered"
    ]
    streams[0].error = streams[1].error = "gone"
    with pytest.raises(BeyondUseError, match="gone"):
        pool.run(rows(3))
    with pytest.raises(BeyondUseError, match="gone"):
        pool.run(rows(3))
    assert len(said) == 1


def test_as_many_batches_are_in_flight_as_there_are_streams() -> None:
    streams = [Stream(), Stream()]
    for stream in streams:
        stream.gate.clear()
    pool = StreamPool(streams)
    found: list[dict[str, Array]] = []
    threads = [threading.Thread(target=lambda: found.append(pool.run(rows(3)))) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert all(stream.entered.wait(PATIENCE) for stream in streams)
    for stream in streams:
        stream.gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 5
    for one in found:
        assert_right(one, 3)


def test_a_stream_that_is_ready_is_taken_before_others() -> None:
    streams = [Stream(), Stream(), Stream()]
    streams[1].bound_shapes.add(shape_of(rows(1), 4))
    StreamPool(streams).run(rows(3))
    assert [stream.buckets for stream in streams] == [[], [4], []]


def test_while_streams_are_made_ready_batches_wait_for_the_first_one() -> None:
    streams = [Stream(), Stream()]
    for stream in streams:
        stream.may_bind.clear()
    pool = StreamPool(streams, 32, pads=False)
    thread = pool.prepare(rows(1), 4)
    found: list[dict[str, Array]] = []
    asks = threading.Thread(target=lambda: found.append(pool.run(rows(4))), daemon=True)
    asks.start()
    assert streams[0].binding.wait(PATIENCE)
    pool.run(rows(8))  # of a shape that nobody makes ready
    assert [stream.buckets for stream in streams] == [[], [8]] and not found
    streams[0].may_bind.set()
    asks.join(PATIENCE)
    assert_right(found[0], 4)
    assert streams[1].binding.wait(PATIENCE)
    assert streams[0].bound_shapes == {shape_of(rows(1), bucket) for bucket in (1, 2, 4)}
    assert streams[0].buckets == [4] and not streams[1].bound_shapes
    streams[1].may_bind.set()
    thread.join(PATIENCE)
    assert streams[0].bound_shapes == streams[1].bound_shapes


def test_batches_do_not_wait_where_no_thread_can_make_streams_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = StreamPool([Stream()])
    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="new thread"):
        patched.setattr(threading.Thread, "start", refuse)
        pool.prepare(rows(1), 1)
    assert_right(pool.run(rows(1)), 1)


def test_batches_do_not_wait_for_what_cannot_be_made_ready() -> None:
    streams = [Stream(), Stream()]
    streams[0].error = "no memory"
    streams[1].may_bind.clear()
    pool = StreamPool(streams)
    thread = pool.prepare(rows(1), 1)
    assert streams[1].binding.wait(PATIENCE)
    assert_right(pool.run(rows(1)), 1)
    streams[1].may_bind.set()
    thread.join(PATIENCE)


def test_threads_that_wait_for_a_gpu_hear_of_its_failure() -> None:
    stream = Stream()
    stream.gate.clear()
    stream.error = "gone"
    pool = StreamPool([stream])
    errors: list[BeyondUseError] = []

    def call() -> None:
        try:
            pool.run(rows(1))
        except BeyondUseError as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    stream.gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert [str(error) for error in errors] == ["gone"] * 3


@pytest.mark.parametrize(
    "text, is_memory",
    [
        (OUT_OF_MEMORY, True),
        ("CUDA failure 2: out of memory ; GPU=0", True),
        ("Available memory of 19293184 is smaller than requested bytes of 47464704", True),
        ("CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED", True),
        ("CUDNN failure 4002: CUDNN_STATUS_INTERNAL_ERROR", False),
        ("CUDA failure 700: an illegal memory access was encountered", False),
    ],
)
def test_what_counts_as_want_of_memory(text: str, is_memory: bool) -> None:
    assert is_out_of_memory(RuntimeError(text)) == is_memory


# Bound memory, on the CPU ------------------------------------------------------------------------


def inputs(count: int, size: int, seed: int) -> dict[str, Array]:
    generator = np.random.Generator(np.random.PCG64(seed))
    return {
        "spatial_in": generator.integers(0, 2, (count, 22, size, size), np.uint8),
        "global_in": generator.normal(size=(count, 19)).astype(np.float32),
    }


def test_bound_batches_give_what_plain_runs_give() -> None:
    session = open_session(TINY, [CPU])
    pool = StreamPool([SessionStream(session, 0, "cpu")])
    kept = []
    for seed, (count, size) in enumerate([(1, 9), (3, 9), (3, 9), (4, 5), (2, 9), (1, 9)]):
        feed = inputs(count, size, seed)
        found, plain = pool.run(feed), run_plain(session, feed)
        assert set(found) == set(plain)
        for name, expected in plain.items():
            np.testing.assert_allclose(found[name], expected, atol=1e-5, err_msg=name)
        kept.append((found, plain))
    for found, plain in kept:  # later runs have not written over earlier outputs
        np.testing.assert_allclose(found["policy"], plain["policy"], atol=1e-5)


def test_memory_of_sizes_long_past_is_given_back() -> None:
    stream = SessionStream(open_session(TINY, [CPU]), 0, "cpu")
    for size in range(2, 25):
        stream.run(inputs(1, size, size), 1)
    assert len(stream._bound) == stream.kept_shapes >= 2 * len(BUCKETS)


def test_the_shape_that_was_not_used_for_longest_is_forgotten_first() -> None:
    stream = SessionStream(open_session(TINY, [CPU]), 0, "cpu")
    often = stream.bound(inputs(1, 9, 0), 1)
    for bucket in range(1, 2 * stream.kept_shapes):
        stream.bound(inputs(1, 5, 0), bucket)
        assert stream.bound(inputs(1, 9, 0), 1) is often


def test_a_shape_that_is_bound_is_run_while_another_one_is_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = SessionStream(open_session(TINY, [CPU]), 0, "cpu")
    known = stream.bound(inputs(1, 5, 0), 1)
    begun, goes_on = threading.Event(), threading.Event()
    bind = stream._bind

    def slowly(feed: dict[str, Array], bucket: int) -> Any:
        begun.set()
        assert goes_on.wait(PATIENCE)
        return bind(feed, bucket)

    monkeypatch.setattr(stream, "_bind", slowly)
    thread = threading.Thread(target=stream.bound, args=(inputs(1, 9, 0), 1))
    thread.start()
    assert begun.wait(PATIENCE)
    found: list[Any] = []
    asks = threading.Thread(target=lambda: found.append(stream.bound(inputs(1, 5, 0), 1)))
    asks.start()
    asks.join(PATIENCE)
    goes_on.set()
    thread.join(PATIENCE)
    assert found and found[0] is known
