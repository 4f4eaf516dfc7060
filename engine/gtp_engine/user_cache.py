"""The folder for what the program can make anew: compiled kernels, and what it measured."""

import os
import sys
from pathlib import Path


def user_cache_folder() -> Path:
    """Return the user's folder; it may not exist.

    Raises:
        RuntimeError: The user has no home folder.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gtp-engine"
