"""A bar with the time left, on a terminal."""

import sys
from typing import Any, Self


class ProgressBar:
    """Shows how far a run is; nothing is drawn before it is first told."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    @classmethod
    def on_a_terminal(cls) -> Self | None:
        """Return a bar for people who look at stderr; None where nobody does."""
        return cls() if sys.stderr.isatty() else None

    def __call__(self, share: float, text: str) -> None:
        """Show the share of the run that is done, 0 to 1, and a line about it."""
        if self._bar is None:
            self._start()
        self._bar.update(self._task, completed=share, description=text)

    def close(self) -> None:
        """Stop drawing and show the cursor again."""
        if self._bar is not None:
            self._bar.stop()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()
