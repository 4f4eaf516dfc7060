"""Commands by name. Every dialect module fills a registry of its own."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from gtp_engine.frontends.gtp.protocol import Arguments

if TYPE_CHECKING:
    from gtp_engine.frontends.gtp.session import Session

Handler = Callable[["Session", Arguments], str]
"""Carries out a command and returns the text of its reply, or raises GtpError."""


class Registry:
    """The handlers of a set of commands."""

    def __init__(self, parts: Iterable["Registry"] = ()) -> None:
        """Start with all the commands of other registries.

        Raises:
            ValueError: Two of them handle the same command.
        """
        self._handlers: dict[str, Handler] = {}
        for part in parts:
            for name in part:
                self._add(name, part._handlers[name])

    def command(self, *names: str) -> Callable[[Handler], Handler]:
        """Register the decorated function as the handler of these commands."""

        def register(handler: Handler) -> Handler:
            for name in names:
                self._add(name, handler)
            return handler

        return register

    def _add(self, name: str, handler: Handler) -> None:
        if name in self._handlers:
            raise ValueError(f"two handlers for {name}")
        self._handlers[name] = handler

    def find(self, name: str) -> Handler | None:
        """Return the handler of a command, None if there is none."""
        return self._handlers.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._handlers))

    def __contains__(self, name: object) -> bool:
        return name in self._handlers
