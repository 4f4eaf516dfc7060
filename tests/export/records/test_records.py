"""Positions of game records, labelled by a teacher."""

import numpy as np
from tests.paths import TINY

from gtp_engine.go.sgf import parse_sgf
from gtp_export.labelling.record_positions import label_records
from gtp_export.labelling.teacher import Teacher


def test_positions_of_records_are_labelled() -> None:
    moves = "".join(f";{'BW'[i % 2]}[{'abcdefghi'[i % 9]}{'abcdefghi'[i // 9]}]" for i in range(27))
    records = [parse_sgf(f"(;SZ[9]{moves})") for _ in range(2)]
    samples = label_records(Teacher(TINY), records, seed=4)
    assert samples is not None
    assert len(samples.features) == 8
    sums = samples.policy.astype(np.float64).sum(1)
    np.testing.assert_allclose(sums, 1.0, atol=0.01)


def test_games_that_do_not_fit_are_left_out() -> None:
    records = [parse_sgf(text) for text in ("(;SZ[9];B[aa];W[aa];B[bb])", "(;SZ[9])")]
    assert label_records(Teacher(TINY), records, seed=1) is None
