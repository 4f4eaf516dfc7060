"""Play nets of a run against each other and a fixed opponent; plot strength over accuracy.

Moves are drawn from the policies, without search. The same command goes on where it was.
"""

import argparse
import sys
from pathlib import Path

from gtp_engine.arguments import parse_count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export strength` takes."""
    add = parser.add_argument
    add("nets", type=Path, nargs="+", metavar="RUN", help="folders of runs with nets, or files")
    add("--opponent", default="small", metavar="NET", help="file or name; has 0 Elo (small)")
    add("--games", type=Path, nargs="+", required=True, metavar="FILE", help="games to predict")
    add("--out", type=Path, required=True, metavar="DIR", help="for the figures and the picture")
    add("--size", type=int, default=9, metavar="N", help="side of the board to play on (9)")
    add("--each", type=parse_count, default=40, metavar="N", help="games of every pair (40)")
    add("--positions", type=parse_count, default=4000, metavar="N", help="to predict (4000)")
    add("--seed", type=parse_count, default=1, metavar="N")


def run(arguments: argparse.Namespace) -> int:
    """Print a table on stdout, with 95 % intervals."""
    from gtp_engine.evaluators.nets import find_net
    from gtp_export.strength import StrengthPlan, measure_strength

    plan = StrengthPlan(
        nets=tuple(arguments.nets),
        opponent=find_net(arguments.opponent),
        games=tuple(arguments.games),
        out=arguments.out,
        size=arguments.size,
        each=arguments.each,
        positions=arguments.positions,
        seed=arguments.seed,
    )
    print(measure_strength(plan, lambda line: print(line, file=sys.stderr, flush=True)))
    return 0
