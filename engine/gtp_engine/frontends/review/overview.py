"""The page of several games: what there is, a player's typical mistakes, and progress over time."""

import html
from collections import Counter
from typing import Any
from urllib.parse import quote

from gtp_engine.frontends.pages.page import whole_page
from gtp_engine.frontends.review.findings import PHASES
from gtp_engine.frontends.review.phrases import graded_loss, phrase

MOST_NAMED = 10
"""Mistakes of a player that are listed."""
_WIDTH, _HEIGHT = 600, 140


def overview_page(reports: list[dict[str, Any]], player: str | None) -> str:
    """Return the page; its links lead to the games' pages beside it.

    Args:
        reports: Of the games, as `findings.make_report` makes them.
        player: Whose mistakes and progress to show; None: nobody's.
    """
    reports = sorted(reports, key=lambda report: (report["game"]["date"], report["name"]))
    parts = [_games_table(reports)]
    own = [
        (report, color)
        for report in reports
        if player is not None and (color := color_of_player(report["game"], player)) is not None
    ]
    if own:
        parts += [_progress(own), _typical(own)]
    title = f"Games of {player}" if player else "Games"
    heading = f"<header><h1>{html.escape(title)}</h1><p>{len(reports)} reviewed</p></header>"
    return whole_page(
        title, f'<div class="page">{heading}<main class="side">{"".join(parts)}</main></div>'
    )


def color_of_player(game: dict[str, Any], player: str) -> str | None:
    """Return "black" or "white", whichever name holds the player's; None for neither."""
    wanted = player.casefold().strip()
    names = {color: game[color].casefold().strip() for color in ("black", "white")}
    found = [color for color in names if wanted == names[color]]
    found += [color for color in names if wanted in names[color]]
    return found[0] if wanted and found else None


def _games_table(reports: list[dict[str, Any]]) -> str:
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("Game", "Date", "Result", "Moves", "Black lost a move", "White lost a move")
    )
    rows = []
    for report in reports:
        game = report["game"]
        title = f"{game['black'] or 'Black'} and {game['white'] or 'White'}"
        if not game["black"] + game["white"]:
            title = report["name"]
        figures = [
            "" if lost is None else f"{lost:.2f}"
            for color in ("black", "white")
            for lost in [report["players"][color]["all"]["points_a_move"]]
        ]
        cells = [game["date"], game["result"], str(len(report["moves"])), *figures]
        rows.append(
            f'<tr><th scope="row">{_link(report, title)}</th>'
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            + "</tr>"
        )
    return (
        '<section class="panel"><div class="scroll" tabindex="0" role="region" aria-label="Games">'
        f"<table><caption>Games</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _link(report: dict[str, Any], words: str, move: int | None = None) -> str:
    place = "" if move is None else f"#{move}"
    return f'<a href="{quote("./" + report["name"] + ".html")}{place}">{html.escape(words)}</a>'


def _progress(own: list[tuple[dict[str, Any], str]]) -> str:
    """Return a chart of the points that the player lost a move, game by game."""
    values = [
        (report, lost)
        for report, color in own
        if (lost := report["players"][color]["all"]["points_a_move"]) is not None
    ]
    if len(values) < 2:
        return ""
    most = max(1.0, max(lost for _, lost in values))
    places = [
        (
            20 + (_WIDTH - 40) * index / (len(values) - 1),
            _HEIGHT - 10 - (_HEIGHT - 20) * lost / most,
        )
        for index, (_, lost) in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle class="c2" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>'
        f"{html.escape(report['game']['date'])}: {lost:.2f}</title></circle>"
        for (x, y), (report, lost) in zip(places, values, strict=True)
    )
    words = f"Points lost a move, from the first game to the last; the top is {most:.2f}"
    return (
        '<section class="panel"><h2>Progress</h2>'
        f'<svg class="chart" role="img" aria-label="{words}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}"><polyline class="score" points="{line}"/>{dots}</svg>'
        f'<p class="legend">{words}.</p></section>'
    )


def _typical(own: list[tuple[dict[str, Any], str]]) -> str:
    """Return what the player's great mistakes have in common, and the greatest of them."""
    mistakes = [
        (report, mistake)
        for report, color in own
        for mistake in report["mistakes"]
        if mistake["color"] == color
    ]
    kinds = Counter(reason["kind"] for _, mistake in mistakes for reason in mistake["reasons"])
    phases = []
    for phase in PHASES:
        figures = [report["players"][color]["phases"][phase] for report, color in own]
        n_moves = sum(each["moves"] for each in figures)
        if n_moves:
            lost = sum(each["points_lost"] for each in figures) / n_moves
            phases.append(f"<li>{phrase('phases', phase)}: {lost:.2f} points lost a move</li>")
    counted = "".join(
        f"<li>{html.escape(phrase('kinds', kind))}: {count}</li>"
        for kind, count in kinds.most_common()
    )
    worst = sorted(mistakes, key=lambda each: each[1]["loss"], reverse=True)[:MOST_NAMED]
    named = "".join(f"<li>{_named(report, mistake)}</li>" for report, mistake in worst)
    return (
        '<section class="panel"><h2>Typical mistakes</h2>'
        f"<ul>{counted or '<li>none that could be named</li>'}</ul>"
        f"<h2>By phase</h2><ul>{''.join(phases)}</ul>"
        f"<h2>The greatest</h2><ol>{named}</ol></section>"
    )


def _named(report: dict[str, Any], mistake: dict[str, Any]) -> str:
    words = f"{report['name']}, move {mistake['number']}"
    lost = f": {mistake['move']} lost {graded_loss(mistake)}. "
    reason = mistake["reasons"][0]["text"] if mistake["reasons"] else ""
    return _link(report, words, mistake["number"]) + html.escape(lost + reason)
