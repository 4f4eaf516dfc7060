"""The page of a reviewed game, which one can mail."""

from collections.abc import Iterable
from typing import Any

from gtp_engine.coords import PASS, parse_vertex, row_col
from gtp_engine.frontends.pages.page import page_of
from gtp_engine.frontends.review.findings import PHASES
from gtp_engine.frontends.review.phrases import names, phrase
from gtp_engine.frontends.review.stages import DEEPER
from gtp_engine.go.game_record import GameRecord, Setup

_PASS_LETTERS = "--"


def game_page(record: GameRecord, report: dict[str, Any], player: str | None = None) -> str:
    """Return the page of a game.

    Args:
        player: Whose mistakes are asked about at first, "black" or "white"; None: both.
    """
    title = f"{record.black_name or 'Black'} and {record.white_name or 'White'}"
    return page_of("review", title, _page_data(record, report, player))


def _page_data(record: GameRecord, report: dict[str, Any], player: str | None) -> dict[str, Any]:
    """Return what the page's script needs, with points in two letters each."""
    width, height = record.width, record.height

    def at(*vertices: str) -> str:
        return _letters_of(vertices, width, height)

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
        "moves": [{**move, "at": at(move["move"])} for move in report["moves"]],
        "positions": [position_data(position, width, height) for position in report["positions"]],
        "mistakes": [
            {
                "number": mistake["number"],
                "color": mistake["color"],
                "by_chance": mistake["by_chance"],
                "better": at(mistake["better"]),
                "line_better": at(*mistake["line_better"]),
                "line_played": at(*mistake["line_played"]),
                "owners_better": mistake["ownership_better"],
                "owners_played": mistake["ownership_played"],
                "reasons": [reason["text"] for reason in mistake["reasons"]],
                "nearly": mistake["nearly"],
                "answers": {action(vertex): loss for vertex, loss in mistake["answers"].items()},
                "unsure": [action(vertex) for vertex in mistake["unsure"]],
            }
            for mistake in report["mistakes"]
        ],
        "good_moves": report["good_moves"],
    }


def position_data(position: dict[str, Any], width: int, height: int) -> dict[str, Any]:
    """Return what a script needs to show what a search said of a position.

    Args:
        position: As `findings.position_report` makes it.
    """
    return {
        "to_play": position["to_play"],
        "winrate": round(position["black_winrate"], 3),
        "lead": round(position["black_lead"], 1),
        "owners": position["ownership"],
        "candidates": [
            {
                "at": _letters_of([candidate["move"]], width, height),
                "lead": round(candidate["black_lead"], 1),
                "pv": _letters_of(candidate["pv"], width, height),
            }
            for candidate in position["candidates"]
        ],
    }


def _letters_of(vertices: Iterable[str], width: int, height: int) -> str:
    return "".join(letters(parse_vertex(each, width, height), width) for each in vertices)


def _setup(setup: Setup, width: int) -> dict[str, int]:
    """Return the color of stones that are put down, by their points."""
    by_color: dict[int, str] = {}
    for point, color in setup.stones.items():
        by_color[color] = by_color.get(color, "") + letters(point, width)
    return {points: color for color, points in by_color.items()}


def letters(move: int, width: int) -> str:
    """Return the two letters that stand for a move in data of pages."""
    if move == PASS:
        return _PASS_LETTERS
    row, col = row_col(move, width)
    return chr(97 + col) + chr(97 + row)
