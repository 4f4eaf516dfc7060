"""`gtp-engine net match`: two nets against each other, many games at once in one process."""

import argparse
import json
from collections.abc import Sequence
from functools import partial

from gtp_engine.arena.many_games import (
    Contestant,
    PlayedGame,
    Terms,
    games_at_once,
    play_games,
    points,
)
from gtp_engine.arena.statistics import Sprt, describe_strength, result_json
from gtp_engine.arguments import UsageError
from gtp_engine.commands.options import read_sprt
from gtp_engine.commands.progress import collect_games
from gtp_engine.evaluators.evaluator import Evaluator
from gtp_engine.evaluators.net_evaluator import NetEvaluator
from gtp_engine.evaluators.nets.composition import judges_of
from gtp_engine.evaluators.rollouts.go import MixedEvaluator, open_evaluator, wants_rollout_params
from gtp_engine.go.rules import Rules, default_komi
from gtp_engine.messages import counted
from gtp_engine.play.levels import policy_level
from gtp_engine.search.params import ROLLOUT_PARAMS, SearchParams
from gtp_engine.search.stopping import Limits


def run(args: argparse.Namespace) -> int:
    """Play the match and print its result, after Ctrl-C that of the games so far."""
    sprt = read_sprt(args.sprt)
    nets = [open_evaluator(wanted, args.device, args.runtime) for wanted in args.nets]
    limits = Limits(visits=args.visits)
    settings = (args.set_a, args.set_b)
    drawn = args.policy_temperature
    level = None if drawn is None else policy_level(drawn)
    contestants = [
        Contestant(_name(net, args.size, chosen), net, limits, _params(chosen, net), level, leaves)
        for net, chosen, leaves in zip(nets, settings, args.leaves, strict=True)
    ]
    width, height = args.size
    komi = default_komi(width, height) if args.komi is None else args.komi
    terms = Terms(width, height, Rules(komi=komi), seed=args.seed)
    verdict: str | None = None
    at_once = args.at_once or games_at_once(nets)

    def wants_more(finished: Sequence[PlayedGame]) -> bool:
        nonlocal verdict
        if sprt is not None and verdict is None:  # games that end later do not reopen it
            verdict = sprt.verdict(points(finished), len(finished))
        return verdict is None

    play = partial(play_games, contestants, terms, args.games, at_once)
    games, status = collect_games("games", args.games, play, wants_more)
    if args.json:
        print(json.dumps(_document(contestants, games, sprt, verdict), indent=1))
        return status
    if not games:
        return status
    print(f"A: {contestants[0].name}\nB: {contestants[1].name}")
    if drawn is None:
        search = counted(args.visits, "visit")
    else:
        search = f"policies at temperature {drawn:g}"
    print(f"{counted(len(games), 'game')} on {width}x{height}, komi {komi:g}, {search}")
    print(f"A's {describe_strength(points(games), len(games))}\n{_details(games)}")
    if sprt is not None:
        print(sprt.describe(points(games), len(games), verdict))
    return status


def _name(net: Evaluator, size: tuple[int, int], chosen: Sequence[tuple[str, str]]) -> str:
    name = net.name
    if isinstance(net, NetEvaluator):
        name = "+".join(str(one.path) for one in judges_of(net.net, *size))
    name += "+rollouts" if isinstance(net, MixedEvaluator) else ""
    return " ".join([name, *(f"{name}={text}" for name, text in chosen)])


def _params(chosen: Sequence[tuple[str, str]], net: Evaluator) -> SearchParams:
    """Return the parameters with some of them set.

    Raises:
        UsageError: There is no such parameter, or a value is out of its range.
    """
    params = ROLLOUT_PARAMS if wants_rollout_params(net) else SearchParams()
    for name, text in chosen:
        try:
            params = params.with_option(name, text)
        except ValueError as error:
            raise UsageError(str(error)) from None
    return params


def _details(games: Sequence[PlayedGame]) -> str:
    won = [sum(game.winner == i for game in games) for i in (0, 1)]
    black = sum(game.winner == game.black for game in games)
    different = len({game.moves for game in games})
    length = sum(len(game.moves) for game in games) / max(1, len(games))
    return (
        f"A won {won[0]}, B won {won[1]}, {counted(len(games) - sum(won), 'draw')}; "
        f"Black won {black}; {counted(different, 'different game')}, {length:.0f} moves on average"
    )


def _document(
    contestants: Sequence[Contestant],
    games: Sequence[PlayedGame],
    sprt: Sprt | None,
    verdict: str | None,
) -> dict[str, object]:
    result = points(games), len(games)
    return {
        "nets": [one.name for one in contestants],
        "games": len(games),
        "points": result[0],
        **result_json(*result, sprt, verdict),
    }
