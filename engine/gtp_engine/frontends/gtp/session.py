"""A conversation's state: the engine behind it, the reply being written, what the user has set.

Besides it, the commands by name: every dialect module fills a registry of its own.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gtp_engine.coords import MAX_SIZE, PASS, format_vertex, parse_vertex
from gtp_engine.frontends.gtp.gogui_pictures import LiveGraphics
from gtp_engine.frontends.gtp.protocol import Arguments, GtpError, Interrupted, format_head
from gtp_engine.frontends.pipes import Inbox, Line, Output

if TYPE_CHECKING:
    from gtp_engine.go.position import Position
    from gtp_engine.play.engine import Engine

logger = logging.getLogger(__name__)

_SAY_AFTER, _SAY_EVERY = 0.5, 5.0
"""Seconds of waiting after which people are told what for, and until they are told again."""
_LOOK_EVERY = 0.05


class Reply:
    """The reply to one request, sent whole at the end or line by line."""

    def __init__(self, request_id: str, output: Output) -> None:
        self.id = request_id
        self._output = output
        self.has_begun = False
        """Whether the client has seen its beginning, so that it can no longer be an error."""

    def begin(self) -> None:
        """Send the head of a successful reply whose lines come as they are found."""
        if not self.has_begun:
            self.has_begun = True
            self._output.write(format_head(True, self.id) + "\n")

    def line(self, text: str) -> None:
        """Send a line of the reply now.

        It is not logged: the reports of analyses would fill the log of a bot that runs for months.
        """
        self._output.write(text + "\n")

    def finish(self, text: str) -> None:
        """Send the last line, if there is one, and the empty line that ends a reply."""
        self._output.write(f"{text}\n\n" if text else "\n")


class Session:
    """What the commands' handlers work with."""

    def __init__(
        self, engine: "Engine", commands: "Registry", inbox: Inbox, output: Output
    ) -> None:
        self.engine = engine
        """The engine as it is, perhaps still loading: for what needs no board."""
        self.commands = commands
        self._inbox = inbox
        self._output = output
        self._number = 0
        """Of the line with the present request."""
        self._has_board = False
        self._has_net = False
        self.is_over = False
        """Whether the conversation ends after the present reply."""
        self.last_reason = ""
        """Why the latest generated move was chosen, for people."""
        self.opponent = ""
        """Whom the engine plays, as far as a client has said so."""
        self.live_graphics = LiveGraphics.NONE
        """What to draw in GoGui's window during a search."""
        self.pass_name = "pass"
        """How the client wants to read that a move is a pass."""
        self.reply = Reply("", output)

    def begin(self, line: Line) -> None:
        """Turn to a new request."""
        self._number = line.number
        self.reply = Reply(line.request.id, self._output)

    # The engine: whoever waits for it gets Interrupted where the client has left meanwhile, and
    # EngineUnavailableError where the net cannot be used -----------------------------------------

    def board_engine(self) -> "Engine":
        """Return the engine once it has a board."""
        if not self._has_board:
            self._wait(lambda: self.engine.position)
            self._has_board = True
        return self.engine

    def net_engine(self) -> "Engine":
        """Return the engine once it can search."""
        self.board_engine()
        if not self._has_net:
            self._wait(self.engine.wait_ready)
            self._has_net = True
        return self.engine

    def moving_engine(self) -> "Engine":
        """Return the engine once it can choose a move; on a clock it looks after that itself."""
        return self.engine if self.engine.clock.is_limited else self.net_engine()

    def wait_until_warm(self, seconds: float) -> None:
        """Wait until a search on this board loses no time to what is done once, or for so long."""
        self._wait(lambda: self.engine.wait_warm(seconds))

    def _wait(self, wait: Callable[[], object]) -> None:
        self.engine.load()
        ready = threading.Event()
        failures: list[Exception] = []

        def wait_in_background() -> None:
            try:
                wait()
            except Exception as error:
                failures.append(error)
            ready.set()

        threading.Thread(target=wait_in_background, name="gtp-waiter", daemon=True).start()
        say_at = time.perf_counter() + _SAY_AFTER
        while not ready.wait(_LOOK_EVERY):
            if self._inbox.is_client_leaving:
                raise Interrupted
            if time.perf_counter() > say_at:
                logger.info(f"please wait: {self.engine.progress}")
                say_at += _SAY_EVERY
        if failures:
            raise failures[0]

    @contextmanager
    def searching(
        self, *, any_line_stops: bool = False, stays_open: bool = False
    ) -> Iterator[threading.Event]:
        """Yield what is set once the search of the present request is to end.

        Args:
            any_line_stops: Whether whatever line the client sends ends it, as for an analysis.
            stays_open: Whether one that ends by itself waits for such a line, and is quiet.
        """
        with self._inbox.watching(self._number, any_line=any_line_stops) as stop:
            yield stop
            if stays_open:
                self._inbox.wait_for_line_after(self._number)

    @property
    def is_superseded(self) -> bool:
        """Whether the client has sent another line since the present request."""
        return self._inbox.has_line_after(self._number)

    # The game -----------------------------------------------------------------------------------

    @property
    def position(self) -> "Position":
        """The game being played."""
        return self.board_engine().position

    def parse_vertex(self, word: str) -> int:
        """Return the move that a word names on the present board.

        Raises:
            GtpError: It names none: a syntax error if it never could, else an illegal move.
        """
        try:
            return parse_vertex(word, *self.engine.size)
        except ValueError as error:
            try:
                parse_vertex(word, MAX_SIZE, MAX_SIZE)
            except ValueError:
                raise GtpError(f"syntax error: invalid vertex {word[:20]!r}") from None
            raise GtpError(f"illegal move: {error}") from None

    def parse_moves(self, arguments: Arguments) -> list[tuple[int, int]]:
        """Return the moves of `color vertex color vertex ...`."""
        return [
            (arguments.color(index), self.parse_vertex(arguments.word(index + 1, "a vertex")))
            for index in range(0, len(arguments), 2)
        ]

    def vertex(self, move: int) -> str:
        """Return the name of a move on the present board, a pass as the client reads it."""
        return self.pass_name if move == PASS else format_vertex(move, *self.engine.size)


Handler = Callable[[Session, Arguments], str]
"""Carries out a command and returns the text of its reply, or raises GtpError."""


class Registry(dict[str, Handler]):
    """Handlers by the names of their commands, each of which has one."""

    def __init__(self, *parts: "Registry") -> None:
        super().__init__()
        self._unlisted: set[str] = set()
        for part in parts:
            self._unlisted |= part._unlisted
            for name, handler in part.items():
                self[name] = handler

    def __setitem__(self, name: str, handler: Handler) -> None:
        if name in self:
            raise ValueError(f"two handlers for {name}")
        super().__setitem__(name, handler)

    def command(self, *names: str, is_listed: bool = True) -> Callable[[Handler], Handler]:
        """Register the decorated function as the handler of these commands.

        Some are not listed, for the sake of clients that fare worse where they find them.
        """

        def register(handler: Handler) -> Handler:
            for name in names:
                self[name] = handler
            if not is_listed:
                self._unlisted.update(names)
            return handler

        return register

    @property
    def listed(self) -> list[str]:
        """The commands that clients are told of, in alphabetical order."""
        return sorted(self.keys() - self._unlisted)
