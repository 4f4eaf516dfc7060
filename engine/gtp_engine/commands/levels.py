"""Let each level play the next one and say by how much it is weaker."""

import argparse
from functools import partial

from gtp_engine.arena.statistics import describe_strength
from gtp_engine.arguments import UsageError, parse_count
from gtp_engine.commands.options import add_shared
from gtp_engine.commands.progress import collect_games
from gtp_engine.go.rules import GO, Rules, default_komi
from gtp_engine.messages import counted
from gtp_engine.play.levels import find_level, highest_level


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "net", "device", "runtime", size=(9, 9))
    add("--games", type=parse_count, default=40, metavar="N", help="games of every pair (40)")
    add("--step", type=parse_count, default=1, metavar="N", help="how far apart two levels are (1)")
    best = "playouts a move of the highest level (200)"
    add("--best", type=parse_count, default=200, metavar="N", help=best)
    add_shared(parser, "at-once", seed=1)


def run(args: argparse.Namespace) -> int:
    """Print a line for each pair, after Ctrl-C that of the games so far; return the exit status."""
    from gtp_engine.arena.many_games import (
        Contestant,
        Terms,
        games_at_once,
        play_games,
        points,
    )
    from gtp_engine.evaluators.net_evaluator import open_net
    from gtp_engine.search.stopping import Limits

    if args.step >= highest_level():
        raise UsageError(f"--step: there are but {highest_level()} levels")
    width, height = args.size
    rules = Rules.parse("tromp-taylor", default_komi(width, height))
    net = open_net(args.net, args.device, args.runtime, game=GO)
    at_once = args.at_once or games_at_once([net])
    players = [
        Contestant(f"level {n}", net, Limits(playouts=args.best), level=find_level(n))
        for n in range(1, highest_level() + 1)
    ]
    print(
        f"{counted(args.games, 'game')} a pair on {width}x{height}, komi {rules.komi:g}, {net.name}"
    )
    for n in range(len(players) - args.step):
        pair = (players[n + args.step], players[n])
        terms = Terms(width, height, rules, opening_moves=2, seed=args.seed + 1000 * n)
        play = partial(play_games, pair, terms, args.games, at_once)
        games, status = collect_games(f"games of {pair[0].name}", args.games, play)
        if games:
            strength = describe_strength(points(games), len(games))
            so_far = f", {counted(len(games), 'game')} so far" if status else ""
            print(f"{pair[0].name} against {pair[1].name}{so_far}: {strength}", flush=True)
        if status:
            return status
    return 0
