"""The games of a run as SGF files."""

import logging
from pathlib import Path

from gtp_engine.files import write_whole
from gtp_engine.go.sgf import format_sgf
from gtp_export.zero.settings import RunFolder
from gtp_export.zero.shards import SUFFIX, ShardError, read_shard

logger = logging.getLogger(__name__)


def write_games(run: RunFolder, folder: Path) -> int:
    """Write the games of each shard to a file of its name; return how many are new.

    A shard that cannot be read is told and left out; a file that is there is not written again.

    Raises:
        RunError: There is no such run.
        OSError: A file cannot be written.
    """
    settings = run.settings()
    folder.mkdir(parents=True, exist_ok=True)
    n = 0
    for path in sorted(run.shards.glob(f"*{SUFFIX}")):
        try:
            shard = read_shard(path, settings.boards)
        except ShardError as error:
            logger.warning(str(error))
            continue
        file = folder / f"{path.stem}.sgf"
        if not file.exists():
            n += len(shard.games)
            nets = "+".join(net or "random" for net in shard.header.nets)
            records = map(shard.games.record, range(len(shard.games)))
            texts = [
                format_sgf(one.position(), black_name=nets, white_name=nets, result=one.result)
                for one in records
            ]
            write_whole(file, "".join(texts))
    return n
