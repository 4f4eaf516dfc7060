"""A reviewed game as SGF that every program shows: comments, variations, marks.

The moves and names are the record's, and its comments stay in front of the review's.
"""

import re
from typing import Any

from sgfmill import sgf_grammar

from gtp_engine.coords import BLACK, COLOR_LETTERS, PASS, opponent, parse_vertex
from gtp_engine.frontends.review.phrases import grade_of, graded_loss
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.sgf import escape_text, game_tree, point_name
from gtp_engine.messages import describe_lead


def annotated_sgf(record: GameRecord, report: dict[str, Any]) -> str:
    """Return the game with what the review found.

    A mistake's node tells what it cost and why, marks the better move with a triangle, and has a
    variation with the better line; each node has the score in its comment and, as `V`, in points
    for Black.
    """
    tree, places = game_tree(record)
    mistakes = {mistake["number"]: mistake for mistake in report["mistakes"]}
    praise = {good["number"]: good["text"] for good in report["good_moves"]}
    nodes = list(tree.sequence)
    # From the end: what follows a node that gets a variation moves into a branch of its own.
    for number in range(len(record.moves), -1, -1):
        node, position = nodes[places[number]], report["positions"][number]
        notes = [record.comments.get(number, "").strip()]
        mistake = mistakes.get(number)
        if mistake is not None:
            notes += _mistake_notes(mistake)
            _mark(node, mistake, record)
        notes.append(praise.get(number, ""))
        notes.append(_standing(position))
        node["C"] = [escape_text(re.sub(r"\n\s*\n", "\n", "\n".join(filter(None, notes))))]
        node["V"] = [f"{position['black_lead']:z.1f}".encode()]
        if mistake is not None:
            _branch(tree, places[number], _variation(mistake, record))
    return str(sgf_grammar.serialise_game_tree(tree, wrap=79).decode("utf-8"))


def _mistake_notes(mistake: dict[str, Any]) -> list[str]:
    return [
        f"{mistake['move']} loses {graded_loss(mistake)}; better is {mistake['better']}.",
        *(reason["text"] for reason in mistake["reasons"]),
    ]


def _standing(position: dict[str, Any]) -> str:
    return f"{describe_lead(position['black_lead'])}; Black wins {position['black_winrate']:.0%}."


def _mark(node: dict[str, list[bytes]], mistake: dict[str, Any], record: GameRecord) -> None:
    better = parse_vertex(mistake["better"], record.width, record.height)
    if better != PASS:
        node["TR"] = [point_name(better, record.width)]
    if (grade := grade_of(mistake)) is not None:
        node["BM"] = [b"2" if grade == 0 else b"1"]


def _variation(mistake: dict[str, Any], record: GameRecord) -> list[dict[str, list[bytes]]]:
    color = BLACK if mistake["color"] == "black" else 3 - BLACK
    nodes = []
    for vertex in mistake["line_better"]:
        point = parse_vertex(vertex, record.width, record.height)
        nodes.append({COLOR_LETTERS[color]: [point_name(point, record.width)]})
        color = opponent(color)
    nodes[0]["C"] = [escape_text(f"After this: {describe_lead(mistake['black_lead_better'])}.")]
    return nodes


def _branch(tree: Any, place: int, variation: list[dict[str, list[bytes]]]) -> None:
    """Put a variation beside the node at a place of the main line."""
    rest = sgf_grammar.Coarse_game_tree()
    rest.sequence, rest.children = tree.sequence[place:], tree.children
    side = sgf_grammar.Coarse_game_tree()
    side.sequence = variation
    tree.sequence, tree.children = tree.sequence[:place], [rest, side]
