"""What the files of a folder are made with: noted there, and compared before a run goes on."""

import json
from pathlib import Path
from typing import Any

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.files import write_whole


def keep_settings(folder: Path, **wanted: Any) -> None:
    """Note what a folder is made with, by option; make sure that what is there was made so too.

    What failed before it made anything binds nobody.

    Raises:
        NetFileError: It was made otherwise.
        OSError: The note cannot be written.
    """
    note = folder / "settings.json"
    folder.mkdir(parents=True, exist_ok=True)
    if not note.exists() or [*folder.iterdir()] == [note]:
        write_whole(note, json.dumps(wanted) + "\n")
    try:
        made = dict(json.loads(note.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise NetFileError(f"{note}: is damaged: {error}") from None
    for name, value in wanted.items():
        if name in made and made[name] == value:
            continue
        other = f"with another --{name.replace('_', '-')}"
        if name not in made:
            other = "by another command or version"
        elif name == "games":
            other = "of other games"
        elif name == "from":  # `learn-from-games` calls it --net
            other = "from another net"
        raise NetFileError(f"{folder}: was made {other}; choose another --out")
