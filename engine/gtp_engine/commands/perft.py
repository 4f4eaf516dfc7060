"""Count the move sequences of each length on an empty board, to prove boards right.

Passes are moves, and nothing is counted below two consecutive passes.
In Atari Go a capture ends the game, and only those pass who have no other move.
In five in a row a line is `depth sequences/wins`; won games end, and moves that renju
forbids are left out.
"""

import argparse

from gtp_engine.arguments import UsageError
from gtp_engine.commands.options import add_shared
from gtp_engine.games import FIVE
from gtp_engine.go.rules import FIVE_RULES, GO, InvalidRulesError, Rules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, game=GO, size=(9, 9))
    parser.add_argument(
        "--depth",
        type=_parse_depth,
        default=3,
        metavar="D",
        help="longest sequences to count (3)",
    )
    parser.add_argument(
        "--rules",
        metavar="NAME",
        help="rules by name; their ko and suicide rules matter here (tromp-taylor; in five in a"
        f" row {', '.join(FIVE_RULES)}, default freestyle)",
    )
    for color in ("black", "white"):
        parser.add_argument(
            f"--{color}", nargs="*", default=[], metavar="a1", help=f"{color} stones, five in a row"
        )
    parser.add_argument(
        "--no-passes", dest="with_passes", action="store_false", help="do not count passes"
    )


def run(args: argparse.Namespace) -> int:
    """Print a line `depth count` for each depth as soon as it is known; return the exit status."""
    from gtp_engine.games import new_game
    from gtp_engine.go.perft import perft

    if args.game == FIVE:
        return _count_five(args)
    width, height = args.size
    if args.black or args.white:
        raise UsageError("--black and --white are for five in a row")
    try:
        rules = Rules.parse(args.rules or "tromp-taylor")
    except InvalidRulesError as error:
        raise UsageError(f"--rules: {error}") from None
    position = new_game(args.game, width, height, rules)
    counts = perft(position, args.depth, with_passes=args.with_passes)
    for depth, count in enumerate(counts):
        print(depth, count, flush=True)
    return 0


def _count_five(args: argparse.Namespace) -> int:
    from gtp_engine.five.game import FiveGame
    from gtp_engine.five.perft import perft
    from gtp_engine.five.rules import find_rules

    try:
        width, height = args.size
        game = FiveGame(width, height, find_rules(args.rules or "freestyle"))
        game.set_up(
            [game.point(each) for each in args.black], [game.point(each) for each in args.white]
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    for depth, (sequences, wins) in enumerate(perft(game, args.depth), 1):
        print(f"{depth} {sequences}/{wins}", flush=True)
    return 0


def _parse_depth(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a depth between 0 and 999")
