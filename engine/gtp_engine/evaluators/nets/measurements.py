"""Measurements of this machine, kept from one start to the next.

Each fact is a small JSON file in the user's cache folder, named by a hash of what it depends on:
the device, the runtime, and the net files by name, size and time of change. When one of these
changes, and after three months, it is measured anew. Where nothing can be written, everything is
measured each time.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gtp_engine.files import read_file, write_whole
from gtp_engine.user_cache import user_cache_folder

KEPT_SECONDS = 90 * 86400.0
"""A run that trains leaves facts of thousands of nets behind."""

Fact = Mapping[str, float | int | bool | str]


def describe_files(paths: Sequence[Path]) -> str:
    """Return a text that changes when one of these files does; an open net's may be gone."""
    parts = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            parts.append(f"{path} cannot be seen")
            continue
        parts.append(f"{path.resolve()} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(parts)


def measurements_folder() -> Path:
    """Return where facts are kept; it may not exist.

    Raises:
        RuntimeError: The user has no home folder.
    """
    return user_cache_folder() / "measured"


def recall(subject: str) -> dict[str, object] | None:
    """Return what was measured of a subject; None if it is not known."""
    try:
        path = _file(subject)
        document = json.loads(read_file(path))
        if path.stat().st_mtime < time.time() - KEPT_SECONDS:
            return None
    except (OSError, RuntimeError, ValueError):  # RuntimeError: also JSON that is too deep
        return None
    if not isinstance(document, dict) or document.get("subject") != subject:
        return None
    fact = document.get("fact")
    return fact if isinstance(fact, dict) else None


def remember(subject: str, fact: Fact) -> None:
    """Keep what was measured of a subject, if anything can be kept here."""
    text = json.dumps({"subject": subject, "fact": dict(fact)}, indent=1)
    try:
        path = _file(subject)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
        oldest = time.time() - KEPT_SECONDS
        for old in path.parent.glob("*.json"):
            if old.stat().st_mtime < oldest:
                old.unlink()
    except (OSError, RuntimeError):  # a full disk, or a file that Windows holds open
        return


def _file(subject: str) -> Path:
    digest = hashlib.sha256(subject.encode()).hexdigest()[:24]
    return measurements_folder() / f"{digest}.json"
