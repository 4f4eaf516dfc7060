"""A client for a server in the same process."""

import os
import threading

from gtp_engine.frontends.gtp.server import Server, new_inbox
from gtp_engine.frontends.journal import Journal
from gtp_engine.frontends.pipes import Output
from gtp_engine.play.engine import Engine

TIMEOUT = 300.0
"""Seconds after which a test gives up; nothing should ever take that long."""


class Conversation:
    """Talks to an engine through pipes, as a client does; a context manager."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        to_server, self._to_server = os.pipe()
        self._from_server, from_server = os.pipe()
        self._descriptors = [to_server, from_server]
        self.inbox = new_inbox(to_server)
        self.output = Output(from_server)
        self._server = Server(engine, self.inbox, self.output, Journal())
        self._received = b""
        self._grown = threading.Condition()
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self.is_over = threading.Event()

    def __enter__(self) -> "Conversation":
        self.inbox.start()
        threading.Thread(target=self._serve, daemon=True).start()
        self._receiver.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._to_server >= 0:
            self.hang_up()
        self.inbox.abandon()
        assert self.is_over.wait(TIMEOUT)

    def _serve(self) -> None:
        try:
            self._server.run()
        finally:
            os.close(self._descriptors[1])
            self.is_over.set()

    def _receive(self) -> None:
        while chunk := os.read(self._from_server, 65536):
            with self._grown:
                self._received += chunk
                self._grown.notify_all()
        os.close(self._from_server)

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        while data:
            data = data[os.write(self._to_server, data) :]

    def hang_up(self) -> None:
        """End the input."""
        os.close(self._to_server)
        self._to_server = -1

    def reply(self) -> str:
        """Return the next reply, its ending cut off."""
        with self._grown:
            assert self._grown.wait_for(lambda: b"\n\n" in self._received, TIMEOUT)
            reply, _, self._received = self._received.partition(b"\n\n")
        return reply.decode()

    def ask(self, command: str) -> str:
        """Send a command and return its reply."""
        self.send(command.encode() + b"\n")
        return self.reply()

    def everything(self) -> bytes:
        """End the input, wait for the server to leave, and return what it still said."""
        if self._to_server >= 0:
            self.hang_up()
        self._receiver.join(TIMEOUT)
        assert not self._receiver.is_alive()
        return self._received
