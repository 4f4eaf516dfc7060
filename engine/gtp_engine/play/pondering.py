"""Search on while the opponent thinks. Only the standard library is imported here."""

import logging
import threading
from typing import TYPE_CHECKING

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.search.stopping import Limits

if TYPE_CHECKING:
    from gtp_engine.go.position import Position
    from gtp_engine.search.search import Search

logger = logging.getLogger(__name__)


LONGEST_SECONDS = 600.0
"""After so long it ends by itself: an opponent who has left without a word may never be back."""


class Ponderer:
    """Runs a search in a thread of its own until it is stopped, or LONGEST_SECONDS are over."""

    def __init__(self) -> None:
        """Wait to be started."""
        self._under_way: tuple[threading.Event, threading.Thread] | None = None

    @property
    def is_at_work(self) -> bool:
        """Whether a search is under way."""
        return self._under_way is not None and self._under_way[1].is_alive()

    def start(self, search: "Search", position: "Position") -> None:
        """Begin to search a position; nobody else may use the search until `stop` returns."""
        search.set_position(position)
        stop = threading.Event()
        thread = threading.Thread(target=self._think, args=(search, stop), daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no thread left
            logger.warning(f"no pondering: {error}")
            return
        self._under_way = stop, thread

    def stop(self) -> None:
        """End the search, if one is under way; what the tree has learned stays."""
        if self._under_way is None:
            return
        stop, thread = self._under_way
        stop.set()
        thread.join()
        self._under_way = None

    def _think(self, search: "Search", stop: threading.Event) -> None:
        try:
            search.run(Limits(seconds=LONGEST_SECONDS, stop=stop))
        except (NetFileError, RuntimeError, MemoryError) as error:
            logger.error(f"no pondering: {error}")
