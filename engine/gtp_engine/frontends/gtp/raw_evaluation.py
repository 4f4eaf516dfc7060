"""A net's evaluation as `kata-raw-nn` prints it: everything from White's point of view."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gtp_engine.go.coords import WHITE

if TYPE_CHECKING:
    from gtp_engine.evaluators.net_evaluator import RawEvaluation

_UNKNOWN = -1.0
"""Printed for errors that the net does not estimate."""


def format_raw_evaluation(symmetry: int, raw: "RawEvaluation") -> str:
    """Return the lines for one symmetry; illegal moves have the probability NAN."""
    is_white = raw.to_play == WHITE
    sign = 1.0 if is_white else -1.0
    win, loss = (raw.win, raw.loss) if is_white else (raw.loss, raw.win)
    squares = raw.score_mean**2 + raw.score_stdev**2
    lines = [
        f"symmetry {symmetry}",
        f"whiteWin {win:.6f}",
        f"whiteLoss {loss:.6f}",
        f"noResult {raw.no_result:.6f}",
        f"whiteLead {sign * raw.lead:.3f}",
        f"whiteScoreSelfplay {sign * raw.score_mean:.3f}",
        f"whiteScoreSelfplaySq {squares:.3f}",
        f"varTimeLeft {_or_unknown(raw.var_time):.3f}",
        f"shorttermWinlossError {_or_unknown(raw.shortterm_winloss_error):.3f}",
        f"shorttermScoreError {_or_unknown(raw.shortterm_score_error):.3f}",
        "policy",
        *(" ".join(map(_probability, row)) for row in raw.policy),
        f"policyPass {_probability(raw.policy_pass)}",
        "whiteOwnership",
        *(_numbers(sign * row) for row in raw.ownership),
    ]
    return "\n".join(lines)


def _or_unknown(value: float | None) -> float:
    return _UNKNOWN if value is None else value


def _probability(value: float) -> str:
    return f"{value:8.6f}" if value >= 0 else "     NAN"


def _numbers(row: Iterable[float]) -> str:
    return " ".join(f"{value:9.7f}" for value in row)
