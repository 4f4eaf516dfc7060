"""Learn a game from nothing: play, train and judge in a loop until the span is over.

`gtp-export zero RUN` does it all on this machine; started again, it goes on where it was. Its parts
are commands too, to run on several machines that share the folder: `zero coordinate RUN`,
`zero work RUN`, `zero train RUN`, `zero judge RUN`. `zero status RUN` tells from outside how it
goes, `zero games RUN` writes games as SGF, `zero rebuild RUN` makes the catalogue again from the
files. While a file PAUSE lies in the folder, all parts stand still.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.arguments import parse_count
from gtp_engine.evaluators.net_info import NetFileError

if TYPE_CHECKING:
    from gtp_export.zero.settings import RunFolder

PARTS = ("coordinate", "work", "train", "judge", "status", "rebuild", "games")
RECIPES = ("ours", "supergo", "gumbel")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `gtp-export zero` takes."""
    add = parser.add_argument
    add("words", nargs="+", metavar="[PART] RUN", help=f"{', '.join(PARTS)}; and the run's folder")
    add("--game", metavar="NAME", help="go or atari-go (go)")
    add("--size", type=parse_count, metavar="N", help="of the square board (9)")
    span = parser.add_mutually_exclusive_group().add_argument
    span("--hours", type=float, metavar="H", help="length of the whole run on the wall (1)")
    span("--minutes", type=float, metavar="M", help="the same in minutes")
    span("--core-hours", type=float, metavar="H", help="the same in processor time of all parts")
    add("--workers", type=parse_count, metavar="N", help="processes that play (one a processor)")
    add("--preset", metavar="NAME", help="the net's architecture (what suits the board)")
    add("--recipe", choices=RECIPES, help="how to learn (ours)")
    add("--set", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), help="a setting")
    add("--from", dest="start", metavar="NET", help="net to go on from; `default`: the shipped one")
    add("--seed", type=parse_count, metavar="N")
    add("--json", action="store_true", help="status: as JSON on stdout")
    add("--plot", type=Path, metavar="DIR", help="status: draw it too")
    add("--out", type=Path, metavar="DIR", help="games: where to write them")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for."""
    from gtp_export.zero.settings import RunFolder

    *parts, folder = arguments.words
    if len(parts) > 1 or (parts and parts[0] not in PARTS):
        raise NetFileError(f"zero {' '.join(parts)}: no such part; there are {', '.join(PARTS)}")
    run_folder = RunFolder(Path(folder))
    return _run_part(parts[0] if parts else "", run_folder, arguments)


def _run_part(part: str, run: "RunFolder", arguments: argparse.Namespace) -> int:
    match part:
        case _:
            raise NetFileError(f"zero {part}: not made yet")
