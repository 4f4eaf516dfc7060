"""Tune a net on your own games, and say whether it predicts such games better.

Games are those that `gtp-engine --keep-games` kept, or any others. Some are set aside: the net
before and the net after are compared on them. Give the same command again to resume a run that was
killed.
"""

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_export.plans import OwnGamesRun

PLAN = OwnGamesRun
LEFT_OUT = "preset", "start", "name", "threads", "keep_nets"


def run(plan: OwnGamesRun) -> int:
    """Tune; all that is told goes to stderr."""
    if plan.target.suffix != ".onnx":
        raise NetFileError(f"{plan.target}: --out names the net to write, as in mine.onnx")
    from gtp_export.learning.own_games import learn_from_games

    learn_from_games(plan)
    return 0
