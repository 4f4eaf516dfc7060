"""Jobs done several at a time, each in a thread of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Result = TypeVar("Result")


def parallel_map(
    jobs: Sequence[Callable[[], Result]], at_once: int, on_result: Callable[[Result], None]
) -> list[Result]:
    """Do all jobs and return their results in the jobs' order.

    Args:
        jobs: What to do.
        at_once: Jobs under way at a time.
        on_result: Called with each result as it comes, from the calling thread.

    Raises:
        Exception: The first that a job or `on_result` raised; jobs not begun are dropped.
        KeyboardInterrupt: At once, while jobs go on.
    """
    pool = ThreadPoolExecutor(at_once)
    is_interrupted = False
    try:
        running = [pool.submit(job) for job in jobs]
        for done in as_completed(running):
            on_result(done.result())
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        pool.shutdown(wait=not is_interrupted, cancel_futures=True)
    return [done.result() for done in running]
