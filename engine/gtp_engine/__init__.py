"""A Go engine: GTP front-end, Numba board and search, ONNX nets.

The names below are what programs use; docs/python.md shows how. Each is imported when it is first
asked for, so that `import gtp_engine` costs nothing.
"""

# ruff: noqa: F401  (the imports are for type checkers)

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gtp_engine.version import __version__

if TYPE_CHECKING:
    from gtp_engine.coords import BLACK, PASS, WHITE, format_vertex, parse_vertex, point_at
    from gtp_engine.evaluators.fake import FakeEvaluator
    from gtp_engine.evaluators.net_evaluator import NetEvaluator, open_net
    from gtp_engine.evaluators.nets.net_info import NetFileError
    from gtp_engine.go.game_record import GameRecord, SgfError
    from gtp_engine.go.position import IllegalMoveError, Move, Position, SetupError
    from gtp_engine.go.rules import Rules
    from gtp_engine.go.scoring import agreed_score, format_result
    from gtp_engine.go.sgf import format_sgf, load_sgf, parse_games, parse_sgf
    from gtp_engine.play.decision import Decision
    from gtp_engine.play.engine import Engine
    from gtp_engine.play.settings import Settings
    from gtp_engine.search.analysis import Analysis, MoveReport
    from gtp_engine.search.params import SearchParams
    from gtp_engine.search.request import AvoidRule, ReportRequest
    from gtp_engine.search.search import Search
    from gtp_engine.search.stopping import Limits

# LLVM's third level of optimisation compiles an eighth longer, and nothing here runs faster. Here,
# so that it is said before any module imports Numba: code of another level is kept elsewhere.
os.environ.setdefault("NUMBA_OPT", "2")

_NAMES = {
    "evaluators.nets.net_info": ("NetFileError",),
    "evaluators.fake": ("FakeEvaluator",),
    "evaluators.net_evaluator": ("NetEvaluator", "open_net"),
    "coords": ("BLACK", "PASS", "WHITE", "format_vertex", "parse_vertex", "point_at"),
    "go.game_record": ("GameRecord", "SgfError"),
    "go.position": ("IllegalMoveError", "Move", "Position", "SetupError"),
    "go.rules": ("Rules",),
    "go.scoring": ("agreed_score", "format_result"),
    "go.sgf": ("format_sgf", "load_sgf", "parse_games", "parse_sgf"),
    "play.decision": ("Decision",),
    "play.engine": ("Engine",),
    "play.settings": ("Settings",),
    "search.analysis": ("Analysis", "MoveReport"),
    "search.request": ("AvoidRule", "ReportRequest"),
    "search.params": ("SearchParams",),
    "search.search": ("Search",),
    "search.stopping": ("Limits",),
}
"""What each module offers here."""

_HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
