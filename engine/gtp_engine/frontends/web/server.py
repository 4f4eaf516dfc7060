"""The server of a page that plays: who gets in, and what goes back and forth.

The address holds a token that nobody can guess. Whoever does not know it gets nothing, nor does a
page of another origin, or one that came here by another name than this machine's.
"""

import asyncio
import contextlib
import hmac
import re
import socket
import weakref
from ipaddress import ip_address

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from gtp_engine.frontends.pages.page import page_of
from gtp_engine.frontends.web import EVERYWHERE
from gtp_engine.frontends.web.game import WebGame

MOST_TABS = 8
TOO_MANY_TABS = 4000
"""The code that closes a socket with a reason for the page to show."""
MOST_CONNECTIONS = 128
"""More are turned away at once."""
MOST_MESSAGE = 1 << 20
"""Bytes; a game is rarely a tenth of it."""
PACE = 0.01
"""Seconds from one message of a tab to the next that is read."""
_HOST = re.compile(r"\[?([0-9a-z.:-]+?)\]?(?::\d+)?")
"""A name or an address, and perhaps a port."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Doorkeeper:
    """Lets in only who knows the token, names this machine, and comes from its own page.

    Args:
        token: The first part of every path.
        host: Where the server listens, besides which only loopback is a name for it.
    """

    def __init__(self, app: Starlette, token: str, host: str) -> None:
        self._app = app
        self._token = token.encode()
        self._names = {"localhost", "127.0.0.1", "::1", host.lower()}
        self._is_anywhere = host in EVERYWHERE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if self._lets_in(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})  # before it was accepted: status 403
        else:
            text = "Not here: use the whole address that gtp-engine has printed, numbers and all.\n"
            await PlainTextResponse(text, 403, HEADERS)(scope, receive, send)

    def _lets_in(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        token = scope["path"].split("/")[1].encode() if "/" in scope["path"] else b""
        is_own = origin == f"http://{host}" or (origin is None and scope["type"] == "http")
        return is_own and self._is_named(host) and hmac.compare_digest(token, self._token)

    def _is_named(self, host: str) -> bool:
        """Whether a name is this machine's; an address is no trick of a name server."""
        found = _HOST.fullmatch(host.lower())
        name = "" if found is None else found[1]
        if self._is_anywhere and name not in self._names:
            with contextlib.suppress(ValueError):
                return bool(ip_address(name))
        return name in self._names


class _Connection(H11Protocol):
    """A connection that does not wait for ever: what is no socket by then ends."""

    LONGEST_SECONDS = 20.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # By a weak reference, so that the clock keeps nothing of those that have ended.
        self.loop.call_later(self.LONGEST_SECONDS, _end_request, weakref.ref(transport))


def _end_request(reference: weakref.ref[asyncio.Transport]) -> None:
    transport = reference()
    if transport is not None and isinstance(transport.get_protocol(), _Connection):
        transport.abort()


class WebServer:
    """Serves one game to its pages, whose addresses all begin with the token."""

    def __init__(self, game: WebGame, token: str, host: str) -> None:
        self._game = game
        self._tabs: set[asyncio.Event] = set()
        """What tells each open page that there is news."""
        routes = [
            Route("/{token}/", self._page),
            Route("/{token}/game.sgf", self._record),
            Route("/{token}/review", self._review),
            WebSocketRoute("/{token}/socket", self._talk),
        ]
        self.app = Doorkeeper(Starlette(routes=routes), token, host)

    async def serve(self, listener: socket.socket) -> None:
        """Serve until a signal ends it.

        Args:
            listener: Is bound already.
        """
        loop = asyncio.get_running_loop()

        def tell_soon() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._tell_all)

        self._game.on_change = tell_soon
        config = uvicorn.Config(
            self.app,
            http=_Connection,
            ws="websockets-sansio",
            ws_max_size=MOST_MESSAGE,
            ws_per_message_deflate=False,
            limit_concurrency=MOST_CONNECTIONS,
            h11_max_incomplete_event_size=1 << 14,
            timeout_graceful_shutdown=1,
            log_config=None,
            log_level="critical",
            lifespan="off",
            proxy_headers=False,
            server_header=False,
        )
        await uvicorn.Server(config).serve(sockets=[listener])

    def _tell_all(self) -> None:
        for news in self._tabs:
            news.set()

    async def _page(self, request: Request) -> Response:
        origin = f"ws://{request.headers['host']}"
        page = page_of("web", "gtp-engine", self._game.choices(), origin)
        return HTMLResponse(page, headers=HEADERS)

    async def _record(self, request: Request) -> Response:
        headers = {**HEADERS, "Content-Disposition": 'attachment; filename="game.sgf"'}
        return Response(self._game.sgf, headers=headers, media_type="application/x-go-sgf")

    async def _review(self, request: Request) -> Response:
        if not self._game.review_page:
            return PlainTextResponse("No review has been made.\n", 404, HEADERS)
        return HTMLResponse(self._game.review_page, headers=HEADERS)

    async def _talk(self, tab: WebSocket) -> None:
        """Take the wishes of a tab one by one, and tell it what has changed meanwhile."""
        await tab.accept()
        if len(self._tabs) >= MOST_TABS:
            reason = f"{MOST_TABS} tabs are open already; close one of them."
            return await tab.close(TOO_MANY_TABS, reason)
        news = asyncio.Event()
        news.set()
        self._tabs.add(news)
        teller = asyncio.create_task(self._keep_telling(tab, news))
        try:
            while True:
                message = await tab.receive()
                if message["type"] == "websocket.disconnect":
                    return
                data = message.get("bytes")  # of a file, which may be empty
                self._game.wish(message.get("text") or "" if data is None else data)
                await asyncio.sleep(PACE)
        finally:
            self._tabs.discard(news)
            teller.cancel()

    async def _keep_telling(self, tab: WebSocket, news: asyncio.Event) -> None:
        """Send the newest state whenever there is one; a slow reader misses some."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while await news.wait():
                news.clear()
                await tab.send_text(self._game.text)
