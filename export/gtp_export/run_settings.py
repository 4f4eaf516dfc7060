"""What the files of a folder are made with, and who is at work there.

The first is noted in the folder, and compared before a run goes on.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gtp_engine.evaluators.nets.net_info import NetFileError, fits
from gtp_engine.files import write_whole
from gtp_engine.platforms import lock_file

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

_LOCK = "run.lock"


@contextmanager
def alone_in(folder: Path, lock: str = _LOCK, who: str = "run") -> Iterator[None]:
    """Keep others from the files of a folder, which is made if need be, for as long as this lasts.

    Args:
        lock: The file that says so; who takes another one is not kept away.
        who: What another process that has it is called.

    Raises:
        NetFileError: Another process is at work there.
        OSError: The file that says so cannot be opened.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / lock).open("ab") as file:
        if not lock_file(file):
            raise NetFileError(f"{folder}: another {who} is at work there")
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


def read_record(path: Path, kind: type[Record]) -> Record:
    """Return what a JSON file says, by field of a dataclass; it may lack those with a default.

    Raises:
        ValueError: It says something else.
        OSError: It cannot be read.
    """
    found = json.loads(path.read_text(encoding="utf-8"))
    try:
        record = kind(**found)
    except TypeError as error:
        raise ValueError(error) from None
    for one in fields(kind):
        if not fits(getattr(record, one.name), one.type):
            raise ValueError(f"{one.name} is no {one.type}")
    return record


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
