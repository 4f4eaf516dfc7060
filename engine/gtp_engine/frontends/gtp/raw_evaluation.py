"""A net's evaluation as `kata-raw-nn` prints it: everything from White's point of view."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gtp_engine.coords import WHITE

if TYPE_CHECKING:
    from gtp_engine.evaluators.net_evaluator import RawEvaluation


def format_raw_evaluation(raw: "RawEvaluation") -> str:
    """Return the lines for one symmetry; illegal moves have the probability NAN."""
    is_white = raw.to_play == WHITE
    win, loss = (raw.win, raw.loss) if is_white else (raw.loss, raw.win)
    lead = raw.lead if is_white else -raw.lead
    mean = raw.score_mean if is_white else -raw.score_mean
    lines = [
        f"symmetry {raw.symmetry}",
        f"whiteWin {win:.6f}",
        f"whiteLoss {loss:.6f}",
        f"noResult {raw.no_result:.6f}",
        f"whiteLead {_number(lead)}",
        f"whiteScoreSelfplay {_number(mean)}",
        f"whiteScoreSelfplaySq {_number(mean**2 + raw.score_stdev**2)}",
        f"varTimeLeft {_number(raw.var_time)}",
        f"shorttermWinlossError {_number(raw.shortterm_winloss_error)}",
        f"shorttermScoreError {_number(raw.shortterm_score_error)}",
        "policy",
        *(_row(row, _probability) for row in raw.policy),
        f"policyPass {_probability(raw.policy_pass)}",
    ]
    if raw.ownership is not None:
        owned = raw.ownership if is_white else -raw.ownership
        lines += ["whiteOwnership", *(_row(row, _share) for row in owned)]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    """Return a number as text, never -0.000; -1 for an estimate that the net does not give."""
    return f"{-1.0 if value is None else value:z.3f}"


def _row(values: Iterable[float], form: Callable[[float], str]) -> str:
    return " ".join(form(value) for value in values)


def _probability(value: float) -> str:
    return f"{value:8.6f}" if value >= 0 else "     NAN"


def _share(value: float) -> str:
    return f"{value:z9.7f}"  # z: zero has no sign
