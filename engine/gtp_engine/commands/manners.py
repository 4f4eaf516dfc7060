"""Let the engine play itself to the end and say how it passes.

It counts dead stones that were forgotten, moves after everything was decided, moves onto own
points, and how often a resignation would have been wrong. Nobody resigns in these games. A judge
says which moves onto own points were needless, because a pass would have cost nothing, which
passes in place of a move that the search wanted lost points, and which games a pass lost.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.arguments import UsageError, check_file, parse_count
from gtp_engine.commands.options import add_shared
from gtp_engine.commands.progress import shown_progress
from gtp_engine.files import write_whole
from gtp_engine.go.rules import GO, InvalidRulesError, Rules
from gtp_engine.messages import INTERRUPTED_STATUS
from gtp_engine.platforms import usable_cores
from gtp_engine.play.settings import customary_komi

if TYPE_CHECKING:
    from gtp_engine.arena.endgame_review import Verdict
    from gtp_engine.arena.self_play import SelfPlayGame

logger = logging.getLogger(__name__)

GAMES_AT_ONCE = 16
"""By default, for each processor."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "net", "device", "runtime", size=(9, 9))
    parser.add_argument(
        "--rules", default="tromp-taylor", metavar="NAME", help="by name (tromp-taylor)"
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
        help="after the move and after the pass (400)",
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the games, one a line")


def run(args: argparse.Namespace) -> int:
    """Play and print the figures, after Ctrl-C those of the games so far; return the exit status.

    They stand before a judge is asked: what happens to it does not take them away.
    """
    from gtp_engine.arena.endgame_review import Judge, doubts
    from gtp_engine.arena.manners import describe_judgement, describe_passing, describe_resigning
    from gtp_engine.arena.many_games import Terms
    from gtp_engine.arena.self_play import play_self_games
    from gtp_engine.evaluators.net_evaluator import open_net
    from gtp_engine.play.endgame import own_moves_cost
    from gtp_engine.search.stopping import Limits

    rules = _read_rules(args)
    if args.keep is not None:
        check_file(args.keep, "--keep")
    width, height = args.size
    limits = Limits(playouts=args.playouts)
    terms = Terms(width, height, rules, seed=args.seed)
    at_once = args.at_once or GAMES_AT_ONCE * usable_cores()
    games: list[SelfPlayGame] = []
    status = 0
    judge = None
    if args.judge is not None:
        judge = open_net(args.judge, args.device, args.runtime, game=GO)
    net = open_net(args.net, args.device, args.runtime, game=GO)
    with shown_progress("games", args.games) as advance:

        def note(game: "SelfPlayGame") -> None:
            games.append(game)
            advance()

        try:
            play_self_games(net, terms, limits, args.games, at_once, note)
        except KeyboardInterrupt:
            status = INTERRUPTED_STATUS
    games.sort(key=lambda game: game.number)
    if status:
        logger.warning("interrupted")
    print(f"{len(games)} games on {width}x{height}, {args.rules}, {args.playouts} playouts a move")
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
    """Return the rules that were asked for, with the komi."""
    try:
        rules = Rules.parse(args.rules)
        komi = customary_komi(rules, *args.size) if args.komi is None else args.komi
        return Rules.parse(args.rules, komi)
    except InvalidRulesError as error:
        raise UsageError(f"--rules: {error}") from None


def _print(lines: Sequence[str]) -> None:
    print("\n".join(lines), flush=True)


def _keep(
    path: Path | None, games: Sequence["SelfPlayGame"], verdicts: Sequence["Verdict"]
) -> None:
    """Write the games, one a line, if that was asked for."""
    if path is not None:
        from gtp_engine.arena.manners import game_document

        gains = {(one.game, one.ply): round(one.gain, 2) for one in verdicts}
        text = "".join(f"{game_document(game, gains)}\n" for game in games)
        write_whole(path, text, pipes=True)
