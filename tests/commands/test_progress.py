"""How far a long command is: lines where stderr is no terminal, a bar on one."""

import io
import sys
from argparse import Namespace
from collections.abc import Callable

import pytest

from gtp_engine.commands import progress
from gtp_engine.commands.progress import SECONDS_BETWEEN_LINES, shown_progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what tells the times that the clock will show."""

    def show(*times: float) -> None:
        told = iter(times)
        monkeypatch.setattr(progress, "time", Namespace(perf_counter=lambda: next(told)))

    return show


def test_lines_come_now_and_then_and_at_the_end(
    clock: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    step = 0.6 * SECONDS_BETWEEN_LINES
    clock(0.0, step, 2 * step, 3 * step, 4 * step, 4 * step)
    with shown_progress("games", 5) as advance:
        for _ in range(5):
            advance()
    captured = capsys.readouterr()
    # After two of five 18 seconds are gone, so three more take 27.
    assert captured.err.splitlines() == [
        "2/5 games, 27 s left",
        "4/5 games, 9 s left",
        "5/5 games, 0 s left",
    ]
    assert not captured.out


def test_what_was_done_before_says_nothing_about_the_time_left(
    clock: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    clock(0.0, 20.0, 40.0)
    with shown_progress("positions", 10, done=6) as advance:
        advance()
        advance()
    assert capsys.readouterr().err.splitlines() == [
        "7/10 positions, 60 s left",
        "8/10 positions, 40 s left",
    ]


def test_what_there_is_to_tell_is_told_at_once(
    clock: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    clock(0.0, 1.0)
    with shown_progress("games", 3) as advance:
        advance(text="B won")
    assert capsys.readouterr().err == "1/3 B won, 2 s left\n"


def test_what_is_not_to_be_done_any_more_is_off_the_total(
    clock: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    clock(0.0, 1.0, 2.0, 3.0)
    with shown_progress("visits", 10) as advance:
        advance(0, fewer=4)
        advance(5)
        advance(0, fewer=1)
    assert capsys.readouterr().err == "5/5 visits, 0 s left\n"


def test_a_few_more_than_was_said_get_no_lines(
    clock: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    step = 0.6 * SECONDS_BETWEEN_LINES
    clock(0.0, 1.0, 2.0, 3.0, 4.0, 2.0 + 2 * step)
    with shown_progress("games", 2) as advance:
        for _ in range(5):
            advance()
    assert capsys.readouterr().err.splitlines() == ["2/2 games, 0 s left", "5/2 games, 0 s left"]


class Terminal(io.StringIO):
    """A stderr that says it is one."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    terminal = sys.stderr
    with shown_progress("games", 4, done=1) as advance:
        for _ in range(3):
            advance(text="[B] won")
        print("game 7 cannot be read", file=sys.stderr)
    shown = terminal.getvalue()  # type: ignore[attr-defined]
    assert "games" in shown and "4/4" in shown and "0:00:0" in shown
    assert "game 7 cannot be read\n" in shown and "[B] won\n" in shown


def test_results_that_go_to_a_file_stay_out_of_the_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress("boards", 1) as advance:
        print("board 1: taken for dead: C3")
        advance()
    assert capsys.readouterr().out == "board 1: taken for dead: C3\n"
    assert "taken for dead" not in terminal.getvalue()
