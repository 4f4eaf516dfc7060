"""The numbers of the lines that report an analysis."""

import re

import numpy as np

from gtp_engine.coords import BLACK
from gtp_engine.frontends.gtp.info_lines import AnalyzeRequest, kata_line
from gtp_engine.search.analysis import Analysis, MoveReport

ALMOST_ZERO = -4e-8


def test_zero_has_no_sign() -> None:
    ownership = np.full((2, 2), ALMOST_ZERO, np.float32)
    move = MoveReport(
        point=4,
        visits=1,
        winrate=0.5,
        score_lead=ALMOST_ZERO,
        score_stdev=0.0,
        utility=-0.0,
        prior=1.0,
        lcb=ALMOST_ZERO,
        utility_lcb=ALMOST_ZERO,
        order=0,
        ownership=ownership,
    )
    analysis = Analysis(
        to_play=BLACK,
        width=2,
        height=2,
        visits=2,
        playouts=2,
        nodes=2,
        elapsed=0.0,
        winrate=0.5,
        score_lead=ALMOST_ZERO,
        score_stdev=0.0,
        utility=-0.25,
        raw_winrate=0.5,
        raw_score_lead=0.0,
        moves=(move,),
        ownership=ownership,
    )
    line = kata_line(analysis, AnalyzeRequest(root_info=True, no_result_value=-0.0))
    assert not re.search(r"-0\.0+( |$)", line)
    assert " utility -0.250000 " in line and " scoreLead 0.000000 " in line
    assert line.endswith(" ownership 0.0000 0.0000 0.0000 0.0000")
