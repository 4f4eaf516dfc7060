"""Pages of a single file each, that loads nothing from anywhere.

All text of a record reaches a page as JSON inside a script that is not run, and from there as the
text of an element, never as markup. The content security policy lets run nothing but the page's
own script, and forbids every request but, to a page that is live, its socket. Only the standard
library is imported here.
"""

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

_BOARD_HERE = "<!-- board.html -->\n"
"""Stands in a room's markup for the board and the buttons that lead through a game."""


def page_of(room: str, title: str, data: dict[str, Any], socket: str = "") -> str:
    """Return the page with a board that a room's script makes of its markup and of data.

    Args:
        room: `ROOM.html` and `ROOM.js` lie there.
        title: Plain text.
        data: What the script finds in the element `data`.
        socket: The origin that it may open a WebSocket to; none when empty.
    """
    text = json.dumps(data, separators=(",", ":"))
    # Nothing in it can end the element, begin a comment or break an old parser of scripts.
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    body = _asset(room, f"{room}.html").replace(_BOARD_HERE, _asset("pages", "board.html"))
    body += f'<script type="application/json" id="data">{text}</script>\n'
    script = _asset("pages", "board.js") + _asset(room, f"{room}.js")
    return whole_page(title, body, script, socket)


def whole_page(title: str, body: str, script: str = "", socket: str = "") -> str:
    """Return a page with its style and script inside.

    Args:
        title: Plain text.
        body: Markup; what comes from a record in it is escaped already.
        script: What the page runs.
        socket: The origin that it may open a WebSocket to; none when empty.
    """
    style = _asset("pages", "page.css")
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'"
    policy += f"; style-src {_hash_source(style)}"
    if script:
        policy += f"; script-src {_hash_source(script)}"
    if socket:
        policy += f"; connect-src {socket}"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{style}</style>\n</head>\n<body>\n{body}",
    ]
    if script:
        parts.append(f"<script>{script}</script>")
    parts.append("</body>\n</html>\n")
    return "\n".join(parts)


def _hash_source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _asset(room: str, name: str) -> str:
    return files(f"gtp_engine.frontends.{room}").joinpath(name).read_text("utf-8")
