"""Put the games of many files into one compact pack, which is read many times as fast.

It reads SGF files, folders and archives of them, and packs of one game a line. A pack holds moves,
results, rules, komi and dead stones at about seven bits a move, but no names.
"""

import argparse
import logging
from pathlib import Path

from gtp_engine.messages import counted

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("games", type=Path, nargs="+", metavar="FILE", help="files and folders of games")
    add("--game", choices=("go", "five"), default="go", help="what they are games of (go)")
    add("--out", type=Path, required=True, metavar="NAME.games", help="the pack to write")


def run(arguments: argparse.Namespace) -> int:
    """Write the pack and say on stderr how large it is."""
    from gtp_engine.evaluators.nets.net_info import NetFileError
    from gtp_engine.games import position_type
    from gtp_export.records.pack_file import PACK_SUFFIX, write_pack
    from gtp_export.records.reading import read_table

    if arguments.out.suffix != PACK_SUFFIX:
        raise NetFileError(f"{arguments.out}: the name of a pack ends in {PACK_SUFFIX}")
    games = read_table(arguments.games, kind=position_type(arguments.game))
    write_pack(arguments.out, games)
    size = arguments.out.stat().st_size
    bits = 8.0 * size / max(1, games.n_moves)
    logger.info(
        f"wrote {arguments.out}: {counted(len(games), 'game')}, {counted(games.n_moves, 'move')}, "
        f"{size / 1e6:.1f} MB, {bits:.2f} bits a move"
    )
    return 0
