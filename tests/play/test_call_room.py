"""Calls below a roomy frame take no memory from the system, however deep they are."""

import sys
import threading

import pytest

from gtp_engine.play.call_room import with_room

ROUNDS = 2000


def step(number: int) -> int:
    return number + 1


def count(limit: int) -> int:
    total = 0
    for _ in range(limit):
        total = step(total)
    return total


def faults_below(depth: int) -> int:
    """Return the pages taken by a loop of calls at this depth."""
    import resource

    if depth:
        return faults_below(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert count(ROUNDS) == ROUNDS
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(sys.platform == "win32", reason="pages taken are not counted there")
def test_no_depth_is_at_the_edge_of_a_block() -> None:
    found: list[int] = []

    def measure() -> None:
        found.extend(faults_below(depth) for depth in range(300))

    thread = threading.Thread(target=with_room(measure))
    thread.start()
    thread.join()
    assert len(found) == 300 and max(found) < ROUNDS // 4


def test_arguments_results_and_errors_pass_through() -> None:
    assert with_room(divmod)(7, 2) == (3, 1)
    assert with_room(sorted)([1, 3, 2], reverse=True) == [3, 2, 1]
    with pytest.raises(ZeroDivisionError):
        with_room(divmod)(7, 0)
