"""Jobs done several at a time, each in a thread of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Result = TypeVar("Result")


def run_side_by_side(
    jobs: Sequence[Callable[[], Result]], at_once: int, on_result: Callable[[Result], None]
) -> list[Result]:
    """Do all jobs and return their results in the jobs' order.

    Args:
        jobs: What to do.
        at_once: Jobs under way at a time.
        on_result: Called with each result as it comes, from the calling thread.

    Raises:
        Exception: The first that a job or `on_result` raised; jobs not begun are dropped.
    """
    with ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(job) for job in jobs]
        try:
            for done in as_completed(running):
                on_result(done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done.result() for done in running]
