"""Serve a board to a browser on this machine: play, analyse, review."""

import argparse
import asyncio
import contextlib
import secrets
import socket
import sys
from dataclasses import replace
from pathlib import Path

from gtp_engine.arguments import BadValueError, UsageError, parse_seed
from gtp_engine.commands.options import add_options, add_shared, check_net, read_settings
from gtp_engine.commands.process import end_process
from gtp_engine.frontends.web import EVERYWHERE
from gtp_engine.platforms import user_data_base

DEFAULT_PORT = 8619
MOST_PORT = 65535
DEFAULT_PLAYOUTS = 100

_NOT_HERE = ("game", "lag", "ogs-chat", "name", "log")
_USUAL = {
    "playouts": f"{DEFAULT_PLAYOUTS} without --time",
    "time": "60 at most",
    "keep-games": "among the user's data",
}
_EXAMPLES = """examples:
  gtp-engine web                            prints the address to open
  gtp-engine web --size 9 --level 3 --color white
  gtp-engine web --host 0.0.0.0             for a phone in the same network, unencrypted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add(
        "--port",
        type=_parse_port,
        default=DEFAULT_PORT,
        metavar="N",
        help=f"port to listen on ({DEFAULT_PORT}; 0: any)",
    )
    add("--host", default="127.0.0.1", metavar="NAME", help="where to listen (this machine only)")
    add_shared(parser, color="black")
    add_options(parser, without=_NOT_HERE, usual=_USUAL)


def _parse_port(text: str) -> int:
    port = parse_seed(text)
    if port > MOST_PORT:
        raise BadValueError(f"{text[:20]!r} is not a number from 0 to {MOST_PORT}")
    return port


def _games_folder() -> Path:
    try:
        return user_data_base() / "gtp-engine" / "games"
    except RuntimeError:
        raise UsageError("there is no home folder; --keep-games names one for the games") from None


def _own_address(family: socket.AddressFamily) -> str:
    """Return the address by which others in the network know this machine; empty: unknown."""
    with socket.socket(family, socket.SOCK_DGRAM) as asked, contextlib.suppress(OSError):
        # Nothing is sent: these addresses are for documentation, and only the way there is found.
        asked.connect(("2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1", 9))
        return str(asked.getsockname()[0])
    return ""


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; return the exit status."""
    settings = read_settings(args)
    check_net(settings.net)
    if sys.stdout is None:
        sys.exit("gtp-engine: stdout is closed, so nobody would learn the address")
    games = settings.keep_games or _games_folder()
    try:
        family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
        listener = socket.create_server((args.host, args.port), family=family)
    except (OSError, UnicodeError) as error:
        # Python repeats the address in parentheses.
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
        where = f"cannot listen on {args.host}, port {args.port}"
        raise UsageError(f"{where}: {reason}; --host and --port choose another") from None
    from gtp_engine.frontends.web.game import MOST_SECONDS, WebGame
    from gtp_engine.frontends.web.server import WebServer
    from gtp_engine.messages import collected
    from gtp_engine.play.engine import Engine

    if settings.playouts is settings.visits is settings.time is None:
        settings = replace(settings, playouts=DEFAULT_PLAYOUTS)
    settings = replace(
        settings,
        time=min(settings.time or MOST_SECONDS, MOST_SECONDS),
        keep_games=games,
        keep_all_games=True,
    )
    token = secrets.token_urlsafe(18)
    named = args.host
    if named in EVERYWHERE:
        named = _own_address(family) or named
    host = f"[{named}]" if ":" in named else named
    print(f"http://{host}:{listener.getsockname()[1]}/{token}/  (Ctrl-C ends)", flush=True)
    engine = Engine(settings)
    engine.load()
    with collected() as notices, contextlib.suppress(KeyboardInterrupt):
        game = WebGame(engine, args.color, notices)
        game.start()
        asyncio.run(WebServer(game, token, args.host).serve(listener))
    end_process(engine)
    return 0
