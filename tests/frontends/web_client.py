"""`gtp-engine web` as a process, and a client of its socket, for tests of page and server."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.paths import TINY_NET
from websockets.sync.client import ClientConnection, connect

PATIENCE = 120.0
"""Seconds after which a test gives up."""


class Served:
    """A server of its own process."""

    def __init__(self, folder: Path, *options: str, net: str = TINY_NET) -> None:
        """Start it; it keeps games in a folder.

        Args:
            folder: Where games go.
            options: More of the command line.
            net: The smallest where nothing is said.
        """
        command = [sys.executable, "-m", "gtp_engine", "web", "--port", "0", "--net", net]
        command += ["--device", "cpu", "--playouts", "12", "--keep-games", str(folder), *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[0]
        parts = urlsplit(self.address)
        assert parts.hostname is not None and parts.port is not None
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path

    def client(self) -> ClientConnection:
        """Return a socket like that of the page."""
        own = f"http://{self.host}:{self.port}"
        return connect(
            f"ws{own[4:]}{self.path}socket", origin=own, max_size=None, close_timeout=1, proxy=None
        )  # type: ignore[arg-type]

    def rss_mb(self) -> float:
        """Return the memory that the process holds."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """End it; return its status and what it wrote on stderr."""
        with contextlib.suppress(OSError):
            os.kill(self.process.pid, number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


@contextlib.contextmanager
def served(folder: Path, *options: str) -> Iterator[Served]:
    """Return a context with a server that is ready."""
    made = Served(folder, *options)
    try:
        with made.client() as client:
            state_when(client, lambda state: state.get("is_ready", False))
        yield made
    finally:
        if made.process.poll() is None:
            made.end()


def state_when(client: ClientConnection, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the first state that a client is told and that is as wanted."""
    while True:
        state: dict[str, Any] = json.loads(client.recv(timeout=PATIENCE))
        if holds(state):
            return state


def wish(client: ClientConnection, do: str, **more: Any) -> None:
    """Send a wish."""
    client.send(json.dumps({"do": do, **more}))


SEAT = {"you": "black", "net": "as started", "level": "10", "playouts": "12", "profile": ""}


def new_game(client: ClientConnection, **terms: str) -> dict[str, Any]:
    """Begin a game of its own, and return the first state of it."""
    usual = {"size": "5", "rules": "chinese", "komi": "", "handicap": "0"}
    before = state_when(client, lambda state: True)["game"]
    wish(client, "new", **{**usual, **SEAT, **terms})
    return state_when(client, lambda state: state["game"] > before and state["doing"] == "")
