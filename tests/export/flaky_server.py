"""An HTTP server on the loopback interface that behaves as badly as a test wants."""

import hashlib
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass
class Habits:
    """What the server has, and what it does to those who ask."""

    content: bytes
    breaks_after: list[int] = field(default_factory=list)
    """Bytes of the body after which the first, second ... connection is cut."""
    knows_ranges: bool = True
    has_tag: bool = True
    status: int = 200
    reason: str | None = None
    """What is said beside the status; the usual when None."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent beside or in place of the usual."""
    added_length: int = 0
    """By how much the announced length is wrong."""
    wrong_range: bool = False
    """Whether parts begin elsewhere than asked for."""
    is_chunked: bool = False
    """Whether the body comes in chunks, of a length that is not told."""
    busy: int = 0
    """Requests that are answered 429 before one is served."""
    requests: list[dict[str, str]] = field(default_factory=list)
    """Headers of every request."""

    @property
    def tag(self) -> str:
        """The version of the content."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:12]}"'


class FlakyServer:
    """Serves one file at /files/NAME."""

    def __init__(self, habits: Habits) -> None:
        """Listen on a free port."""
        self.habits = habits

        class Handler(_Handler):
            the_habits = habits

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, name: str) -> str:
        """Return the address of the file under a name."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/files/{name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # that of chunks
    the_habits: Habits

    def do_GET(self) -> None:
        habits = self.the_habits
        habits.requests.append({key.lower(): value for key, value in self.headers.items()})
        if habits.status != 200:
            self.send_response(habits.status, habits.reason)
            for name, value in habits.headers.items():
                self.send_header(name, value)
            self.end_headers()
            return
        if habits.busy:
            habits.busy -= 1
            self.send_error(429)
            return
        start = self._start()
        if start > len(habits.content):
            self.send_error(416)
            return
        body = habits.content[start:]
        self.send_response(206 if start else 200)
        if start:
            shown = start + 1 if habits.wrong_range else start
            end = len(habits.content)
            self.send_header("Content-Range", f"bytes {shown}-{end - 1}/{end}")
        if habits.has_tag:
            self.send_header("ETag", habits.tag)
        usual = {"Content-Length": str(len(body) + habits.added_length)}
        if habits.is_chunked:
            usual = {"Transfer-Encoding": "chunked"}
        for name, value in (usual | habits.headers).items():
            self.send_header(name, value)
        self.end_headers()
        is_cut = bool(habits.breaks_after)
        if is_cut:
            body = body[: habits.breaks_after.pop(0)]
        if habits.is_chunked:
            end = b"" if is_cut else b"0\r\n\r\n"
            body = b"%x\r\n%b\r\n%b" % (len(body), body, end)
        self.wfile.write(body)
        self.close_connection = True

    def _start(self) -> int:
        habits = self.the_habits
        wanted = self.headers.get("Range", "")
        right_version = self.headers.get("If-Range", habits.tag) == habits.tag
        if not habits.knows_ranges or not wanted or not right_version:
            return 0
        return int(wanted.removeprefix("bytes=").rstrip("-"))

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""
