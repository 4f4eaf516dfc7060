"""The folder for what the program can make anew: compiled kernels, and what it measured."""

from pathlib import Path

from platformdirs import user_cache_path


def user_cache_folder() -> Path:
    """Return the user's folder; it may not exist.

    Raises:
        RuntimeError: The user has no home folder.
    """
    folder = user_cache_path("gtp-engine", appauthor=False, opinion=False)
    if not folder.is_absolute():  # what is kept would lie in whatever folder a program runs in
        raise RuntimeError("there is no home folder")
    return folder
