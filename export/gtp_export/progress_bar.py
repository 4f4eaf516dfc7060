"""A bar with the time left on a terminal, lines in the log elsewhere."""

import logging
import sys
from typing import Any, Self

logger = logging.getLogger(__name__)


class ProgressBar:
    """Shows how far a run is; nothing is drawn before it is first told."""

    def __init__(self) -> None:
        self._is_seen = sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        """Do nothing yet."""
        return self

    def tell(self, share: float, text: str, line: str = "") -> None:
        """Show the share of the run that is done, 0 to 1, and a text about it.

        Args:
            line: What is logged instead where there is no terminal; empty: nothing.
        """
        if self._is_seen:
            if self._bar is None:
                self._start()
            self._bar.update(self._task, completed=share, description=text)
        elif line:
            logger.info(line)

    def __exit__(self, *error: object) -> None:
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
