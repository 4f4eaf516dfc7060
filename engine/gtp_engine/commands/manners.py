"""Let the engine play itself to the end and say how it passes.

It counts dead stones that were forgotten, moves after everything was decided, moves onto own
points, and how often a resignation would have been wrong. Nobody resigns in these games. A judge
says which moves onto own points were needless, because a pass would have cost nothing, which
passes in place of a move that the search wanted lost points, and which games a pass lost.
"""

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.arena.statistics import wilson
from gtp_engine.arguments import UsageError, check_file, parse_count
from gtp_engine.commands.options import add_shared
from gtp_engine.commands.progress import collect_games, shown_progress
from gtp_engine.files import write_whole
from gtp_engine.go.rules import GO, InvalidRulesError, Rules
from gtp_engine.messages import counted
from gtp_engine.play.decision import ResignRule
from gtp_engine.play.settings import customary_komi

if TYPE_CHECKING:
    from gtp_engine.arena.endgame_review import Verdict
    from gtp_engine.arena.self_play import SelfPlayGame

THRESHOLDS = (-0.6, -0.7, -0.8, -0.85, -0.9, -0.95, -0.98)
"""Values of `--resign-threshold` that are compared."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "net", "device", "runtime", size=(9, 9))
    parser.add_argument(
        "--rules", default="tromp-taylor", metavar="NAME", help="rules by name (tromp-taylor)"
    )
    add_shared(parser, "komi", "at-once", games=100, playouts=16, seed=1)
    parser.add_argument(
        "--judge", metavar="FILE|NAME", help="a net, best a stronger one, to judge moves and passes"
    )
    parser.add_argument(
        "--judge-visits",
        type=parse_count,
        default=400,
        metavar="N",
        help="the judge's visits after the move, and after the pass (400)",
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the games, one a line")


def run(args: argparse.Namespace) -> int:
    """Play and print the figures, after Ctrl-C those of the games so far; return the exit status.

    They stand before a judge is asked: what happens to it does not take them away.
    """
    from gtp_engine.arena.endgame_review import Judge, doubts
    from gtp_engine.arena.many_games import Terms, games_at_once
    from gtp_engine.arena.self_play import play_self_games
    from gtp_engine.evaluators.net_evaluator import open_net
    from gtp_engine.play.endgame import own_moves_cost
    from gtp_engine.search.stopping import Limits

    rules = _read_rules(args)
    if args.keep is not None:
        check_file(args.keep, "--keep", ".jsonl", ".json")
    width, height = args.size
    limits = Limits(playouts=args.playouts)
    terms = Terms(width, height, rules, seed=args.seed)
    judge = None
    if args.judge is not None:
        judge = open_net(args.judge, args.device, args.runtime, game=GO)
    net = open_net(args.net, args.device, args.runtime, game=GO)
    at_once = args.at_once or games_at_once([net])
    play = partial(play_self_games, net, terms, limits, args.games, at_once)
    games, status = collect_games("games", args.games, play)
    if not games:
        return status
    print(
        f"{counted(len(games), 'game')} on {width}x{height}, {args.rules}, komi {rules.komi:g}, "
        f"{counted(args.playouts, 'playout')} a move, {net.name}"
    )
    _print([*describe_passing(games), *describe_resigning(games, width * height)])
    _keep(args.keep, games, ())
    if judge is not None and not status:
        over = [game for game in games if game.is_over]
        n_steps = sum(len(doubts(game, terms)) for game in games) + len(over)
        with shown_progress("moves and passes judged", n_steps) as advance:
            after = Judge(judge, terms, args.judge_visits, at_once, advance)
            verdicts, passed_away = after.judge_ends(games), after.lost_by_passing(over)
        costs = own_moves_cost(rules)
        print(f"judged by {judge.name}, {args.judge_visits} visits:")
        _print(describe_judgement(games, verdicts, passed_away, own_moves_cost=costs))
        _keep(args.keep, games, verdicts)
    return status


def _read_rules(args: argparse.Namespace) -> Rules:
    """Return the rules that were asked for, with the komi: an option's, theirs, the usual one."""
    try:
        rules = Rules.parse(args.rules)
        if args.komi is not None:
            return replace(rules, komi=args.komi)
        return Rules.parse(args.rules, customary_komi(rules, *args.size))
    except InvalidRulesError as error:
        raise UsageError(f"--rules: {error}") from None


def _print(lines: Sequence[str]) -> None:
    print("\n".join(lines), flush=True)


def _keep(
    path: Path | None, games: Sequence["SelfPlayGame"], verdicts: Sequence["Verdict"]
) -> None:
    """Write the games, one a line, if that was asked for."""
    if path is not None:
        gains = {(one.game, one.ply): round(one.gain, 2) for one in verdicts}
        text = "".join(f"{_document(game, gains)}\n" for game in games)
        write_whole(path, text, pipes=True)


def _document(game: "SelfPlayGame", gains: Mapping[tuple[int, int], float]) -> str:
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


def describe_passing(games: Sequence["SelfPlayGame"]) -> list[str]:
    """Return what is to be said about the ends of games."""
    over = [game for game in games if game.is_over]
    forgot = sum(game.forgot_dead_stones for game in over)
    clean = sum(not game.own_moves for game in over)
    extra = [game.extra_moves for game in over] or [0]
    return [
        f"ended by two passes: {len(over)}",
        f"lost because stones that seem dead stayed on the board: {forgot}",
        f"no move onto an own point once all was decided: {counted(clean, 'game')}, "
        f"{_share(clean, len(over))}; {sum(len(game.own_moves) for game in over)} such moves, "
        "some of them may have been necessary",
        f"moves after all was decided: median {statistics.median(extra):g}, "
        f"mean {statistics.mean(extra):.2f}, most {max(extra)}",
    ]


def describe_judgement(
    games: Sequence["SelfPlayGame"],
    verdicts: Sequence["Verdict"],
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
        f"none needless: {counted(clean, 'game')}, {_share(clean, len(over))}"
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


def describe_resigning(games: Sequence["SelfPlayGame"], area: int) -> list[str]:
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
            f"  below {threshold:5.2f}: {counted(len(givers), 'game')}, "
            f"{wrong} of them would have been won, {_share(wrong, len(givers))}"
        )
    return lines
