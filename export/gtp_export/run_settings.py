"""What the files of a folder are made with, and who is at work there.

The first is noted in the folder, and compared before a run goes on.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import write_whole
from gtp_engine.platforms import lock_file

_LOCK = "run.lock"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep others from the files of a folder, which is made if need be, for as long as this lasts.

    Raises:
        NetFileError: Another process is at work there.
        OSError: The file that says so cannot be opened.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("ab") as file:
        if not lock_file(file):
            raise NetFileError(f"{folder}: another run is at work there")
        yield


def read_json(path: Path) -> Any:
    """Return what a file of a run holds.

    Raises:
        NetFileError: It is damaged.
        OSError: It cannot be read.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NetFileError(f"{path}: is damaged: {error}") from None


def keep_settings(folder: Path, **wanted: Any) -> None:
    """Note what a folder is made with, by option; make sure that what is there was made so too.

    What failed before it made anything binds nobody.

    Raises:
        NetFileError: It was made otherwise.
        OSError: The note cannot be written.
    """
    note = folder / "settings.json"
    folder.mkdir(parents=True, exist_ok=True)
    if not note.exists() or {*folder.iterdir()} <= {note, folder / _LOCK}:
        write_whole(note, json.dumps(wanted) + "\n")
    made = read_json(note)
    if not isinstance(made, dict):
        raise NetFileError(f"{note}: is damaged: it holds no settings")
    for name, value in wanted.items():
        if name in made and made[name] == value:
            continue
        way = "choose another --out"
        other = f"with another --{name.replace('_', '-')}"
        if name not in made:
            other = "by another command or version"
        elif name == "games":
            other = "of other games"
            way = f"{way}, and --from, or --net, to go on from its net"
        elif name == "from":  # `learn-from-games` calls it --net
            other = "from another net"
        raise NetFileError(f"{folder}: was made {other}; {way}")
