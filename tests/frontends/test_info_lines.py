"""The numbers of the lines that report an analysis."""

import re
from dataclasses import replace

import numpy as np

from gtp_engine.coords import BLACK
from gtp_engine.frontends.gtp.info_lines import AnalyzeRequest, kata_line
from gtp_engine.search.analysis import unsearched

ALMOST_ZERO = -4e-8


def test_zero_has_no_sign() -> None:
    ownership = np.full((2, 2), ALMOST_ZERO, np.float32)
    numbers = {"score_lead": ALMOST_ZERO, "ownership": ownership}
    found = unsearched(BLACK, 2, 2, point=4)
    move = replace(
        found.moves[0], utility=-0.0, lcb=ALMOST_ZERO, utility_lcb=ALMOST_ZERO, **numbers
    )
    analysis = replace(found, utility=-0.25, moves=(move,), **numbers)
    line = kata_line(analysis, AnalyzeRequest(root_info=True, no_result_value=-0.0))
    assert not re.search(r"-0\.0+( |$)", line)
    assert " utility -0.250000 " in line and " scoreLead 0.000000 " in line
    assert line.endswith(" ownership 0.0000 0.0000 0.0000 0.0000")
