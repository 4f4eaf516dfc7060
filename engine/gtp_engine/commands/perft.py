"""`gtp-engine perft`: count move sequences on an empty board, to prove the board right."""

import argparse

from gtp_engine.arguments import parse_size
from gtp_engine.go.rules import GAMES, GO, InvalidRulesError, Rules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of the subcommand."""
    parser.description = (
        "Count the move sequences of each length on an empty board.\n"
        "Passes are moves, and nothing is counted below two consecutive passes.\n"
        "In Atari Go a capture ends the game, and only those pass who have no other move."
    )
    parser.add_argument("--game", choices=GAMES, default=GO, help="which game (go)")
    parser.add_argument(
        "--size",
        type=parse_size,
        default=(9, 9),
        metavar="N[xM]",
        help="columns and rows, 2 to 25 (default: 9)",
    )
    parser.add_argument(
        "--depth",
        type=_parse_depth,
        default=3,
        metavar="D",
        help="longest sequences to count (default: 3)",
    )
    parser.add_argument(
        "--rules",
        type=_parse_rules,
        default="tromp-taylor",
        metavar="NAME",
        help="rules by name; their ko and suicide rules matter here (default: tromp-taylor)",
    )
    parser.add_argument(
        "--no-passes", dest="with_passes", action="store_false", help="do not count passes"
    )


def run(args: argparse.Namespace) -> int:
    """Print a line `depth count` for each depth as soon as it is known; return the exit status."""
    from gtp_engine.go.atari_go import new_game
    from gtp_engine.go.perft import perft

    width, height = args.size
    position = new_game(args.game, width, height, args.rules)
    counts = perft(position, args.depth, with_passes=args.with_passes)
    for depth, count in enumerate(counts):
        print(depth, count, flush=True)
    return 0


def _parse_depth(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a depth between 0 and 999")


def _parse_rules(text: str) -> Rules:
    try:
        return Rules.parse(text)
    except InvalidRulesError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
