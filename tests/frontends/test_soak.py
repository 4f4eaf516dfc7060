"""A process that plays for long keeps no more than it had."""

import sys

import pytest
from tests.frontends.soak import play_games

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@needs_proc
def test_a_few_games_leave_no_thread_and_no_file_behind() -> None:
    early, late, moves = play_games(6)
    assert moves > 100
    assert late.threads <= early.threads and late.files <= early.files


@needs_proc
@pytest.mark.slow
def test_many_games_take_no_more_memory() -> None:
    early, late, _ = play_games(500)
    assert late.resident < 1.05 * early.resident
    assert late.threads <= early.threads and late.files <= early.files
