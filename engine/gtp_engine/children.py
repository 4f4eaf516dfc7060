"""How the program starts itself again, so that no code of the current folder runs in its place.

`python -m` and `python -c`, by which processes of a pool begin too, look for modules in the current
folder first: a numba.py that lies there would be run. Only the standard library is imported.
"""

import os
import sys


def own_command(*words: str, package: str = "gtp_engine") -> list[str]:
    """Return the command line of `gtp-engine`, or of another package's program, run by this Python.

    The child looks for modules where this process does: PYTHONPATH holds for both.
    """
    return [sys.executable, "-P", "-m", package, *words]


def isolate_pools() -> None:
    """Keep the current folder off the path of all Python processes started from now on.

    It is for programs that start none but their own, as nothing tells a pool `-P`.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
