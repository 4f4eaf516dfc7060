"""Pages that one can mail: a single file each, that loads nothing from anywhere.

All text of a record reaches a page as JSON inside a script that is not run, and from there as the
text of an element, never as markup. The content security policy lets run nothing but the page's
own script, and forbids every request.
"""

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

from gtp_engine.coords import PASS, parse_vertex, row_col
from gtp_engine.frontends.review.findings import PHASES
from gtp_engine.frontends.review.phrases import names, phrase
from gtp_engine.frontends.review.stages import DEEPER
from gtp_engine.go.game_record import GameRecord, Setup

_PASS_LETTERS = "--"


def game_page(record: GameRecord, report: dict[str, Any], player: str | None = None) -> str:
    """Return the page of a game.

    Args:
        record: The game, for its set-up and comments.
        report: What the review found.
        player: Whose mistakes are asked about at first, "black" or "white"; None: both.
    """
    data = json.dumps(_page_data(record, report, player), separators=(",", ":"))
    # Nothing in it can end the element, begin a comment or break an old parser of scripts.
    for letter in "<>&\u2028\u2029":
        data = data.replace(letter, f"\\u{ord(letter):04x}")
    body = _asset("review", "review.html")
    body += f'<script type="application/json" id="review">{data}</script>\n'
    return whole_page(
        f"{record.black_name or 'Black'} and {record.white_name or 'White'}",
        body,
        _asset("web", "board.js") + _asset("review", "review.js"),
    )


def whole_page(title: str, body: str, script: str = "") -> str:
    """Return a page with its style and script inside.

    Args:
        title: Plain text.
        body: Markup; what comes from a record in it is escaped already.
        script: What the page runs.
    """
    style = _asset("web", "page.css")
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'"
    policy += f"; style-src {_hash_source(style)}"
    if script:
        policy += f"; script-src {_hash_source(script)}"
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


def _page_data(record: GameRecord, report: dict[str, Any], player: str | None) -> dict[str, Any]:
    """Return what the page's script needs, with points in two letters each."""
    width, height = record.width, record.height

    def letters(*vertices: str) -> str:
        return "".join(_letters(parse_vertex(each, width, height), width) for each in vertices)

    def action(vertex: str) -> int:
        point = parse_vertex(vertex, width, height)
        row, col = row_col(point, width)
        return -1 if point == PASS else row * width + col

    return {
        **{key: report[key] for key in ("game", "net", "visits", "players")},
        "deep_visits": report["visits"] * DEEPER,
        "size": report["game"]["size"],
        "player": player,
        "class_names": names("classes"),
        "phase_names": {name: phrase("phases", name) for name in PHASES},
        "comments": {str(number): text for number, text in record.comments.items()},
        "setups": {str(number): _setup(each, width) for number, each in record.setups.items()},
        "moves": [{**move, "at": letters(move["move"])} for move in report["moves"]],
        "positions": [
            {
                "to_play": position["to_play"],
                "winrate": round(position["black_winrate"], 3),
                "lead": round(position["black_lead"], 1),
                "owners": position["ownership"],
                "candidates": [
                    {
                        "at": letters(candidate["move"]),
                        "lead": round(candidate["black_lead"], 1),
                        "pv": letters(*candidate["pv"]),
                    }
                    for candidate in position["candidates"]
                ],
            }
            for position in report["positions"]
        ],
        "mistakes": [
            {
                "number": mistake["number"],
                "color": mistake["color"],
                "better": letters(mistake["better"]),
                "line_better": letters(*mistake["line_better"]),
                "line_played": letters(*mistake["line_played"]),
                "owners_better": mistake["ownership_better"],
                "owners_played": mistake["ownership_played"],
                "reasons": [reason["text"] for reason in mistake["reasons"]],
                "nearly": mistake["nearly"],
                "answers": {action(vertex): loss for vertex, loss in mistake["answers"].items()},
            }
            for mistake in report["mistakes"]
        ],
        "good_moves": report["good_moves"],
    }


def _setup(setup: Setup, width: int) -> dict[str, int]:
    """Return the color of stones that are put down, by their points."""
    by_color: dict[int, str] = {}
    for point, color in setup.stones.items():
        by_color[color] = by_color.get(color, "") + _letters(point, width)
    return {points: color for color, points in by_color.items()}


def _letters(move: int, width: int) -> str:
    if move == PASS:
        return _PASS_LETTERS
    row, col = row_col(move, width)
    return chr(97 + col) + chr(97 + row)
