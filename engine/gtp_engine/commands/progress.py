"""How far a long command is and how much time is left: a bar on a terminal, lines elsewhere."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from gtp_engine.messages import INTERRUPTED_STATUS

if TYPE_CHECKING:
    from rich.progress import Progress

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 15.0
"""Where stderr is no terminal."""


class _Numbered(Protocol):
    @property
    def number(self) -> int: ...


Game = TypeVar("Game", bound=_Numbered)


@contextmanager
def shown_progress(what: str, total: int, *, done: int = 0) -> Iterator[Callable[..., None]]:
    """Return a context with a function to call for each thing that is done; stderr shows it.

    The function takes how many were done, 1 by default, perhaps a line about them, which is shown
    at once, and how many `fewer` there will be; it may be called from any thread. What is printed
    meanwhile stands above the bar.

    Args:
        what: What is counted, such as "games".
        total: How many there will be, perhaps a few more.
        done: How many of them were done before.
    """
    if sys.stderr.isatty():
        with _counting_bar() as bar:
            task = bar.add_task(what, total=total, completed=done)

            def advance_bar(count: int = 1, text: str = "", *, fewer: int = 0) -> None:
                nonlocal total
                total -= fewer
                if text:
                    bar.console.print(text, highlight=False, markup=False)
                bar.update(task, advance=count, total=total)

            yield advance_bar
        return
    began = told = time.perf_counter()
    done_before = done
    guard = threading.Lock()

    def advance(count: int = 1, text: str = "", *, fewer: int = 0) -> None:
        nonlocal done, told, total
        with guard:
            was_there = done >= total
            done += count
            total -= fewer
            now = time.perf_counter()
            is_there = done >= total and not was_there
            is_silent = now - told < SECONDS_BETWEEN_LINES and not is_there and not text
            if is_silent or done == done_before:
                return
            told = now
            left = (now - began) / (done - done_before) * max(0, total - done)
            line = f"{done}/{total} {text or what}, {left:.0f} s left"
            print(line, file=sys.stderr, flush=True)

    yield advance


def collect_games(
    what: str,
    total: int,
    play: Callable[[Callable[[Game], bool]], object],
    wants_more: Callable[[Sequence[Game]], bool] = lambda games: True,
) -> tuple[list[Game], int]:
    """Return finished games by number, after Ctrl-C those so far, and the exit status.

    stderr shows how far they are, and that they were interrupted.

    Args:
        what: What is counted, such as "games".
        total: How many there will be, perhaps fewer.
        play: Plays them; takes a function to call with each finished game, which returns whether
            more are wanted.
        wants_more: Asked with the games so far after each of them.
    """
    games: list[Game] = []
    status = 0
    with shown_progress(what, total) as advance:

        def note(game: Game) -> bool:
            games.append(game)
            advance()
            return wants_more(games)

        try:
            play(note)
        except KeyboardInterrupt:
            status = INTERRUPTED_STATUS
    if status:
        logger.warning("interrupted" if games else "interrupted; no game was finished")
    return sorted(games, key=lambda game: game.number), status


def _counting_bar() -> "Progress":
    """Return a bar for stderr that counts what is done and tells the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeLeft(),
        console=Console(stderr=True),
        # Results go above the bar on the same terminal, but stay in a file or pipe.
        redirect_stdout=sys.stdout.isatty(),
    )
