"""Where what tests read is."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
TINY = ROOT / "tests" / "data" / "tiny.onnx"
"""A KataGo-shaped net of a few thousand weights, which opens and answers in milliseconds."""
TINY_NET = str(TINY)
"""The same as the value of an option."""
SCRIPTED_ENGINE = str(ROOT / "tests" / "arena" / "scripted_engine.py")
"""A GTP engine that plays the moves it is given as arguments."""
GNUGO = shutil.which("gnugo", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/games"]))
"""GNU Go, or None where it is not installed."""
