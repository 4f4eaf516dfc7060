"""A review as plain data: what `NAME.json` holds, and what pages are made of.

Points of the board are vertices ("D4", "pass"), figures speak for Black where their name says so
and for the player of the move elsewhere.
"""

from typing import Any

from gtp_engine.coords import BLACK, COLOR_NAMES, WHITE
from gtp_engine.frontends.review.judgement import Candidate, Judgement, Spot
from gtp_engine.frontends.review.phrases import amount_words, phrase
from gtp_engine.frontends.review.reasons import explain
from gtp_engine.frontends.review.stages import GoodMove, Material, Mistake, position_at
from gtp_engine.go.game_record import GameRecord
from gtp_engine.go.position import Position

FORMAT = "gtp-engine review 1"

CLASSES = (12.0, 6.0, 3.0, 1.5, 0.5)
"""Points lost from which on a move is of a class, the worst first; KaTrain's."""
CHANCE_CLASSES = (0.4, 0.2, 0.1, 0.05, 0.02)
"""Winrate lost from which on it is, where chances are what counts."""

PHASES = ("opening", "middle", "endgame")
_LAST_MOVES = ((100, 15, 40), (225, 30, 80), (625, 50, 150))
"""Largest area, last move of the opening, last move of the middle game."""


def make_report(
    record: GameRecord, material: Material, *, name: str, digest: str
) -> dict[str, Any]:
    """Return all that a review says of a game.

    Args:
        name: Of the review's files.
        digest: Of the record's text; tells whether a review is of the same game.
    """
    make = position_at(record)
    start = make(Spot(0))
    vertex = start.vertex
    moves = _moves(record, material, start)
    return {
        "name": name,
        "game": {
            "digest": digest,
            "size": [record.width, record.height],
            "komi": start.komi,
            "rules": start.rules.describe(),
            "handicap": start.handicap,
            "black": record.black_name,
            "white": record.white_name,
            "black_rank": record.black_rank,
            "white_rank": record.white_rank,
            "date": record.date,
            "result": record.result,
        },
        "positions": [position_report(each, vertex) for each in material.quick],
        "moves": moves,
        "mistakes": [
            _mistake(each, make(Spot(each.turn)), moves, vertex) for each in material.mistakes
        ],
        "good_moves": [_good_move(each, vertex) for each in material.good_moves],
        "players": {
            COLOR_NAMES[color]: player_figures(moves, COLOR_NAMES[color], record)
            for color in (BLACK, WHITE)
        },
    }


def class_of(loss: float, steps: tuple[float, ...] = CLASSES) -> int | None:
    """Return the class of a loss, 0 the worst; None for none."""
    return next((number for number, step in enumerate(steps) if loss >= step), None)


def phase_of(number: int, width: int, height: int) -> int:
    """Return the place in PHASES of a move's phase."""
    _, opening, middle = next(each for each in _LAST_MOVES if width * height <= each[0])
    return 0 if number <= opening else 1 if number <= middle else 2


def player_figures(moves: list[dict[str, Any]], color: str, record: GameRecord) -> dict[str, Any]:
    """Return how a player did, by phase and in all.

    Args:
        moves: As in the report.
        color: "black" or "white".
    """
    by_phase: list[list[dict[str, Any]]] = [[], [], []]
    for move in moves:
        if move["color"] == color:
            by_phase[phase_of(move["number"], record.width, record.height)].append(move)
    return {
        "phases": {key: _figures(own) for key, own in zip(PHASES, by_phase, strict=True)},
        "all": _figures([move for own in by_phase for move in own]),
    }


def _figures(moves: list[dict[str, Any]]) -> dict[str, Any]:
    n = len(moves)
    counts = [sum(move["class"] == number for move in moves) for number in range(len(CLASSES))]
    return {
        "moves": n,
        "points_lost": round(sum(move["loss"] for move in moves), 1),
        "points_a_move": round(sum(move["loss"] for move in moves) / n, 2) if n else None,
        "best_moves": sum(move["is_best"] for move in moves),
        "classes": counts,
    }


def _moves(record: GameRecord, material: Material, start: Position) -> list[dict[str, Any]]:
    """Return the moves of the game with what each lost."""
    found = []
    for turn, move in enumerate(record.moves):
        points, chance_lost = material.costs[turn]
        loss, chance = round(points, 1), round(chance_lost, 3)  # as told, so that classes fit
        found.append(
            {
                "number": turn + 1,
                "color": COLOR_NAMES[move.color],
                "move": start.vertex(move.point),
                "loss": loss,
                "chance_lost": chance,
                "class": class_of(loss),
                "chance_class": class_of(chance, CHANCE_CLASSES),
                "is_best": material.best[turn] == move.point and class_of(loss) is None,
            }
        )
    return found


def position_report(judgement: Judgement, vertex: Any) -> dict[str, Any]:
    """Return what a search said of a position as plain data."""
    return {
        "visits": judgement.visits,
        "to_play": COLOR_NAMES[judgement.to_play],
        "black_winrate": judgement.black_winrate,
        "black_lead": judgement.black_lead,
        "ownership": judgement.ownership,
        "candidates": [_candidate(each, vertex) for each in judgement.candidates],
    }


def _candidate(candidate: Candidate, vertex: Any) -> dict[str, Any]:
    return {
        "move": vertex(candidate.move),
        "visits": candidate.visits,
        "black_winrate": candidate.black_winrate,
        "black_lead": candidate.black_lead,
        "pv": [vertex(move) for move in candidate.pv],
    }


def _mistake(
    mistake: Mistake, position: Position, moves: list[dict[str, Any]], vertex: Any
) -> dict[str, Any]:
    def line(first: int, judgement: Judgement) -> list[str]:
        return [vertex(first), *(map(vertex, judgement.best.pv) if judgement.best else ())]

    unsure, own = mistake.unsure, moves[mistake.turn]
    figures = ("loss", "chance_lost", "class", "chance_class")
    return {
        "number": mistake.turn + 1,
        "color": COLOR_NAMES[mistake.color],
        "move": vertex(mistake.played),
        "better": vertex(mistake.best),
        **{key: own[key] for key in figures},
        "by_chance": mistake.by_chance,
        "black_lead_played": mistake.after_played.black_lead,
        "black_lead_better": mistake.after_best.black_lead,
        "line_played": line(mistake.played, mistake.after_played),
        "line_better": line(mistake.best, mistake.after_best),
        "ownership_played": mistake.after_played.ownership,
        "ownership_better": mistake.after_best.ownership,
        "reasons": [
            {"kind": reason.kind, "text": reason.text, "evidence": reason.evidence}
            for reason in explain(position, mistake)
        ],
        "nearly": mistake.nearly,
        "answers": {
            vertex(move): loss for move, loss in mistake.answers.items() if move not in unsure
        },
        "unsure": [vertex(move) for move in mistake.answers if move in unsure],
    }


def _good_move(good: GoodMove, vertex: Any) -> dict[str, Any]:
    text = phrase(
        "good",
        "only_move",
        played=vertex(good.played),
        second=vertex(good.second),
        points=amount_words("point", good.gap),
    )
    return {
        "number": good.turn + 1,
        "color": COLOR_NAMES[good.color],
        "move": vertex(good.played),
        "second": vertex(good.second),
        "gap": round(good.gap, 1),
        "text": text,
    }
