"""A net's evaluation as text."""

import numpy as np
import pytest

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.evaluators.net_evaluator import RawEvaluation
from gtp_engine.frontends.gtp.kata import format_human_evaluation, format_raw_evaluation


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
@pytest.mark.parametrize("lead", [0.0, 0.0004, -0.0004])
def test_zero_has_no_sign(to_play: int, lead: float) -> None:
    raw = RawEvaluation(
        to_play=to_play,
        symmetry=0,
        win=0.5,
        loss=0.5,
        no_result=0.0,
        lead=lead,
        score_mean=lead,
        score_stdev=0.0,
        var_time=None,
        shortterm_winloss_error=None,
        shortterm_score_error=None,
        policy=np.full((2, 2), 0.25, np.float32),
        policy_pass=0.0,
        ownership=np.full((1, 1), lead * 1e-5, np.float32),
    )
    lines = format_raw_evaluation(raw).splitlines()
    assert "whiteLead 0.000" in lines and "whiteScoreSelfplay 0.000" in lines
    assert "varTimeLeft -1.000" in lines and lines[-2:] == ["whiteOwnership", "0.0000000"]
    # A net of people's games speaks of the score at the end, and of no time.
    human = [line.partition(" ")[0] for line in format_human_evaluation(raw).splitlines()[:7]]
    assert human == [
        *("symmetry", "whiteWin", "whiteLoss", "noResult", "whiteScore", "whiteScoreSq"),
        "shorttermWinlossError",
    ]
