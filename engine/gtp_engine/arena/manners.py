"""What games of a player against itself say about its manners, in lines for people."""

import json
import statistics
from collections.abc import Mapping, Sequence

from gtp_engine.arena.endgame_review import Verdict
from gtp_engine.arena.self_play import SelfPlayGame
from gtp_engine.arena.statistics import wilson
from gtp_engine.play.decision import ResignRule

THRESHOLDS = (-0.6, -0.7, -0.8, -0.85, -0.9, -0.95, -0.98)
"""Values of `--resign-threshold` that are compared."""


def describe_passing(games: Sequence[SelfPlayGame]) -> list[str]:
    """Return what is to be said about the ends of games."""
    over = [game for game in games if game.is_over]
    forgot = sum(game.forgot_dead_stones for game in over)
    clean = sum(not game.own_moves for game in over)
    extra = [game.extra_moves for game in over] or [0]
    return [
        f"ended by two passes: {len(over)}",
        f"lost because stones that seem dead stayed on the board: {forgot}",
        f"no move onto an own point once all was decided: {clean} games, "
        f"{_share(clean, len(over))}; {sum(len(game.own_moves) for game in over)} such moves, "
        "some of them may have been necessary",
        f"moves after all was decided: median {statistics.median(extra):g}, "
        f"mean {statistics.mean(extra):.2f}, most {max(extra)}",
    ]


def describe_judgement(
    games: Sequence[SelfPlayGame],
    verdicts: Sequence[Verdict],
    passed_away: Sequence[int],
    *,
    own_moves_cost: bool,
) -> list[str]:
    """Return what a judge says about moves onto own points, passes, and games lost by them.

    Moves onto own points are left out where they cost nothing.
    """
    over = {game.number for game in games if game.is_over}
    made = [one for one in verdicts if one.was_made and one.game in over]
    needless = [one for one in made if one.is_needless]
    clean = len(over) - len({one.game for one in needless})
    passes = [one for one in verdicts if not one.was_made and one.game in over]
    wrong = [one.gain for one in passes if one.is_wrong_pass]
    moves = (
        f"  moves onto own points: {len(made)}, {len(needless)} of them needless; "
        f"none needless: {clean} games, {_share(clean, len(over))}"
    )
    return [
        *([moves] if own_moves_cost else []),
        f"  passes in place of a move that the search wanted: {len(passes)}, "
        f"{len(wrong)} of them lost points, {sum(wrong):.1f} in all",
        f"  games that were won for the loser where it passed last: {len(passed_away)}, "
        + _share(len(passed_away), len(over)),
    ]


def _share(part: int, total: int) -> str:
    return f"{wilson(part, total):.1%}" if total else "of none"


def describe_resigning(games: Sequence[SelfPlayGame], area: int) -> list[str]:
    """Return a line for each threshold: resignations, and those who would have won.

    Args:
        games: All on one board size.
        area: Points of that board.
    """
    earliest = ResignRule().earliest_ply(area)
    turns = ResignRule().turns
    lines = [f"resigning after {turns} turns, from move {earliest + 1} on:"]
    for threshold in THRESHOLDS:
        resigned = [(game, game.resigned(threshold, turns, earliest)) for game in games]
        givers = [(game, color) for game, color in resigned if color is not None]
        wrong = sum(game.won_by(color) for game, color in givers)
        lines.append(
            f"  below {threshold:5.2f}: {len(givers)} games, {wrong} of them would have been won, "
            f"{_share(wrong, len(givers))}"
        )
    return lines


def game_document(game: SelfPlayGame, gains: Mapping[tuple[int, int], float]) -> str:
    """Return a game as JSON, with what moves are worth more than a pass by game and ply."""
    return json.dumps(
        {
            "number": game.number,
            "moves": [list(move) for move in game.moves],
            "values": [round(value, 3) for value in game.values],
            "white_margin": game.white_margin,
            "white_score": game.status.white_score,
            "extra_moves": game.extra_moves,
            "own_moves": [[ply, gains.get((game.number, ply))] for ply in game.own_moves],
            "overruled": [
                [*wanted, gains.get((game.number, wanted[0]))] for wanted in game.overruled
            ],
        }
    )
