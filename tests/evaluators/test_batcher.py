"""The batcher: what waits is merged, streams are kept to, errors reach everybody."""

import threading
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from gtp_engine.evaluators.batcher import Batcher
from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.evaluators.nets.onnx_net import FloatArray, RawOutputs

PATIENCE = 30.0
"""Seconds after which a test gives up waiting."""


class Net:
    """Answers each position with its own number; waits at the gate while it is closed."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.running = 0
        self.most_running = 0
        self.gate = threading.Event()
        self.gate.set()
        self._guard = threading.Lock()

    def run(self, spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        with self._guard:
            self.batches.append(len(spatial))
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        assert self.gate.wait(PATIENCE)
        with self._guard:
            self.running -= 1
        numbers = features[:, :1]
        return RawOutputs(numbers, None, -numbers, None, numbers[:, :, None] + spatial[:, 0])


def request(
    size: int, numbers: list[int], board: int = 3
) -> tuple[npt.NDArray[np.uint8], FloatArray]:
    assert len(numbers) == size
    features = np.array(numbers, np.float32).reshape(size, 1)
    return np.full((size, 1, board, board), 2, np.uint8), features


class Callers:
    """Threads that each hand one batch to a batcher and keep what comes back."""

    def __init__(self, batcher: Batcher) -> None:
        self.batcher = batcher
        self.results: dict[int, RawOutputs | BaseException] = {}
        self._threads: list[threading.Thread] = []

    def call(self, numbers: list[int], board: int = 3) -> None:
        """Hand in a batch and wait until it runs or waits in the batcher."""
        before = self.seen()
        thread = threading.Thread(target=self._call, args=(numbers, board), daemon=True)
        self._threads.append(thread)
        thread.start()
        wait_until(lambda: self.seen() > before)

    def seen(self) -> int:
        with self.batcher._guard:
            return self.batcher.runs + len(self.batcher._waiting) + len(self.results)

    def _call(self, numbers: list[int], board: int) -> None:
        try:
            result: RawOutputs | BaseException = self.batcher.evaluate(
                *request(len(numbers), numbers, board)
            )
        except BaseException as error:
            result = error
        self.results[numbers[0]] = result

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.perf_counter() + PATIENCE
    while not holds():
        assert time.perf_counter() < end
        time.sleep(0.001)


def numbers_of(result: RawOutputs | BaseException) -> list[int]:
    assert isinstance(result, RawOutputs)
    numbers = [int(number) for number in result.policy[:, 0]]
    assert result.policy_optimistic is None and result.score is None
    assert result.value is not None and (result.value[:, 0] == -result.policy[:, 0]).all()
    assert result.ownership is not None
    assert (result.ownership[:, 0, 0] == result.policy[:, 0] + 2).all()
    return numbers


def test_a_single_caller_runs_at_once_alone() -> None:
    net = Net()
    batcher = Batcher(net.run, streams=1, max_batch=4)
    assert (batcher.runs, batcher.evaluations) == (0, 0)
    assert numbers_of(batcher.evaluate(*request(2, [5, 6]))) == [5, 6]
    assert numbers_of(batcher.evaluate(*request(1, [7]))) == [7]
    assert net.batches == [2, 1]
    assert (batcher.runs, batcher.evaluations) == (2, 3)


def test_what_waits_for_a_stream_is_merged_up_to_the_largest_batch() -> None:
    net = Net()
    net.gate.clear()
    batcher = Batcher(net.run, streams=1, max_batch=5)
    callers = Callers(batcher)
    callers.call([1])  # takes the stream
    for numbers in ([10, 11], [20, 21], [30], [40]):
        callers.call(numbers)
    assert net.batches == [1]
    net.gate.set()
    callers.join()
    # The first free stream takes 2 + 2 + 1 positions or another five; the last one is left over.
    assert net.batches[0] == 1 and sum(net.batches) == 7
    assert max(net.batches) <= 5 and len(net.batches) == 3
    for first in (1, 10, 20, 30, 40):
        numbers = numbers_of(callers.results[first])
        assert numbers == ([first, first + 1] if first in (10, 20) else [first])


def test_more_streams_serve_what_waits_and_fewer_wait_for_those_under_way() -> None:
    net = Net()
    net.gate.clear()
    batcher = Batcher(net.run, streams=1, max_batch=1)
    callers = Callers(batcher)
    for number in (1, 10, 20):
        callers.call([number])
    assert net.batches == [1]
    batcher.use_streams(3)
    while len(net.batches) < 3:
        time.sleep(0.001)
    batcher.use_streams(1)
    callers.call([30])
    assert len(net.batches) == 3
    net.gate.set()
    callers.join()
    assert net.most_running == 3 and batcher._free_streams == batcher.streams == 1
    callers.call([40])
    callers.join()
    assert len(net.batches) == 5


def test_only_boards_of_one_size_are_merged() -> None:
    net = Net()
    net.gate.clear()
    batcher = Batcher(net.run, streams=1, max_batch=16)
    callers = Callers(batcher)
    callers.call([1])
    for number, board in ((10, 3), (20, 5), (30, 3), (40, 5)):
        callers.call([number], board)
    net.gate.set()
    callers.join()
    assert sorted(net.batches) == [1, 2, 2]
    for first in (1, 10, 20, 30, 40):
        assert numbers_of(callers.results[first]) == [first]


def test_a_larger_request_than_the_largest_batch_runs_as_it_is() -> None:
    net = Net()
    batcher = Batcher(net.run, streams=1, max_batch=2)
    assert numbers_of(batcher.evaluate(*request(5, [1, 2, 3, 4, 5]))) == [1, 2, 3, 4, 5]
    assert net.batches == [5]


def test_an_error_reaches_every_request_of_the_run_and_frees_the_stream() -> None:
    net = Net()

    def run(spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        found = net.run(spatial, features)
        if len(spatial) > 1:
            raise NetFileError("the net failed to run")
        return found

    net.gate.clear()
    batcher = Batcher(run, streams=1, max_batch=8)
    callers = Callers(batcher)
    for number in (1, 10, 20):
        callers.call([number])
    net.gate.set()
    callers.join()
    assert numbers_of(callers.results[1]) == [1]
    assert isinstance(callers.results[10], NetFileError)
    assert isinstance(callers.results[20], NetFileError)
    assert numbers_of(batcher.evaluate(*request(1, [7]))) == [7]


def test_even_an_interruption_frees_the_stream() -> None:
    calls = []

    def run(spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        calls.append(len(spatial))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return Net().run(spatial, features)

    batcher = Batcher(run, streams=1, max_batch=8)
    with pytest.raises(KeyboardInterrupt):
        batcher.evaluate(*request(1, [1]))
    assert numbers_of(batcher.evaluate(*request(1, [2]))) == [2]


def test_an_interruption_of_one_thread_is_none_of_the_others_that_share_its_run() -> None:
    net = Net()

    def run(spatial: npt.NDArray[np.uint8], features: FloatArray) -> RawOutputs:
        found = net.run(spatial, features)
        if len(spatial) > 2:
            raise KeyboardInterrupt
        return found

    net.gate.clear()
    batcher = Batcher(run, streams=1, max_batch=8)
    callers = Callers(batcher)
    for number in (1, 10, 20, 30):
        callers.call([number])
    net.gate.set()
    callers.join()
    assert isinstance(callers.results[10], KeyboardInterrupt), "it had the stream"
    assert net.batches == [1, 3, 2]
    assert [numbers_of(callers.results[number]) for number in (1, 20, 30)] == [[1], [20], [30]]


@pytest.mark.parametrize("streams", [1, 2, 3])
def test_many_threads_get_their_own_answers_on_the_streams_there_are(streams: int) -> None:
    net = Net()
    batcher = Batcher(net.run, streams, max_batch=6)
    wrong = []

    def work(worker: int) -> None:
        for i in range(40):
            size = 1 + (worker + i) % 3
            numbers = [1000 * worker + 10 * i + k for k in range(size)]
            if numbers_of(batcher.evaluate(*request(size, numbers, 3 + i % 2))) != numbers:
                wrong.append(numbers)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not wrong and not any(thread.is_alive() for thread in threads)
    assert net.most_running <= streams and max(net.batches) <= 6
    assert batcher.runs == len(net.batches) and batcher.evaluations == sum(net.batches)
    assert batcher.evaluations == sum(1 + (w + i) % 3 for w in range(8) for i in range(40))
